"""How many files a bank keeps open: macOS gives a process 256, and an agent may use many banks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.store.sqlite.store import SqliteStore
from tests.open_files import DESCRIPTORS, all_closed, open_below

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


def test_a_test_that_leaves_a_bank_open_fails_with_the_names_of_its_files(tmp_path: Path) -> None:
    with ReasoningBank.open(tmp_path / "shared.db", embedder="hash") as shared:
        with pytest.raises(pytest.fail.Exception, match=r"left\.db-wal"), all_closed(tmp_path):
            left = ReasoningBank.open(tmp_path / "left.db", embedder="hash")
        left.close()
        with all_closed(tmp_path), ReasoningBank.open(tmp_path / "closed.db", embedder="hash") as bank:
            for one in (shared, bank):
                one.record(title="Retry", content="Run a flaky test with --reruns before you mend it")
                assert one.search("flaky test", floor=0.0).memories
