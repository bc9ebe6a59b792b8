"""What every store must do, whatever it keeps its records in. Another engine is one line in `BACKENDS`; the one in memory
is the reference."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reasoningbank.core.drafts import memory_from
from reasoningbank.core.errors import BankError, Conflict, InvalidInput, NotFound, StoreError
from reasoningbank.core.recency import position_of
from reasoningbank.core.task_kind import kind_of
from reasoningbank.core.types import (
    AccessToken,
    Draft,
    Edge,
    EdgeKind,
    EmbedderIdentity,
    Exposure,
    Gap,
    KeptReply,
    KeptVector,
    Lease,
    Memory,
    Node,
    NodeLabel,
    Op,
    Outcome,
    Record,
    Ruling,
    RulingKind,
    Scope,
    Signal,
    SignalKind,
    State,
    Step,
    Tombstone,
    Trajectory,
)
from reasoningbank.location import parse_location
from reasoningbank.ports import Store, Writer
from reasoningbank.store.memory import MemoryEngine, MemoryTables
from reasoningbank.store.record_store import RecordStore
from reasoningbank.store.selection import Selection
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.store.tables import MEMORIES
from reasoningbank_postgres.store import PostgresStore

BACKENDS = ("sqlite", "memory", "postgres")
CANNOT = {
    "memory": {"backup": "a bank in memory cannot be copied to a file: export it"},
    "postgres": {"NUL": "a text with a NUL character is refused; the verbs replace it before a record is made"},
}
"""What an engine does not do; `docs/postgresql.md` prints it."""
IDENTITY = EmbedderIdentity(name="hash", model="m", dimension=2, revision="1")


@pytest.fixture(params=BACKENDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    if request.param == "postgres":
        location = parse_location(request.getfixturevalue("postgres_url"), tmp_path)
        return lambda: PostgresStore(location)
    tables = MemoryTables()
    if request.param == "memory":
        return lambda: RecordStore(MemoryEngine(tables))
    return lambda: SqliteStore(tmp_path / "bank.db")


@pytest.fixture
def store(opened: Callable[[], Store]) -> Iterator[Store]:
    made = opened()
    yield made
    made.close()


def a_memory(number: int = 1, *, tenant: str = "t", **changes: Any) -> Memory:
    draft = Draft(title=f"title {number}", content=f"content {number}")
    plain = memory_from(
        draft, memory_id=f"mem_{tenant}_{number:06}", tenant=tenant, namespace="n", initial_confidence=0.5, now=1.5
    )
    return replace(plain, **changes)


def a_signal(number: int, memory_id: str, *, tenant: str = "t", positive: bool = True) -> Signal:
    return Signal(
        id=f"sig_{tenant}_{number:06}",
        tenant=tenant,
        memory_id=memory_id,
        kind=SignalKind.FEEDBACK,
        positive=positive,
        weight=1.0,
        used=True,
        source="user",
        trajectory_id=None,
        comment="",
        at=2.0,
    )


def a_trajectory(number: int = 1, *, tenant: str = "t", **changes: object) -> Trajectory:
    made = Trajectory(
        id=f"trj_{tenant}_{number}",
        tenant=tenant,
        namespace="n",
        task="a task",
        agent=None,
        outcome=None,
        metadata={"a": [1, None, "x"]},
        started_at=1.0,
        ended_at=None,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def a_step(number: int, trajectory_id: str, *, tenant: str = "t") -> Step:
    return Step(
        id=f"stp_{tenant}_{number}",
        tenant=tenant,
        trajectory_id=trajectory_id,
        number=number,
        action="act",
        result="",
        metadata={},
        at=1.0,
    )


def an_edge(number: int, source: str, target: str, *, tenant: str = "t", kind: EdgeKind = EdgeKind.RELATES) -> Edge:
    return Edge(
        id=f"edg_{tenant}_{number}",
        tenant=tenant,
        source_id=source,
        target_id=target,
        kind=kind,
        text="",
        weight=0.5,
        tags=("x",),
        evidence="",
        created_at=1.0,
    )


def a_node(number: int, *, tenant: str = "t", window: tuple[float, float] | None = None) -> Node:
    return Node(
        id=f"nod_{tenant}_{number}",
        tenant=tenant,
        namespace="n",
        label=NodeLabel.USER_REQUEST if window is None else NodeLabel.EVENT,
        name=f"N{number}",
        conv_id="c",
        text=f"text {number}",
        tags=("x",),
        fields={"user_role": "vp", "deep": [1, None, {"a": 2.5}]},
        start_at=window and window[0],
        end_at=window and window[1],
        origin="user",
        source=None,
        created_at=float(number),
        updated_at=float(number),
    )


def add(store: Store, *records: Record, tenant: str = "t") -> None:
    def change(writer: Writer) -> None:
        for record in records:
            writer.add(record)

    store.write(tenant, change)


def revise(store: Store, record: Record, tenant: str = "t") -> None:
    store.write(tenant, lambda w: w.revise(record))


# ---------------------------------------------------------------- records


def test_a_record_of_every_kind_comes_back_as_it_was(store: Store) -> None:
    memory = a_memory(
        1,
        tags=("a", "ü"),
        parents=("mem_x",),
        key="k",
        agent="coder",
        task_type="debug",
        cognitive_pattern="convergent",
        source="trj_1",
        metadata={"deep": {"list": [1, 2.5, None, True, "שלום 🎉"]}},
        scope=Scope.TEAM,
        outcome=Outcome.FAILURE,
        initial_confidence=0.1 + 0.2,
        created_at=1_790_000_000.123456,
    )
    trajectory = a_trajectory()
    records: list[Record] = [
        memory,
        a_memory(2),
        a_signal(1, memory.id),
        trajectory,
        a_step(1, trajectory.id),
        an_edge(1, memory.id, "mem_t_000002"),
        Ruling(
            id="rul_1",
            tenant="t",
            kind=RulingKind.REVOKE,
            target="tool:web",
            memories={memory.id: "active"},
            source="user",
            comment="ü",
            at=3.0,
        ),
    ]
    add(store, *records)
    with store.read("t") as reader:
        for record in records:
            assert reader.get(type(record), [record.id]) == {record.id: record}


def test_get_brings_only_what_is_there_whatever_the_number_of_ids(store: Store) -> None:
    add(store, *(a_memory(i) for i in range(1_200)))
    wanted = [f"mem_t_{i:06}" for i in range(1_100, 1_300)]
    with store.read("t") as reader:
        assert sorted(reader.get(Memory, wanted)) == [f"mem_t_{i:06}" for i in range(1_100, 1_200)]
        assert reader.get(Memory, []) == {}
        assert reader.get(Memory, ["nothing"]) == {}


def test_select_pages_in_both_directions_without_gap_or_repeat(store: Store) -> None:
    add(store, *(a_memory(i) for i in range(25)))
    for newest_first in (False, True):
        seen: list[str] = []
        after = None
        with store.read("t") as reader:
            while page := reader.select(Memory, {}, newest_first=newest_first, after=after, limit=7):
                seen += [memory.id for memory in page]
                after = page[-1].id
        assert seen == sorted(seen, reverse=newest_first)
        assert len(set(seen)) == 25


def test_newest_first_is_by_the_moment_and_pages_exactly_when_many_share_one(store: Store) -> None:
    moments = [5.0, 1.0, 5.0, 3.0, 5.0, 1.0, 5.0, 9.0, 5.0]
    made = [a_memory(i, created_at=at, updated_at=100.0 - at) for i, at in enumerate(moments)]
    add(store, *made)
    wanted = [m.id for m in sorted(made, key=lambda m: (m.created_at, m.id), reverse=True)]
    for where in ({}, {"namespace": "n"}, {"namespace": "n", "state": State.ACTIVE}):
        for place in (position_of, lambda memory: memory.id):
            seen, after = [], None
            with store.read("t") as reader:
                while page := reader.select(Memory, where, newest_first=True, after=after, limit=2):
                    seen += [memory.id for memory in page]
                    after = place(page[-1])
            assert seen == wanted


def test_a_place_in_a_list_holds_when_its_record_is_gone_and_an_id_alone_is_refused(store: Store) -> None:
    made = [a_memory(i, created_at=float(i % 3)) for i in range(6)]
    add(store, *made)
    with store.read("t") as reader:
        whole = reader.select(Memory, {}, newest_first=True)
    store.write("t", lambda writer: writer.remove(Memory, whole[2].id))
    with store.read("t") as reader:
        assert reader.select(Memory, {}, newest_first=True, after=position_of(whole[2])) == whole[3:]
        with pytest.raises(NotFound, match="begin the list anew"):
            reader.select(Memory, {}, newest_first=True, after=whole[2].id)
        with pytest.raises(InvalidInput, match="no place in a list"):
            reader.select(Memory, {}, newest_first=True, after="mem_1@yesterday")


def test_ids_are_found_by_their_beginning_and_by_their_ending_within_a_tenant(store: Store) -> None:
    add(store, a_memory(1), a_memory(2), a_memory(12))
    store.write("other", lambda writer: writer.add(a_memory(1, tenant="other")))
    with store.read("t") as reader:
        assert reader.matching_ids(Memory, "mem_t_00000", 5) == ["mem_t_000001", "mem_t_000002"]
        assert reader.matching_ids(Memory, "00012", 5) == ["mem_t_000012"]
        assert reader.matching_ids(Memory, "mem_t_", 2) == ["mem_t_000001", "mem_t_000002"]
        assert reader.matching_ids(Memory, "%", 5) == reader.matching_ids(Signal, "mem_t_", 5) == []


def test_select_understands_equality_any_of_none_and_tags(store: Store) -> None:
    add(
        store,
        a_memory(1, tags=("go", "sql"), agent="a"),
        a_memory(2, tags=("go",), state=State.ARCHIVED),
        a_memory(3, tags=("golang",), namespace="m"),
    )

    def found(**where: object) -> list[int]:
        with store.read("t") as reader:
            rows = reader.select(Memory, where)
            assert reader.count(Memory, where) == len(rows)
        return [int(memory.id[-6:]) for memory in rows]

    assert found() == [1, 2, 3]
    assert found(namespace="n") == [1, 2]
    assert found(state=(State.ACTIVE, State.ARCHIVED), namespace="n") == [1, 2]
    assert found(agent=None) == [2, 3]
    assert found(tags="go") == [1, 2]
    assert found(tags=("go", "sql")) == [1]
    assert found(state=()) == []


def test_an_unknown_field_is_an_error_and_never_ignored(store: Store) -> None:
    with store.read("t") as reader:
        for ask in (
            lambda: reader.select(Memory, {"colour": "red"}),
            lambda: reader.count(Memory, {"1=1 --": "x"}),
            lambda: reader.tally(Memory, "colour"),
        ):
            with pytest.raises(KeyError, match="has no field"):
                ask()


def test_tally_counts_by_a_field(store: Store) -> None:
    add(store, a_memory(1), a_memory(2, namespace="m"), a_memory(3, namespace="m", state=State.FORGOTTEN))
    with store.read("t") as reader:
        assert reader.tally(Memory, "namespace") == {"n": 1, "m": 2}
        assert reader.tally(Memory, "namespace", {"state": State.ACTIVE.value}) == {"n": 1, "m": 1}
        assert reader.tally(Memory, "state") == {"active": 2, "forgotten": 1}


def test_every_earlier_revision_stays_readable_in_order(store: Store) -> None:
    first = a_memory(1)
    add(store, first)
    versions = [first]
    for number in range(2, 6):
        versions.append(replace(versions[-1], content=f"version {number}", revision=number, updated_at=float(number)))
        revise(store, versions[-1])
    with store.read("t") as reader:
        assert reader.revisions(Memory, first.id) == versions[:-1]
        assert reader.get(Memory, [first.id])[first.id] == versions[-1]


def test_a_session_under_way_grows_without_setting_every_look_at_it_aside(store: Store) -> None:
    running = a_trajectory(outcome=None, ended_at=None, metadata={"messages": ["one"], "calls": 1})
    store.write("t", lambda w: w.add(running))
    grown = replace(running, metadata={"messages": ["one", "two"], "calls": 0})
    store.write("t", lambda w: w.revise(grown))
    with store.read("t") as reader:
        assert reader.revisions(Trajectory, running.id) == []
        assert reader.get(Trajectory, [running.id])[running.id] == replace(grown, revision=2)


def test_sessions_and_edges_keep_what_they_said_before_and_lose_it_with_themselves(store: Store) -> None:
    session, edge = a_trajectory(), an_edge(1, "mem_t_000001", "mem_t_000002")
    add(store, a_memory(1), a_memory(2), session, edge)
    # Whoever says no later revision than the one that is there says the next one.
    ended, twice = replace(session, outcome="success", ended_at=2.0), replace(edge, text="closely")
    revise(store, ended)
    with store.read("t") as reader:
        assert reader.revisions(Trajectory, session.id) == [], "the end of a session unsays nothing"
    revise(store, replace(ended, metadata={"said": "otherwise"}))
    revise(store, twice)
    store.write("t", lambda w: w.revise(replace(w.get(Edge, [edge.id])[edge.id], weight=1.0, revision=7)))
    with store.read("t") as reader:
        assert reader.revisions(Trajectory, session.id) == [replace(ended, revision=2)]
        assert reader.get(Trajectory, [session.id])[session.id].revision == 3
        assert reader.revisions(Edge, edge.id) == [edge, replace(twice, revision=2)]
        assert reader.get(Edge, [edge.id])[edge.id] == replace(twice, weight=1.0, revision=7)
        assert reader.revisions(Signal, "sig_t_1") == []
    store.write("t", lambda w: w.rewrite(replace(ended, revision=2, task="rewritten")))
    with store.read("t") as reader:
        assert reader.revisions(Trajectory, session.id)[0].task == "rewritten"
        assert reader.get(Trajectory, [session.id])[session.id].task == "a task"
    assert store.verify() == []
    store.write("t", lambda w: w.remove(Trajectory, session.id))
    store.write("t", lambda w: w.remove(Memory, "mem_t_000001"))
    with store.read("t") as reader:
        assert reader.revisions(Trajectory, session.id) == reader.revisions(Edge, edge.id) == []


def test_a_revision_taken_over_from_elsewhere_does_not_replace_one_that_is_here(store: Store) -> None:
    first = a_memory(1)
    add(store, first)
    revise(store, replace(first, content="second", revision=2))
    store.write("t", lambda w: w.add_earlier(replace(first, content="a forgery")))
    with store.read("t") as reader:
        assert reader.revisions(Memory, first.id) == [first]


def test_a_rewritten_record_says_the_new_and_nothing_keeps_the_old(store: Store) -> None:
    first = a_memory(1)
    add(store, first)
    second = replace(first, content="second", revision=2)
    revise(store, second)
    store.write("t", lambda w: w.keep_vectors(IDENTITY, first.id, {"text": b"12345678"}))
    head = store.head()
    store.write("t", lambda w: w.rewrite(replace(second, content="now")))
    store.write("t", lambda w: w.rewrite(replace(first, content="then")))
    with store.read("t") as reader:
        assert reader.get(Memory, [first.id])[first.id] == replace(second, content="now")
        assert reader.revisions(Memory, first.id) == [replace(first, content="then")]
        assert reader.vectors(IDENTITY, [first.id]) == {}
    assert [(change.kind, change.op) for change in store.changes(head, 10)] == [("memory", Op.REVISE)] * 2
    assert store.verify() == []
    with pytest.raises(NotFound):
        store.write("t", lambda w: w.rewrite(replace(first, revision=9)))


def test_adding_what_is_there_is_a_conflict_and_revising_what_is_not_is_not_found(store: Store) -> None:
    memory = a_memory(1)
    add(store, memory)
    with pytest.raises(Conflict):
        add(store, memory)
    with pytest.raises(NotFound):
        revise(store, a_memory(9))
    with pytest.raises(NotFound):
        store.write("t", lambda w: w.remove(Memory, "mem_none"))
    with store.read("t") as reader:
        assert reader.count(Memory, {}) == 1
    assert store.head() == 1


def test_a_key_belongs_to_one_live_memory_of_a_namespace(store: Store) -> None:
    add(store, a_memory(1, key="k"), a_memory(2, key="k", namespace="m"), a_memory(3, key="k", state=State.FORGOTTEN))
    for state in (State.ACTIVE, State.QUARANTINED):
        with pytest.raises(Conflict):
            add(store, a_memory(4, key="k", state=state))
    with pytest.raises(Conflict):
        revise(store, a_memory(3, key="k", revision=2))
    with store.read("t") as reader:
        assert reader.revisions(Memory, "mem_t_000003") == []


def test_a_unit_may_catch_a_conflict_and_go_on(store: Store) -> None:
    add(store, a_memory(1))

    def change(writer: Writer) -> str:
        try:
            writer.add(a_memory(1))
        except Conflict:
            writer.add(a_memory(2))
            return "caught"
        return "added"

    assert store.write("t", change) == "caught"
    with store.read("t") as reader:
        assert reader.count(Memory, {}) == 2


def test_removing_a_memory_takes_everything_about_it_and_leaves_a_tombstone(store: Store) -> None:
    memory, other = a_memory(1), a_memory(2)
    add(
        store,
        memory,
        other,
        a_signal(1, memory.id),
        a_signal(2, other.id),
        an_edge(1, memory.id, other.id),
        an_edge(2, other.id, memory.id),
    )
    revise(store, replace(memory, content="again", revision=2))
    store.write("t", lambda w: w.keep_vectors(IDENTITY, memory.id, {"text": bytes(8)}))
    store.log_shown([exposure(memory.id), exposure(other.id)])
    store.write("t", lambda w: w.remove(Memory, memory.id))
    with store.read("t") as reader:
        assert reader.get(Memory, [memory.id]) == {}
        assert reader.revisions(Memory, memory.id) == []
        assert [s.memory_id for s in reader.select(Signal, {})] == [other.id]
        assert reader.count(Edge, {}) == 0
        assert reader.vectors(IDENTITY, [memory.id]) == {}
        assert reader.exposure_counts([memory.id, other.id]) == {other.id: 1}
        assert reader.erased([memory.id]) == {memory.id}
        assert not reader.erased([other.id])
        assert {t.id for t in reader.side_records(Tombstone)} == {memory.id, "sig_t_000001", "edg_t_1", "edg_t_2"}


def test_a_unit_that_catches_one_failure_does_not_lose_another(store: Store) -> None:
    trajectory = a_trajectory()
    add(store, trajectory, a_step(1, trajectory.id))
    taken = replace(a_step(1, trajectory.id), id="stp_t_other")

    def change(writer: Writer) -> None:
        writer.add(taken)
        with suppress(Conflict):
            writer.revise(replace(trajectory, outcome="success"))

    with pytest.raises(Conflict):
        store.write("t", change)
    with store.read("t") as reader:
        assert reader.get(Trajectory, [trajectory.id]) == {trajectory.id: trajectory}


def test_what_an_engine_cannot_do_is_refused_and_stands_in_the_docs(store: Store) -> None:
    page = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text("utf-8")
    assert all(says in page for cannot in CANNOT.values() for says in cannot.values())
    name = next(name for name in BACKENDS if store.info.backend.startswith(name))
    if "NUL" not in CANNOT.get(name, ()):
        add(store, a_memory(1, title="a\0b"))
        return
    with pytest.raises(InvalidInput, match="NUL"):
        add(store, a_memory(1, title="a\0b"))
    assert store.head() == 0


def test_nodes_keep_their_revisions_and_take_their_edges_with_them(store: Store) -> None:
    first, second = a_node(1), a_node(2, window=(10.0, 20.0))
    add(store, first, second, a_memory(1), an_edge(1, first.id, second.id), an_edge(2, first.id, "mem_t_000001"))
    revise(store, replace(first, text="now", revision=2, updated_at=9.0))
    with store.read("t") as reader:
        assert reader.get(Node, [first.id, second.id])[second.id] == second
        assert reader.revisions(Node, first.id) == [first]
    with pytest.raises(Conflict):
        add(store, replace(a_node(3), name="N2"))
    add(store, a_node(2, tenant="u"), tenant="u")
    store.write("t", lambda w: w.remove(Node, first.id))
    with store.read("t") as reader:
        assert reader.select(Edge, {}) == reader.revisions(Node, first.id) == []
        assert reader.count(Memory, {}) == reader.count(Node, {}) == 1
        assert {t.id for t in reader.side_records(Tombstone)} == {first.id, "edg_t_1", "edg_t_2"}
    assert store.verify() == []


def test_edges_of_one_kind_between_the_same_ends_differ_by_their_names(store: Store) -> None:
    add(store, a_node(1), a_node(2), an_edge(1, "nod_t_1", "nod_t_2"))
    add(store, replace(an_edge(2, "nod_t_1", "nod_t_2"), name="E2"))
    with pytest.raises(Conflict):
        add(store, an_edge(3, "nod_t_1", "nod_t_2"))
    with store.read("t") as reader:
        assert [edge.name for edge in reader.select(Edge, {"source_id": "nod_t_1"})] == ["", "E2"]


def test_a_walk_is_told_the_strongest_edges_of_each_vertex_and_each_way(store: Store) -> None:
    ring = [replace(an_edge(n, "nod_t_0", f"nod_t_{n}"), weight=n % 3 / 2) for n in range(1, 8)]
    ring.append(replace(an_edge(9, "nod_t_3", "nod_t_0"), weight=0.1))
    windows = [a_node(n, window=(10.0 * n, 10.0 * n + 5)) for n in range(8)]
    add(store, *windows, *ring)
    add(store, an_edge(1, "nod_t_0", "nod_t_1", tenant="u"), tenant="u")
    with store.read("t") as reader:
        begin, end = reader.strongest_edges(["nod_t_0", "nod_t_3", "nod_t_5"], 3)
        assert [edge.id for edge in begin] == ["edg_t_5", "edg_t_2", "edg_t_7", "edg_t_9"]
        assert [edge.id for edge in end] == ["edg_t_5", "edg_t_9", "edg_t_3"]
        assert reader.strongest_edges([], 3) == [[], []]
        [begin] = reader.strongest_edges(["nod_t_0"], 2, ["source_id"], {"kind": ring[0].kind.value})
        assert [edge.id for edge in begin] == ["edg_t_5", "edg_t_2"]


def test_the_strongest_edges_of_a_kind_are_found_behind_stronger_ones_of_another(store: Store) -> None:
    strong = [replace(an_edge(n, "nod_t_0", f"nod_t_{n}"), kind=EdgeKind.CAUSES, weight=0.9) for n in range(1, 6)]
    weak = replace(an_edge(9, "nod_t_0", "nod_t_9"), kind=EdgeKind.CONFLICTS, weight=0.1)
    add(store, *(a_node(n) for n in range(10)), *strong, weak)
    with store.read("t") as reader:
        [found] = reader.strongest_edges(["nod_t_0"], 2, ["source_id"], {"kind": EdgeKind.CONFLICTS.value})
        assert [edge.id for edge in found] == ["edg_t_9"]


def test_a_walk_is_told_the_degrees_and_the_windows(store: Store) -> None:
    ring = [replace(an_edge(n, "nod_t_0", f"nod_t_{n}"), weight=n % 3 / 2) for n in range(1, 8)]
    ring.append(replace(an_edge(9, "nod_t_3", "nod_t_0"), weight=0.1))
    windows = [a_node(n, window=(10.0 * n, 10.0 * n + 5)) for n in range(8)]
    add(store, *windows, *ring)
    add(store, an_edge(1, "nod_t_0", "nod_t_1", tenant="u"), tenant="u")
    with store.read("t") as reader:
        assert reader.degrees(["nod_t_0", "nod_t_3", "nod_t_x"]) == {"nod_t_0": 8, "nod_t_3": 2}
        assert reader.degrees(["nod_t_0"], 2) == {"nod_t_0": 3}
        assert [node.id for node in reader.nodes_between(25.0, 40.0)] == ["nod_t_2", "nod_t_3", "nod_t_4"]
        assert [node.id for node in reader.nodes_between(25.0, 40.0, limit=1)] == ["nod_t_2"]


def test_removing_a_trajectory_takes_its_steps(store: Store) -> None:
    trajectory = a_trajectory()
    add(store, trajectory, a_step(1, trajectory.id), a_step(2, trajectory.id))
    store.write("t", lambda w: w.remove(Trajectory, trajectory.id))
    with store.read("t") as reader:
        assert reader.count(Step, {}) == 0
        assert reader.erased([trajectory.id]) == {trajectory.id}


# ---------------------------------------------------------------- beside the records


def exposure(memory_id: str, **changes: object) -> Exposure:
    line = Exposure(memory_id=memory_id, tenant="t", trajectory_id=None, query_hash="q", rank=1, at=3.0)
    return replace(line, **changes)  # type: ignore[arg-type]


def test_kept_vectors_are_replaced_by_new_ones_and_dropped_when_the_text_changes(store: Store) -> None:
    memory = a_memory(1)
    add(store, memory)
    for blob in (b"12345678", b"abcdefgh"):
        store.write("t", lambda w, blob=blob: w.keep_vectors(IDENTITY, memory.id, {"text": blob}))
    with store.read("t") as reader:
        assert reader.vectors(IDENTITY, [memory.id]) == {memory.id: {"text": b"abcdefgh"}}
        assert reader.vectors(replace(IDENTITY, revision="2"), [memory.id]) == {}
    revise(store, replace(memory, tags=("new",), revision=2))
    with store.read("t") as reader:
        assert reader.vectors(IDENTITY, [memory.id]) == {memory.id: {"text": b"abcdefgh"}}
    revise(store, replace(memory, content="other words", revision=3))
    with store.read("t") as reader:
        assert reader.vectors(IDENTITY, [memory.id]) == {}


def test_what_was_shown_is_counted_and_listed_in_order(store: Store) -> None:
    add(store, a_memory(1), a_memory(2))
    store.log_shown(
        [exposure("mem_t_000002", trajectory_id="trj"), exposure("mem_t_000001", trajectory_id="trj", rank=2)]
    )
    store.log_shown([exposure("mem_t_000002", trajectory_id="trj")])
    store.log_shown([])
    with store.read("t") as reader:
        assert reader.exposure_counts(["mem_t_000001", "mem_t_000002", "mem_x"]) == {
            "mem_t_000001": 1,
            "mem_t_000002": 2,
        }
        assert list(reader.shown_in("trj")) == ["mem_t_000002", "mem_t_000001"]
        assert reader.shown_in("other") == {}
        assert list(reader.shown_to("mem_t_000002", 10)) == ["trj"]
        assert reader.shown_to("mem_t_000009", 10) == {}


def test_what_confidence_is_made_of_comes_in_pages_of_active_memories_the_oldest_first(store: Store) -> None:
    made = [a_memory(n, created_at=9.0 - n, advice_id="now") for n in range(1, 5)]
    gone, elsewhere = a_memory(5, state=State.ARCHIVED), a_memory(6, namespace="other", created_at=1.0)
    said = replace(a_signal(1, made[3].id, positive=False), advice_id="now", weight=0.5, kind=SignalKind.PEER)
    before = replace(a_signal(2, made[3].id), advice_id="before")
    add(store, *made, gone, elsewhere, said, before)
    add(store, a_memory(1, tenant="u"), tenant="u")
    with store.read("t") as reader:
        first = reader.grounds("n", None, 3)
        assert [one.memory_id for one in first] == [one.id for one in (made[3], made[2], made[1])]
        assert first[0] == (made[3].id, "n", made[3].initial_confidence, 5.0, [said])
        last = (first[-1].created_at, first[-1].memory_id)
        assert [one.memory_id for one in reader.grounds("n", last, 3)] == [made[0].id]
        assert [one.memory_id for one in reader.grounds(None, None, 1)] == [elsewhere.id]
        assert reader.grounds("nowhere", None, 3) == []


def test_a_condition_knows_what_is_nothing_and_what_is_not(store: RecordStore) -> None:
    add(store, a_memory(1), a_memory(2, key="k"), a_memory(3, key="l"))
    told = {
        ("is", None): ["mem_t_000001"],
        ("not", None): ["mem_t_000002", "mem_t_000003"],
        ("is", "k"): ["mem_t_000002"],
        ("not", "k"): ["mem_t_000003"],
    }
    with store.engine.read("t") as rows:
        for (test, value), ids in told.items():
            asked = Selection(MEMORIES, ("id",), (("key", test, value),), order=("id",))
            assert [found for (found,) in rows.scan(asked)] == ids, (test, value)


def test_what_was_withheld_was_not_shown_but_is_known(store: Store) -> None:
    add(store, a_memory(1), a_memory(2))
    held = exposure("mem_t_000001", trajectory_id="trj", withheld=True, holdout=0.25)
    store.log_shown([held, exposure("mem_t_000002", trajectory_id="trj", holdout=0.25)])
    with store.read("t") as reader:
        assert reader.exposure_counts(["mem_t_000001", "mem_t_000002"]) == {"mem_t_000002": 1}
        assert reader.shown_in("trj") == {"mem_t_000002": (1, "", 3.0)}
        assert reader.shown_to("mem_t_000002", 10) == {"trj": 3.0}
        when = reader.happenings(None, 0.0)
        assert {outcome for _, outcome in when.learned} <= {"success", "failure"}
        assert reader.happenings("nowhere", 0.0) == ([], [], [])
        assert list(reader.newest(None, 1)) == ["mem_t_000002"]
        assert reader.newest("nowhere", 9) == {}
        assert reader.side_records(Exposure)[0] == held
        assert reader.side_records(Exposure)[0].withheld is True


def test_like_tasks_are_the_latest_of_a_kind_that_ended_well_or_badly(store: Store) -> None:
    ended = [
        a_trajectory(n, task=task, outcome=outcome, ended_at=float(n), namespace=namespace)
        for n, (task, outcome, namespace) in enumerate(
            [
                ("how many rows has Ann?", "success", "n"),
                ("how many rows has Bo?", "failure", "n"),
                ("how many rows has Cy?", "unknown", "n"),
                ("drop the table", "failure", "n"),
                ("how many rows has Di?", "success", "m"),
            ],
            start=1,
        )
    ]
    add(store, *ended)
    first, second, _, fourth, fifth = (trajectory.id for trajectory in ended)
    with store.read("t") as reader:
        assert reader.like_tasks([("n", kind_of(ended[2]))], 9) == [{second: False, first: True}]
        assert [list(found) for found in reader.like_tasks([("n", None), (None, None)], 2)] == [
            [fourth, second],
            [fifth, fourth],
        ]
    with store.read("u") as reader:
        assert reader.like_tasks([(None, None)], 9) == [{}]


def test_a_session_that_ends_becomes_a_like_task_and_goes_with_its_erasure(store: Store) -> None:
    runs = a_trajectory(1, outcome=None, ended_at=None)
    add(store, runs)
    for outcome, expected in (("success", {runs.id: True}), ("failure", {runs.id: False}), ("unknown", {})):
        revise(store, replace(runs, outcome=outcome, ended_at=5.0))
        with store.read("t") as reader:
            assert reader.like_tasks([("n", None)], 9) == [expected]
    revise(store, replace(runs, outcome="success", ended_at=5.0))
    store.write("t", lambda w: w.remove(Trajectory, runs.id))
    with store.read("t") as reader:
        assert reader.like_tasks([(None, None)], 9) == [{}]


def test_evidence_is_found_by_the_session_in_which_it_arose(store: Store) -> None:
    memory, first, second = a_memory(1), a_trajectory(1).id, a_trajectory(2).id
    add(store, memory, a_trajectory(1), a_trajectory(2))
    here, there = (replace(a_signal(n, memory.id), trajectory_id=task) for n, task in ((1, first), (2, second)))
    add(store, here, there, a_signal(3, memory.id))
    with store.read("t") as reader:
        _, (found,), learned = reader.past_tasks([first, "trj_nobody"], None, 0)
        assert (found.trajectory_id, found.memory_id, found.positive) == (first, here.memory_id, here.positive)
        assert (found.weight, found.used, found.source, found.at) == (here.weight, here.used, here.source, here.at)
        assert found.kind == here.kind
        assert learned == []
        assert len(reader.past_tasks([first, second], None, 0)[1]) == 2
        assert reader.past_tasks([], None, 0) == ([], [], [])
    with store.read("u") as reader:
        assert reader.past_tasks([first], None, 0) == ([], [], [])


def test_what_past_tasks_taught_and_what_the_user_says_against_it_are_found_together(store: Store) -> None:
    task, way = a_trajectory(1), a_memory(1, source=a_trajectory(1).id, tags=("solved",))
    gone, other = replace(way, id="mem_t_000002", state=State.ARCHIVED), a_memory(3)
    against = replace(a_signal(1, other.id), kind=SignalKind.FEEDBACK, positive=False, source="user:ann")
    add(store, task, way, gone, other, against, replace(against, id="sig_t_000002", source="agent:bob"))
    with store.read("t") as reader:
        assert reader.past_tasks([task.id], ("n", None), 9)[2] == [(way.id, task.id, True)]
        said, learned = reader.said_of([other.id], [way.id, gone.id, other.id])
    assert [(one.trajectory_id, one.memory_id, one.source) for one in said] == [("", other.id, "user:ann")]
    assert sorted(learned) == [(way.id, task.id, True), (other.id, "", False)]


def a_gap(gap_id: str, at: float = 1.0, *, tenant: str = "t") -> Gap:
    return Gap(id=gap_id, tenant=tenant, namespace="n", question="where to", times=1, first_at=at, last_at=at)


def test_a_gap_that_is_logged_again_is_counted_once_more(store: Store) -> None:
    store.log_gaps([a_gap("gap_a", 2.0), a_gap("gap_b", 3.0), a_gap("gap_a", 5.0)])
    store.log_gaps([a_gap("gap_a", 1.0)])
    store.log_gaps([])
    assert store.gaps("t") == [a_gap("gap_b", 3.0), replace(a_gap("gap_a"), times=3, first_at=1.0, last_at=5.0)]


def test_gaps_are_dropped_within_their_tenant_only(store: Store) -> None:
    store.log_gaps([a_gap("gap_a"), a_gap("gap_b"), a_gap("gap_c", tenant="u")])
    assert store.drop_gaps("t", ["gap_a", "gap_c", "gap_x"]) == 1
    assert store.gaps("t") == [a_gap("gap_b")]
    assert store.gaps("u") == [a_gap("gap_c", tenant="u")]
    with pytest.raises(InvalidInput):
        store.gaps("")
    with pytest.raises(InvalidInput):
        store.drop_gaps("", ["gap_b"])


def test_what_is_kept_beside_can_be_taken_over_once(store: Store) -> None:
    items = [
        exposure("mem_a"),
        exposure("mem_a", rank=2),
        KeptVector(memory_id="mem_a", tenant="t", identity="i", facet="text", vector=b"\x00\xff"),
        Tombstone(id="mem_b", tenant="t", kind="memory", at=1.0),
    ]
    assert store.write("t", lambda w: w.add_side_records(items)) == 4
    assert store.write("t", lambda w: w.add_side_records(items)) == 0
    with store.read("t") as reader:
        for kind in (Exposure, KeptVector, Tombstone):
            assert reader.side_records(kind) == [item for item in items if isinstance(item, kind)]


def test_nothing_beside_the_records_gets_a_feed_number(store: Store) -> None:
    add(store, a_memory(1))
    store.log_shown([exposure("mem_t_000001")])
    store.log_gaps([a_gap("gap_a")])
    store.write("t", lambda w: w.keep_vectors(IDENTITY, "mem_t_000001", {"text": bytes(8)}))
    store.set_setting("a", "b")
    assert store.head() == 1


def test_settings_are_kept_and_replaced(store: Store, opened: Callable[[], Store]) -> None:
    assert store.setting("a") is None
    store.set_setting("a", "1")
    store.set_setting("a", "zwei 🎉")
    other = opened()
    assert other.setting("a") == "zwei 🎉"
    other.close()


def test_a_glance_tells_a_setting_and_what_is_new(store: Store) -> None:
    assert store.glance("a", 0, 5) == (None, [])
    store.set_setting("a", "1")
    store.write("t", lambda writer: [writer.add(a_memory(number)) for number in range(3)])
    value, found = store.glance("a", 1, 5)
    assert (value, found) == ("1", store.changes(1, 5))
    assert len(found) == 2


# ---------------------------------------------------------------- the feed


def assert_dense(store: Store) -> list[int]:
    numbers: list[int] = []
    while page := store.changes(numbers[-1] if numbers else 0, 100):
        numbers += [change.seq for change in page]
    assert numbers == list(range(1, store.head() + 1))
    return numbers


def test_the_feed_names_every_change_in_order(store: Store) -> None:
    memory = a_memory(1)
    add(store, memory, a_signal(1, memory.id))
    revise(store, replace(memory, content="x", revision=2))
    store.write("t", lambda w: w.remove(Memory, memory.id))
    feed = [(c.seq, c.kind, c.op, c.id, c.tenant) for c in store.changes(0, 100)]
    assert feed == [
        (1, "memory", Op.ADD, memory.id, "t"),
        (2, "signal", Op.ADD, "sig_t_000001", "t"),
        (3, "memory", Op.REVISE, memory.id, "t"),
        (4, "signal", Op.REMOVE, "sig_t_000001", "t"),
        (5, "memory", Op.REMOVE, memory.id, "t"),
    ]
    assert store.changes(3, 1)[0].seq == 4
    assert store.changes(5, 10) == []


def test_feed_numbers_are_dense_and_in_commit_order_with_16_threads(store: Store) -> None:
    acknowledged: list[int] = []
    guard = threading.Lock()

    def work(worker: int) -> None:
        for number in range(25):
            before = store.head()
            add(store, a_memory(worker * 1_000 + number))
            with guard:
                acknowledged.append(worker * 1_000 + number)
            own = [c.seq for c in store.changes(before, 10_000) if c.id == f"mem_t_{worker * 1_000 + number:06}"]
            assert len(own) == 1, (
                "an acknowledged change is in the feed, behind everything acknowledged before it began"
            )

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    assert len(assert_dense(store)) == len(acknowledged) == 400


# ---------------------------------------------------------------- units


def held_back(store: Store, count: int, change_for: Callable[[int], Callable[[Writer], object]]) -> list[object]:
    """Run many units so that they wait together behind a slow one; gives each result or error."""
    running, go = threading.Event(), threading.Event()

    def slow(_: Writer) -> None:
        running.set()
        assert go.wait(300)

    outcomes: list[object] = [None] * count
    started = threading.Semaphore(0)

    def work(number: int) -> None:
        started.release()
        try:
            outcomes[number] = store.write("t", change_for(number))
        except (BankError, KeyError) as error:
            outcomes[number] = error

    blocker = threading.Thread(target=lambda: store.write("t", slow))
    blocker.start()
    assert running.wait(300)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert started.acquire(timeout=300)
    go.set()
    for thread in (blocker, *threads):
        thread.join(300)
        assert not thread.is_alive()
    return outcomes


def test_a_unit_that_raises_leaves_nothing_and_its_neighbours_alone(store: Store) -> None:
    def change_for(number: int) -> Callable[[Writer], int]:
        def change(writer: Writer) -> int:
            writer.add(a_memory(number))
            writer.add(a_signal(number, f"mem_t_{number:06}"))
            if number % 3 == 0:
                raise KeyError(number)
            return number

        return change

    outcomes = held_back(store, 30, change_for)
    for number, outcome in enumerate(outcomes):
        if number % 3 == 0:
            assert isinstance(outcome, KeyError)
            assert outcome.args == (number,)
        else:
            assert outcome == number
    kept = {f"mem_t_{number:06}" for number in range(30) if number % 3}
    with store.read("t") as reader:
        assert {m.id for m in reader.select(Memory, {})} == kept
        assert {s.memory_id for s in reader.select(Signal, {})} == kept
    assert_dense(store)


def test_a_call_returns_only_when_its_own_change_is_committed_however_many_wait(store: Store) -> None:
    def change_for(number: int) -> Callable[[Writer], int]:
        def change(writer: Writer) -> int:
            writer.add(a_memory(number))
            return number

        return change

    assert held_back(store, 600, change_for) == list(range(600))
    with store.read("t") as reader:
        assert reader.count(Memory, {}) == 600


def test_an_interrupt_in_one_unit_is_never_taken_for_a_commit_by_another(store: Store) -> None:
    class Interrupted(BaseException):
        pass

    caught: list[BaseException] = []

    def change_for(number: int) -> Callable[[Writer], int]:
        def change(writer: Writer) -> int:
            writer.add(a_memory(number))
            if number == 5:
                raise Interrupted
            return number

        return change

    original = threading.excepthook
    threading.excepthook = lambda args: caught.append(args.exc_value)  # type: ignore[assignment, return-value]
    try:
        outcomes = held_back(store, 12, change_for)
    finally:
        threading.excepthook = original
    assert [type(error) for error in caught] == [Interrupted], "it surfaces once, in one of the waiting threads"
    with store.read("t") as reader:
        kept = {int(m.id[-6:]) for m in reader.select(Memory, {})}
    acknowledged = {outcome for outcome in outcomes if isinstance(outcome, int)}
    assert acknowledged == kept
    assert 5 not in kept
    add(store, a_memory(99))


def test_a_write_inside_a_write_is_an_error_and_not_a_standstill(store: Store) -> None:
    def change(writer: Writer) -> None:
        writer.add(a_memory(1))
        add(store, a_memory(2))

    with pytest.raises(StoreError, match="inside another write"):
        store.write("t", change)
    add(store, a_memory(3))
    with store.read("t") as reader:
        assert [m.id for m in reader.select(Memory, {})] == ["mem_t_000003"]


def test_a_write_after_a_failed_one_works(store: Store) -> None:
    def broken(writer: Writer) -> None:
        writer.add(a_memory(1))
        raise ValueError("no")

    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            store.write("t", broken)
        add(store, a_memory(2))
        store.write("t", lambda w: w.remove(Memory, "mem_t_000002"))
        store.write("t", lambda w: w.add_side_records([]))
        with store.read("t") as reader:
            assert reader.count(Memory, {}) == 0
    assert_dense(store)


def test_a_unit_sees_what_it_has_written_itself(store: Store) -> None:
    def change(writer: Writer) -> int:
        writer.add(a_memory(1))
        return writer.count(Memory, {})

    assert store.write("t", change) == 1


# ---------------------------------------------------------------- reading while others write


def test_a_read_sees_one_moment_however_much_is_written_meanwhile(store: Store) -> None:
    add(store, a_memory(1))
    with store.read("t") as reader:
        assert reader.count(Memory, {}) == 1
        add(store, a_memory(2), a_signal(1, "mem_t_000001"))
        revise(store, a_memory(1, content="changed", revision=2))
        assert reader.count(Memory, {}) == 1
        assert reader.count(Signal, {}) == 0
        assert reader.get(Memory, ["mem_t_000001"])["mem_t_000001"].content == "content 1"
        assert reader.revisions(Memory, "mem_t_000001") == []
    with store.read("t") as reader:
        assert reader.count(Memory, {}) == 2


def test_readers_never_see_half_a_unit(store: Store) -> None:
    done = threading.Event()

    def write_pairs() -> None:
        try:
            for number in range(60):
                add(store, a_memory(number), a_signal(number, f"mem_t_{number:06}"))
        finally:
            done.set()

    def watch() -> int:
        looks = 0
        while not done.is_set() or not looks:
            with store.read("t") as reader:
                assert reader.count(Memory, {}) == reader.count(Signal, {})
            looks += 1
        return looks

    with ThreadPoolExecutor(4) as pool:
        watchers = [pool.submit(watch) for _ in range(3)]
        pool.submit(write_pairs).result()
        assert all(watcher.result() > 0 for watcher in watchers)


# ---------------------------------------------------------------- tenants


def test_no_reader_method_shows_what_belongs_to_another_tenant(store: Store) -> None:
    memory, second, trajectory = a_memory(1, key="k", tags=("x",)), a_memory(2), a_trajectory()
    add(
        store,
        memory,
        second,
        a_signal(1, memory.id),
        trajectory,
        a_step(1, trajectory.id),
        an_edge(1, memory.id, second.id),
    )
    revise(store, replace(memory, content="again", revision=2))
    store.write("t", lambda w: w.keep_vectors(IDENTITY, memory.id, {"text": bytes(8)}))
    store.write("t", lambda w: w.remove(Memory, second.id))
    store.log_shown([exposure(memory.id, trajectory_id=trajectory.id)])
    for tenant in ("u", "T", "t ", "*", "%", "_", "t\u200b", "ｔ"):
        with store.read(tenant) as reader:
            for kind, record_id in (
                (Memory, memory.id),
                (Signal, "sig_t_000001"),
                (Trajectory, trajectory.id),
                (Step, "stp_t_1"),
                (Edge, "edg_t_1"),
            ):
                assert reader.get(kind, [record_id]) == {}
                assert reader.get(kind, [record_id, "another"]) == {}
                assert reader.select(kind, {}) == []
                assert reader.select(kind, {"id": record_id}) == []
                assert reader.count(kind, {}) == 0
                assert reader.tally(kind, "id") == {}
            assert reader.select(Memory, {"key": "k", "tags": "x"}) == []
            assert reader.revisions(Memory, memory.id) == []
            assert reader.vectors(IDENTITY, [memory.id]) == {}
            assert reader.exposure_counts([memory.id]) == {}
            assert reader.shown_in(trajectory.id) == {}
            assert not reader.erased([second.id])
            assert (
                reader.side_records(Exposure) == reader.side_records(KeptVector) == reader.side_records(Tombstone) == []
            )


def test_no_writer_method_touches_what_belongs_to_another_tenant(store: Store) -> None:
    memory, trajectory = a_memory(1), a_trajectory()
    add(store, memory, a_signal(1, memory.id), trajectory, a_step(1, trajectory.id))
    revise(store, replace(memory, tags=("x",), revision=2))
    store.write("t", lambda w: w.keep_vectors(IDENTITY, memory.id, {"text": b"12345678"}))
    store.log_shown([exposure(memory.id)])
    head = store.head()

    with store.read("t") as reader:
        before = contents(reader)
    attempts: list[Callable[[Writer], object]] = [
        lambda w: w.add(replace(memory, tenant="u")),
        lambda w: w.add(a_memory(7)),
        lambda w: w.revise(replace(memory, tenant="u", revision=3, content="stolen")),
        lambda w: w.revise(replace(memory, revision=3, content="stolen")),
        lambda w: w.add_earlier(a_memory(1, revision=7)),
        lambda w: w.remove(Memory, memory.id),
        lambda w: w.remove(Trajectory, trajectory.id),
        lambda w: w.add_side_records([exposure(memory.id)]),
        lambda w: w.add_side_records([Tombstone(id=memory.id, tenant="t", kind="memory", at=0.0)]),
        lambda w: w.keep_vectors(IDENTITY, memory.id, {"text": b"stolen!!"}),
    ]
    for number, attempt in enumerate(attempts):
        try:
            store.write("u", attempt)
        except (Conflict, NotFound, InvalidInput):
            pass
        else:
            assert number == len(attempts) - 1, f"attempt {number} was let through"
    with store.read("t") as reader:
        assert contents(reader) == before
        assert reader.vectors(IDENTITY, [memory.id]) == {memory.id: {"text": b"12345678"}}
    assert store.head() == head


def contents(reader: object) -> list[object]:
    kinds = (Memory, Signal, Trajectory, Step, Edge)
    sidecars = (Exposure, KeptVector, Tombstone)
    return [
        *(reader.select(kind, {}) for kind in kinds),  # type: ignore[attr-defined]
        *(reader.side_records(kind) for kind in sidecars),  # type: ignore[attr-defined]
        reader.revisions(Memory, "mem_t_000001"),  # type: ignore[attr-defined]
    ]


@pytest.mark.parametrize("tenant", ["", None])
def test_nothing_can_be_read_or_written_without_a_tenant(store: Store, tenant: str | None) -> None:
    with pytest.raises(InvalidInput), store.read(tenant):  # type: ignore[arg-type]
        pass
    with pytest.raises(InvalidInput):
        store.write(tenant, lambda _: None)  # type: ignore[arg-type]


def test_followers_get_records_of_any_tenant(store: Store) -> None:
    add(store, a_memory(1))
    add(store, a_memory(1, tenant="u"), tenant="u")
    assert set(store.unscoped(Memory, ["mem_t_000001", "mem_u_000001", "x"])) == {"mem_t_000001", "mem_u_000001"}


# ---------------------------------------------------------------- the end


def test_a_closed_store_says_so_and_closing_twice_is_fine(opened: Callable[[], Store]) -> None:
    store = opened()
    add(store, a_memory(1))
    store.close()
    store.close()

    def read() -> None:
        with store.read("t"):
            pass

    for use in (
        read,
        store.head,
        lambda: store.changes(0, 1),
        lambda: store.setting("a"),
        lambda: store.set_setting("a", "b"),
        lambda: add(store, a_memory(2)),
        lambda: store.log_shown([exposure("x")]),
        lambda: store.log_gaps([a_gap("gap_x")]),
        lambda: store.gaps("t"),
        lambda: store.drop_gaps("t", ["gap_x"]),
        store.verify,
    ):
        with pytest.raises(StoreError, match="closed"):
            use()
    again = opened()
    with again.read("t") as reader:
        assert reader.count(Memory, {}) == 1
    again.close()


@pytest.mark.parametrize("opened", [name for name in BACKENDS if "backup" not in CANNOT.get(name, ())], indirect=True)
def test_a_backup_is_whole_while_others_write_and_never_overwrites(store: Store, tmp_path: Path) -> None:
    add(store, *(a_memory(i) for i in range(500)))
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        add(store, a_memory(1_000 + len(seen)))

    target = tmp_path / "copy.db"
    store.backup(target, progress)
    assert seen[-1][0] == seen[-1][1]
    with pytest.raises(InvalidInput):
        store.backup(target)
    copy = SqliteStore(target)
    try:
        assert copy.verify() == []
        assert_dense(copy)
        with copy.read("t") as reader:
            assert reader.count(Memory, {}) >= 500
    finally:
        copy.close()
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_a_sound_store_verifies_clean(store: Store) -> None:
    add(store, a_memory(1), a_signal(1, "mem_t_000001"))
    revise(store, a_memory(1, content="b", revision=2))
    assert store.verify() == []


# ---------------------------------------------------------------- what a server keeps


def a_token(**changes: object) -> AccessToken:
    values: dict[str, object] = {
        "id": "abc",
        "tenant": "t",
        "name": "ci",
        "scopes": ("read",),
        "origin": "agent",
        "digest": b"\0\xff" * 16,
        "created_at": 1.0,
        "expires_at": None,
        "revoked_at": None,
    }
    return AccessToken(**{**values, **changes})


def test_tokens_are_kept_replaced_and_listed_and_outlive_the_store(opened: Callable[[], Store]) -> None:
    store = opened()
    assert store.token("abc") is None
    store.keep_token(a_token())
    store.keep_token(a_token(id="other", tenant="u", created_at=0.5, expires_at=9.0))
    store.keep_token(a_token(revoked_at=2.0))
    store.close()
    store = opened()
    assert store.token("abc") == a_token(revoked_at=2.0)
    assert [token.id for token in store.tokens()] == ["other", "abc"]
    assert store.head() == 0, "a token is no record"
    store.close()


def a_reply(**changes: object) -> KeptReply:
    values = {"caller": "c", "key": "k", "request": b"r", "status": 201, "etag": '"1"', "body": b"{}", "at": 100.0}
    return KeptReply(**{**values, **changes})


def test_a_reply_is_kept_with_its_unit_or_not_at_all(store: Store) -> None:
    def fails(writer: Writer) -> None:
        writer.keep_reply(a_reply(), drop_before=0.0)
        raise NotFound("after all")

    with pytest.raises(NotFound):
        store.write("t", fails)
    assert store.write("t", lambda writer: writer.kept_reply("c", "k")) is None
    store.write("t", lambda writer: writer.keep_reply(a_reply(), drop_before=0.0))
    assert store.write("t", lambda writer: writer.kept_reply("c", "k")) == a_reply()
    for tenant, caller, key in (("u", "c", "k"), ("t", "d", "k"), ("t", "c", "l")):
        assert store.write(tenant, lambda writer, c=caller, k=key: writer.kept_reply(c, k)) is None
    store.write("t", lambda writer: writer.keep_reply(a_reply(key="later", at=300.0), drop_before=200.0))
    assert store.write("t", lambda writer: writer.kept_reply("c", "k")) is None, "too old"


def test_a_reply_that_tells_of_an_erased_memory_goes_with_it(store: Store) -> None:
    memory = a_memory()
    store.write("t", lambda writer: writer.add(memory))
    about, other = a_reply(key="about", body=f'{{"id":"{memory.id}"}}'.encode()), a_reply(key="other")
    for reply in (about, other):
        store.write("t", lambda writer, kept=reply: writer.keep_reply(kept, drop_before=0.0))
    store.write("t", lambda writer: writer.remove(Memory, memory.id))
    assert store.write("t", lambda writer: writer.kept_reply("c", "about")) is None
    assert store.write("t", lambda writer: writer.kept_reply("c", "other")) == other


# ---------------------------------------------------------------- trust


def test_trust_kin_and_marks_are_kept_with_a_memory_and_the_kin_outlives_it(store: Store) -> None:
    parent, child = a_memory(1), a_memory(2, parents=("mem_t_000001",))

    def change(writer: Writer) -> None:
        writer.add(parent)
        writer.keep_trust(parent, 0, [11, 12])
        writer.add(child)
        writer.keep_trust(child, 1)
        writer.keep_trust(child, 2, [12])
        assert writer.trust_levels([parent.id, child.id, "mem_none"]) == {parent.id: 0, child.id: 2}

    store.write("t", change)
    with store.read("t") as reader:
        assert reader.derived_ids([parent.id]) == [child.id]
        assert reader.matching_fingerprints([11, 12, 13]) == {parent.id: 2, child.id: 1}
        assert reader.trust_levels([]) == reader.matching_fingerprints([]) == {}
        assert reader.trust_and_memories([parent.id, child.id], [child.id, "mem_none"]) == (
            {parent.id: 0, child.id: 2},
            {child.id: child},
        )
    with store.read("other") as reader:
        assert (
            reader.trust_and_memories([parent.id], [parent.id]),
            reader.trust_levels([parent.id]),
            reader.derived_ids([parent.id]),
            reader.matching_fingerprints([11]),
        ) == (({}, {}), {}, [], {})
    with pytest.raises(InvalidInput):
        store.write("other", lambda writer: writer.keep_trust(parent, 2))
    store.write("t", lambda writer: writer.remove(Memory, parent.id))
    with store.read("t") as reader:
        assert (reader.trust_levels([parent.id]), reader.matching_fingerprints([11])) == ({}, {})
        assert reader.derived_ids([parent.id]) == [child.id]


# ---------------------------------------------------------------- leases


def a_lease(number: int = 1, *, tenant: str = "t", **changes: object) -> Lease:
    values: dict[str, object] = {
        "job_id": f"job_{tenant}_{number:06}",
        "tenant": tenant,
        "owner": None,
        "beat": 0,
        "attempts": 0,
        "ready_at": 0.0,
        "error": "",
    }
    return Lease(**{**values, **changes})  # type: ignore[arg-type]


def offer(store: Store, *leases: Lease) -> None:
    for lease in leases:
        assert store.write(lease.tenant, lambda w, made=lease: w.change_lease(None, made))


def claim(store: Store, owner: str = "w", *, now: float = 100.0, latest: float = 1e9, limit: int = 10) -> list[Lease]:
    return store.write("t", lambda w: w.claim(owner, now=now, latest=latest, limit=limit))


def leases(store: Store, ids: list[str] | None = None, tenant: str = "t") -> list[Lease]:
    with store.read(tenant) as reader:
        return reader.leases(ids)


def test_a_claim_takes_what_is_due_and_counts_it(store: Store) -> None:
    offer(store, a_lease(1, ready_at=50.0), a_lease(2), a_lease(3, ready_at=101.0), a_lease(4, tenant="other"))
    assert claim(store) == [
        a_lease(2, owner="w#job_t_000002", beat=1, attempts=1),
        a_lease(1, owner="w#job_t_000001", beat=1, attempts=1, ready_at=50.0),
    ]
    assert claim(store) == []
    assert leases(store) == [*sorted(leases(store, ["job_t_000001", "job_t_000002"]), key=lambda one: one.job_id)]
    assert leases(store, ["job_t_000003"]) == [a_lease(3, ready_at=101.0)]
    assert leases(store, tenant="other") == []


def test_a_due_time_that_no_clock_can_have_meant_is_due(store: Store) -> None:
    offer(store, a_lease(1, ready_at=5_000.0), a_lease(2, ready_at=1_000.0))
    assert [lease.job_id for lease in claim(store, latest=4_000.0)] == ["job_t_000001"]


def test_a_claim_stops_at_its_limit_with_those_that_waited_longest(store: Store) -> None:
    offer(store, *(a_lease(number, ready_at=float(10 - number)) for number in range(1, 6)))
    assert [lease.job_id[-1] for lease in claim(store, limit=2)] == ["5", "4"]
    assert claim(store, limit=0) == []


def test_many_claims_at_once_never_take_the_same_job(store: Store) -> None:
    offer(store, *(a_lease(number) for number in range(100)))
    with ThreadPoolExecutor(8) as pool:
        rounds = pool.map(lambda n: claim(store, f"w{n}", limit=7), range(30))
    claimed = [lease.job_id for leases in rounds for lease in leases]
    assert len(claimed) == len(set(claimed)) == 100


def test_a_lease_is_changed_only_by_whoever_knows_it_as_it_is(store: Store) -> None:
    offer(store, a_lease())
    [held] = claim(store)
    later = replace(held, beat=held.beat + 1)
    assert store.write("t", lambda w: w.change_lease(held, later))
    assert not store.write("t", lambda w: w.change_lease(held, later)), "it has another beat by now"
    assert not store.write("t", lambda w: w.change_lease(replace(later, owner="thief"), None))
    assert not store.write("t", lambda w: w.change_lease(None, a_lease())), "there is one already"
    freed = replace(later, owner=None, ready_at=7.0, error="why")
    assert store.write("t", lambda w: w.change_lease(later, freed))
    assert leases(store, [freed.job_id]) == [freed]
    assert store.write("t", lambda w: w.change_lease(freed, None))
    assert leases(store, [freed.job_id]) == []
    assert not store.write("t", lambda w: w.change_lease(None, None))


def test_leases_of_another_tenant_cannot_be_changed(store: Store) -> None:
    offer(store, a_lease())
    with pytest.raises(InvalidInput, match="tenant"):
        store.write("other", lambda w: w.change_lease(a_lease(), None))
    with pytest.raises(InvalidInput, match="tenant"):
        store.write("other", lambda w: w.change_lease(None, a_lease(2)))


def test_a_claim_in_a_unit_that_fails_is_no_claim(store: Store) -> None:
    offer(store, a_lease())

    def change(writer: Writer) -> None:
        writer.claim("w", now=1.0, latest=1e9, limit=1)
        raise Conflict("no")

    with pytest.raises(Conflict):
        store.write("t", change)
    assert len(claim(store)) == 1


def test_whose_jobs_there_are_is_told_whoever_is_at_them(store: Store) -> None:
    assert (store.tenants_with_jobs(), store.jobs_in_queue()) == ([], 0)
    offer(
        store, a_lease(1), a_lease(2), a_lease(3, ready_at=1e6), a_lease(4, tenant="other"), a_lease(5, tenant="held")
    )
    claim(store, limit=1)
    store.write("held", lambda w: w.claim("w", now=100.0, latest=1e9, limit=10))
    assert (store.tenants_with_jobs(), store.jobs_in_queue()) == (["held", "other", "t"], 5)
    store.write("other", lambda w: w.change_lease(leases(store, tenant="other", ids=["job_other_000004"])[0], None))
    assert (store.tenants_with_jobs(), store.jobs_in_queue()) == (["held", "t"], 4)


# ---------------------------------------------------------------- turns


def test_a_turn_is_had_by_one_at_a_time_and_by_name(opened: Callable[[], Store]) -> None:
    one, other = opened(), opened()
    try:
        with one.turn("index", 0.0) as granted:
            assert granted
            with one.turn("index", 0.0) as again, other.turn("index", 0.0) as theirs, other.turn("else", 0.0) as free:
                assert (again, theirs, free) == (False, False, True)
        with other.turn("index", 0.0) as granted:
            assert granted
    finally:
        one.close()
        other.close()


def test_whoever_waits_for_a_turn_has_it_once_it_is_given_back(store: Store) -> None:
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with store.turn("index", 0.0) as granted:
            assert granted
            held.set()
            assert free.wait(300)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        assert held.wait(300)
        with store.turn("index", 0.0) as granted:
            assert not granted
        free.set()
        with store.turn("index", 300.0) as granted:
            assert granted
        holding.result(300.0)


def test_a_turn_is_given_back_whatever_happens_in_it(store: Store) -> None:
    with pytest.raises(Conflict), store.turn("index", 0.0):
        raise Conflict("no")
    with store.turn("index", 0.0) as granted:
        assert granted
