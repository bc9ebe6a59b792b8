"""Warns of what failed again and again in a session, where another way to the same thing worked in it.

That something failed helps nobody who does not hear what to do instead: without such a way there is no warning.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import (
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    EpisodeStep,
    Lesson,
)
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.guard.quotes import quote
from reasoningbank.learn.offline.changed_command import hides_failure
from reasoningbank.learn.offline.failure_kind import in_room, is_failure, is_telling, kind, message, quote_output
from reasoningbank.learn.offline.fixes import guessed_name
from reasoningbank.learn.offline.trouble import trouble_of
from reasoningbank.learn.offline.words import all_words, clip_line, describe_action, digest, head, is_talk

WARNING = "warning"
FURTHEST_STEPS = 12
"""How long after the last failure another way still counts as one round it."""
SHARED_THINGS = 0.5
_LONGEST_ACTION_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    what: str
    kind: str
    numbers: tuple[int, ...]
    instead: int
    """The step that got there another way."""


def repeated_failures(
    steps: Sequence[EpisodeStep], kinds_with_fix: Collection[str], names: frozenset[str]
) -> list[Repeated]:
    """Failures of one kind by one sort of action, the most frequent first.

    `names` are what the session looked up: the facts tell of a wrong guess at those.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for number, step in enumerate(steps):
        if is_failure(step) and not guessed_name(step, names) and not is_talk(step.action):
            groups.setdefault((head(step.action), kind(message(step.result))), []).append(number)
    repeats = [
        Repeated(what=what, kind=sort, numbers=tuple(numbers), instead=instead)
        for (what, sort), numbers in groups.items()
        if len(numbers) >= 2 and sort not in kinds_with_fix
        if is_telling(message(steps[numbers[-1]].result), steps[numbers[-1]].action)
        if (instead := _way_round(numbers[-1], steps)) is not None
    ]
    return sorted(repeats, key=lambda group: (-len(group.numbers), group.numbers))


def _way_round(failure: int, steps: Sequence[EpisodeStep]) -> int | None:
    """The first action afterwards that worked and names at least half of the things that the failed one did."""
    things = _things_in(steps[failure].action)
    for number in range(failure + 1, min(len(steps), failure + 1 + FURTHEST_STEPS)):
        step = steps[number]
        overlap = len(things & _things_in(step.action))
        if overlap < max(1.0, SHARED_THINGS * len(things)) or is_failure(step) or not step.result.strip():
            continue
        if step.action.split() != steps[failure].action.split() and not hides_failure(
            steps[failure].action, step.action, message(steps[failure].result)
        ):
            return number
    return None


def _things_in(action: str) -> frozenset[str]:
    """The words of an action but for what is done: names, paths, values."""
    return all_words(action) - all_words(head(action)) - {word for word in all_words(action) if word.startswith("-")}


def lesson_of(group: Repeated, steps: Sequence[EpisodeStep]) -> Lesson:
    last = steps[group.numbers[-1]]
    report = quote_output(message(last.result), last.action)
    what = group.what or "this action"
    short = quote(
        message(last.result), last.action, max(12, LONGEST_LESSON_TITLE_CHARS - len(f"{what} keeps failing: "))
    )
    return Lesson(
        title=in_room(f"{what} keeps failing{short and f': {short}'}", LONGEST_LESSON_TITLE_CHARS),
        description=in_room(f"about to repeat {what} after {report}", LONGEST_LESSON_DESCRIPTION_CHARS),
        content=(
            f"`{describe_action(last.action, _LONGEST_ACTION_CHARS)}` and {len(group.numbers) - 1} more "
            f"failed with {report}\n"
            f"Do this instead: `{describe_action(steps[group.instead].action, _LONGEST_ACTION_CHARS)}` worked next."
        ),
        outcome=Outcome.FAILURE,
        tags=(WARNING,),
        evidence=f"{clip_line(last.action, 80)} → {report}",
        kind=WARNING,
        key=f"warning {digest(group.what, group.kind)}",
        metadata={"trouble": trouble_of(last.action, message(last.result))},
    )


def merge(memory: Memory, lesson: Lesson) -> Lesson | None:
    """The warning with the way that this session found; None when it tells that way already, which confirms it."""
    way = lesson.content.rpartition("\n")[2]
    return None if way in memory.content else lesson
