"""A bank that is used in a forked process: nothing acknowledged is lost, nobody hangs, and what cannot be is refused."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
Run = Callable[..., list[str]]

PRELUDE = """
import os, sys, threading, time, traceback
from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankError
from reasoningbank.core.types import Memory

PATH = sys.argv[1]

def opened(path=PATH, embedder="hash"):
    return ReasoningBank.open(path, embedder=embedder, namespace="n")

def write(bank, times=5):
    for number in range(times):
        kept = bank.record(title=f"note {number}", content=f"of process {os.getpid()}").id
        os.write(1, f"{kept}\\n".encode())

def forked(act):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        act()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)

def wait_for(pid):
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            assert status == 0, f"the child ended with {status}"
            return
        time.sleep(0.01)
    os.kill(pid, 9)
    raise AssertionError("the child hangs")

class Turns:
    '''Whose turn it is, across processes.'''
    def __init__(self):
        self.reading, self.writing = os.pipe()
    def give(self):
        os.write(self.writing, b"x")
    def take(self):
        os.read(self.reading, 1)
"""


@pytest.fixture
def run(path: Path, child: Callable[..., subprocess.Popen[str]]) -> Run:
    """Run a script that forks; gives back the lines it printed."""

    def ran(code: str, *arguments: object) -> list[str]:
        process = child(PRELUDE + code, path, *arguments)
        out, err = process.communicate(timeout=1_200)
        assert process.returncode == 0, err
        assert "Exception ignored" not in err, err
        return out.split("\n")[:-1]

    return ran


def kept(path: Path) -> set[str]:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        assert bank.verify() == []
        found = {memory.id for memory in bank.list(limit=10_000)}
        assert {hit.id for hit in bank.search("process", floor=0.0, limit=1_000).memories} == found
        return found


PARENT_GOES_FIRST = """
bank = opened()
write(bank)
bank.search("note", floor=0.0)
gone, wrote = Turns(), Turns()
def act():
    write(bank)
    wrote.give()
    gone.take()
    write(bank)
    assert len(bank.search("note", floor=0.0, limit=50).memories) == 15
pid = forked(act)
wrote.take()
if sys.argv[2] == "closes":
    bank.close()
    gone.give()
    wait_for(pid)
else:
    # Whoever waits for the output waits for the child, too.
    gone.give()
    os._exit(0)
"""


@pytest.mark.parametrize("parent", ["closes", "ends"])
def test_what_a_child_was_told_is_stored_is_there_when_its_parent_closes_or_ends_first(
    path: Path, run: Run, parent: str
) -> None:
    told = run(PARENT_GOES_FIRST, parent)
    assert len(told) == 15
    assert kept(path) == set(told)


CHILD_GOES_FIRST = """
bank = opened()
write(bank)
def act():
    if sys.argv[2] == "closes":
        with bank:
            write(bank)
    elif sys.argv[2] == "ends":
        write(bank)
    elif sys.argv[2] == "drops it":
        import gc
        global_bank = globals().pop("bank")
        del global_bank
        gc.collect()
    else:
        bank.close()
wait_for(forked(act))
write(bank)
assert len(bank.search("note", floor=0.0, limit=50).memories) == len(bank.list(limit=50))
wait_for(forked(act))
write(bank)
bank.close()
"""


@pytest.mark.parametrize("fate", ["closes", "ends", "drops it", "closes without use"])
def test_a_child_that_ends_first_leaves_the_parents_bank_alone(path: Path, run: Run, fate: str) -> None:
    told = run(CHILD_GOES_FIRST, fate)
    assert len(told) == (25 if fate in ("closes", "ends") else 15)
    assert kept(path) == set(told)


ANEW = """
bank = opened()
write(bank)
gone = Turns()
def act():
    with opened() as own:
        write(own)
        gone.take()
        write(own)
        write(bank)
pid = forked(act)
bank.close()
gone.give()
wait_for(pid)
"""


def test_a_child_may_open_the_same_file_anew(path: Path, run: Run) -> None:
    told = run(ANEW)
    assert kept(path) == set(told)
    assert len(told) == 20


GENERATIONS = """
bank = opened()
write(bank)
def grandchild():
    write(bank)
def middle():
    write(bank)
    pid = forked(grandchild)
    bank.close()
    wait_for(pid)
def untouched_middle():
    wait_for(forked(grandchild))
children = [forked(act) for act in (middle, untouched_middle, middle)]
bank.close()
for pid in children:
    wait_for(pid)
"""


def test_children_of_children_store_too(path: Path, run: Run) -> None:
    told = run(GENERATIONS)
    assert len(told) == 5 * 6
    assert kept(path) == set(told)


WHILE_OTHERS_WORK = """
bank = opened()
write(bank)
bank.search("note", floor=0.0)
over = threading.Event()
def writing():
    # Few enough to be found all at once, however many a machine writes in this time.
    write(bank, 30)
    while not over.is_set():
        bank.feedback(bank.list(limit=1)[0].id, helpful=True)
def searching():
    while not over.is_set():
        bank.search("note", floor=0.0)
def reading():
    while not over.is_set():
        bank.list(limit=50)
threads = [threading.Thread(target=work) for work in (writing, writing, writing, searching, reading)]
for thread in threads:
    thread.start()
def act():
    write(bank, 2)
    assert bank.search("note", floor=0.0).memories
    bank.close()
for number in range(3):
    wait_for(forked(act))
over.set()
for thread in threads:
    thread.join()
bank.close()
"""


def test_a_child_that_is_forked_while_other_threads_write_and_search_works_and_ends(path: Path, run: Run) -> None:
    told = run(WHILE_OTHERS_WORK)
    assert kept(path) == set(told)


CONNECTING = """
import apsw
from reasoningbank.store.sqlite import connections
inside, has_forked, connected = threading.Event(), threading.Event(), threading.Event()
class Slow(apsw.Connection):
    def execute(self, sql, *given, **how):
        if "synchronous" in sql:
            inside.set()
            has_forked.wait(1.0)
        done = super().execute(sql, *given, **how)
        if "secure_delete" in sql:
            connected.set()
        return done
def connecting():
    with bank.context.store.read(bank.tenant):
        pass
bank = opened()
write(bank)
with bank.context.store.read(bank.tenant):
    connections.connect = lambda uri, flags: Slow(uri, flags=flags | apsw.SQLITE_OPEN_URI)
    thread = threading.Thread(target=connecting)
    thread.start()
    assert inside.wait(600)
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    print("waited" if connected.is_set() else "cut in two", flush=True)
    has_forked.set()
    thread.join(600)
wait_for(pid)
bank.close()
"""


def test_a_fork_waits_for_a_thread_that_is_connecting(path: Path, run: Run) -> None:
    assert run(CONNECTING)[-1] == "waited"


IN_A_READ = """
bank = opened()
write(bank)
try:
    with bank.context.store.read(bank.tenant) as reader:
        assert reader.count(Memory, {}) == 5
        pid = os.fork()
        if pid == 0 and sys.argv[2] == "reads on":
            reader.count(Memory, {})
        if pid:
            wait_for(pid)
            assert reader.count(Memory, {}) == 5, "the parent still sees its moment"
except BankError as error:
    assert pid == 0
    print("refused:", error, flush=True)
if pid == 0:
    write(bank, 1)
    assert len(bank.list()) == 6
    os._exit(0)
assert len(bank.list()) == 6
bank.close()
"""


@pytest.mark.parametrize("deed", ["reads on", "lets go"])
def test_a_child_cannot_go_on_reading_its_parents_moment_and_reads_its_own(path: Path, run: Run, deed: str) -> None:
    told = run(IN_A_READ, deed)
    refusals = [line for line in told if not line.startswith("mem_")]
    assert len(refusals) == (deed == "reads on")
    assert all(line.startswith("refused: This process was forked in the middle of reading") for line in refusals)
    assert kept(path) == set(told) - set(refusals)


IN_A_WRITE = """
bank = opened()
write(bank)
def change(inner, writer):
    global pid
    inner.record(title="in the unit", content="before the fork " + "x" * 100_000)
    pid = os.fork()
    if pid:
        wait_for(pid)
        return inner.record(title="in the unit", content="after the fork").id
    return inner.record(title="never", content="by the child").id if sys.argv[2] == "writes" else "nothing"
try:
    bank.atomically(change)
except BankError as error:
    assert pid == 0
    print("refused:", error, flush=True)
    for act in (bank.list, lambda: write(bank), opened):
        try:
            act()
        except BankError as again:
            print("refused:", again, flush=True)
    bank.close()
    os._exit(0)
assert pid
bank.close()
"""


@pytest.mark.parametrize("deed", ["writes", "returns"])
def test_a_child_that_is_forked_inside_a_write_is_refused_and_the_write_is_made_once(
    path: Path, run: Run, deed: str
) -> None:
    told = run(IN_A_WRITE, deed)
    refusals = [line for line in told if line.startswith("refused: ")]
    assert len(refusals) == 4
    assert all("forked" in line for line in refusals[1:])
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        assert bank.verify() == []
        assert sorted(memory.title for memory in bank.list(limit=50)) == ["in the unit"] * 2 + [
            f"note {number}" for number in range(5)
        ]


IN_MEMORY = """
bank = opened(":memory:")
write(bank)
def act():
    for use in (bank.list, lambda: write(bank), lambda: bank.search("note")):
        try:
            use()
        except BankError as error:
            print("refused:", error, flush=True)
    bank.close()
    with opened(":memory:") as own:
        own.record(title="own", content="in the child's memory")
        assert len(own.list()) == 1
wait_for(forked(act))
assert len(bank.list()) == 5
assert len(bank.search("note", floor=0.0).memories) == 5
"""


def test_a_bank_in_memory_stays_with_the_process_that_opened_it(run: Run) -> None:
    told = run(IN_MEMORY)
    assert sum("in the memory of the process that opened it" in line for line in told) == 3


POOL = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
bank = opened()
write(bank)
def job(number):
    kept = bank.record(title=f"job {number}", content=f"of process {os.getpid()}").id
    assert bank.search(f"job {number}", floor=0.0).memories
    return kept
with ProcessPoolExecutor(3, mp_context=get_context("fork")) as pool:
    print(*pool.map(job, range(12)), sep="\\n")
write(bank)
bank.close()
"""


def test_a_pool_of_forked_processes_shares_a_bank(path: Path, run: Run) -> None:
    told = run(POOL)
    assert len(set(told)) == 22
    assert kept(path) == set(told)


LOCAL = """
bank = opened(embedder="local")
write(bank)
bank.search("note", floor=0.0)
over = threading.Event()
def searching():
    number = 0
    while not over.is_set():
        number += 1
        bank.search(f"which note was number {number} of this process", floor=0.0)
thread = threading.Thread(target=searching)
thread.start()
def act():
    write(bank, 1)
    assert bank.search("which note does the child have", floor=0.0).memories
for number in range(3):
    wait_for(forked(act))
over.set()
thread.join()
bank.close()
"""


def test_a_child_embeds_with_the_local_model_that_its_parent_is_using(path: Path, run: Run) -> None:
    told = run(LOCAL)
    with ReasoningBank.open(path, namespace="n") as bank:
        assert {memory.id for memory in bank.list(limit=50)} == set(told)


INDEX_LOCK = """
from reasoningbank.index.lock import WriterLock
from pathlib import Path
lock = WriterLock(Path(PATH).with_name("LOCK"))
assert lock.acquire(0.0)
alive = Turns()
def act():
    lock.release(in_order=True)
    other = WriterLock(Path(PATH).with_name("LOCK"))
    assert not other.acquire(0.0), "the child let go of its parent's lock"
    print("kept", flush=True)
    alive.give()
    alive2.take()
alive2 = Turns()
pid = forked(act)
alive.take()
lock.release(in_order=True)
assert lock.acquire(0.0)
# As if this process died: what it holds is closed, not released, while the child lives on.
os.close(lock._descriptor)
lock._descriptor = None
other = WriterLock(Path(PATH).with_name("LOCK"))
assert other.acquire(0.0)
print("free", flush=True)
alive2.give()
wait_for(pid)
"""


def test_a_child_neither_releases_nor_keeps_the_lock_on_an_index(run: Run) -> None:
    assert run(INDEX_LOCK) == ["kept", "free"]


TWICE = """
first = opened()
write(first)
if sys.argv[2] == "opens it again":
    second = opened()
else:
    for take in (first.import_from, first.ingest):
        try:
            take(PATH)
        except BankError as error:
            assert "itself" in str(error)
# Another process that wants the file for itself must see that it is in use: SQLite's shared bytes are locked.
import subprocess
code = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)"
refused = subprocess.run([sys.executable, "-c", code, PATH], stderr=subprocess.PIPE, text=True)
assert "BlockingIOError" in refused.stderr, "the file seems to be free"
write(first)
os._exit(0)
"""


@pytest.mark.parametrize("deed", ["opens it again", "imports it into itself"])
def test_looking_into_a_file_that_is_open_does_not_tell_others_that_it_is_not(path: Path, run: Run, deed: str) -> None:
    told = run(TWICE, deed)
    assert kept(path) == set(told)


AFTER_A_CLOSE = """
closed = opened(PATH + "-other")
write(closed, 1)
still_known = closed.context.store.engine._connections.writer
closed.close()
bank = opened()
write(bank)

def act():
    write(bank)

wait_for(forked(act))
bank.close()
"""


def test_a_bank_that_was_closed_before_the_fork_keeps_no_other_from_working(path: Path, run: Run) -> None:
    ids = run(AFTER_A_CLOSE)
    assert len(ids) == 11
    assert set(ids[1:]) == kept(path)
