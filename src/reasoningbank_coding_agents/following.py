"""Evidence that a session followed a memory that it was shown: what it did next, and had not done before.

A memory that names a change is followed when the change turns up in a later command and in none before; one that only
warns, when what it warned of was attempted in another form and did not go wrong; any other, when something that it
names by form (`in code`, `--flag`, SOME_NAME) turns up in a later step, or in the answer where there were no steps.
What was asked for, or done before, proves nothing. Of a memory that names nothing nobody can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import Memory
from reasoningbank.learn.offline.failure_kind import is_failure, kind, message, sealed
from reasoningbank_coding_agents.known_failures import trouble_in
from reasoningbank_coding_agents.known_failures_file import Trouble
from reasoningbank_coding_agents.matching import command_parts

_IN_CODE = pattern(r"`([^`\n]{2,200})`")
_BY_FORM = pattern(r"(?<![\w-])--?[A-Za-z][\w-]+|\b[A-Za-z]+(?:_\w+)+\b|\b[A-Z][A-Z0-9]{2,}\b|\b[a-z]+[A-Z]\w+\b")
_WORD = pattern(r"[\w./:@+-]*\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The steps of a session before and after it was shown a memory."""

    asked: str
    before: tuple[EpisodeStep, ...]
    after: tuple[EpisodeStep, ...]
    answer: str
    """The agent's words, where it did nothing."""


def course_of(episode: Episode, call: str) -> Course:
    """`call` is the tool call at which the memory was shown; "" for one that was shown before any."""
    calls = [step.metadata.get("call") for step in episode.steps]
    position = calls.index(call) + 1 if call and call in calls else 0
    words = {
        role: "\n".join(str(entry.get("content", "")) for entry in episode.messages if entry.get("role") == role)
        for role in ("user", "assistant")
    }
    after = episode.steps[position:]
    request = f"{episode.task}\n{words['user']}"
    return Course(
        asked=request, before=episode.steps[:position], after=after, answer="" if after else words["assistant"]
    )


def is_followed(memory: Memory, course: Course) -> bool | None:
    """True if the session followed the memory; None where nobody can tell."""
    trouble = trouble_in(memory)
    if trouble is not None and trouble.action:
        wrong = {word for part in command_parts(trouble.action)[:1] for word in part}
        change = {word for part in command_parts(trouble.worked) for word in part} - wrong
        if change:
            return _has(change, course.after) and not _has(change, course.before)
        return _is_heeded(trouble, course)
    things = _named_in(memory)
    earlier = f"{course.asked}\n" + "\n".join(step.action for step in course.before)
    new = [thing for thing in things if not _names(thing, earlier)]
    if not new:
        return None
    later = "\n".join(step.action for step in course.after) or course.answer
    return any(_names(thing, later) for thing in new)


def _has(change: set[str], steps: Iterable[EpisodeStep]) -> bool:
    return any(change <= set(part) for step in steps for part in command_parts(step.action))


def _is_heeded(trouble: Trouble, course: Course) -> bool:
    """True if the same was attempted in another form and did not fail in the way that is known."""
    wrong = next(iter(command_parts(trouble.action)), ())
    attempts = [step for step in course.after if any(_is_attempt(part, wrong) for part in command_parts(step.action))]
    is_repeat = any(tuple(part) == tuple(wrong) for step in attempts for part in command_parts(step.action))
    return bool(attempts) and not is_repeat and not any(_fails_so(step, trouble.signature) for step in attempts)


def _is_attempt(part: Sequence[str], wrong: Sequence[str]) -> bool:
    """The same program, and the same thing asked of it where the known one names a thing."""
    return bool(wrong) and part[0] == wrong[0] and (len(wrong) == 1 or wrong[1].startswith("-") or wrong[1] in part)


def _fails_so(step: EpisodeStep, signature: str) -> bool:
    if not is_failure(step):
        return False
    sort = kind(message(step.result))
    return not signature or signature in (sort, sealed(sort))


def _named_in(memory: Memory) -> list[str]:
    text = f"{memory.title}\n{memory.content}"
    in_code = _IN_CODE.findall(text)
    return list(dict.fromkeys(in_code or _BY_FORM.findall(text)))


def _names(thing: str, text: str) -> bool:
    """True if a text has all words of a thing on one line."""
    words = set(_WORD.findall(thing))
    return bool(words) and any(words <= set(_WORD.findall(line)) for line in text.splitlines())
