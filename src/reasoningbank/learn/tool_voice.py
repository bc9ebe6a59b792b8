"""Tells whether a lesson repeats what a tool told its readers to do, and then whose words it is; and what it borrowed.

However a lesson was made, by rules, by a model or by an agent that answered a job, it comes from the tool where it says
what an output of the session said, and that output reads like instructions; where it repeats much that is no report;
and where what was done is, word for word, what the output said. A lesson that quotes a report is untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reasoningbank.core.learning import Episode, EpisodeStep, Lesson
from reasoningbank.core.patterns import pattern
from reasoningbank.guard.borrowed import borrowed_in
from reasoningbank.guard.homoglyphs import plain_letters, skeleton
from reasoningbank.guard.instruction_detection import instructs
from reasoningbank.guard.quotes import as_one_line, is_report
from reasoningbank.guard.risky import FAILED
from reasoningbank.learn.offline.facts import FACT
from reasoningbank.learn.offline.words import called_tool, head

FEWEST_SHARED = 3
"""Runs of three words: five words in a row are nobody's own."""
MUCH_SHARED = 6
"""Eight words in a row of free text are a copy, whatever they say."""
READ_AT_EITHER_END_CHARS = 4_000
MOST_STEPS = 400
Runs = frozenset[tuple[str, ...]] | set[tuple[str, ...]]
_QUOTE = pattern("“[^“”\n]*”")
_ACTION = pattern(r"`([^`\n]+)`")
_WORD = pattern(r"[^\W_]+")
_NOT_IN_A_NAME = pattern(r"[^\w.-]+")


def as_told(lesson: Lesson, episode: Episode) -> tuple[Lesson, Episode]:
    """The lesson and its session, under the tool's name where the lesson is the tool's word."""
    tool = _telling_tool(lesson, episode)
    if tool is None:
        return lesson, episode
    # Under another key, so that it neither revises nor hides what was learned honestly about the same thing.
    key = None if lesson.key is None else f"told {lesson.key}"
    return replace(lesson, key=key), replace(episode, origin=tool)


def borrowed_by(lesson: Lesson, episodes: Sequence[Episode]) -> tuple[str, ...]:
    """Parts of a lesson's advice that an output of the sessions said first. A list of names is there for that."""
    if lesson.kind == FACT:
        return ()
    trouble = lesson.metadata.get("trouble", {})
    advice = _QUOTE.sub(" ", FAILED.sub(" ", f"{lesson.title}\n{lesson.description}\n{lesson.content}"))
    advice += "".join(f"\n`{trouble[name]}`" for name in ("worked", "first") if trouble.get(name))
    kinds: dict[str, None] = {}
    for episode in episodes:
        messages = [str(entry.get("content", "")) for entry in episode.messages if entry.get("role") == "user"]
        own = [step.action for step in episode.steps]
        own[:1] = ["\n".join((episode.task, *messages, *own[:1]))]
        kinds |= dict.fromkeys(borrowed_in(advice, [step.result for step in episode.steps], own))
    return tuple(kinds)


def _telling_tool(lesson: Lesson, episode: Episode) -> str | None:
    text = _QUOTE.sub(" ", f"{lesson.title}\n{lesson.description}\n{lesson.content}")
    text_runs, action_runs = _runs(text), _runs("\n".join(_ACTION.findall(text)))
    # The names in a fact were each looked at before: a list repeats what was printed, that is what it is for.
    may_repeat = lesson.kind == FACT
    earlier_runs: set[tuple[str, ...]] = set()
    for step in episode.steps[:MOST_STEPS]:
        # What an output repeats of the actions before it was theirs first.
        earlier_runs |= _runs(step.action)
        if any(
            _is_repeated(line, text_runs - earlier_runs, action_runs - earlier_runs, may_repeat=may_repeat)
            for line in _lines(step)
        ):
            name = _NOT_IN_A_NAME.sub("_", called_tool(step.action) or head(step.action))[:60]
            return f"tool:{name or 'output'}"
    return None


def _lines(step: EpisodeStep) -> list[str]:
    result, end = step.result, READ_AT_EITHER_END_CHARS
    read = result if len(result) <= 2 * end else f"{result[:end]}\n{result[-end:]}"
    return [line for line in read.splitlines() if line.strip()]


def _is_repeated(line: str, text_runs: Runs, action_runs: Runs, *, may_repeat: bool) -> bool:
    runs = _runs(line)
    overlap = len(runs & text_runs)
    if overlap < FEWEST_SHARED:
        return False
    if instructs(line) or len(runs & action_runs) >= MUCH_SHARED:
        return True
    return not may_repeat and overlap >= MUCH_SHARED and not is_report(as_one_line(line))


def _runs(text: str) -> Runs:
    words = _WORD.findall(skeleton(plain_letters(text)))
    return frozenset(zip(words, words[1:], words[2:], strict=False))
