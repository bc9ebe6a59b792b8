"""Finds remedies: an action failed, something else was done, and the very same action worked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import (
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    EpisodeStep,
    Lesson,
)
from reasoningbank.core.types import Outcome
from reasoningbank.learn.offline.failure_kind import FIX, in_room, is_failure, kind, message, quote_output
from reasoningbank.learn.offline.trouble import goal_of, trouble_of
from reasoningbank.learn.offline.words import all_words, clip_line, describe_action, digest, head

FURTHEST_STEPS = 12
MOST_BETWEEN = 3
_LONGEST_ACTION_CHARS = 160
_PLAIN_WORDS = re.compile(r"[a-z]{1,3}|error|module|named|file|directory|command|found|cannot|could|line|such|with")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    failure: int
    between: tuple[int, ...]
    kind: str


def remedies(steps: Sequence[EpisodeStep]) -> list[Remedy]:
    found: dict[str, Remedy] = {}
    for number, step in enumerate(steps):
        if not step.action.strip() or not is_failure(step):
            continue
        again = next(
            (later for later in range(number + 1, min(len(steps), number + 1 + FURTHEST_STEPS))
             if steps[later].action == step.action), None
        )  # fmt: skip
        if again is None or is_failure(steps[again]):
            continue
        between = _telling(steps, number, again)
        if between:
            sort = kind(message(step.result))
            found[sort] = Remedy(failure=number, between=between, kind=sort)
    return list(found.values())


def _telling(steps: Sequence[EpisodeStep], failure: int, again: int) -> tuple[int, ...]:
    """What was done between and worked; where some of it speaks of what the message blames, only that."""
    done = [number for number in range(failure + 1, again) if not is_failure(steps[number])]
    said = all_words(message(steps[failure].result))
    blamed = {word for word in said if not _PLAIN_WORDS.fullmatch(word)} - all_words(head(steps[failure].action))
    speaking = [number for number in done if blamed & all_words(steps[number].action)]
    return tuple((speaking or done[-1:])[-MOST_BETWEEN:])


def lesson_of(remedy: Remedy, steps: Sequence[EpisodeStep], task: str = "") -> Lesson:
    wrong = steps[remedy.failure]
    said = quote_output(message(wrong.result), wrong.action)
    done = [describe_action(steps[number].action, _LONGEST_ACTION_CHARS) for number in remedy.between]
    action = describe_action(wrong.action, _LONGEST_ACTION_CHARS)
    return Lesson(
        title=in_room(f"First {done[0]}", LONGEST_LESSON_TITLE_CHARS),
        description=_when(action, said),
        content=f"`{action}` failed with {said}\nIt worked after: {'; '.join(f'`{one}`' for one in done)}",
        outcome=Outcome.SUCCESS,
        tags=(FIX,),
        evidence=f"{clip_line(wrong.action, 80)} → {said}",
        kind=FIX,
        key=f"remedy {digest(head(wrong.action), remedy.kind, done[0])}",
        metadata={
            "trouble": trouble_of(
                wrong.action, message(wrong.result), change=f"first {'; '.join(done)}", goal=goal_of(wrong, task)
            )
        },
    )


def _when(action: str, said: str) -> str:
    """The action gives way to the program's words, whose closing mark must stand."""
    room = LONGEST_LESSON_DESCRIPTION_CHARS - len(f" fails with {said}")
    return in_room(f"{clip_line(action, max(20, room))} fails with {said}", LONGEST_LESSON_DESCRIPTION_CHARS)
