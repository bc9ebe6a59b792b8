"""A bank is its user's own, wherever it lies and whatever the mask says; and behind a link it is the bank that is meant."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main
from reasoningbank.config import locate

pytestmark = pytest.mark.skipif(os.name != "posix", reason="asks for modes of files, and for links")


def opened(path: Path) -> ReasoningBank:
    return ReasoningBank.open(path, embedder="hash", namespace="n")


def open_to_others(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.lstat().st_mode & 0o077]


@pytest.fixture
def no_mask() -> Iterator[None]:
    mask = os.umask(0)
    yield
    os.umask(mask)


@pytest.mark.usefixtures("no_mask")
def test_nobody_else_reads_a_bank_its_index_a_backup_or_what_was_recovered(tmp_path: Path) -> None:
    bank_path, backup = tmp_path / "a" / "b" / "bank.db", tmp_path / "backup.db"
    with opened(bank_path) as bank:
        memory = bank.record(title="Retry", content="Retry a request after a pause.")
        bank.search("retry a request")
        bank.feedback(memory.id, helpful=True)
        run = bank.start_session("retry requests")
        bank.end_session(run.id, "success")
        bank.search("retry a request", session=run.id)
        bank.backup(backup)
        assert open_to_others(tmp_path) == []
    ReasoningBank.recover(backup, bank_path)
    with opened(bank_path) as bank:
        assert bank.search("retry a request").memories
        assert open_to_others(tmp_path) == []


def test_an_older_bank_keeps_its_rights_and_doctor_says_who_may_look(tmp_path: Path, capsys) -> None:
    path = tmp_path / "bank.db"
    with opened(path) as bank:
        bank.record(title="Retry", content="Retry a request after a pause.")
    path.chmod(0o664)
    main(["--bank", str(path), "doctor", "--json"])
    [check] = [check for check in json.loads(capsys.readouterr().out)["checks"] if check["name"] == "bank"]
    assert check["verdict"] == "warn"
    assert f"chmod -R go= {path}" in check["says"]
    assert path.stat().st_mode & 0o777 == 0o664


def test_a_bank_behind_a_link_is_the_same_bank(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "bank.db", tmp_path / "link.db"
    link.symlink_to(real)
    with opened(link) as bank, opened(real) as same:
        memory = bank.record(title="Retry", content="Retry a request after a pause.")
        assert same.get(memory.id).content == memory.content
        other = same.record(title="Cap", content="Give up after five tries.")
        assert {hit.id for hit in bank.search("give up after tries").memories} >= {other.id}
    assert locate(link) == locate(real)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("link")] == ["link.db"]
    backup = tmp_path / "backup.db"
    with opened(link) as bank:
        bank.backup(backup)
    ReasoningBank.recover(backup, link)
    assert link.is_symlink()
    with opened(real) as bank:
        assert len(bank.list()) == 2


def test_a_bank_that_is_made_behind_a_link_is_made_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to("real/bank.db")
    with opened(tmp_path / "link.db") as bank:
        bank.record(title="Retry", content="Retry a request after a pause.")
    with opened(tmp_path / "real" / "bank.db") as bank:
        assert len(bank.list()) == 1
