"""The same changes on every engine end in the same answers, down to the last view and the feed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasoningbank.core.errors import BankError
from reasoningbank.core.types import (
    EmbedderIdentity,
    Exposure,
    Job,
    JobState,
    Lease,
    Memory,
    Signal,
    State,
    Step,
    Tombstone,
    Trajectory,
)
from reasoningbank.location import parse_location
from reasoningbank.ports import Store, Writer
from reasoningbank.store.memory import MemoryEngine
from reasoningbank.store.record_store import RecordStore
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank_postgres.store import PostgresStore
from tests.contract.test_store import a_gap, a_memory, a_signal, a_step, a_trajectory, an_edge
from tests.postgres_server import empty_bank
from tests.store.fixtures.make_bank import contents

TENANT = "local"
IDENTITY = EmbedderIdentity(name="hash", model="m", dimension=2, revision="1")
Act = Callable[[Store], Any]


def in_unit(change: Callable[[Writer], Any]) -> Act:
    return lambda store: store.write(TENANT, change)


def the_memory(number: int, **changes: Any) -> Memory:
    return a_memory(number, tenant=TENANT, **changes)


def revised(number: int, content: str) -> Callable[[Writer], None]:
    def change(writer: Writer) -> None:
        one = the_memory(number)
        there = writer.get(Memory, [one.id]).get(one.id, one)
        writer.revise(replace(there, content=content, revision=there.revision + 1, advice_id=f"adv_{content}"))

    return change


def ended(number: int, outcome: str) -> Callable[[Writer], None]:
    session = a_trajectory(number, tenant=TENANT, outcome=outcome, ended_at=float(number + 5))
    return lambda writer: writer.revise(session)


def queued(number: int) -> Callable[[Writer], Any]:
    job = Job(
        id=f"job_{number}",
        tenant=TENANT,
        namespace="n",
        kind="distill",
        subject="trj",
        state=JobState.WAITING,
        attempts=0,
        error="",
        results=(),
        metadata={},
        created_at=float(number),
        ended_at=None,
    )
    lease = Lease(job_id=job.id, tenant=TENANT, owner=None, beat=0, attempts=0, ready_at=float(number), error="")

    def change(writer: Writer) -> bool:
        if not writer.get(Job, [job.id]):
            writer.add(job)
        return writer.change_lease(None, lease)

    return change


def exposure(number: int, session: int, *, withheld: bool) -> Exposure:
    return Exposure(
        memory_id=the_memory(number).id,
        tenant=TENANT,
        trajectory_id=f"trj_{TENANT}_{session}",
        query_hash="q",
        rank=number,
        at=float(number + session),
        withheld=withheld,
        holdout=0.25,
    )


NUMBERS = st.integers(1, 4)
ACTS: st.SearchStrategy[Act] = st.one_of(
    st.builds(
        lambda n, key, state: in_unit(lambda w: w.add(the_memory(n, key=key, state=state, tags=("a", "b")[: n % 3]))),
        NUMBERS,
        st.sampled_from([None, "k"]),
        st.sampled_from(State),
    ),
    st.builds(lambda n, text: in_unit(revised(n, text)), NUMBERS, st.sampled_from("xyz")),
    st.builds(lambda n: in_unit(lambda w: w.rewrite(the_memory(n, content="rewritten"))), NUMBERS),
    st.builds(lambda n: in_unit(lambda w: w.remove(Memory, the_memory(n).id)), NUMBERS),
    st.builds(
        lambda n, m: in_unit(lambda w: w.add(a_signal(n * 10 + m, the_memory(n).id, tenant=TENANT, positive=m > 2))),
        NUMBERS,
        NUMBERS,
    ),
    st.builds(
        lambda n, m: in_unit(lambda w: w.add(an_edge(n * 10 + m, the_memory(n).id, the_memory(m).id, tenant=TENANT))),
        NUMBERS,
        NUMBERS,
    ),
    st.builds(lambda n: in_unit(lambda w: w.add(a_trajectory(n, tenant=TENANT))), NUMBERS),
    st.builds(lambda n, how: in_unit(ended(n, how)), NUMBERS, st.sampled_from(["success", "failure", "unknown"])),
    st.builds(lambda n: in_unit(lambda w: w.remove(Trajectory, f"trj_{TENANT}_{n}")), NUMBERS),
    st.builds(
        lambda n, m: in_unit(
            lambda w: w.add(replace(a_step(m, f"trj_{TENANT}_{n}", tenant=TENANT), id=f"stp_{n}_{m}"))
        ),
        NUMBERS,
        NUMBERS,
    ),
    st.builds(
        lambda n, level: in_unit(lambda w: w.keep_trust(the_memory(n, parents=("mem_p",)), level, [11, 12, 20 + n])),
        NUMBERS,
        st.integers(0, 2),
    ),
    st.builds(
        lambda n, facet: in_unit(lambda w: w.keep_vectors(IDENTITY, the_memory(n).id, {facet: bytes([n] * 4)})),
        NUMBERS,
        st.sampled_from(["text", "task"]),
    ),
    st.builds(
        lambda n, m, withheld: lambda store: store.log_shown([exposure(n, m, withheld=withheld)]),
        NUMBERS,
        NUMBERS,
        st.booleans(),
    ),
    st.builds(
        lambda n, m: in_unit(
            lambda w: w.add_side_records(
                [exposure(n, m, withheld=False), Tombstone(id=f"mem_{m}", tenant=TENANT, kind="memory", at=1.0)]
            )
        ),
        NUMBERS,
        NUMBERS,
    ),
    st.builds(lambda n: lambda store: store.log_gaps([a_gap(f"gap_{n}", float(n), tenant=TENANT)]), NUMBERS),
    st.builds(lambda n: lambda store: store.drop_gaps(TENANT, [f"gap_{n}"]), NUMBERS),
    st.builds(lambda n: in_unit(queued(n)), NUMBERS),
    st.builds(lambda n: in_unit(lambda w: w.claim("me", now=float(n), latest=1e9, limit=2)), NUMBERS),
    st.builds(lambda n: lambda store: store.agree_setting("colour", f"{n}"), NUMBERS),
)


def answer(act: Act, store: Store) -> tuple[str, Any]:
    try:
        return "did", act(store)
    except BankError as error:
        return "refused", type(error)


def assert_alike(acts: list[Act], stores: tuple[Store, Store]) -> None:
    for act in acts:
        first, second = (answer(act, store) for store in stores)
        assert first == second
    assert contents(stores[0]) == contents(stores[1])
    assert stores[0].verify() == stores[1].verify()
    for store in stores:
        with store.read(TENANT) as reader:
            assert reader.count(Signal, {}) == len(reader.select(Signal, {}))
            assert reader.count(Step, {}) == sum(reader.tally(Step, "trajectory_id").values())
        store.close()


@settings(max_examples=60)
@given(acts=st.lists(ACTS, max_size=25))
def test_every_engine_gives_the_same_answers_to_the_same_changes(acts: list[Act]) -> None:
    assert_alike(acts, (SqliteStore(":memory:", clock=lambda: 1.0), RecordStore(MemoryEngine(), clock=lambda: 1.0)))


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(ACTS, min_size=10, max_size=25))
def test_postgresql_gives_the_same_answers_as_the_plain_engine(postgres, postgres_url, acts: list[Act]) -> None:
    empty_bank(postgres, "shared")
    there = PostgresStore(parse_location(postgres_url, "/nowhere"), clock=lambda: 1.0)
    assert_alike(acts, (there, RecordStore(MemoryEngine(), clock=lambda: 1.0)))
