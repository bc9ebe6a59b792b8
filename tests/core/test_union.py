"""The union of two feeds obeys its laws, whatever the records: the same examples every time."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reasoningbank import ReasoningBank
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import (
    Edge,
    EdgeKind,
    Exposure,
    Job,
    JobState,
    Memory,
    Outcome,
    Scope,
    Signal,
    SignalKind,
    State,
    Tombstone,
    Trajectory,
)
from reasoningbank.core.union import RecordSet, current_records, gather_records, unite
from reasoningbank.exchange.jsonl import ExportLine, read_lines

IDS = st.sampled_from(["mem_a", "mem_b", "mem_c"])
WORDS = st.sampled_from(["", "one", "two", "grüße"])
TIMES = st.sampled_from([0.0, 1.0, 2.5])


def memory(record_id: str, said: str, revision: int, at: float) -> Memory:
    return Memory(
        id=record_id, tenant="local", namespace="n", scope=Scope.PROJECT, title="t", description="", content=said,
        outcome=Outcome.SUCCESS, key=None, tags=(), agent=None, task_type=None, cognitive_pattern=None, origin="user",
        parents=(), source=None, metadata={"said": said}, initial_confidence=0.5, created_at=0.0, updated_at=at,
        revision=revision, state=State.ACTIVE,
    )  # fmt: skip


def signal(record_id: str, about: str, said: str, at: float) -> Signal:
    return Signal(
        id=record_id, tenant="local", memory_id=about, kind=SignalKind.FEEDBACK, positive=True, weight=1.0, used=True,
        source="user", trajectory_id=None, comment=said, at=at,
    )  # fmt: skip


def edge(record_id: str, ends: tuple[str, str], said: str, at: float) -> Edge:
    return Edge(
        id=record_id, tenant="local", source_id=ends[0], target_id=ends[1], kind=EdgeKind.RELATES, text=said,
        weight=0.5, tags=(), evidence="", created_at=at,
    )  # fmt: skip


def session(record_id: str, said: str, ended: float | None) -> Trajectory:
    return Trajectory(
        id=record_id, tenant="local", namespace="n", task="t", agent=None, outcome=said or None, metadata={},
        started_at=0.0, ended_at=ended,
    )  # fmt: skip


ITEMS: st.SearchStrategy[Any] = st.one_of(
    st.builds(memory, IDS, WORDS, st.integers(1, 3), TIMES),
    st.builds(signal, st.sampled_from(["sig_a", "sig_b"]), IDS, WORDS, TIMES),
    st.builds(edge, st.sampled_from(["edg_a", "edg_b"]), st.tuples(IDS, IDS), WORDS, TIMES),
    st.builds(session, st.sampled_from(["trj_a", "trj_b"]), WORDS, st.none() | TIMES),
    st.builds(Tombstone, id=IDS, tenant=st.just("local"), kind=st.just("memory"), at=TIMES),
    st.builds(Tombstone, id=st.just("sig_a"), tenant=st.just("local"), kind=st.just("signal"), at=TIMES),
    st.builds(
        Exposure, memory_id=IDS, tenant=st.just("local"), trajectory_id=st.none(), query_hash=WORDS, rank=st.just(1),
        at=TIMES,
    ),
)  # fmt: skip
FEEDS = st.lists(ITEMS, max_size=8)


@given(FEEDS, FEEDS, FEEDS)
def test_the_union_is_commutative_associative_and_idempotent(one, two, three):
    a, b, c = map(gather_records, (one, two, three))
    assert unite(a, b) == unite(b, a)
    assert unite(unite(a, b), c) == unite(a, unite(b, c))
    assert unite(a, a) == a
    assert unite(a, RecordSet()) == a
    assert unite(unite(a, b), b) == unite(a, b)


@given(FEEDS, FEEDS)
def test_uniting_sets_is_gathering_both_feeds_in_any_order(one, two):
    united = unite(gather_records(one), gather_records(two))
    assert united == gather_records([*one, *two]) == gather_records([*reversed(two), *one])
    assert current_records(united) == current_records(gather_records([*two, *one]))


@given(FEEDS, FEEDS)
def test_an_erasure_wins_and_nothing_stands_without_what_it_needs(one, two):
    united = unite(gather_records(one), gather_records(two))
    gone = {(item.kind, item.id) for item in (*one, *two) if isinstance(item, Tombstone)}
    found = current_records(united)
    assert gone.isdisjoint(found)
    assert gone == set(united.erased)
    assert all(("memory", record.memory_id) in found for record in found.values() if isinstance(record, Signal))


@given(FEEDS, FEEDS)
def test_nothing_that_was_said_is_lost_but_what_was_erased(one, two):
    both = unite(gather_records(one), gather_records(two))
    for feed in (one, two):
        kept = gather_records(feed).versions
        assert all(v in both.versions or (v[0], v[1]) in both.erased for v in kept)


def test_of_concurrent_revisions_the_number_counts_then_the_time_then_the_contents():
    base = memory("mem_a", "base", 1, 1.0)
    late, later = memory("mem_a", "late", 2, 2.0), memory("mem_a", "later", 2, 3.0)
    third = memory("mem_a", "third", 3, 0.5)
    for order in permutations((base, late, later)):
        assert current_records(gather_records(order))["memory", "mem_a"] == later
    assert current_records(gather_records((later, third)))["memory", "mem_a"] == third
    twins = [replace(later, content=word) for word in ("this", "that")]
    winners = {current_records(gather_records(order))["memory", "mem_a"].content for order in permutations(twins)}
    assert len(winners) == 1


def test_state_is_no_part_of_a_union():
    job = Job(
        id="job_a", tenant="local", namespace="n", kind="distil", subject="trj_a", state=JobState.WAITING, attempts=0,
        error="", results=(), metadata={}, created_at=0.0, ended_at=None,
    )  # fmt: skip
    assert gather_records([job]) == RecordSet()


def test_two_banks_that_grew_apart_are_one_whichever_way_they_are_united(tmp_path: Path) -> None:
    with ReasoningBank.open(tmp_path / "one.db", embedder="hash", namespace="n") as one:
        shared = one.store("shared", "as it was first")
        gone = one.record(title="gone", content="to be erased here")
        first = tmp_path / "first.jsonl"
        first.write_text("\n".join(one.export_lines()), "utf-8")
        with ReasoningBank.open(tmp_path / "two.db", embedder="hash", namespace="n") as two:
            two.import_from(first, restore=True)
            two.edit(shared.id, content="as the second says")
            two.feedback(gone.id, helpful=True)
            two.record(title="only there", content="y")
            other = tmp_path / "two.jsonl"
            other.write_text("\n".join(two.export_lines()), "utf-8")
        one.erase(gone.id)
        one.record(title="only here", content="x")
        first.write_text("\n".join(one.export_lines()), "utf-8")
    a, b = (
        gather_records(line.record for line in read_lines(path) if isinstance(line, ExportLine))
        for path in (first, other)
    )
    united = current_records(unite(a, b))
    assert united == current_records(unite(b, a))
    memories = {record.title: record for record in united.values() if isinstance(record, Memory)}
    assert set(memories) == {"shared", "only here", "only there"}
    assert memories["shared"].content == "as the second says"
    assert not any(isinstance(record, Signal) for record in united.values()), "it was about what is gone"


def test_of_two_banks_that_erased_the_same_memory_the_earlier_erasure_counts(tmp_path: Path) -> None:
    files = [tmp_path / "earlier.jsonl", tmp_path / "later.jsonl"]
    with ReasoningBank.open(tmp_path / "one.db", embedder="hash", namespace="n", clock=lambda: 10.0) as one:
        gone = one.record(title="gone", content="to be erased by both")
        shared = tmp_path / "shared.jsonl"
        shared.write_text("\n".join(one.export_lines()), "utf-8")
        one.erase(gone.id)
        files[0].write_text("\n".join(one.export_lines()), "utf-8")
    with ReasoningBank.open(tmp_path / "two.db", embedder="hash", namespace="n", clock=lambda: 20.0) as two:
        two.import_from(shared, restore=True)
        two.erase(gone.id)
        files[1].write_text("\n".join(two.export_lines()), "utf-8")
    feeds = [[line.record for line in read_lines(file) if isinstance(line, ExportLine)] for file in files]
    for one_feed, other_feed in (feeds, reversed(feeds)):
        for united in (
            unite(gather_records(one_feed), gather_records(other_feed)),
            gather_records([*one_feed, *other_feed]),
        ):
            assert [(tombstone.id, tombstone.at) for tombstone in united.erased.values()] == [(gone.id, 10.0)]
