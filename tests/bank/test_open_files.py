"""How many files a bank keeps open: macOS gives a process 256, and an agent may use many banks."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.bank.bank import Bank
from tests.conftest import DESCRIPTORS, open_files

pytestmark = pytest.mark.skipif(DESCRIPTORS is None, reason="nothing here says which files are open")
BANKS = 10
MOST_A_BANK = 8


def below(folder: Path) -> list[str]:
    return [name for name in open_files().values() if name.startswith(f"{os.path.realpath(folder)}/")]


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
        assert BANKS < len(below(tmp_path)) <= BANKS * MOST_A_BANK
    assert below(tmp_path) == []


def test_a_bank_that_many_threads_read_keeps_no_file_open_once_it_is_closed(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash") as bank:
        bank.record(title="Retry", content="Run a flaky test with --reruns before you mend it")
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: bank.search("flaky test", floor=0.0).memories, range(64)))
        assert all(found)
    assert below(path.parent) == []


def closed_while_it_is_read(bank: Bank) -> None:
    for memory in bank.list():
        assert memory
        bank.close()


@pytest.mark.parametrize("use", [closed_while_it_is_read])
def test_a_bank_that_is_closed_while_it_is_read_keeps_no_file_open(path: Path, use: Callable[[Bank], None]) -> None:
    bank = ReasoningBank.open(path, embedder="hash")
    bank.record(title="Retry", content="Run a flaky test with --reruns before you mend it")
    bank.search("flaky test")
    use(bank)
    assert below(path.parent) == []
