"""Warns of what failed again and again in a session and was never mended, with what to do instead."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import (
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    EpisodeStep,
    Lesson,
)
from reasoningbank.core.types import Outcome
from reasoningbank.guard.quotes import quote
from reasoningbank.learn.offline.failure_kind import in_room, is_failure, kind, message, quote_output
from reasoningbank.learn.offline.fixes import guessed_name
from reasoningbank.learn.offline.trouble import trouble_of
from reasoningbank.learn.offline.words import clip_line, describe_action, digest, head

WARNING = "warning"
FEWEST_TIMES = 2
_LONGEST_ACTION_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    what: str
    kind: str
    numbers: tuple[int, ...]


def repeated_failures(steps: Sequence[EpisodeStep], mended: Collection[str], names: frozenset[str]) -> list[Repeated]:
    """Failures of one kind by one sort of action, the most frequent first.

    `mended` are kinds with a known fix, `names` what the session looked up: the facts tell of a wrong guess at those.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for number, step in enumerate(steps):
        if is_failure(step) and not guessed_name(step, names):
            groups.setdefault((head(step.action), kind(message(step.result))), []).append(number)
    found = [
        Repeated(what=what, kind=sort, numbers=tuple(numbers))
        for (what, sort), numbers in groups.items()
        if len(numbers) >= FEWEST_TIMES and sort not in mended
    ]
    return sorted(found, key=lambda group: (-len(group.numbers), group.numbers))


def lesson_of(group: Repeated, steps: Sequence[EpisodeStep]) -> Lesson:
    last = steps[group.numbers[-1]]
    said = quote_output(message(last.result), last.action)
    what = group.what or "this action"
    short = quote(
        message(last.result), last.action, max(12, LONGEST_LESSON_TITLE_CHARS - len(f"{what} keeps failing: "))
    )
    return Lesson(
        title=in_room(f"{what} keeps failing{short and f': {short}'}", LONGEST_LESSON_TITLE_CHARS),
        description=in_room(f"about to repeat {what} after {said}", LONGEST_LESSON_DESCRIPTION_CHARS),
        content=(
            f"`{describe_action(last.action, _LONGEST_ACTION_CHARS)}` and {len(group.numbers) - 1} more "
            f"failed with {said}\n"
            f"Do this instead: {_instead(group, steps)}"
        ),
        outcome=Outcome.FAILURE,
        tags=(WARNING,),
        evidence=f"{clip_line(last.action, 80)} → {said}",
        kind=WARNING,
        key=f"warning {digest(group.what, group.kind)}",
        metadata={"trouble": trouble_of(last.action, message(last.result))},
    )


def _instead(group: Repeated, steps: Sequence[EpisodeStep]) -> str:
    """What worked afterwards, else another way that worked before, else to stop and look."""
    after = range(group.numbers[-1] + 1, len(steps))
    before = range(group.numbers[0])
    for number in (*after, *reversed(before)):
        step = steps[number]
        if not is_failure(step) and step.action.strip():
            when = "worked next" if number in after else "had worked before"
            return f"`{describe_action(step.action, _LONGEST_ACTION_CHARS)}` {when}."
    return "stop after the first failure, look at what is there, and change the approach rather than the wording."
