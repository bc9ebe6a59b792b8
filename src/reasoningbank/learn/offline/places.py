"""Facts about a place, as the text of one memory that grows: a line for each thing, with its parts.

    people: People_ID, Nationality, Name
    poker_player: Poker_Player_ID, People_ID, Final_Table_Made
    also here: stadium, concert

The text is the record: it is read back from what the memory says, so that what a person edits there stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reasoningbank.core.frozen import dataclass

LISTED_ONLY = "also here"
LONGEST_PLACE_CHARS = 1_900
"""Some 480 tokens: what a prompt of the usual budget can hold."""
SAME_SHARE = 0.5
"""Of the parts of a thing, that two accounts must share to be accounts of the same thing."""
FEWEST_SHARED_NAMES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPlace:
    things: Mapping[str, tuple[str, ...]]
    """By name; one that was only listed has no parts."""
    notes: tuple[str, ...] = ()
    """Lines that are no such thing: somebody wrote them in."""


def read(text: str) -> ListedPlace:
    things: dict[str, tuple[str, ...]] = {}
    listed: list[str] = []
    notes: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, rest = line.partition(": ")
        parts = tuple(filter(None, (part.strip() for part in rest.split(","))))
        if not colon or not parts:
            notes.append(line)
        elif name == LISTED_ONLY:
            listed.extend(parts)
        else:
            things[name] = parts
    return ListedPlace(things={**things, **{name: () for name in listed if name not in things}}, notes=tuple(notes))


def describe(place: ListedPlace) -> str:
    lines = [*place.notes, *(f"{name}: {', '.join(parts)}" for name, parts in place.things.items() if parts)]
    listed = [name for name, parts in place.things.items() if not parts]
    if listed:
        lines.append(f"{LISTED_ONLY}: {', '.join(listed)}")
    return "\n".join(lines)


def kinship(known: ListedPlace, seen: ListedPlace) -> float:
    """How surely both are of one place: 0 when they are not, or when nothing tells."""
    names = {name.casefold(): name for name in known.things}
    shared = [(names[name.casefold()], name) for name in seen.things if name.casefold() in names]
    sure = 0.0
    for known_name, name in shared:
        ours, theirs = _fold(known.things[known_name]), _fold(seen.things[name])
        if not ours or not theirs:
            continue
        share = len(ours & theirs) / min(len(ours), len(theirs))
        if share < SAME_SHARE:
            # A thing of the same name that is made otherwise: another place.
            return 0.0
        sure += share
    least = min(len(known.things), len(seen.things))
    alike = len(shared) / least if least else 0.0
    if alike < SAME_SHARE or (not sure and len(shared) < FEWEST_SHARED_NAMES):
        return 0.0
    return sure + alike + len(shared) / max(len(known.things), len(seen.things))


def join(known: ListedPlace, seen: ListedPlace) -> ListedPlace:
    """What both say; of a thing that both describe, the later account."""
    things = dict(known.things)
    names = {name.casefold(): name for name in things}
    for name, parts in seen.things.items():
        there = names.get(name.casefold(), name)
        if parts and _fold(parts) != _fold(things.get(there, ())):
            things[there] = parts
        else:
            things.setdefault(there, parts)
    return ListedPlace(things=things, notes=known.notes)


def adds_nothing(known: ListedPlace, seen: ListedPlace) -> bool:
    ours = {name.casefold(): _fold(parts) for name, parts in known.things.items()}
    return all(
        name.casefold() in ours and (not parts or ours[name.casefold()] == _fold(parts))
        for name, parts in seen.things.items()
    )


def _fold(parts: Iterable[str]) -> frozenset[str]:
    return frozenset(part.casefold() for part in parts)
