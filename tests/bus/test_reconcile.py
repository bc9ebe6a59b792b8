"""Two sets become one by exchanging ranges, and it costs what they differ by."""

from __future__ import annotations

from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from reasoningbank_bus.sync.place_set import END, PlaceSet, prefix_end
from reasoningbank_bus.sync.reconcile import compare, is_ordered, whole_range
from reasoningbank_bus.wire.frame import PlaceRange, Ranges, decode_frame, encode_frame


def place(number: int, author: int = 0) -> bytes:
    return bytes([author]) * 8 + number.to_bytes(8, "big") + blake2b(b"%d" % number, digest_size=16).digest()


def make_set(numbers, author: int = 0) -> PlaceSet:
    return PlaceSet((place(n, author), blake2b(place(n, author), digest_size=32).digest()) for n in numbers)


def reconcile(one: PlaceSet, other: PlaceSet) -> tuple[set[bytes], set[bytes], int, int]:
    """What each lacks, the messages and the bytes that it took to find out."""
    lacking = {id(one): set(), id(other): set()}
    asked, answers = [whole_range(one)], one
    messages = size = 0
    while asked:
        frame = encode_frame(Ranges("team:shared", tuple(asked)))
        messages, size = messages + 1, size + len(frame)
        told = decode_frame(frame)
        assert is_ordered(told.ranges)
        answers = other if answers is one else one
        found = compare(answers, told.ranges, most=1_000_000)
        lacking[id(answers)].update(found.lacking)
        lacking[id(one if answers is other else other)].update(found.lacked)
        asked = found.answer
    return lacking[id(one)], lacking[id(other)], messages, size


@given(st.sets(st.integers(0, 3_000), max_size=400), st.sets(st.integers(0, 3_000), max_size=400))
def test_both_sides_learn_exactly_what_they_lack(ours, theirs):
    one, other = make_set(ours), make_set(theirs)
    lacked_by_one, lacked_by_other, _, _ = reconcile(one, other)
    assert lacked_by_one == {place(n) for n in theirs - ours}
    assert lacked_by_other == {place(n) for n in ours - theirs}


def test_equal_sets_cost_one_message():
    assert reconcile(make_set(range(20_000)), make_set(range(20_000)))[2] == 1


def test_the_cost_is_in_step_with_the_difference_and_not_with_the_size():
    costs = {}
    for size in (2_000, 32_000):
        whole = range(size)
        for difference in (1, 64):
            missing = set(range(0, size, size // difference))
            one, other = make_set(whole), make_set(n for n in whole if n not in missing)
            _, lacked, messages, cost = reconcile(one, other)
            assert len(lacked) == len(missing)
            assert messages <= 8
            costs[size, difference] = cost
    assert costs[32_000, 1] < 3 * costs[2_000, 1]
    assert costs[32_000, 1] < 8_000
    assert costs[32_000, 64] < 64 * costs[32_000, 1]


def test_a_peer_that_may_only_know_what_it_wrote_is_told_of_nothing_else():
    others, own = make_set(range(100), author=7), range(50)
    held = make_set(own, author=9)
    held.update((p, b"\1" * 32) for p in others.places())
    bounds = (b"\x09" * 8, prefix_end(b"\x09" * 8))
    found = compare(held, [PlaceRange(b"", END, 0, b"\0" * 16)], bounds=bounds)
    assert [(part.low, part.high) for part in found.answer] == [bounds]
    found = compare(held, [PlaceRange(b"", END, 0, b"", ())], bounds=bounds)
    assert found.lacked == [place(n, 9) for n in own]


def test_ranges_that_overlap_or_are_out_of_order_are_told_apart():
    def part(low, high, *places):
        return PlaceRange(low, high, len(places), b"" if places else b"\1" * 16, places)

    assert is_ordered([part(b"a", b"b"), part(b"b", b"c"), part(b"d", END)])
    assert not is_ordered([part(b"a", b"c"), part(b"b", b"d")])
    assert not is_ordered([part(b"a", END), part(b"b", b"d")])
    assert not is_ordered([part(b"b", b"a")])
    assert not is_ordered([part(b"a", b"b", b"c" * 32)])
    assert not is_ordered([part(b"a", b"c", b"b" * 32, b"b" * 32)])
