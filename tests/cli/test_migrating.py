"""`migrate`: any store to any other and back, after a kill, and never over a bank that is there."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.store import row_copy
from reasoningbank.wiring.migrating import migrate_bank


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(row_copy, "PAGE", 2)
    with ReasoningBank.open(tmp_path / "from.db", embedder="hash", namespace="n") as bank:
        first = bank.record(title="Wrap errors", content="Wrap errors with context.", tags=["go"])
        for number in range(4):
            bank.record(title=f"Lesson {number}", content=f"Do {number} before anything else.")
        bank.feedback(first.id, helpful=True)
        bank.edit(first.id, content="Wrap errors with %w.")
    return tmp_path / "from.db"


@pytest.fixture
def server(postgres) -> str:
    with postgres.raw() as connection:
        connection.execute("DROP SCHEMA IF EXISTS migrated CASCADE")
    return postgres.url("migrated")


def lines(place) -> list[str]:
    with ReasoningBank.open(place, namespace="n") as bank:
        assert bank.verify() == []
        return list(bank.export_lines())[1:]


def test_a_bank_goes_to_postgresql_and_comes_back_equal(rb, source, server, tmp_path):
    rehearsal = rb("migrate", source, server, "--dry-run")
    assert (rehearsal.code, "Nothing was made" in rehearsal.err) == (0, True)
    assert rb("--bank", server, "list").code == 5
    gone = rb("migrate", source, server)
    assert gone.code == 0, gone.err
    assert "compared one by one" in gone.err
    assert lines(server) == lines(source)
    with ReasoningBank.open(server, namespace="n") as bank:
        assert next(iter(bank.search("wrap errors"))).memory.title == "Wrap errors"
    back = tmp_path / "back.db"
    assert rb("migrate", server, back, "--json").json["missing"] == 0
    assert lines(back) == lines(server)
    refused = rb("migrate", source, back)
    assert (refused.code, "holds a bank already" in refused.err) == (2, True)
    assert rb("migrate", source, source).code == 2


def test_a_copy_that_was_killed_goes_on_and_begins_anew_where_the_source_has_changed(source, server):
    class Killed(BaseException):
        pass

    def move(pages: int | None = None):
        seen: list[int] = []

        def progress(done: int, total: int) -> None:
            seen.append(done)
            if len(seen) == pages:
                raise Killed

        return migrate_bank(locate(source), locate(server), dry_run=False, progress=progress)

    for pages in (1, 3, 5):
        with pytest.raises(Killed):
            move(pages)
    assert migrate_bank(locate(source), locate(server), dry_run=True).went_on
    with ReasoningBank.open(source, namespace="n") as bank:
        bank.record(title="Meanwhile", content="Something came meanwhile.")
    done = move()
    assert (done.went_on, done.missing) == (False, 0)
    assert lines(server) == lines(source)


def test_what_was_killed_late_is_finished_and_compared(source, server):
    class Killed(BaseException):
        pass

    def late(done: int, total: int) -> None:
        if done >= total // 2:
            raise Killed

    with pytest.raises(Killed):
        migrate_bank(locate(source), locate(server), dry_run=False, progress=late)
    assert migrate_bank(locate(source), locate(server), dry_run=False).went_on
    assert lines(server) == lines(source)
