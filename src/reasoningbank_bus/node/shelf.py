"""The sets of places that a node holds, by scope and namespace, and which authors are left out of each for now."""

from __future__ import annotations

from collections.abc import Iterable

from reasoningbank_bus.sync.place_set import AUTHOR_PREFIX_BYTES, PlaceSet
from reasoningbank_bus.wire.entry import Entry

OF_AUTHORITY = ":"
"""The set of grants and revocations, which everybody may read who is known."""
MOST_LEFT_OUT = 256


def set_name(scope: str, namespace: str) -> str:
    return f"{scope}:{namespace}"


def set_of(entry: Entry) -> str:
    return f"{entry.scope}:{entry.namespace}"


def parts_of(name: str) -> tuple[str, str]:
    """Scope and namespace of a set."""
    scope, _, namespace = name.partition(":")
    return scope, namespace


class Shelf:
    def __init__(self, standing: Iterable[tuple[str, bytes, bytes]]) -> None:
        """`standing`: set, place and id of each entry."""
        groups: dict[str, list[tuple[bytes, bytes]]] = {}
        for name, place, id_ in standing:
            groups.setdefault(name, []).append((place, id_))
        self.sets = {name: PlaceSet(items) for name, items in groups.items()}
        self._left_out: dict[str, dict[bytes, float]] = {}

    def get(self, name: str) -> PlaceSet:
        """An empty one, not kept, when there is none."""
        return self.sets.get(name) or PlaceSet()

    def has(self, name: str, place: bytes) -> bool:
        place_set = self.sets.get(name)
        return place_set is not None and place in place_set

    def add(self, name: str, items: Iterable[tuple[bytes, bytes]]) -> None:
        place_set = self.sets.get(name)
        if place_set is None:
            place_set = self.sets[name] = PlaceSet()
        place_set.update(items)

    def discard(self, name: str, place: bytes) -> None:
        place_set = self.sets.get(name)
        if place_set is not None:
            place_set.discard(place)

    def leave_out(self, name: str, author: bytes, until: float) -> None:
        """Reconcile a set without an author, of whom nothing more is taken for now."""
        left_out = self._left_out.setdefault(name, {})
        if author in left_out or len(left_out) < MOST_LEFT_OUT:
            left_out[author] = until

    def left_out(self, name: str, now: float) -> tuple[bytes, ...]:
        left_out = self._left_out.get(name)
        if not left_out:
            return ()
        for author in [author for author, until in left_out.items() if until <= now]:
            del left_out[author]
        return tuple(sorted(left_out))

    def take_all_again(self) -> None:
        """Rights have changed: whoever was left out may be taken now."""
        self._left_out.clear()


def prefixes(authors: Iterable[bytes]) -> frozenset[bytes]:
    return frozenset(author[:AUTHOR_PREFIX_BYTES] for author in authors)
