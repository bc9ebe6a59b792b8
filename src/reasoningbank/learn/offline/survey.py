"""What a session found out about the place it worked in: which things there are, and which names they have.

An inspection is an action that names a thing (or nothing) and gets names back; a question names what it wants and gets
values back. Knows that difference and nothing about any query language, shell or service.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from reasoningbank.core.learning import EpisodeStep
from reasoningbank.core.values import dataclass
from reasoningbank.learn.offline.listing import Listing, listings_of
from reasoningbank.learn.offline.trouble import failed
from reasoningbank.learn.offline.words import all_words, bare_words, called, clipped, told

MOST_WORDS = 4
"""Bare words of an inspection: two to say what, one for the thing, one to join them."""
DESCRIBED_WIDTH = 3
MOST_STEPS = 400
MOST_WAYS = 3
LONGEST_WAY_CHARS = 60
_CONDITION = re.compile(r"[=<>?]|(?<!\S)\*(?!\S)|(?<![\w-])\d+(?![\w.-])|\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Things and their parts. A thing that was only listed has no parts yet."""

    things: dict[str, tuple[str, ...]]
    ways: tuple[str, ...]
    """The actions that told."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    number: int
    action: str
    listing: Listing


def survey(steps: Sequence[EpisodeStep]) -> Survey | None:
    later = _words_after(steps)
    spoken = _spoken(steps)
    things: dict[str, tuple[str, ...]] = {}
    wholes: dict[str, tuple[str, ...]] = {}
    parts: set[str] = set()
    ways: list[_Look] = []
    for look in _looks(steps):
        if not _is_inspection(look, later[look.number], parts):
            continue
        subject = look.listing.of or _subject(look, spoken)
        if subject is None:
            wholes[clipped(look.action, LONGEST_WAY_CHARS)] = look.listing.names
        else:
            things[subject] = look.listing.names
            parts.update(name.casefold() for name in look.listing.names)
        ways.append(look)
    if not ways:
        return None
    first = ways[0]
    return Survey(
        things=_with_the_rest(things, wholes, later[first.number]),
        ways=tuple(dict.fromkeys(told(look.action, LONGEST_WAY_CHARS) for look in ways))[:MOST_WAYS],
        evidence=f"{clipped(first.action, 80)} → {clipped(steps[first.number].result, 160)}",
    )


def _with_the_rest(
    things: dict[str, tuple[str, ...]], wholes: dict[str, tuple[str, ...]], later: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    """What a look at the whole place listed, beside what was looked at one by one. Of several such looks, the one whose
    names were taken up is the place; the others are things in it, under the action that listed them.
    """
    if not wholes:
        return things
    inspected = {name.casefold() for name in things}

    def taken_up(way: str) -> tuple[int, int]:
        names = {name.casefold() for name in wholes[way]}
        return len(names & inspected), len(names & later)

    place = max(wholes, key=taken_up)
    others = {way: names for way, names in wholes.items() if not set(names) & set(wholes[place])}
    return {**things, **{name: () for name in wholes[place] if name.casefold() not in inspected}, **others}


def _looks(steps: Sequence[EpisodeStep]) -> list[_Look]:
    return [
        _Look(number=number, action=step.action, listing=listing)
        for number, step in enumerate(islice(steps, MOST_STEPS))
        if _is_brief(step.action) and not failed(step)
        for listing in listings_of(step.result)
    ]


def _is_brief(action: str) -> bool:
    if called(action):
        return True
    return len(bare_words(action)) <= MOST_WORDS and not _CONDITION.search(action) and "\n" not in action.strip()


def _is_inspection(look: _Look, later: frozenset[str], parts: set[str]) -> bool:
    if called(look.action):
        return look.listing.fields
    words = {word.casefold() for word in bare_words(look.action)[:-1]}
    names = {name.casefold() for name in look.listing.names}
    if words & names or words & parts:
        # It names what it gets: a question for values.
        return False
    return look.listing.of is not None or look.listing.width >= DESCRIBED_WIDTH or bool(names & later)


def _subject(look: _Look, spoken: Sequence[tuple[str, frozenset[str]]]) -> str | None:
    """The thing that was inspected: the last word of the action, if it is spoken of elsewhere or what came back
    describes it; None when the whole place was.
    """
    tool = called(look.action)
    if tool:
        return tool
    words = bare_words(look.action)
    if len(words) < 2:
        return None
    last = words[-1]
    if any(last.casefold() in said for action, said in spoken if action != look.action) or "/" in last:
        return last
    return last.rsplit(".", maxsplit=1)[-1] if look.listing.width >= DESCRIBED_WIDTH else None


def _words_after(steps: Sequence[EpisodeStep]) -> list[frozenset[str]]:
    """For each step, the bare words of the actions that follow it."""
    after: list[frozenset[str]] = [frozenset()] * len(steps)
    seen: frozenset[str] = frozenset()
    for number in range(len(steps) - 1, -1, -1):
        after[number] = seen
        words = bare_words(steps[number].action)
        seen |= {w.casefold() for w in words} | {p for w in words for p in all_words(w)}
    return after


def _spoken(steps: Sequence[EpisodeStep]) -> list[tuple[str, frozenset[str]]]:
    """Each action with its words and those of what came back."""
    return [
        (step.action, frozenset(word.casefold() for word in bare_words(step.action)) | all_words(step.result[:4000]))
        for step in islice(steps, MOST_STEPS)
    ]
