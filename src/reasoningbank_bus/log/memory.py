"""The log of entries in memory, for simulations: everything but durable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Unpack

from reasoningbank_bus.authority.metering import Spend, sums_of
from reasoningbank_bus.ports import AddedWith, LogChanged, RecordIn, Standing, unwanted_state
from reasoningbank_bus.wire.entry import Entry, RecordName, encode_entry, id_of_encoded, place_of, reaches_everywhere
from reasoningbank_bus.wire.refusals import BusRefusal


class MemoryLog:
    """An `EntryLog` that is gone with its process."""

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[int, Entry, bytes, bytes]] = {}
        """Number, entry, place and encoded bytes, by id."""
        self._of_place: dict[tuple[str, bytes], bytes] = {}
        self._of_record: dict[RecordName, set[bytes]] = {}
        self._state: dict[str, bytes] = {}
        self._spent: dict[tuple[bytes, int], dict[str, int]] = {}
        self._numbers = 0

    def add(self, entries: Sequence[Entry], **also: Unpack[AddedWith]) -> list[Entry]:
        if also.get("if_still") not in (None, self.change_number()):
            raise LogChanged
        fresh: dict[bytes, tuple[Entry, bytes]] = {}
        coming = [entry for entry in entries if entry.kind == "erased"]
        for entry, raw in zip(entries, also.get("encoded") or map(encode_entry, entries), strict=True):
            id_ = id_of_encoded(raw)
            if id_ not in self._entries and (entry.kind == "erased" or not self._is_erased(entry, coming)):
                fresh[id_] = (entry, raw)
        self.spend([spend for spend in also.get("spent", ()) if not spend.entry or spend.entry in fresh])
        self.erase([entry for entry, _ in fresh.values() if entry.kind == "erased"])
        for id_, (entry, raw) in fresh.items():
            self._numbers += 1
            place = place_of(entry, id_)
            self._entries[id_] = (self._numbers, entry, place, raw)
            self._of_place[entry.namespace, place] = id_
            self._of_record.setdefault(entry.record, set()).add(id_)
        self.keep_state(also.get("state", {}))
        return [entry for entry, _ in fresh.values()]

    def _is_erased(self, entry: Entry, coming: Sequence[Entry]) -> bool:
        return bool(self.erased([(entry.record, entry.namespace)])) or any(
            _reaches(erasure, entry.record, entry.namespace) for erasure in coming
        )

    def erase(self, erasures: Sequence[Entry], local_records: Sequence[RecordName] = ()) -> list[Standing]:
        standings: list[Standing] = []
        self.keep_state({unwanted_state(name): b"" for name in local_records})
        for name in dict.fromkeys([*(erasure.record for erasure in erasures), *local_records]):
            for id_ in sorted(self._of_record.get(name, ())):
                _, entry, place, _ = self._entries[id_]
                is_reached = name in local_records or any(
                    _reaches(erasure, name, entry.namespace) for erasure in erasures
                )
                if entry.kind != "erased" and is_reached:
                    standings.append((entry.scope, entry.namespace, place, id_))
                    self._of_record[name].discard(id_)
                    del self._entries[id_], self._of_place[entry.namespace, place]
        return standings

    def reached(self, erasures: Sequence[Entry]) -> list[Standing]:
        standings: list[Standing] = []
        for name in dict.fromkeys(erasure.record for erasure in erasures):
            for id_ in sorted(self._of_record.get(name, ())):
                _, entry, place, _ = self._entries[id_]
                if entry.kind != "erased" and any(_reaches(erasure, name, entry.namespace) for erasure in erasures):
                    standings.append((entry.scope, entry.namespace, place, id_))
        return standings

    def after(self, number: int, limit: int) -> list[tuple[int, Entry]]:
        later = sorted((at, entry) for at, entry, _, _ in self._entries.values() if at > number)
        return later[:limit]

    def encoded(self, namespace: str, places: Sequence[bytes]) -> list[bytes]:
        ids = (self._of_place.get((namespace, place)) for place in places)
        return [self._entries[id_][3] for id_ in ids if id_ is not None]

    def places(self) -> Iterator[Standing]:
        for id_, (_, entry, place, _) in self._entries.items():
            yield entry.scope, entry.namespace, place, id_

    def namespaces_of(self, name: RecordName) -> set[str]:
        return {entry.namespace for entry in self._entries_of(name) if entry.kind != "erased"}

    def erased(self, records: Iterable[RecordIn]) -> set[RecordIn]:
        return {
            (name, namespace)
            for name, namespace in records
            if unwanted_state(name) in self._state
            or any(entry.kind == "erased" and _reaches(entry, name, namespace) for entry in self._entries_of(name))
        }

    def _entries_of(self, name: RecordName) -> list[Entry]:
        return [self._entries[id_][1] for id_ in self._of_record.get(name, ())]

    def state(self, name: str) -> bytes | None:
        return self._state.get(name)

    def states(self, names: Iterable[str]) -> dict[str, bytes]:
        return {name: self._state[name] for name in names if name in self._state}

    def keep_state(self, values: Mapping[str, bytes | None]) -> None:
        for name, value in values.items():
            if value is None:
                self._state.pop(name, None)
            else:
                self._state[name] = value

    def spent(self, intent: bytes, period: int) -> Mapping[str, int]:
        return dict(self._spent.get((intent, period), {}))

    def spend(self, spends: Sequence[Spend]) -> None:
        sums = sums_of(spends)
        for (intent, what, period), (amount, cap) in sums.items():
            if cap is not None and self.spent(intent, period).get(what, 0) + amount > cap:
                raise BusRefusal("cap_spent", about=intent)
        for (intent, what, period), (amount, _) in sums.items():
            counts = self._spent.setdefault((intent, period), {})
            counts[what] = counts.get(what, 0) + amount

    def change_number(self) -> int:
        return 0


def _reaches(erasure: Entry, name: RecordName, namespace: str) -> bool:
    return erasure.record == name and (reaches_everywhere(erasure) or erasure.namespace == namespace)
