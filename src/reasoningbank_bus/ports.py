"""Ports of the bus: the log of entries, as the node and the bank's side see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypedDict, Unpack

from reasoningbank_bus.authority.metering import Spend
from reasoningbank_bus.wire.entry import Entry, RecordName

Standing = tuple[str, str, bytes, bytes]
"""Where an entry stands: its scope and its namespace (a set is reconciled for each pair), its place there, its id."""

RecordIn = tuple[RecordName, str]
"""A record in a namespace."""


def unwanted_state(name: RecordName) -> str:
    """Name in the state of a log for a record that was erased in it alone."""
    return f"unwanted {name.author.hex()} {name.id}"


class AddedWith(TypedDict, total=False):
    """Options of `add`: what goes into the log with entries, or is known of them."""

    encoded: Sequence[bytes]
    """Their bytes, where they are at hand."""
    spent: Sequence[Spend]
    state: Mapping[str, bytes | None]
    if_still: int | None
    """The `change_number` by which they were judged."""


class LogChanged(Exception):
    """Somebody else wrote to the log: what was judged by what stood there must be judged anew."""


class EntryLog(Protocol):
    """Every entry that this node has, what was spent, and what is remembered from one start to the next; durable."""

    def add(self, entries: Sequence[Entry], **also: Unpack[AddedWith]) -> list[Entry]:
        """Keep entries, with what they spend and any state, in one transaction; durable on return. Gives the new ones.

        Those that are known, or that an erasure reaches, are left out with what they would spend. An erasure takes the
        entries of its record that it reaches away with it. Raises with nothing written: `BusRefusal("cap_spent")`, and
        `LogChanged` if somebody else wrote since.
        """
        ...

    def reached(self, erasures: Sequence[Entry]) -> list[Standing]:
        """Where the entries stand that these erasures reach."""
        ...

    def erase(self, erasures: Sequence[Entry], local_records: Sequence[RecordName] = ()) -> list[Standing]:
        """Forget the entries that these erasures reach, for good; returns where those stood that went.
        `local_records` are erased in this log alone, and count as erased from then on.
        """
        ...

    def after(self, number: int, limit: int) -> list[tuple[int, Entry]]:
        """Entries in the order in which they came here, each with its number, from the one behind `number` on."""
        ...

    def encoded(self, namespace: str, places: Sequence[bytes]) -> list[bytes]:
        """The bytes of those entries that are still here, in the order asked for."""
        ...

    def places(self) -> Iterable[Standing]:
        """Where every entry stands, for whoever begins."""
        ...

    def namespaces_of(self, name: RecordName) -> set[str]:
        """Where the entries of a record stand that are here, its erasures aside."""
        ...

    def erased(self, records: Iterable[RecordIn]) -> set[RecordIn]:
        """The records that an erasure which is here reaches, or that were erased in this log alone."""
        ...

    def state(self, name: str) -> bytes | None: ...

    def states(self, names: Iterable[str]) -> dict[str, bytes]:
        """The values that are remembered, by their names: many at once."""
        ...

    def keep_state(self, values: Mapping[str, bytes | None]) -> None:
        """Remember values under their names, durably; None forgets one."""
        ...

    def spent(self, intent: bytes, period: int) -> Mapping[str, int]:
        """Amounts that were spent of a grant in one of its periods, by what they were spent on."""
        ...

    def spend(self, spends: Sequence[Spend]) -> None:
        """Count what is not for an entry, durably; raises `BusRefusal("cap_spent")` with nothing counted."""
        ...

    def change_number(self) -> int:
        """A number that is another one after anybody else wrote to the log."""
        ...
