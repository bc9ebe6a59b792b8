"""Ordered set of places with the fingerprint of any range in O(log n).

Places lie in sorted buckets of bounded size; Fenwick trees over the buckets hold their counts and the sums of their
ids, so a range costs two partial buckets and O(log n) additions. A bound is a byte string of any length up to that of a
place, compared as bytes; as an upper bound b"" means the end.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice

PLACE_BYTES = 32
FINGERPRINT_BYTES = 16
END = b""
AUTHOR_PREFIX_BYTES = 8
"""A place begins with so many bytes of its author's key."""
_BUCKET = 256
_MODULUS = 1 << 256


def fingerprint_of(total: int, count: int) -> bytes:
    """Hash of a sum of ids and of how many they are."""
    return blake2b(total.to_bytes(32, "big") + count.to_bytes(8, "big"), digest_size=FINGERPRINT_BYTES).digest()


class PlaceSet:
    """Places in order, each with the id of its entry."""

    def __init__(self, items: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self._ids: dict[bytes, int] = {}
        self._buckets: list[list[bytes]] = []
        self._firsts: list[bytes] = []
        self._counts = _Sums(())
        self._sums = _Sums(())
        self.update(items)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, place: bytes) -> bool:
        return place in self._ids

    def update(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Add many at once: cheaper than one by one when they are a good part of the set."""
        fresh = {place: int.from_bytes(id_, "big") for place, id_ in items if place not in self._ids}
        if len(fresh) * 16 < len(self._ids):
            for place, value in fresh.items():
                self._add(place, value)
            return
        if not fresh:
            return
        self._ids.update(fresh)
        places = sorted(self._ids)
        half = _BUCKET // 2
        self._buckets = [places[start : start + half] for start in range(0, len(places), half)]
        self._rebuild()

    def add(self, place: bytes, id_: bytes) -> bool:
        """True when it is new."""
        if place in self._ids:
            return False
        self._add(place, int.from_bytes(id_, "big"))
        return True

    def discard(self, place: bytes) -> bool:
        """True when it was there."""
        value = self._ids.pop(place, None)
        if value is None:
            return False
        index = self._bucket_of(place)
        bucket = self._buckets[index]
        del bucket[bisect_left(bucket, place)]
        if bucket:
            self._firsts[index] = bucket[0]
            self._counts.add(index, -1)
            self._sums.add(index, -value)
        else:
            del self._buckets[index]
            self._rebuild()
        return True

    def summary(
        self, low: bytes = b"", high: bytes = END, without: frozenset[bytes] = frozenset()
    ) -> tuple[int, bytes]:
        """Count and fingerprint of the places in [low, high), leaving out authors by the first bytes of their keys."""
        count, total = self._part(low, high)
        for prefix in without:
            start, end = max(low, prefix), prefix_end(prefix)
            end = end if high == END else high if end == END else min(high, end)
            if end == END or start < end:
                less, value = self._part(start, end)
                count, total = count - less, total - value
        return count, fingerprint_of(total % _MODULUS, count)

    def places(
        self, low: bytes = b"", high: bytes = END, without: frozenset[bytes] = frozenset(), limit: int | None = None
    ) -> list[bytes]:
        """The places in [low, high) in order, at most `limit` of them."""
        walk = self._walk(low, high)
        return list(islice((place for place in walk if place[:AUTHOR_PREFIX_BYTES] not in without), limit))

    def cuts(self, low: bytes, high: bytes, parts: int) -> list[bytes]:
        """Bounds that cut [low, high) into ranges of about equal count: low, inner bounds, high."""
        start, end = self._rank(low), len(self._ids) if high == END else self._rank(high)
        inner = sorted({start + (end - start) * part // parts for part in range(1, parts)} - {start, end})
        return [low, *(_shortest_between(self._at(rank - 1), self._at(rank)) for rank in inner), high]

    def _add(self, place: bytes, value: int) -> None:
        self._ids[place] = value
        if not self._buckets:
            self._buckets = [[place]]
            self._rebuild()
            return
        index = self._bucket_of(place)
        bucket = self._buckets[index]
        insort(bucket, place)
        if len(bucket) > _BUCKET:
            half = len(bucket) // 2
            self._buckets[index : index + 1] = [bucket[:half], bucket[half:]]
            self._rebuild()
        else:
            self._firsts[index] = bucket[0]
            self._counts.add(index, 1)
            self._sums.add(index, value)

    def _rebuild(self) -> None:
        self._firsts = [bucket[0] for bucket in self._buckets]
        self._counts = _Sums(len(bucket) for bucket in self._buckets)
        self._sums = _Sums(sum(map(self._ids.__getitem__, bucket)) for bucket in self._buckets)

    def _bucket_of(self, boundary: bytes) -> int:
        """The last bucket that begins at or before a boundary; the first when none does."""
        index = bisect_left(self._firsts, boundary)
        if index < len(self._firsts) and self._firsts[index] == boundary:
            return index
        return max(0, index - 1)

    def _before(self, boundary: bytes) -> tuple[int, int]:
        """Count and sum of everything before a boundary."""
        if not self._buckets:
            return 0, 0
        index = self._bucket_of(boundary)
        bucket = self._buckets[index]
        inside = bisect_left(bucket, boundary)
        return (
            self._counts.before(index) + inside,
            self._sums.before(index) + sum(map(self._ids.__getitem__, bucket[:inside])),
        )

    def _part(self, low: bytes, high: bytes) -> tuple[int, int]:
        count, total = (self._counts.whole, self._sums.whole) if high == END else self._before(high)
        less, value = self._before(low) if low else (0, 0)
        return count - less, total - value

    def _rank(self, boundary: bytes) -> int:
        if not self._buckets:
            return 0
        index = self._bucket_of(boundary)
        return self._counts.before(index) + bisect_left(self._buckets[index], boundary)

    def _at(self, rank: int) -> bytes:
        index, before = self._counts.find(rank)
        return self._buckets[index][rank - before]

    def _walk(self, low: bytes, high: bytes) -> Iterator[bytes]:
        if not self._buckets:
            return
        index = self._bucket_of(low)
        start = bisect_left(self._buckets[index], low)
        for bucket in self._buckets[index:]:
            for place in bucket[start:] if start else bucket:
                if high != END and place >= high:
                    return
                yield place
            start = 0


def prefix_end(prefix: bytes) -> bytes:
    """The boundary after all places that begin with a prefix."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else END


def _shortest_between(before: bytes, after: bytes) -> bytes:
    """The shortest bound that is after one place and not after the next one."""
    for length in range(1, len(after) + 1):
        if before[:length] != after[:length]:
            return after[:length]
    return after


class _Sums:
    """Fenwick tree: sums of prefixes of a list whose items change."""

    def __init__(self, values: Iterable[int]) -> None:
        self._tree = [0, *values]
        self.whole = sum(self._tree)
        for index in range(1, len(self._tree)):
            parent = index + (index & -index)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[index]

    def add(self, index: int, value: int) -> None:
        self.whole += value
        index += 1
        while index < len(self._tree):
            self._tree[index] += value
            index += index & -index

    def before(self, index: int) -> int:
        total = 0
        while index:
            total += self._tree[index]
            index &= index - 1
        return total

    def find(self, rank: int) -> tuple[int, int]:
        """The item in which a rank falls, and the sum before it."""
        index = total = 0
        step = 1 << (len(self._tree).bit_length())
        while step:
            ahead = index + step
            if ahead < len(self._tree) and total + self._tree[ahead] <= rank:
                index, total = ahead, total + self._tree[ahead]
            step >>= 1
        return index, total
