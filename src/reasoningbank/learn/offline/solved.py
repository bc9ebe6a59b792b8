"""Keeps how a task was solved: the task in general words, the steps that mattered, and the check that proved it.

The last action stands as it was, so that the same task gets its solution; what it took over from the task is marked in
the task with braces, so that a like one sees what to change. Calls with arguments stand by the names of these: their
values belonged to one case. What was looked up on the way is told by the facts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from reasoningbank.core.learning import (
    ANSWER,
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    SOLVED,
    Episode,
    EpisodeStep,
    Lesson,
    Verdict,
    VerdictOutcome,
)
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.learn.offline.acted import steps_taken
from reasoningbank.learn.offline.bypasses import bypass_in
from reasoningbank.learn.offline.edits import edits_in
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank.learn.offline.flow import Flow, values_in
from reasoningbank.learn.offline.general import general_call, general_task, without_contacts
from reasoningbank.learn.offline.survey import is_told_in_words
from reasoningbank.learn.offline.words import arguments, called_tool, clip_line, digest, head, is_prose, one_line

LONGEST_ACTION_CHARS = 1_500
LONGEST_EARLIER_CHARS = 240
LONGEST_WRITTEN_CHARS = 160
"""An argument as long as this is a text that somebody wrote: what it changed cannot be told in a line."""
LONGEST_ANSWER_CHARS = 100
LEAST_CERTAIN = 0.7
_FIRST = "First: "
_SENTENCE = re.compile(r"(?:[a-z'’]+,? ){4,}")
_HANDS_IN = re.compile(r"\s*(?:submit|finish|answer)\b[\s:(\[]*[^\s\])]", re.IGNORECASE)
_ENDS = re.compile(r"\s*(?:submit|finish|done|exit|quit|stop|end|answered)\W*", re.IGNORECASE)


def solution(episode: Episode, verdict: Verdict, fact_steps: Collection[int]) -> Lesson | None:
    """Lesson on how the task of a session was solved; None where it was not, or where nobody can do it again.

    `fact_steps` are the steps whose results the facts tell.
    """
    if verdict.outcome is not VerdictOutcome.SUCCESS or verdict.certainty < LEAST_CERTAIN or not episode.task.strip():
        return None
    steps = episode.steps
    end = _last_deed(episode, _solving_step(episode, verdict))
    if end is None or end in fact_steps or _is_written(steps[end]) or is_told_in_words(steps[end].action):
        return None
    before = _before(episode, end, fact_steps)
    if any(_is_written(steps[number]) for number in before) or _got_past(steps, end):
        return None
    lines = _told_as_calls(steps, [*before, end], episode.task) or _told_as_they_were(steps, before, end)
    checks = [number for number in _proving(verdict, steps) if number != end and not called_tool(steps[number].action)]
    if checks:
        lines.append(f"Check: `{clip_line(steps[checks[0]].action, LONGEST_EARLIER_CHARS)}`")
    content = "\n".join(lines)
    task = _task(episode, steps[end].action)
    return Lesson(
        title=clip_line(task, LONGEST_LESSON_TITLE_CHARS),
        description=task,
        content=content,
        outcome=Outcome.SUCCESS,
        tags=(SOLVED,),
        evidence=clip_line(verdict.evidence or verdict.reason, 160),
        kind=SOLVED,
        key=f"{SOLVED} {digest(*_identity(episode, steps[end], content))}",
    )


def _identity(episode: Episode, end: EpisodeStep, content: str) -> Sequence[str]:
    """Key under which two solutions count as the same: their calls, however the arguments were ordered, or else the
    task.
    """
    return sorted(values_in(content)) if called_tool(end.action) else (one_line(episode.task).casefold(),)


def merge(memory: Memory, lesson: Lesson) -> Lesson | None:
    """The shorter of two solutions of one task; None when it is the known one, which this session confirms."""
    return lesson if len(lesson.content) < len(memory.content) else None


def _solving_step(episode: Episode, verdict: Verdict) -> int | None:
    """The last action that did something: neither one that failed, nor the check, nor a bare word that ends the run.

    A command with which a run ended that got the whole reward has solved it, whatever else it complained of.
    """
    steps, proving = episode.steps, _proving(verdict, episode.steps)
    numbers = [number for number, step in enumerate(steps) if step.action.strip()]
    doing = [
        number
        for number in numbers
        if number not in proving
        and _ENDS.fullmatch(action := steps[number].action) is None
        # A report instead of an answer.
        and not (action.startswith(ANSWER) and len(action) > LONGEST_ANSWER_CHARS)
    ]
    if not doing:
        return None
    if episode.reward == 1.0 and not called_tool(steps[doing[-1]].action):
        return doing[-1]
    return next((number for number in reversed(doing) if not is_failure(steps[number])), None)


def _last_deed(episode: Episode, last: int | None) -> int | None:
    """The last call that changed something, as far as can be told, for what was only looked at after it is no part
    of the way; where the last action is no call, that action.
    """
    steps = episode.steps
    if last is None or not called_tool(steps[last].action):
        return last
    deeds = _deeds(Flow(steps[: last + 1], episode.task, is_failure), steps[: last + 1])
    return deeds[-1] if deeds else last


def _deeds(flow: Flow, steps: Sequence[EpisodeStep]) -> list[int]:
    """Calls that changed something: those of tools that never only told something."""
    sources = {called_tool(step.action) for number, step in enumerate(steps) if flow.is_source(number)}
    return [
        number
        for number, step in enumerate(steps)
        if (tool := called_tool(step.action)) and tool not in sources and not is_failure(step) and not _is_thought(step)
    ]


def _proving(verdict: Verdict, steps: Sequence[EpisodeStep]) -> list[int]:
    proof = verdict.evidence.strip()
    return [number for number, step in enumerate(steps) if proof and proof in step.result][-1:]


def _before(episode: Episode, end: int, fact_steps: Collection[int]) -> list[int]:
    steps = episode.steps
    way = steps_taken(steps, end, is_failure)
    if way:
        return way
    flow = Flow(steps[: end + 1], episode.task, is_failure)
    numbers = set(flow.before(end, fact_steps))
    if called_tool(steps[end].action):
        for deed in _deeds(flow, steps[:end]):
            numbers |= {deed, *flow.before(deed, fact_steps)}
        return sorted(numbers - {end})[-8:]
    if not numbers and (steps[end].action.startswith(ANSWER) or _HANDS_IN.match(steps[end].action)):
        # The answer alone tells nobody how it was found.
        numbers = {number for number in range(end) if steps[number].action.strip() and not is_failure(steps[number])}
        numbers = {max(numbers)} if numbers else numbers
    return sorted(numbers - {end})[-4:]


def _told_as_calls(steps: Sequence[EpisodeStep], numbers: Sequence[int], task: str) -> list[str]:
    if not called_tool(steps[numbers[-1]].action):
        return []
    case_words = set(values_in(task))
    for step in steps[: numbers[-1]]:
        case_words |= values_in(step.result)
    ways = dict.fromkeys(general_call(steps[number].action, case_words) for number in numbers)
    return [" → ".join(f"`{clip_line(way, 400)}`" for way in ways)]


def _told_as_they_were(steps: Sequence[EpisodeStep], before: Sequence[int], end: int) -> list[str]:
    actions = [without_contacts(steps[number].action).strip() for number in before]
    if any("\n" in text for text in actions):
        # Lines of code are no code in one line.
        first = [_FIRST.strip(), *(text[:LONGEST_ACTION_CHARS] for text in dict.fromkeys(actions))]
    else:
        earlier = dict.fromkeys(clip_line(text, LONGEST_EARLIER_CHARS) for text in actions)
        first = [f"{_FIRST}{'; '.join(f'`{text}`' for text in earlier)}"] if earlier else []
    action = without_contacts(steps[end].action.strip())
    if len(action) > LONGEST_ACTION_CHARS:
        action = clip_line(action, LONGEST_ACTION_CHARS)
    return [*first, action if "\n" in action or "`" in action else f"`{action}`"]


def _got_past(steps: Sequence[EpisodeStep], end: int) -> bool:
    """True if the way that worked only got past what stopped the same program before."""
    action = steps[end].action
    failures = (step.action for step in steps[:end] if is_failure(step) and head(step.action) == head(action))
    return any(bypass_in(failing, action) for failing in failures)


def _is_written(step: EpisodeStep) -> bool:
    """True if a call carries a work that was written for this one case, or is an edit of a file. What somebody is
    told in sentences is a parameter like any other.
    """
    action = step.action
    if edits_in(step):
        return True
    values = arguments(action)
    if values is None:
        return bool(called_tool(action)) and len(action) > LONGEST_WRITTEN_CHARS
    return any(
        isinstance(value, str) and len(value) > LONGEST_WRITTEN_CHARS and not is_prose(value)
        for value in values.values()
    )


def _is_thought(step: EpisodeStep) -> bool:
    """True if a call took words, gave nothing back, and so did nothing."""
    values = list((arguments(step.action) or {}).values())
    return not step.result.strip() and bool(values) and all(isinstance(v, str) and _SENTENCE.search(v) for v in values)


def _task(episode: Episode, action: str) -> str:
    """The task in general words, with braces around what the action took over from it."""
    task = general_task(episode.task, episode.steps, LONGEST_LESSON_DESCRIPTION_CHARS - 20)
    if called_tool(action):
        return task
    words = [_mark(word, action) for word in task.split(" ")]
    return clip_line(" ".join(words), LONGEST_LESSON_DESCRIPTION_CHARS)


def _mark(word: str, action: str) -> str:
    bare = word.strip("\"'`.,;:?!()“”‘’")
    is_value = len(bare) > 2 and (bare != word.rstrip(".,;:?!") or not bare.isalpha())
    return word.replace(bare, f"{{{bare}}}", 1) if is_value and bare in action and head(action) != bare else word
