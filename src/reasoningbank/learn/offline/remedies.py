"""Finds remedies: an action failed, something else was done, and the very same action worked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.core.commands import commands_in, does_the_same
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import (
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    EpisodeStep,
    LeftOut,
    Lesson,
)
from reasoningbank.core.program_names import command_name
from reasoningbank.core.types import Outcome
from reasoningbank.learn.offline.acted import is_bracketed
from reasoningbank.learn.offline.bypasses import bypass_in
from reasoningbank.learn.offline.edits import edits_in
from reasoningbank.learn.offline.failure_kind import FIX, in_room, is_failure, kind, message, quote_output
from reasoningbank.learn.offline.lookups import is_lookup, is_probe
from reasoningbank.learn.offline.trouble import goal_of, trouble_of
from reasoningbank.learn.offline.words import all_words, called_tool, clip_line, describe_action, digest, head, is_talk

FURTHEST_STEPS = 12
MOST_BETWEEN = 3
_LONGEST_ACTION_CHARS = 160
_PLAIN_WORDS = re.compile(r"[a-z]{1,3}|error|module|named|file|directory|command|found|cannot|could|line|such|with")

_ADDS = re.compile(
    r"(?:npm (?:install|i|add)|(?:yarn|pnpm|bun|cargo|poetry|uv|pdm|dotnet|bundle|flutter) add|pnpm install|go get"
    r"|composer require)"
    r"|dotnet add.*|bundle add.*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    failure: int
    between: tuple[int, ...]
    kind: str


def remedies(steps: Sequence[EpisodeStep]) -> list[Remedy]:
    return [remedy for remedy in find_remedies(steps) if isinstance(remedy, Remedy)]


def find_remedies(steps: Sequence[EpisodeStep]) -> list[Remedy | LeftOut]:
    """Remedies, and what looked like one and teaches nothing."""
    by_kind: dict[str, Remedy | LeftOut] = {}
    for number, step in enumerate(steps):
        if not step.action.strip() or not is_failure(step) or is_bracketed(step.action):
            continue
        again = next(
            (later for later in range(number + 1, min(len(steps), number + 1 + FURTHEST_STEPS))
             if _is_same_action(step.action, steps[later].action)), None
        )  # fmt: skip
        if again is None or is_failure(steps[again]):
            continue
        sort = kind(message(step.result))
        between, why = _telling(steps, number, again)
        if between:
            by_kind[sort] = Remedy(failure=number, between=between, kind=sort)
        elif why:
            by_kind.setdefault(sort, LeftOut(what=clip_line(step.action, 100), why=why))
    return list(by_kind.values())


def _is_same_action(action: str, other: str) -> bool:
    """True if two actions do the same, however they were written."""
    return action == other or (not called_tool(action) and not called_tool(other) and does_the_same(action, other))


def _telling(steps: Sequence[EpisodeStep], failure: int, again: int) -> tuple[tuple[int, ...], str]:
    """Steps in between that worked and may have mended it, or why they teach nothing.

    Where some of them speak of what the message blames, only those; else there must be no more than one.
    """
    successes = [number for number in range(failure + 1, again) if not is_failure(steps[number])]
    acts = [number for number in successes if head(steps[number].action) and not is_lookup(steps[number].action)]
    acts = [number for number in acts if not is_probe(steps[number].action) and not is_talk(steps[number].action)]
    if not acts:
        return (), "it worked the second time with nothing done in between"
    lines = [steps[number].action for number in acts if called_tool(steps[number].action) is None]
    bypass = next(filter(None, (bypass_in("", line) for line in lines)), "")
    if bypass:
        return (), f"it got past a check with `{bypass}`"
    acts = [number for number in acts if not edits_in(steps[number])]
    if acts and all(_adds_to_manifest(steps[number].action) for number in acts):
        return (), "what was missing is among the project's dependencies now"
    error_words = all_words(message(steps[failure].result))
    keywords = {word for word in error_words if not _PLAIN_WORDS.fullmatch(word)} - all_words(
        head(steps[failure].action)
    )
    speaking = [number for number in acts if keywords & all_words(steps[number].action)]
    if not speaking and len(acts) != 1:
        return (), "which of the steps in between mended it cannot be told" if acts else ""
    has_edits = any(edits_in(steps[number]) for number in successes)
    return ((), "") if has_edits and not speaking else (tuple((speaking or acts)[-MOST_BETWEEN:]), "")


def _adds_to_manifest(action: str) -> bool:
    """True if a line writes down in the project what it installs: nobody will miss it again."""
    return any(
        _ADDS.fullmatch(command_name(command.words)) and any(not word.startswith("-") for word in command.words[2:])
        for command in commands_in(action)
    )


def lesson_of(remedy: Remedy, steps: Sequence[EpisodeStep], task: str = "") -> Lesson:
    wrong = steps[remedy.failure]
    report = quote_output(message(wrong.result), wrong.action)
    actions = [describe_action(steps[number].action, _LONGEST_ACTION_CHARS) for number in remedy.between]
    action = describe_action(wrong.action, _LONGEST_ACTION_CHARS)
    return Lesson(
        title=in_room(f"First {actions[0]}", LONGEST_LESSON_TITLE_CHARS),
        description=_when(action, report),
        content=f"`{action}` failed with {report}\nIt worked after: {'; '.join(f'`{deed}`' for deed in actions)}",
        outcome=Outcome.SUCCESS,
        tags=(FIX,),
        evidence=f"{clip_line(wrong.action, 80)} → {report}",
        kind=FIX,
        key=f"remedy {digest(head(wrong.action), remedy.kind, actions[0])}",
        metadata={
            "trouble": trouble_of(
                wrong.action,
                message(wrong.result),
                change=f"first {'; '.join(actions)}",
                goal=goal_of(wrong, task),
                first=actions[0],
            )
        },
    )


def _when(action: str, report: str) -> str:
    """The action gives way to the program's words, whose closing mark must stand."""
    room = LONGEST_LESSON_DESCRIPTION_CHARS - len(f" fails with {report}")
    return in_room(f"{clip_line(action, max(20, room))} fails with {report}", LONGEST_LESSON_DESCRIPTION_CHARS)
