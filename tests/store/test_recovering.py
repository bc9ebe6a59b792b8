"""A backup takes the place of a bank in whatever state that is, and there is a way back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankBusy, BankDamaged, BankForeign, BankTooNew, BankUnavailable, InvalidInput

Child = Callable[..., subprocess.Popen[str]]

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def opened(path: Path) -> ReasoningBank:
    return ReasoningBank.open(path, embedder="hash", namespace="n")


def titles(path: Path) -> list[str]:
    with opened(path) as bank:
        assert bank.verify() == []
        return sorted(item.title for item in bank.list())


@pytest.fixture
def backup(path: Path) -> Path:
    """Of a bank with `early`; the bank has `late` besides."""
    target = path.with_name("backup.db")
    with opened(path) as bank:
        bank.record(title="early", content="kept in the backup")
        bank.search("kept in the backup")
        bank.backup(target)
        bank.record(title="late", content="after the backup")
        bank.search("after the backup")
    return target


def test_a_recovered_bank_is_what_the_backup_was_and_the_one_before_comes_back_the_same_way(
    path: Path, backup: Path
) -> None:
    done = ReasoningBank.recover(backup, path)
    assert done.before is not None
    assert (done.before.memories, done.after.memories) == (2, 1)
    assert titles(path) == ["early"]
    assert done.kept is not None
    assert ReasoningBank.recover(done.kept, path).after.memories == 2
    assert titles(path) == ["early", "late"]
    assert titles(backup) == ["early"]


def test_settings_and_tokens_come_back_with_the_records(path: Path, backup: Path) -> None:
    with ReasoningBank.open(path, namespace="n", policy="signals") as bank:
        second = path.with_name("second.db")
        bank.backup(second)
    with ReasoningBank.open(path, namespace="n", policy="bayes"):
        pass
    ReasoningBank.recover(second, path)
    with ReasoningBank.open(path, namespace="n") as bank:
        assert bank.status().policy == "signals"
    assert titles(path) == ["early", "late"]


def test_no_index_of_the_records_from_before_is_believed(path: Path, backup: Path) -> None:
    ReasoningBank.recover(backup, path)
    with opened(path) as bank:
        found = bank.search("after the backup", floor=0.0).memories
        assert [hit.title for hit in found] == ["early"]
        bank.record(title="other", content="a second life")
        assert "other" in {hit.title for hit in bank.search("a second life", floor=0.0).memories}
        assert "late" not in {hit.title for hit in bank.search("after the backup", floor=0.0).memories}


def test_a_bank_that_is_missing_is_recovered_too(path: Path, backup: Path) -> None:
    path.unlink()
    done = ReasoningBank.recover(backup, path)
    assert (done.before, done.trouble, done.kept) == (None, "", None)
    assert titles(path) == ["early"]
    elsewhere = path.parent / "not" / "yet" / "bank.db"
    ReasoningBank.recover(backup, elsewhere)
    assert titles(elsewhere) == ["early"]


@pytest.mark.parametrize("bytes_kept", [0, 7, 5_000])
def test_a_bank_that_does_not_open_is_recovered_and_kept_as_it_was(path: Path, backup: Path, bytes_kept: int) -> None:
    damaged = b"nonsense" * 1_000 + path.read_bytes()[8_000:]
    path.write_bytes(damaged[:bytes_kept])
    done = ReasoningBank.recover(backup, path)
    assert done.before is None
    assert done.trouble
    assert done.kept is not None
    assert Path(done.kept).read_bytes() == damaged[:bytes_kept]
    assert titles(path) == ["early"]


DIES = """
import os, signal, sys
from reasoningbank import ReasoningBank
bank = ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n")
bank.record(title="in the log", content="x")
os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_the_log_of_a_crashed_bank_is_kept_with_it_and_never_played_into_the_backup(
    path: Path, backup: Path, child: Child
) -> None:
    assert child(DIES, path).wait(300) == -9
    done = ReasoningBank.recover(backup, path)
    assert done.before is not None
    assert done.before.memories == 3
    assert titles(path) == ["early"]
    assert done.kept is not None
    ReasoningBank.recover(done.kept, path)
    assert titles(path) == ["early", "in the log", "late"]


@posix
def test_a_bank_that_another_process_has_open_is_left_alone_and_the_process_is_named(
    path: Path, backup: Path, child: Child
) -> None:
    holds = """
import sys
from reasoningbank import ReasoningBank
bank = ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n")
print("open", flush=True)
sys.stdin.read()
"""
    process = child(holds, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    with pytest.raises(BankBusy, match=rf"Process {process.pid} has|Another process has"):
        ReasoningBank.recover(backup, path)
    process.kill()
    process.wait(300)
    assert titles(path) == ["early", "late"]


def test_a_bank_that_this_process_has_open_is_left_alone(path: Path, backup: Path) -> None:
    with opened(path) as bank, pytest.raises(BankBusy, match="close the bank"):
        ReasoningBank.recover(backup, path)
    del bank
    assert titles(path) == ["early", "late"]


def test_what_is_no_whole_backup_changes_nothing(path: Path, backup: Path) -> None:
    before = path.read_bytes()
    foreign, newer, damaged, text = (path.with_name(name) for name in ("foreign.db", "newer.db", "damaged.db", "text"))
    text.write_text("hello " * 200)
    connection = apsw.Connection(str(foreign))
    connection.execute("CREATE TABLE notes (x)")
    connection.close()
    newer.write_bytes(backup.read_bytes())
    connection = apsw.Connection(str(newer))
    connection.execute("PRAGMA user_version = 9999")
    connection.close()
    whole = bytearray(backup.read_bytes())
    whole[whole.index(b"kept in the backup")] ^= 1
    damaged.write_bytes(whole)
    for source, error in (
        (path.with_name("none.db"), BankUnavailable),
        (path, InvalidInput),
        (foreign, BankForeign),
        (text, BankForeign),
        (newer, BankTooNew),
        (damaged, BankDamaged),
    ):
        with pytest.raises(error):
            ReasoningBank.recover(source, path)
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*partial*"))


def test_a_dry_run_checks_everything_and_changes_nothing(path: Path, backup: Path) -> None:
    before = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()}
    done = ReasoningBank.recover(backup, path, dry_run=True)
    assert (done.after.memories, done.kept) == (1, None)
    assert {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()} == before


def test_a_file_of_another_program_is_never_replaced(path: Path, backup: Path) -> None:
    other = path.with_name("other.db")
    connection = apsw.Connection(str(other))
    connection.execute("CREATE TABLE notes (x)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(BankForeign):
        ReasoningBank.recover(backup, other)
    assert other.read_bytes() == before


KILLED_AT_EACH_STEP = """
import itertools, os, shutil, signal, sys
from reasoningbank import ReasoningBank
import reasoningbank.store.sqlite.recovering, reasoningbank.wiring.engine

def dying(real):
    def call(*words, **named):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*words, **named)
    return call

for step in itertools.count():
    shutil.copytree(f"{sys.argv[1]}/made", f"{sys.argv[1]}/{step}")
    pid = os.fork()
    if pid == 0:
        left = step
        for name in ("link", "replace", "rename", "unlink", "fsync", "rmdir"):
            setattr(os, name, dying(getattr(os, name)))
        try:
            ReasoningBank.recover(sys.argv[2], f"{sys.argv[1]}/{step}/bank.db")
        finally:
            os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(code, flush=True)
    if code != -9:
        break
"""


@posix
@pytest.mark.parametrize("state", [pytest.param("closed", marks=pytest.mark.storm), "crashed", "copied over"])
def test_a_kill_at_any_step_leaves_the_one_or_the_other_and_running_it_again_finishes(
    tmp_path: Path, child: Child, finished: Callable[..., str], state: str
) -> None:
    place, backup = tmp_path / "made" / "bank.db", tmp_path / "backup.db"
    with opened(place) as bank:
        bank.record(title="early", content="kept in the backup")
        bank.backup(backup)
        bank.record(title="late", content="after the backup")
        bank.search("after")
    if state != "closed":
        assert child(DIES, place).wait(300) == -9
    if state == "copied over":
        place.write_bytes(backup.read_bytes())
    old = ["early", "late"] if state == "closed" else ["early", "in the log", "late"]
    *killed, last = finished(child(KILLED_AT_EACH_STEP, tmp_path, backup)).split()
    assert (len(killed) > 20, last) == (True, "0")
    for step in range(len(killed) + 1):
        bank = tmp_path / str(step) / "bank.db"
        try:
            assert titles(bank) in (old, ["early"])
        except BankUnavailable:
            # Only what did not open before may not open now.
            assert state == "copied over"
        ReasoningBank.recover(backup, bank)
        assert titles(bank) == ["early"]
        assert not list(bank.parent.glob("*partial*"))


def test_the_command_says_what_was_there_and_how_to_undo_it(path: Path, backup: Path, capsys) -> None:
    from reasoningbank.cli.main import main

    assert main(["recover", str(backup), "--bank", str(path)]) == 2
    assert "add --yes" in capsys.readouterr().err
    assert main(["recover", str(backup), "--bank", str(path), "--dry-run"]) == 0
    assert "Nothing was changed" in capsys.readouterr().err
    assert titles(path) == ["early", "late"]
    assert main(["recover", str(backup), "--bank", str(path), "--yes"]) == 0
    said = capsys.readouterr()
    assert "there:   2 memories" in said.out
    assert "backup:  1 memory" in said.out
    assert "To undo: reasoningbank recover " in said.err
    assert (
        main(["recover", said.err.split("kept as ")[1].split(". To")[0], "--bank", str(path), "--yes", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["after"]["memories"] == 2
