"""Facts about a place, as the text of one memory that grows: a line for each thing, with its parts.

    In poker:
    people: People_ID, Nationality, Name
    poker_player: Poker_Player_ID, People_ID, Final_Table_Made
    concert: Year, …
    also here: stadium

A thing with `…` behind its parts has others that nobody has seen yet. The text is the record: it is read back from
what the memory says, so that what a person edits there stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from reasoningbank.core.frozen import dataclass

LISTED_ONLY = "also here"
MORE = "…"
"""Stands last among parts that may not be all."""
LONGEST_PLACE_CHARS = 1_900
"""Some 480 tokens: what a prompt of the usual budget can hold."""
_HEADING = re.compile(r"In (\S+):")
SAME_SHARE = 0.5
"""Of the parts of a thing, that two accounts must share to be accounts of the same thing."""
FEWEST_SHARED_NAMES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPlace:
    things: Mapping[str, tuple[str, ...]]
    """By name; one that was only listed has no parts."""
    notes: tuple[str, ...] = ()
    """Lines that are no such thing: somebody wrote them in."""
    called: str = ""
    """What a program calls the place, if one has said so."""


def read(text: str) -> ListedPlace:
    things: dict[str, tuple[str, ...]] = {}
    listed: list[str] = []
    notes: list[str] = []
    called = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        heading = _HEADING.fullmatch(line)
        if heading and not called:
            called = heading.group(1)
            continue
        name, colon, rest = line.partition(": ")
        parts = tuple(filter(None, (part.strip() for part in rest.split(","))))
        if not colon or not parts:
            notes.append(line)
        elif name == LISTED_ONLY:
            listed.extend(parts)
        else:
            things[name] = parts
    rest_of_it = {name: () for name in listed if name not in things}
    return ListedPlace(things={**things, **rest_of_it}, notes=tuple(notes), called=called)


def describe(place: ListedPlace) -> str:
    heading = [f"In {place.called}:"] if place.called else []
    lines = [*heading, *place.notes, *(f"{name}: {', '.join(parts)}" for name, parts in place.things.items() if parts)]
    listed = [name for name, parts in place.things.items() if not parts]
    if listed:
        lines.append(f"{LISTED_ONLY}: {', '.join(listed)}")
    return "\n".join(lines)


def kinship(known: ListedPlace, seen: ListedPlace) -> float:
    """How surely both are of one place: 0 when they are not, or when nothing tells. Where both have a name, it does."""
    if known.called and seen.called:
        return 1.0 + len(known.things) if known.called.casefold() == seen.called.casefold() else 0.0
    names = {name.casefold(): name for name in known.things}
    shared = [(names[name.casefold()], name) for name in seen.things if name.casefold() in names]
    sure = 0.0
    for known_name, name in shared:
        share = _share(known.things[known_name], seen.things[name])
        if share is None:
            # A thing of the same name that is made otherwise: another place.
            return 0.0
        sure += share
    least = min(len(known.things), len(seen.things))
    alike = len(shared) / least if least else 0.0
    if alike < SAME_SHARE or (not sure and len(shared) < FEWEST_SHARED_NAMES):
        return 0.0
    return sure + alike + len(shared) / max(len(known.things), len(seen.things))


def contradicts(known: ListedPlace, seen: ListedPlace) -> bool:
    """Whether a thing of the same name is made otherwise in both."""
    parts = {name.casefold(): its for name, its in known.things.items()}
    return any(_share(parts.get(name.casefold(), ()), its) is None for name, its in seen.things.items())


def _share(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float | None:
    """How much of one account of a thing is in the other: 0 when nothing tells, None when they contradict."""
    one, other = _fold(ours), _fold(theirs)
    if not one or not other:
        return 0.0
    both = len(one & other)
    if is_whole(ours) and is_whole(theirs):
        share = both / min(len(one), len(other))
        return share if share >= SAME_SHARE else None
    if is_whole(ours) != is_whole(theirs):
        return 1.0 if (other <= one if is_whole(ours) else one <= other) else None
    return both / min(len(one), len(other)) / 2


def is_whole(parts: Sequence[str]) -> bool:
    """Whether an account of a thing tells all its parts."""
    return MORE not in parts


def join(known: ListedPlace, seen: ListedPlace) -> ListedPlace:
    """What both say; of a thing that both describe, the later account."""
    things = dict(known.things)
    names = {name.casefold(): name for name in things}
    for name, parts in seen.things.items():
        there = names.get(name.casefold(), name)
        ours = things.get(there, ())
        if parts and not is_whole(parts):
            things[there] = ours if ours and is_whole(ours) else _with_more(ours, parts)
        elif parts and (_fold(parts) != _fold(ours) or not is_whole(ours)):
            things[there] = parts
        else:
            things.setdefault(there, parts)
    return ListedPlace(things=things, notes=known.notes, called=known.called or seen.called)


def _with_more(ours: Sequence[str], parts: Sequence[str]) -> tuple[str, ...]:
    known = _fold(ours)
    return (
        *(part for part in ours if part != MORE),
        *(p for p in parts if p != MORE and p.casefold() not in known),
        MORE,
    )


def adds_nothing(known: ListedPlace, seen: ListedPlace) -> bool:
    if seen.called and not known.called:
        return False
    ours = {name.casefold(): parts for name, parts in known.things.items()}
    return all(
        name.casefold() in ours and (not parts or _is_told(ours[name.casefold()], parts))
        for name, parts in seen.things.items()
    )


def _is_told(ours: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if is_whole(parts):
        return is_whole(ours) and _fold(ours) == _fold(parts)
    return _fold(parts) <= _fold(ours)


def _fold(parts: Iterable[str]) -> frozenset[str]:
    return frozenset(part.casefold() for part in parts if part != MORE)
