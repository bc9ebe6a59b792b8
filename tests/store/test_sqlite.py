"""What only a file can show: shared commits, untouched bytes after reads, erased bytes, forked processes."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Exposure
from reasoningbank.ports import Writer
from reasoningbank.store.group_commit import UNITS_PER_COMMIT, Unit
from reasoningbank.store.selection import Selection, any_of
from reasoningbank.store.sqlite.backend import SAFE_SQLITE
from reasoningbank.store.sqlite.statements import select
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.store.tables import JOBS, SIGNALS, STEPS, TASKS

CANARY = "Zanzibar-canary-7f3a"


def test_the_sqlite_in_use_is_one_that_does_not_corrupt_shared_files() -> None:
    assert tuple(int(part) for part in apsw.sqlite_lib_version().split(".")) >= SAFE_SQLITE


def test_an_unknown_durability_is_refused(path: Path) -> None:
    with pytest.raises(InvalidInput, match="full, normal"):
        SqliteStore(path, durability="off")


def commits_in_log(path: Path) -> int:
    """Frames of the write-ahead log that end a transaction, told by their size field."""
    log = Path(f"{path}-wal").read_bytes()
    page = int.from_bytes(log[8:12], "big")
    frames = range(32, len(log), 24 + page)
    return sum(int.from_bytes(log[at + 4 : at + 8], "big") > 0 for at in frames)


def test_writes_that_wait_together_share_commits(path: Path) -> None:
    store = SqliteStore(path)
    running, go = threading.Event(), threading.Event()

    def slow(writer: Writer) -> None:
        running.set()
        assert go.wait(300)

    def line(number: int) -> Callable[[Writer], int]:
        return lambda writer: writer.add_side_records(
            [Exposure(memory_id="m", tenant="t", trajectory_id=None, query_hash="q", rank=number, at=1.0)]
        )

    before = commits_in_log(path)
    blocker = threading.Thread(target=store.write, args=("t", slow))
    blocker.start()
    assert running.wait(300)
    queued = threading.Semaphore(0)

    def work(number: int) -> None:
        queued.release()
        store.write("t", line(number))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(100)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert queued.acquire(timeout=300)
    go.set()
    for thread in (blocker, *threads):
        thread.join(300)
    commits = commits_in_log(path) - before
    with store.read("t") as reader:
        assert len(reader.side_records(Exposure)) == 100
    store.close()
    assert 1 <= commits <= 20


def test_a_write_behind_more_than_one_commit_takes_returns_only_after_its_own(path: Path) -> None:
    store = SqliteStore(path)
    # Put there by hand: threads queue up in the order in which they get the lock, so they hardly ever overtake.
    store.engine._commits.queue.extend(Unit("t", lambda writer: None, alone=False) for _ in range(UNITS_PER_COMMIT + 1))
    line = Exposure(memory_id="m", tenant="t", trajectory_id=None, query_hash="q", rank=1, at=1.0)
    assert store.write("t", lambda writer: writer.add_side_records([line])) == 1
    with store.read("t") as reader:
        assert reader.side_records(Exposure) == [line]
    store.close()


def test_reading_never_changes_the_file(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        ids = [bank.record(title=f"lesson {n}", content=f"advice number {n}").id for n in range(20)]
        bank.feedback(ids[0], helpful=True)
        bank.link(ids[0], ids[1], "relates")
        bank.search("advice")
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        watcher = apsw.Connection(str(path))

        def state() -> tuple[object, ...]:
            version = next(watcher.execute("PRAGMA data_version"))[0]
            head = next(watcher.execute("SELECT max(seq) FROM feed"))[0]
            log = Path(f"{path}-wal")
            return version, head, path.read_bytes(), log.read_bytes() if log.exists() else b""

        before = state()
        for memory_id in ids:
            bank.get(memory_id)
            bank.history(memory_id)
        bank.list()
        bank.neighbours(ids[0])
        bank.status()
        bank.verify()
        list(bank.export_lines())
        assert state() == before
        watcher.close()


def test_searching_writes_no_record_and_its_log_is_written_by_closing(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        kept = bank.record(title="lesson", content="advice about searching")
        bank.search("advice about searching")
    store = SqliteStore(path)
    head = store.head()
    with store.read("local") as reader:
        assert reader.exposure_counts([kept.id]) == {kept.id: 1}
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        for _ in range(3):
            bank.search("advice about searching")
    assert store.head() == head
    with store.read("local") as reader:
        assert reader.exposure_counts([kept.id]) == {kept.id: 4}
    store.close()


def files_with(folder: Path, text: str) -> list[str]:
    return [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]


def test_erasing_removes_the_bytes_everywhere_and_an_import_does_not_bring_them_back(
    path: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path.parent / f"{tmp_path.name}-export.jsonl"
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        for number in range(30):
            bank.record(title=f"other {number}", content="something else " * 20)
        doomed = bank.store(f"key {CANARY}", CANARY + " " + "long " * 3_000, tags=[CANARY], metadata={"x": CANARY})
        bank.store(f"key {CANARY}", f"second revision {CANARY}")
        bank.feedback(doomed.id, helpful=False, comment=CANARY)
        bank.link(doomed.id, bank.list()[5].id, "relates", text=CANARY)
        bank.search("second revision")
        elsewhere.write_text("\n".join(bank.export_lines()))
        assert files_with(tmp_path, CANARY)
        bank.erase(doomed.id)
        assert files_with(tmp_path, CANARY) == []
        assert doomed.id not in {hit.id for hit in bank.search("second revision", floor=0.0).memories}
        imported = bank.import_from(elsewhere)
        assert any("was erased here" in skipped.why for skipped in imported.skipped)
        assert doomed.id not in {m.id for m in bank.list(limit=1_000)}
    assert files_with(tmp_path, CANARY) == []
    elsewhere.unlink()


def test_an_erasure_while_somebody_reads_takes_the_bytes_once_the_reader_is_done(path: Path, tmp_path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        doomed, other = bank.store("a", CANARY), bank.store("b", "other")
        lines = bank.export_lines()
        next(lines)
        next(lines)
        bank.erase(doomed.id)
        assert bank.list() == [bank.get(other.id)]
        lines.close()
        bank.erase(other.id)
        assert files_with(tmp_path, CANARY) == []


FORKING = """
import os, sys
from reasoningbank.wiring import ReasoningBank
bank = ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n")
bank.record(title="before", content="stored before the fork")
bank.search("fork")
for number in range(5):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            bank.record(title=f"child {number}", content=f"stored by child {number}")
            assert len(bank.search("stored by child", floor=0.0, limit=20).memories) == 2 * number + 2
            bank.erase(bank.record(title="gone", content="erased by the child").id)
            bank.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0, f"child {number} failed"
    bank.record(title=f"parent {number}", content=f"stored by the parent after child {number}")
    assert len(bank.list()) == 2 * number + 3
assert bank.verify() == []
bank.close()
print("fine")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_may_use_the_bank_and_the_parent_still_can(
    path: Path, child: Callable[..., subprocess.Popen[str]], finished: Callable[..., str]
) -> None:
    assert finished(child(FORKING, path)) == "fine\n"


def test_threads_may_share_a_bank_in_memory() -> None:
    with ReasoningBank.open(":memory:", embedder="hash", namespace="n") as bank:
        problems: list[Exception] = []

        def work(worker: int) -> None:
            try:
                for number in range(20):
                    kept = bank.store(f"{worker}/{number}", "v")
                    assert bank.get(kept.id).content == "v"
            except Exception as error:  # noqa: BLE001 - shown by the assertion below
                problems.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        assert problems == []
        assert bank.status().memories == {"active": 80}


INTERRUPTED_WAITER = """
import os, signal, sys, threading
from reasoningbank.core.types import Exposure
from reasoningbank.store.sqlite.store import SqliteStore

store = SqliteStore(sys.argv[1])
begun, go = threading.Event(), threading.Event()

def line(number):
    return Exposure(memory_id="m", tenant="t", trajectory_id=None, query_hash="q", rank=number, at=1.0)

def slow(writer):
    begun.set()
    assert go.wait(120)
    # The main thread is at its gate behind this unit.
    while not store.engine._commits.queue:
        pass
    os.kill(os.getpid(), signal.SIGINT)
    assert interrupted.wait(120)
    return writer.add_side_records([line(1)])

interrupted = threading.Event()
other = threading.Thread(target=store.write, args=("t", slow), daemon=True)
other.start()
assert begun.wait(120)
go.set()
try:
    store.write("t", lambda writer: writer.add_side_records([line(2)]))
except KeyboardInterrupt:
    interrupted.set()
other.join(120)
done = threading.Thread(target=store.write, args=("t", lambda writer: writer.add_side_records([line(3)])), daemon=True)
done.start()
done.join(120)
print("hangs" if done.is_alive() else "goes on", flush=True)
os._exit(0)
"""


def test_a_waiting_write_that_is_interrupted_leaves_the_others_a_leader(
    path: Path, child: Callable[..., subprocess.Popen[str]], finished: Callable[..., str]
) -> None:
    assert finished(child(INTERRUPTED_WAITER, path)) == "goes on\n"


@pytest.mark.parametrize(("table", "field"), [("memories", "source"), ("signals", "trajectory_id")])
def test_what_a_task_taught_is_looked_up_and_not_searched_for(path: Path, table: str, field: str) -> None:
    SqliteStore(path).close()
    asked = f"SELECT * FROM {table} WHERE tenant = ? AND {field} IN (SELECT value FROM json_each(?)) ORDER BY id"
    plan = apsw.Connection(str(path)).execute(f"EXPLAIN QUERY PLAN {asked}", ("t", "[]"))
    assert any(f"(tenant=? AND {field}=?)" in row[3] for row in plan)


@pytest.mark.parametrize(
    "asked",
    [
        Selection(SIGNALS, ("id",), any_of("memory_id", ["m"])),
        Selection(SIGNALS, ("id",), any_of("memory_id", ["m"]), order=("id",)),
        Selection(STEPS, ("id",), any_of("trajectory_id", ["s"])),
        Selection(TASKS, ("succeeded",), any_of("trajectory_id", ["s"])),
        Selection(JOBS, ("id",), any_of("subject", ["s"])),
    ],
)
def test_what_is_said_of_some_is_looked_up_and_not_all_that_the_tenant_has(path: Path, asked: Selection) -> None:
    SqliteStore(path).close()
    text, values = select(asked, "t")
    plan = apsw.Connection(str(path)).execute(f"EXPLAIN QUERY PLAN {text}", values)
    assert any(f"({asked.where[0][0]}=?" in row[3] for row in plan)


def test_whether_anything_is_shared_is_known_without_reading_the_memories(path: Path) -> None:
    SqliteStore(path).close()
    asked = "SELECT count(*) FROM memories WHERE tenant = ? AND scope IN ('org', 'team') AND state IN ('active')"
    plan = apsw.Connection(str(path)).execute(f"EXPLAIN QUERY PLAN {asked}", ("t",))
    assert any("COVERING INDEX memories_shared" in row[3] for row in plan)
