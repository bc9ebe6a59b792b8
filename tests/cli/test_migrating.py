"""`migrate`: any store to any other while processes write, after a kill at any stage, and never over a bank that is there."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.store.catching_up import OWN_SETTINGS
from reasoningbank.store.row_copy import check_equal
from reasoningbank.wiring.backends import backend_of

WAIT_S = 300.0
REWRITTEN = {"index", "reindex"}
WAYS = ["to postgres", pytest.param("to sqlite", marks=pytest.mark.storm)]


@pytest.fixture
def source(tmp_path) -> Path:
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


def assert_equal_banks(one, other) -> int:
    """Row by row, whatever is in them."""
    with (
        closing(_engine(one)) as first,
        closing(_engine(other)) as second,
        first.read(None) as ours,
        second.read(None) as theirs,
    ):
        return check_equal(ours, theirs, str(other), settings_but={*OWN_SETTINGS, *REWRITTEN})


def _engine(place) -> Any:
    location = locate(place)
    store: Any = backend_of(location).open(location, durability="full", create=False, read_only=True, clock=float)
    return store.engine


def test_a_bank_goes_to_postgresql_and_comes_back_equal(rb, source, server, tmp_path):
    rehearsal = rb("migrate", source, server, "--dry-run")
    assert (rehearsal.code, "Nothing was made" in rehearsal.err) == (0, True)
    assert rb("--bank", server, "list").code == 5
    gone = rb("migrate", source, server)
    assert gone.code == 0, gone.err
    assert "compared one by one, with 0 changes that came meanwhile" in gone.err
    assert f"migrate --undo {source} {shlex.quote(server)}`" in gone.err
    assert lines(server) == lines(source)
    with ReasoningBank.open(server, namespace="n") as bank:
        assert next(iter(bank.search("wrap errors"))).memory.title == "Wrap errors"
    back = tmp_path / "back.db"
    assert rb("migrate", server, back, "--json").json["meanwhile"] == 0
    assert lines(back) == lines(server)
    assert_equal_banks(server, back)
    other = tmp_path / "other.db"
    rb("--bank", other, "store", "build", "make build")
    refused = rb("migrate", other, back)
    assert (refused.code, "holds a bank already" in refused.err) == (2, True)
    assert rb("migrate", source, source).code == 2
    assert rb("migrate", source).code == 2


def test_a_move_that_is_refused_leaves_nothing_at_its_target(rb, source, tmp_path):
    assert rb("migrate", source, tmp_path / "there.db").code == 0
    refused = rb("migrate", source, tmp_path / "elsewhere.db")
    assert (refused.code, "was moved to" in refused.err) == (2, True)
    assert not list(tmp_path.glob("elsewhere*"))


def test_a_bank_that_was_moved_says_where_it_is_to_whoever_writes_and_can_be_read(rb, source, server, caplog):
    assert rb("migrate", source, server).code == 0
    refused = rb("--bank", source, "store", "build", "make build")
    assert (refused.code, str(server) in refused.err) == (5, True)
    assert f"`reasoningbank migrate --undo {source} {shlex.quote(server)}`" in refused.err
    caplog.clear()
    assert rb("--bank", source, "query", "wrap errors").code == 0
    assert f"was moved to {server}: what can be read here is as it was then." in caplog.text
    status = rb("--bank", source, "doctor")
    assert f"moved to {server}" in status.out + status.err
    again = rb("migrate", source, server)
    assert (again.code, "already: there is nothing left to do" in again.err) == (0, True)
    assert rb("migrate", source, server, "--json").json["was_done"] is True
    assert rb("migrate", source, source.with_name("elsewhere.db")).code == 2
    kept = source.with_name("kept.db")
    assert rb("--bank", source, "backup", kept).code == 0
    assert rb("--bank", source.with_name("other.db"), "recover", kept).code == 0
    assert rb("--bank", source.with_name("other.db"), "store", "build", "make build").code == 0
    undone = rb("migrate", "--undo", source, server)
    assert undone.code == 0, undone.err
    assert rb("--bank", source, "store", "build", "make build").code == 0
    assert rb("--bank", server, "store", "build", "make build").code == 5
    assert rb("migrate", "--undo", server).code == 0
    assert rb("migrate", "--undo", server).code == 2


def test_whoever_watches_sees_each_stage_go_by(source, server):
    screen, terminal = pty.openpty()
    words = [sys.executable, "-m", "reasoningbank", "migrate", str(source), server]
    moving = subprocess.Popen(words, stderr=terminal, env={**os.environ, "TERM": "xterm"})
    os.close(terminal)
    seen = b""
    with suppress(OSError):  # the other end is closed
        while piece := os.read(screen, 4096):
            seen += piece
    assert moving.wait(WAIT_S) == 0
    shown = seen.decode()
    assert "copying" in shown
    assert "comparing" in shown
    assert "100%" in shown
    assert shown.rstrip().endswith("goes back.")
    os.close(screen)


# ---------------------------------------------------------------- others write

WRITER = """
import sys, time
from itertools import count
from reasoningbank import BankBusy, BankError, ReasoningBank
from reasoningbank.core.errors import BankMoved

place, name = sys.argv[1:3]
with ReasoningBank.open(place, namespace="n") as bank:
    for number in count():
        try:
            made = bank.record(title=f"{name} {number}", content=f"{name} says {number} things about it.")
            print("made", made.id, flush=True)
            if number % 3 == 1:
                bank.edit(made.id, content=f"{name} says {number} other things.")
                print("edited", made.id, flush=True)
            if number % 4 == 3:
                session = bank.start_session(f"task {number} of {name}")
                bank.search(f"{name} says {number}", session=session.id)
                bank.end_session(session.id, "success", used=[made.id])
                print("ended", session.id, flush=True)
            if number % 5 == 2:
                bank.erase(made.id)
                print("erased", made.id, flush=True)
        except BankMoved as error:
            print("moved", error, flush=True)
            break
        except BankBusy:
            continue
"""


def read_until(process: subprocess.Popen[str], noun: str, times: int) -> list[str]:
    assert process.stdout is not None
    seen: list[str] = []
    while sum(line.startswith(noun) for line in seen) < times:
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        seen.append(line.rstrip())
    return seen


def resume(mover: subprocess.Popen[str]) -> None:
    assert mover.stdin is not None
    mover.stdin.write("\n")
    mover.stdin.flush()


@pytest.mark.parametrize("way", WAYS)
def test_two_processes_write_throughout_and_nothing_that_was_acknowledged_is_lost(
    rb, child, finished, source, server, way
):
    place, target = source, server
    if way == "to sqlite":
        assert rb("migrate", source, server).code == 0
        place, target = server, source.with_name("back.db")
    writers = [child(WRITER, place, name) for name in ("ann", "bob")]
    mover = child(MOVER, place, target, "within copying")
    said = [read_until(writer, "made", 8) for writer in writers]
    read_until(mover, "within copying", 1)
    for writer, told in zip(writers, said, strict=True):
        told.extend(read_until(writer, "made", 1))
    resume(mover)
    for writer, told in zip(writers, said, strict=True):
        told.extend(read_until(writer, "moved", 1))
        assert str(target) in told[-1]
    assert int(finished(mover).split()[-1]) > 0, "they wrote while it was copied"
    assert assert_equal_banks(place, target) > 50
    made, edited, erased, ended = (
        {line.split()[1] for told in said for line in told if line.startswith(word)}
        for word in ("made", "edited", "erased", "ended")
    )
    with ReasoningBank.open(target, namespace="n") as bank:
        found = {memory.id: memory for memory in bank.list(limit=10_000)}
        assert made - erased <= set(found)
        assert not erased & set(found)
        assert all(found[one].memory.revision >= 2 for one in edited - erased)
        assert all(bank.trajectory(one)[0].outcome == "success" for one in ended)
        assert bank.verify() == []


# ---------------------------------------------------------------- kills

MOVER = """
import sys
from reasoningbank.config import locate
from reasoningbank.store import row_copy
from reasoningbank.wiring.migrating import migrate_bank

class Watch:
    def rename(self, label):
        self.label = label
        self.stop_at(label)

    def __call__(self, done, total):
        self.stop_at(f"within {self.label}")

    def stop_at(self, where):
        if stops and stops[0] == where:
            print(stops.pop(0), flush=True)
            sys.stdin.readline()

row_copy.PAGE = 2
stops = sys.argv[3:]
print("meanwhile", migrate_bank(locate(sys.argv[1]), locate(sys.argv[2]), watch=Watch()).meanwhile)
"""
STORE = """
import sys
from reasoningbank import ReasoningBank
with ReasoningBank.open(sys.argv[1], namespace="n") as bank:
    print("asks", flush=True)
    bank.record(title=sys.argv[2], content=f"{sys.argv[2]}, whatever becomes of the migration.")
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_migration_that_is_killed_at_every_stage_goes_on_and_loses_nothing(rb, child, finished, source, server, way):
    place, target = source, server
    if way == "to sqlite":
        assert rb("migrate", source, server).code == 0
        place, target = server, source.with_name("back.db")

    def stopped_at(*stages: str) -> subprocess.Popen[str]:
        mover = child(MOVER, place, target, *stages)
        assert read_until(mover, stages[0], 1) == [stages[0]]
        return mover

    def record(title: str) -> None:
        with ReasoningBank.open(place, namespace="n") as bank:
            bank.record(title=title, content=f"{title}, whatever becomes of the migration.")

    for stage in ("within copying", "catching up", "within comparing"):
        mover = stopped_at(stage)
        record(f"Came {stage}")
        assert rb("--bank", target, "list").code == 6, "half a bank answers nobody"
        mover.kill()
        mover.wait(WAIT_S)
    mover = stopped_at("the last changes", "within the last changes")
    record("Came before the last changes")
    resume(mover)
    read_until(mover, "within the last changes", 1)
    waiting = child(STORE, place, "Came while writers wait")
    read_until(waiting, "asks", 1)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(0.2)
    mover.kill()
    mover.wait(WAIT_S)
    finished(waiting)
    mover = stopped_at("opening")
    refused = rb("--bank", place, "store", "build", "make build")
    assert (refused.code, "was moved to" in refused.err) == (5, True)
    mover.kill()
    mover.wait(WAIT_S)
    assert rb("--bank", target, "store", "build", "make build").code == 6
    done = rb("migrate", place, target, "--json")
    assert (done.code, done.json["went_on"]) == (0, True), done.err
    assert_equal_banks(place, target)
    with ReasoningBank.open(target, namespace="n") as bank:
        titles = {one.memory.title for one in bank.list(limit=100)}
    came = ("within copying", "catching up", "within comparing", "before the last changes", "while writers wait")
    assert {f"Came {when}" for when in came} <= titles


# ---------------------------------------------------------------- two at once


@pytest.mark.parametrize("way", WAYS)
def test_while_one_moves_a_bank_nobody_else_moves_it_or_undoes_that(
    rb, child, finished, source, server, way, monkeypatch
):
    monkeypatch.setattr("reasoningbank.store.migrating.ANOTHER_WITHIN_S", 0.1)
    place, target = source, server
    if way == "to sqlite":
        assert rb("migrate", source, server).code == 0
        place, target = server, source.with_name("back.db")
    mover = child(MOVER, place, target, "within comparing", "opening")
    read_until(mover, "within comparing", 1)
    elsewhere = source.with_name("elsewhere.db")
    for words in ((place, target), (place, elsewhere), (target, elsewhere)):
        refused = rb("migrate", *words)
        assert (refused.code, "is being moved by another process" in refused.err) == (6, True), refused
    resume(mover)
    read_until(mover, "opening", 1)
    refused = rb("migrate", "--undo", place, target)
    assert (refused.code, "is being moved by another process" in refused.err) == (6, True), refused
    resume(mover)
    finished(mover)
    assert rb("--bank", target, "store", "build", "make build").code == 0
    again = rb("migrate", place, target)
    assert (again.code, "there is nothing left to do" in again.err) == (0, True), again.err


def test_half_a_bank_that_a_killed_migration_left_is_moved_nowhere(rb, child, source, server):
    mover = child(MOVER, source, server, "within copying")
    read_until(mover, "within copying", 1)
    mover.kill()
    mover.wait(WAIT_S)
    for more in ((), ("--dry-run",)):
        refused = rb("migrate", server, source.with_name("half.db"), *more)
        assert (refused.code, "is being filled from" in refused.err) == (6, True), refused
    assert rb("migrate", source, server).code == 0
