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
"""Share of the parts of a thing that two accounts must have in common to be accounts of the same thing."""
FEWEST_SHARED_NAMES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPlace:
    things: Mapping[str, tuple[str, ...]]
    """Parts of each thing by its name; one that was only listed has none."""
    notes: tuple[str, ...] = ()
    """Lines that are no such thing: somebody wrote them in."""
    called: str = ""
    """Name that a program gives the place, if one has said so."""


def read(text: str) -> ListedPlace:
    things: dict[str, tuple[str, ...]] = {}
    bare_names: list[str] = []
    notes: list[str] = []
    place_name = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        heading = _HEADING.fullmatch(line)
        if heading and not place_name:
            place_name = heading.group(1)
            continue
        name, colon, rest = line.partition(": ")
        parts = tuple(filter(None, (part.strip() for part in rest.split(","))))
        if not colon or not parts:
            notes.append(line)
        elif name == LISTED_ONLY:
            bare_names.extend(parts)
        else:
            things[name] = parts
    rest_of_it = {name: () for name in bare_names if name not in things}
    return ListedPlace(things={**things, **rest_of_it}, notes=tuple(notes), called=place_name)


def describe(place: ListedPlace) -> str:
    heading = [f"In {place.called}:"] if place.called else []
    lines = [*heading, *place.notes, *(f"{name}: {', '.join(parts)}" for name, parts in place.things.items() if parts)]
    bare_names = [name for name, parts in place.things.items() if not parts]
    if bare_names:
        lines.append(f"{LISTED_ONLY}: {', '.join(bare_names)}")
    return "\n".join(lines)


def kinship(place: ListedPlace, account: ListedPlace) -> float:
    """How surely both are of one place: 0 when they are not, or when nothing tells. Where both have a name, it
    decides.
    """
    if place.called and account.called:
        return 1.0 + len(place.things) if place.called.casefold() == account.called.casefold() else 0.0
    names = {name.casefold(): name for name in place.things}
    pairs = [(names[name.casefold()], name) for name in account.things if name.casefold() in names]
    sure = 0.0
    for known_name, name in pairs:
        share = _share(place.things[known_name], account.things[name])
        if share is None:
            # A thing of the same name that is made otherwise: another place.
            return 0.0
        sure += share
    least = min(len(place.things), len(account.things))
    alike = len(pairs) / least if least else 0.0
    if alike < SAME_SHARE or (not sure and len(pairs) < FEWEST_SHARED_NAMES):
        return 0.0
    return sure + alike + len(pairs) / max(len(place.things), len(account.things))


def contradicts(place: ListedPlace, account: ListedPlace) -> bool:
    """True if a thing of the same name is made otherwise in both."""
    parts = {name.casefold(): its for name, its in place.things.items()}
    return any(_share(parts.get(name.casefold(), ()), its) is None for name, its in account.things.items())


def _share(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float | None:
    """How much of one account of a thing is in the other: 0 when nothing tells, None when they contradict."""
    first, second = _fold(ours), _fold(theirs)
    if not first or not second:
        return 0.0
    both = len(first & second)
    if is_whole(ours) and is_whole(theirs):
        share = both / min(len(first), len(second))
        return share if share >= SAME_SHARE else None
    if is_whole(ours) != is_whole(theirs):
        return 1.0 if (second <= first if is_whole(ours) else first <= second) else None
    return both / min(len(first), len(second)) / 2


def is_whole(parts: Sequence[str]) -> bool:
    """True if an account of a thing tells all its parts."""
    return MORE not in parts


def join(place: ListedPlace, account: ListedPlace) -> ListedPlace:
    """Union of both accounts; of a thing that both describe, the later account."""
    things = dict(place.things)
    names = {name.casefold(): name for name in things}
    for name, parts in account.things.items():
        there = names.get(name.casefold(), name)
        ours = things.get(there, ())
        if parts and not is_whole(parts):
            things[there] = ours if ours and is_whole(ours) else _with_more(ours, parts)
        elif parts and (_fold(parts) != _fold(ours) or not is_whole(ours)):
            things[there] = parts
        else:
            things.setdefault(there, parts)
    return ListedPlace(things=things, notes=place.notes, called=place.called or account.called)


def _with_more(ours: Sequence[str], parts: Sequence[str]) -> tuple[str, ...]:
    our_parts = _fold(ours)
    return (
        *(part for part in ours if part != MORE),
        *(p for p in parts if p != MORE and p.casefold() not in our_parts),
        MORE,
    )


def adds_nothing(place: ListedPlace, account: ListedPlace) -> bool:
    if account.called and not place.called:
        return False
    ours = {name.casefold(): parts for name, parts in place.things.items()}
    return all(
        name.casefold() in ours and (not parts or _is_told(ours[name.casefold()], parts))
        for name, parts in account.things.items()
    )


def _is_told(ours: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if is_whole(parts):
        return is_whole(ours) and _fold(ours) == _fold(parts)
    return _fold(parts) <= _fold(ours)


def _fold(parts: Iterable[str]) -> frozenset[str]:
    return frozenset(part.casefold() for part in parts if part != MORE)
