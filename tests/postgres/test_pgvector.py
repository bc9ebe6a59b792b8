"""The index in PostgreSQL: what its tables keep from whom, what is said where pgvector is not to be had, and that
searching through a graph, by a filter or among common words finds what comparing everything finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reasoningbank.config import locate
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.errors import BankDamaged, BankUnavailable
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Draft, EmbedderIdentity, Memory
from reasoningbank.lexical.entries import query_terms
from reasoningbank.lexical.word_rows import word_rows
from reasoningbank.ports import Filter, Halves, IndexPlace, Probe
from reasoningbank.store.turns import FileTurns
from reasoningbank_postgres.pgvector import graph_building, near_look, nearest, postings
from reasoningbank_postgres.pgvector.builds import PgvectorBuilds
from tests.postgres_server import Server

IDENTITY = EmbedderIdentity(name="hash", model="m", dimension=16, revision="1")
NAME = "4294967299-hash-bayes"
MANY = 400


def builds_at(url: str, folder: Path, *, read_only: bool = False) -> PgvectorBuilds:
    turn = FileTurns(folder / "turns").take
    place = IndexPlace(url="pgvector", key=None, mark="rb", folder=folder, location=locate(url), turn=turn)
    return PgvectorBuilds(place, read_only=read_only)


@pytest.fixture
def builds(postgres_url: str, tmp_path: Path) -> Iterator[PgvectorBuilds]:
    made = builds_at(postgres_url, tmp_path)
    made.remove_all()
    yield made
    made.remove_all()
    made.close()


def a_memory(number: int, *, tenant: str = "t", namespace: str = "n", **said: Any) -> Memory:
    draft = Draft(**{"title": f"title{number}", "content": "shared words", **said})
    memory_id = f"mem_{number:05}"
    return memory_from(draft, memory_id=memory_id, tenant=tenant, namespace=namespace, initial_confidence=0.5, now=1.0)


def directions(count: int) -> np.ndarray:
    made = np.random.default_rng(3).standard_normal((count, IDENTITY.dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def fill(halves: Halves, memories: list[Memory]) -> None:
    halves.words.upsert(word_rows(memories))
    halves.vectors.upsert(list(zip(memories, directions(len(memories)), strict=True)))


def numbers(ids: list[str]) -> list[int]:
    return [int(memory_id[-5:]) for memory_id in ids]


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is meant for many thousands begins with a few hundred."""
    monkeypatch.setattr(graph_building, "BUILD_FROM", 100)
    monkeypatch.setattr(nearest, "NARROW", 50)


def test_a_session_that_names_no_tenant_sees_nothing_of_an_index(builds: PgvectorBuilds, postgres: Server) -> None:
    fill(builds.open(NAME, IDENTITY, "text"), [a_memory(1, tags=("go",))])
    with postgres.raw() as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'index\\_%\\_%'").fetchall()
        tables = [name for (name,) in found if name.removeprefix("index_")[0].isdigit()]
        assert len(tables) == 5
        for table in tables:
            assert connection.execute(f"SELECT * FROM shared.{table}").fetchall() == []
            with connection.transaction():
                connection.execute("SET LOCAL reasoningbank.tenant = 't'")
                assert connection.execute(f"SELECT * FROM shared.{table}").fetchall()


def test_a_graph_over_many_vectors_finds_what_comparing_all_of_them_finds(
    builds: PgvectorBuilds, low_limits: None
) -> None:
    halves = builds.open(NAME, IDENTITY, "text")
    fill(halves, [a_memory(number, namespace=f"n{number % 4}") for number in range(MANY)])
    where = Filter(tenant="t")
    exact = [halves.vectors.search(vector, where, 10) for vector in directions(20)]
    halves.vectors.advance(halves.words.position)
    halves.vectors.close()
    build = halves.vectors._build
    assert build.fresh_stamp().reach > 0
    plan = explain(halves, where)
    assert "_graph" in plan
    assert [halves.vectors.search(vector, where, 10) for vector in directions(20)] == exact
    quarter = Filter(tenant="t", namespace="n1")
    for vector in directions(10):
        near = halves.vectors.search(vector, quarter, 10)
        expected = [n for n in np.argsort(-(directions(MANY) @ vector)).tolist() if n % 4 == 1][:10]
        assert numbers([i for i, _ in near]) == expected


def explain(halves: Halves, where: Filter) -> str:
    build = halves.vectors._build
    census = build.census(where.tenant, build.fresh_stamp())
    way = nearest.SearchWay(build.tables, where, 10, *build.counts([where], census), census.reach)
    sql, values = way.query("id", f"[{','.join(['1'] * IDENTITY.dimension)}]")
    *_, found = build.ask(where.tenant, *way.terms, (f"EXPLAIN {sql}", values))
    return "\n".join(line for (line,) in found)


def test_vectors_for_which_no_graph_is_good_enough_have_none(
    builds: PgvectorBuilds, low_limits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_building, "WANTED_RECALL", 1.01)
    halves = builds.open(NAME, IDENTITY, "text")
    fill(halves, [a_memory(number) for number in range(150)])
    for _ in range(2):
        halves.vectors.advance(halves.words.position)
        halves.vectors.close()
    assert halves.vectors._build.fresh_stamp().reach == 0
    assert "_graph" not in explain(halves, Filter(tenant="t"))


def test_common_words_are_read_within_bounds_and_rare_ones_first(
    builds: PgvectorBuilds, low_limits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "MOST_POSTINGS", 60)
    halves = builds.open(NAME, IDENTITY, "text")
    said = ["common rare" if number in (7, 80) else "common" for number in range(100)]
    fill(halves, [a_memory(number, content=text) for number, text in enumerate(said)])
    [common], [rare] = query_terms("common"), query_terms("rare")
    where = Filter(tenant="t")
    both, alone = halves.words.search([{common: 0.1, rare: 2.0}, {rare: 2.0}], where, 10)
    assert numbers(both)[:2] == numbers(alone) == [7, 80]
    assert halves.words.frequencies("t", [common, rare]).holding == [100, 2]
    [found] = halves.words.search([{common: 0.1}], where, 10)
    assert len(found) == 10


def test_tables_that_somebody_dropped_are_damage_and_opening_again_makes_them_anew(
    builds: PgvectorBuilds, postgres: Server
) -> None:
    halves = builds.open(NAME, IDENTITY, "text")
    fill(halves, [a_memory(1)])
    with postgres.raw() as connection:
        connection.execute(f"DROP TABLE shared.{halves.words._build.tables.vectors}")
    with pytest.raises(BankDamaged, match="built anew from the records"):
        halves.vectors.search(directions(1)[0], Filter(tenant="t"), 10)
    again = builds.open(NAME, IDENTITY, "text")
    assert again.words.position.applied == again.words.count() == 0
    fill(again, [a_memory(1)])
    assert len(again.vectors.search(directions(1)[0], Filter(tenant="t"), 10)) == 1


def test_a_build_of_another_embedder_under_the_same_name_is_begun_anew(builds: PgvectorBuilds) -> None:
    fill(builds.open(NAME, IDENTITY, "text"), [a_memory(1)])
    other = EmbedderIdentity(name="hash", model="m", dimension=8, revision="1")
    halves = builds.open(NAME, other, "text")
    assert halves.words.count() == 0
    halves.words.upsert(word_rows([a_memory(1)]))
    halves.vectors.upsert([(a_memory(1), np.ones(8, np.float32))])
    assert len(halves.vectors.fetch(["mem_00001"])["mem_00001"]) == 8


def test_a_bank_that_is_only_read_makes_no_tables_and_says_what_helps(postgres_url: str, tmp_path: Path) -> None:
    made = builds_at(postgres_url, tmp_path, read_only=True)
    with pytest.raises(BankUnavailable, match="open it once for writing"):
        made.open("1-hash-none", IDENTITY, "text").words.count()
    made.close()


def test_a_database_without_pgvector_is_refused_with_what_helps(postgres: Server, tmp_path: Path) -> None:
    with postgres.raw("postgres") as admin:
        admin.execute(f"CREATE DATABASE {postgres.database}_bare OWNER team")
    bare = Server(postgres.socket, f"{postgres.database}_bare")
    with bare.raw() as connection:
        connection.execute("CREATE SCHEMA plain")
    made = builds_at(bare.url("plain"), tmp_path)
    with pytest.raises(BankUnavailable, match=r"administrator say there: CREATE EXTENSION vector;.*--index embedded"):
        made.open(NAME, IDENTITY, "text").words.count()
    made.close()
    with bare.raw("postgres") as admin:
        admin.execute("CREATE EXTENSION vector")
        admin.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    made = builds_at(bare.url("plain"), tmp_path)
    with pytest.raises(BankUnavailable, match=r"pgvector 0\.7\.4; the index needs 0\.8.*ALTER EXTENSION vector UPDATE"):
        made.open(NAME, IDENTITY, "text").words.count()
    made.close()


def test_two_builds_lie_beside_each_other_and_are_removed_apart(builds: PgvectorBuilds) -> None:
    for name in ("11-hash-bayes", "12-hash-bayes", "12-hash-bayes-tasks"):
        fill(builds.open(name, IDENTITY, "text"), [a_memory(1)])
    builds.remove(11)
    assert [builds.is_there(name) for name in ("11-hash-bayes", "12-hash-bayes", "12-hash-bayes-tasks")] == [
        False,
        True,
        True,
    ]
    info = builds.info("12-hash-bayes")
    assert info is not None
    assert (info.kind, info.memories, info.awaiting_vectors) == ("pgvector", 1, 0)
    assert info.bytes_on_disk > 0
    builds.remove_left_over("13-")
    assert not builds.is_there("12-hash-bayes-tasks")


def probe_of(vector: np.ndarray) -> Probe:
    return Probe(vector=vector, text="title7 shared", where=Filter(tenant="t"), depth=20)


def test_a_look_whose_session_the_server_ends_meanwhile_is_answered_all_the_same(
    builds: PgvectorBuilds, postgres: Server
) -> None:
    halves = builds.open(NAME, IDENTITY, "text")
    fill(halves, [a_memory(number) for number in range(60)])
    assert halves.joined is not None
    probe = probe_of(directions(1)[0])
    expected = halves.joined.search(probe)
    with halves.joined.begin(probe) as begun:
        with postgres.raw() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'reasoningbank' AND datname = current_database() AND pid <> pg_backend_pid()"
            )
        found = halves.joined.search(begun)
    assert (found.ids, found.cosine.tolist()) == (expected.ids, expected.cosine.tolist())


def test_what_was_begun_for_one_build_filter_or_depth_is_not_the_answer_for_another(builds: PgvectorBuilds) -> None:
    halves = builds.open(NAME, IDENTITY, "text")
    other = builds.open("4294967299-hash-tasks", IDENTITY, "text")
    fill(halves, [a_memory(number) for number in range(60)])
    fill(other, [a_memory(100)])
    assert halves.joined is not None
    assert other.joined is not None
    probe = probe_of(directions(1)[0])
    with halves.joined.begin(probe) as begun:
        assert other.joined.search(begun).ids == ["mem_00100"]
        elsewhere = replace(begun, where=Filter(tenant="t", namespace="elsewhere"))
        assert halves.joined.search(elsewhere).ids == []
        first, again = halves.joined.search(begun), halves.joined.search(begun)
    assert len(first.ids) > 20
    assert again.ids == first.ids


def test_vectors_that_come_with_candidates_are_those_that_are_asked_for_afterwards(
    builds: PgvectorBuilds, monkeypatch: pytest.MonkeyPatch
) -> None:
    halves = builds.open(NAME, IDENTITY, "text")
    fill(halves, [a_memory(number) for number in range(60)])
    assert halves.joined is not None
    probe = probe_of(directions(1)[0])
    few = halves.joined.search(probe)
    monkeypatch.setattr(near_look, "MOST_WITH_VECTORS", 0)
    many = halves.joined.search(probe)
    rows = range(len(few.ids))
    assert many.ids == few.ids
    assert np.array_equal(halves.joined.vectors_of(many, rows), halves.joined.vectors_of(few, rows))
    assert np.allclose(halves.joined.vectors_of(few, rows) @ directions(1)[0], few.cosine, atol=2e-3)
