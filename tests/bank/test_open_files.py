"""How many files a bank keeps open: macOS gives a process 256, and an agent may use many banks."""

from __future__ import annotations

import gc
import json
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.core.errors import BankMoved
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.wiring.migrating import migrate_bank
from tests.open_files import DESCRIPTORS, PATIENCE_S, all_closed, open_below

pytestmark = pytest.mark.skipif(DESCRIPTORS is None, reason="nothing here says which files are open")
BANKS = 10
MOST_A_BANK = 8


@pytest.mark.parametrize("embedder", ["hash", "local"])
def test_ten_searched_banks_keep_few_files_open_and_none_after_they_are_closed(tmp_path: Path, embedder: str) -> None:
    with ExitStack() as closing:
        for number in range(BANKS):
            opened = ReasoningBank.open(tmp_path / str(number) / "bank.db", embedder=embedder, namespace="n")
            bank = closing.enter_context(opened)
            bank.record(title="Retry", content="Run a flaky test with --reruns before you mend it")
            assert bank.search("flaky test", floor=0.0).memories
            bank.record(title="Lint", content="Run ruff before each commit")
            assert len(bank.search("what to run", floor=0.0).memories) == 2
        # A thread of a bank that writes what was shown has the file open for that long.
        end = time.monotonic() + PATIENCE_S
        while len(open_below(tmp_path)) > BANKS * MOST_A_BANK and time.monotonic() < end:
            time.sleep(0.01)
        assert BANKS < len(open_below(tmp_path)) <= BANKS * MOST_A_BANK
    assert open_below(tmp_path) == []


def test_a_bank_that_many_threads_read_keeps_no_file_open_once_it_is_closed(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash") as bank:
        bank.record(title="Retry", content="Run a flaky test with --reruns before you mend it")
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: bank.search("flaky test", floor=0.0).memories, range(64)))
        assert all(found)
    assert open_below(path.parent) == []


def test_a_bank_that_is_closed_while_a_thread_reads_it_keeps_no_file_open(path: Path) -> None:
    engine = SqliteStore(path).engine
    with engine.read("t"):
        engine.close()
    assert open_below(path.parent) == []


def test_a_bank_whose_refusal_is_remembered_keeps_no_file_open_once_it_is_closed(tmp_path: Path) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        bank.record(title="Retry", content="Run a flaky test with --reruns before you mend it")
        migrate_bank(locate(tmp_path / "bank.db"), locate(tmp_path / "moved.db"))
        with pytest.raises(BankMoved) as kept:
            bank.record(title="Lint", content="Run ruff before each commit")
    assert open_below(tmp_path) == []
    assert kept.value.place


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_a_bank_that_is_dropped_without_being_closed_keeps_no_file_open(path: Path) -> None:
    bank = ReasoningBank.open(path, embedder="hash")
    bank.record(title="Retry", content="Run a flaky test with --reruns before you mend it")
    assert bank.search("flaky test", floor=0.0).memories
    del bank
    deadline = time.monotonic() + PATIENCE_S
    while gc.collect() >= 0 and open_below(path.parent) and time.monotonic() < deadline:
        # What was shown is still being written down.
        time.sleep(0.01)
    assert open_below(path.parent) == []
    with ReasoningBank.open(path, embedder="hash") as bank:
        assert len(bank.list()) == 1


LIMITED = """
import json, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankError

def opened():
    return ReasoningBank.open(sys.argv[1], embedder="hash")

def store():
    stored.append(bank.record(title=f"Retry {len(stored)}", content="Run a flaky test with --reruns").id)

def search():
    bank.search("flaky test")
    bank.search("a subject of which nobody has told us anything")

def fill(free):
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        for _ in range(free):
            os.close(taken.pop())
    return taken

bank, stored, errors = opened(), [], []
acts = store, search, bank.list, lambda: opened().close()
for act in acts:
    act()
for free in range(8):
    taken = fill(free)
    for act in (*acts, bank.flush_shown):
        try:
            act()
        except BankError as error:
            errors.append(str(error))
    for descriptor in taken:
        os.close(descriptor)
bank.close()
print(json.dumps([stored, errors]))
"""


def test_a_process_that_may_open_no_more_files_is_told_what_to_do_and_loses_nothing(
    path: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    process = child(LIMITED, path)
    out, err = process.communicate(timeout=60)
    assert (err, process.returncode) == ("", 0)
    stored, errors = json.loads(out)
    assert errors
    assert [error for error in errors if "`ulimit -n`" not in error] == []
    with ReasoningBank.open(path, embedder="hash") as bank:
        assert {memory.id for memory in bank.list()} == set(stored)
        assert len(bank.search("flaky test", floor=0.0, limit=50).memories) == len(stored)
        assert len(bank.gaps.list().open) == 1
        assert bank.verify() == []


def test_a_test_that_leaves_a_bank_open_fails_with_the_names_of_its_files(tmp_path: Path) -> None:
    with ReasoningBank.open(tmp_path / "shared.db", embedder="hash") as shared:
        with pytest.raises(pytest.fail.Exception, match=r"left\.db-wal"), all_closed(tmp_path, patience_s=0):
            left = ReasoningBank.open(tmp_path / "left.db", embedder="hash")
        left.close()
        with all_closed(tmp_path), ReasoningBank.open(tmp_path / "closed.db", embedder="hash") as bank:
            for one in (shared, bank):
                one.record(title="Retry", content="Run a flaky test with --reruns before you mend it")
                assert one.search("flaky test", floor=0.0).memories
