"""Tables of the index in PostgreSQL that somebody has changed by hand: found by `verify`, mended, and left behind by none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from reasoningbank import ReasoningBank
from tests.postgres_server import Server

PARTS = ("rows", "tags", "groups", "postings", "vectors")


@pytest.fixture
def bank(postgres_url: str) -> Iterator[ReasoningBank]:
    with ReasoningBank.open(postgres_url, embedder="hash", namespace="n", index="pgvector") as opened:
        opened.record(title="Signing", content="Rotate the signing certificates before they expire.", tags=["keys"])
        opened.record(title="Harbour", content="A long walk to the harbour on a rainy morning.")
        assert titles(opened) == ["Harbour"]
        yield opened


@pytest.fixture
def spoil(postgres: Server) -> Callable[[str], None]:
    """Run a statement as a superuser, `{rows}` and so on being the tables of the index of memories."""

    def run(statement: str) -> None:
        with postgres.raw("postgres") as connection:
            connection.execute("SET search_path = shared, public")
            found = connection.execute(
                "SELECT max(number) FROM index_builds WHERE name !~ '-(tasks|graph)$'"
            ).fetchone()
            connection.execute(statement.format(**{part: f"index_{found[0]}_{part}" for part in PARTS}))

    return run


def titles(bank: ReasoningBank) -> list[str]:
    return [hit.title for hit in bank.search("a walk to the harbour")]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE {rows} SET tenant = 'evil'", "another tenant of it"),
        ("UPDATE {rows} SET terms = ''", "other words of it"),
        ("DELETE FROM {rows}", "it is not in the index"),
        ("DELETE FROM {tags}", "other tags of it"),
        ("DELETE FROM {postings}", "it has not the postings of its rows"),
        ("DELETE FROM {vectors}", "no vector of it"),
        ("UPDATE {vectors} SET state = 'archived'", "its vectors are filed otherwise than its rows"),
        ("UPDATE {groups} SET length = length + 1", "its counts are not those of its rows"),
    ],
)
def test_what_differs_from_the_records_is_found_and_built_again(
    bank: ReasoningBank, spoil: Callable[[str], None], statement: str, problem: str
) -> None:
    assert not bank.verify()
    spoil(statement)
    assert any(problem in damage.problem for damage in bank.verify()), bank.verify()
    assert bank.mend_index()
    assert bank.catch_up()
    assert not bank.verify()
    assert titles(bank) == ["Harbour"]


def test_a_search_that_comes_upon_vectors_without_their_rows_builds_the_index_anew(
    bank: ReasoningBank, spoil: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    spoil("UPDATE {rows} SET tenant = 'evil'")
    caplog.clear()
    assert titles(bank) == ["Harbour"]
    [told] = [record.getMessage() for record in caplog.records if record.name == "reasoningbank"]
    assert "filed otherwise than its rows: it is built anew" in told
    assert not bank.verify()


@pytest.mark.parametrize("part", PARTS)
def test_a_table_that_somebody_dropped_is_no_index_and_verify_builds_none(
    bank: ReasoningBank, spoil: Callable[[str], None], part: str
) -> None:
    spoil(f"DROP TABLE {{{part}}}")
    assert not bank.verify()
    assert bank.status().index is None
    assert titles(bank) == ["Harbour"]


def test_tables_that_no_build_names_go_with_the_next_search_or_erasure(
    bank: ReasoningBank, spoil: Callable[[str], None], postgres: Server
) -> None:
    spoil("CREATE TABLE index_977_rows (id text); ALTER TABLE index_977_rows OWNER TO team; DROP TABLE index_builds")
    assert titles(bank) == ["Harbour"]

    def unnamed() -> list[str]:
        with postgres.raw("postgres") as connection:
            found = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'shared' AND tablename ~ '^index_[0-9]+_' AND "
                "split_part(tablename, '_', 2) NOT IN (SELECT number::text FROM shared.index_builds)"
            )
            return [name for (name,) in found.fetchall()]

    assert unnamed() == []
    spoil("CREATE TABLE index_977_rows (id text); ALTER TABLE index_977_rows OWNER TO team")
    bank.erase(bank.search("harbour").memories[0].id)
    assert unnamed() == []
