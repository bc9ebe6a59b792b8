"""The queue in which processes wait to write. Two turns at one file stand for two processes wherever nobody dies."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Memory
from reasoningbank.store.sqlite import turn as turns
from reasoningbank.store.sqlite.turn import WriteTurn
from tests.open_files import open_below

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere SQLite alone decides who writes")
ENOUGH_S = 120.0


@pytest.fixture
def turn_at() -> Iterator[Callable[[Path], WriteTurn]]:
    with ExitStack() as closing:

        def make(path: Path) -> WriteTurn:
            made = WriteTurn(str(path))
            closing.callback(made.close)
            return made

        yield make


def held_elsewhere(path: Path, then: str) -> subprocess.Popen[str]:
    """A process that has the turn, says so and goes on."""
    source = f"""
import os, sys, time
from reasoningbank.store.sqlite.turn import WriteTurn
turn = WriteTurn({str(path)!r})
assert turn.take()
{then}
print("held", flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def waiting(turn: WriteTurn, served: list[WriteTurn]) -> threading.Thread:
    """A thread that waits for the turn; back when it is known to stand in the queue."""

    def wait() -> None:
        assert turn.take(ENOUGH_S)
        served.append(turn)
        turn.give()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def is_somebody_next(path: Path) -> bool:
    """Whether the first byte is locked: asked as a stranger would, with a file of one's own."""
    import fcntl

    file = os.open(path, os.O_RDWR)
    try:
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked)
        return struct.unpack("hhqqi", answer[: struct.calcsize("hhqqi")])[0] != fcntl.F_UNLCK
    finally:
        os.close(file)


def until(truth, *given) -> None:
    deadline = time.monotonic() + ENOUGH_S
    while not truth(*given):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_whoever_comes_back_does_not_push_in_before_the_one_who_waits(tmp_path, turn_at):
    path = tmp_path / "turn"
    first, second = turn_at(path), turn_at(path)
    served: list[WriteTurn] = []
    assert first.take()
    thread = waiting(second, served)
    until(is_somebody_next, path)
    first.give()
    assert first.take(ENOUGH_S)
    assert served == [second]
    first.give()
    thread.join(ENOUGH_S)


def test_a_killed_holder_frees_the_turn_at_once(tmp_path, turn_at):
    path = tmp_path / "turn"
    process = held_elsewhere(path, "")
    ours = turn_at(path)
    assert not ours.take(0.0)
    process.kill()
    process.communicate()
    assert ours.take(ENOUGH_S)


def test_a_child_that_outlives_a_killed_holder_does_not_keep_its_turn(tmp_path, turn_at):
    path, named = tmp_path / "turn", tmp_path / "child"
    forking = f"""
child = os.fork()
if child == 0:
    open({str(named)!r}, "w").write(str(os.getpid()))
    time.sleep(600)
    os._exit(0)
while not os.path.exists({str(named)!r}) or not open({str(named)!r}).read():
    time.sleep(0.001)
"""
    process = held_elsewhere(path, forking)
    try:
        process.kill()
        process.wait()
        assert turn_at(path).take(ENOUGH_S)
    finally:
        os.kill(int(named.read_text()), signal.SIGKILL)
        process.communicate()


def test_a_writer_goes_around_a_queue_that_does_not_move(tmp_path, monkeypatch, turn_at):
    monkeypatch.setattr(turns.WriteTurn.take, "__defaults__", (0.01,))
    stuck = turn_at(tmp_path / "bank.db-turn")
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        assert stuck.take()
        for number in range(3):
            bank.record(title=f"storm {number}", content="the queue stands still")
        assert len(bank.list()) == 3


def test_one_who_gave_up_holds_nobody_up(tmp_path, turn_at):
    path = tmp_path / "turn"
    first, second, third = (turn_at(path) for _ in range(3))
    assert first.take()
    assert not second.take(0.0)
    first.give()
    assert third.take(ENOUGH_S)
    third.give()
    assert second.take(ENOUGH_S)
    second.give()
    assert first.take(ENOUGH_S)


def test_one_who_closes_while_it_waits_holds_nobody_up(tmp_path, turn_at):
    path = tmp_path / "turn"
    first, second, third = (turn_at(path) for _ in range(3))
    assert first.take()
    assert not second.take(0.0)
    second.close()
    first.give()
    assert third.take(ENOUGH_S)


def test_one_who_is_dropped_while_it_waits_keeps_no_file_open(tmp_path, turn_at):
    first = turn_at(tmp_path / "first" / "turn")
    (tmp_path / "first").mkdir()
    assert first.take()
    second = WriteTurn(str(tmp_path / "first" / "turn"))
    assert not second.take(0.0)
    del second
    first.close()
    until(lambda: open_below(tmp_path) == [])


def test_nobody_queues_while_nobody_waits_and_everybody_does_once_somebody_had_to(tmp_path, turn_at):
    path = tmp_path / "turn"
    first, second = turn_at(path), turn_at(path)
    assert first.is_free()
    assert second.is_free()
    assert first.take()
    assert second.is_free()
    assert not second.take(0.0)
    assert not first.is_free()
    assert not second.is_free()


def test_a_moment_of_waiting_from_before_the_machine_was_started_is_none(tmp_path, turn_at):
    path = tmp_path / "turn"
    path.write_bytes(struct.pack("<d", time.monotonic() + 1e6))
    assert turn_at(path).is_free()


def test_a_bank_is_written_where_no_queue_can_be_made(tmp_path):
    (tmp_path / "bank.db-turn").mkdir()
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        kept = bank.record(title="storm", content="a folder where the queue should be")
        assert bank.get(kept.id).memory.title == "storm"


def test_a_link_where_the_queue_should_be_is_not_followed(tmp_path, turn_at):
    (tmp_path / "precious").write_bytes(b"of somebody else")
    (tmp_path / "bank.db-turn").symlink_to(tmp_path / "precious")
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        bank.record(title="storm", content="a link where the queue should be")
        assert len(bank.list()) == 1
    turn = turn_at(tmp_path / "bank.db-turn")
    assert not turn.is_free()
    turn.note_waiting()
    assert not turn.take(0.0)
    assert (tmp_path / "precious").read_bytes() == b"of somebody else"


def test_a_bank_is_written_where_the_queue_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "bank.db-turn")
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        bank.record(title="storm", content="a pipe where the queue should be")
        assert len(bank.list()) == 1


def test_a_forked_child_writes_in_turn_with_its_parent(tmp_path):
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        bank.record(title="before", content="the parent was first")
        pid = os.fork()
        if pid == 0:
            try:
                for number in range(20):
                    bank.record(title=f"child {number}", content="written by the child")
                os._exit(0)
            finally:
                os._exit(1)
        for number in range(20):
            bank.record(title=f"parent {number}", content="written by the parent")
        assert os.waitpid(pid, 0)[1] == 0
        with bank.context.store.read(bank.tenant) as reader:
            assert len(reader.select(Memory, {})) == 41


def test_a_bank_that_is_only_read_leaves_no_queue_behind(tmp_path):
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        bank.record(title="storm", content="kept")
    (tmp_path / "bank.db-turn").unlink()
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash", read_only=True) as bank:
        assert bank.list()
    assert not (tmp_path / "bank.db-turn").exists()
