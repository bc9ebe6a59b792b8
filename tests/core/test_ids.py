"""Ids sort by time, rise within a millisecond, and are the same for the same thing when derived."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.ids import IdSource, derived_id, id_part


def test_ids_have_a_prefix_and_26_letters() -> None:
    made = IdSource(lambda: 1_790_000_000.0, random.Random(1).getrandbits).new("mem")
    assert made.startswith("mem_")
    assert len(made) == 30
    assert set(made[4:]) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def test_ids_of_one_moment_rise_and_never_repeat() -> None:
    source = IdSource(lambda: 1_790_000_000.0, random.Random(1).getrandbits)
    made = [source.new("mem") for _ in range(10_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@given(st.floats(0, 1e11), st.floats(0, 1e11))
def test_later_ids_sort_behind_earlier_ones(first: float, second: float) -> None:
    earlier, later = sorted((first, second))
    ids = [IdSource(lambda at=at: at, random.Random(2).getrandbits).new("x") for at in (earlier, later)]
    assert ids[0] < ids[1] or int(earlier * 1000) == int(later * 1000)


@pytest.mark.parametrize("now", [-1.0, 0.0, 2.0**40])
def test_a_strange_clock_still_gives_ids(now: float) -> None:
    source = IdSource(lambda: now, random.Random(3).getrandbits)
    assert source.new("x") != source.new("x")


def test_threads_never_get_the_same_id() -> None:
    source = IdSource(lambda: 1.0, random.Random(4).getrandbits)
    made: list[str] = []

    def work() -> None:
        made.extend(source.new("x") for _ in range(500))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 4_000


def test_a_derived_id_depends_on_the_identity_alone() -> None:
    assert derived_id("mem", "a") == derived_id("mem", "a") != derived_id("mem", "b")
    assert derived_id("mem", "a")[4:] == derived_id("sig", "a")[4:]
    assert derived_id("mem", "\udc80")


@pytest.mark.parametrize(
    ("typed", "part"),
    [
        ("mem_01M7FR", "mem_01M7FR"),
        ("mem_01m7fr", "mem_01M7FR"),
        ("  …W2AMRN ", "W2AMRN"),
        ("...w2amrn", "W2AMRN"),
        ("amrn", None),
        ("mem_", None),
        ("retry-get", None),
        ("W2AMRN" * 6, None),
    ],
)
def test_a_typed_piece_of_an_id_is_read_as_ids_are_written_and_a_key_is_none(typed: str, part: str | None) -> None:
    assert id_part(typed, "mem") == part
