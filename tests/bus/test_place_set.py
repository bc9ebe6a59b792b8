"""Places in order, and the fingerprints of their ranges, against a plain sorted list."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reasoningbank_bus.sync.place_set import END, PlaceSet, fingerprint_of, prefix_end

places = st.binary(min_size=32, max_size=32)
few_places = st.integers(0, 600).map(lambda number: blake2b(b"%d" % number, digest_size=32).digest())
bounds = st.binary(max_size=32)


def id_of(place: bytes) -> bytes:
    return blake2b(place, digest_size=32).digest()


def expected(held: set[bytes], low: bytes, high: bytes, without: frozenset[bytes] = frozenset()) -> tuple[int, bytes]:
    inside = [p for p in held if p >= low and (high == END or p < high) and p[:8] not in without]
    return len(inside), fingerprint_of(sum(int.from_bytes(id_of(p), "big") for p in inside) % 2**256, len(inside))


@given(st.lists(st.tuples(st.booleans(), few_places), max_size=900), bounds, bounds)
def test_every_range_has_the_count_and_fingerprint_of_what_lies_in_it(steps, low, high):
    kept: set[bytes] = set()
    held = PlaceSet()
    for is_added, place in steps:
        if is_added:
            assert held.add(place, id_of(place)) == (place not in kept)
            kept.add(place)
        else:
            assert held.discard(place) == (place in kept)
            kept.discard(place)
    low, high = (low, high) if high == END else sorted((low, high))
    assert len(held) == len(kept)
    assert held.places() == sorted(kept)
    assert held.summary(low, high) == expected(kept, low, high)
    assert held.summary() == expected(kept, b"", END)


@given(st.sets(few_places, min_size=1, max_size=300), st.data())
def test_authors_that_are_left_out_are_in_no_range(kept, data):
    left_out = frozenset(p[:8] for p in data.draw(st.sets(st.sampled_from(sorted(kept)), max_size=4)))
    held = PlaceSet((p, id_of(p)) for p in kept)
    middle = data.draw(st.sampled_from(sorted(kept)))
    assert held.summary(without=left_out) == expected(kept, b"", END, left_out)
    assert held.summary(middle, END, left_out) == expected(kept, middle, END, left_out)
    assert held.summary(b"", middle, left_out) == expected(kept, b"", middle, left_out)
    assert held.places(without=left_out) == sorted(p for p in kept if p[:8] not in left_out)


def test_a_set_of_thousands_stays_in_order_however_it_is_filled():
    kept = [blake2b(b"%d" % number, digest_size=32).digest() for number in range(5_000)]
    filled = PlaceSet((p, id_of(p)) for p in kept)
    grown = PlaceSet()
    for place in kept:
        grown.add(place, id_of(place))
    assert grown.summary() == filled.summary() == expected(set(kept), b"", END)
    for place in kept[:4_900]:
        grown.discard(place)
    assert grown.places() == sorted(kept[4_900:])
    assert grown.summary() == PlaceSet((p, id_of(p)) for p in kept[4_900:]).summary()


@given(st.sets(few_places, max_size=400), st.integers(2, 16))
def test_cuts_part_a_range_evenly_and_leave_nothing_out(kept, parts):
    held = PlaceSet((p, id_of(p)) for p in kept)
    cuts = held.cuts(b"", END, parts)
    inner = cuts[1:-1]
    assert inner == sorted(set(inner))
    counts = [held.summary(low, high)[0] for low, high in pairwise(cuts)]
    assert sum(counts) == len(kept)
    assert max(counts) - min(counts) <= 1 or len(kept) < parts


def test_the_end_of_a_prefix_is_behind_all_that_begins_with_it():
    assert prefix_end(b"ab") == b"ac"
    assert prefix_end(b"a\xff") == b"b"
    assert prefix_end(b"\xff\xff") == END
