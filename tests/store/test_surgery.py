"""Files changed behind a bank's back are noticed before anything is acknowledged, and by whoever opens it next."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankUnavailable
from reasoningbank.ports import Damage
from reasoningbank.recall import mending
from reasoningbank.recall.index_follower import Follower
from reasoningbank.store.sqlite.stamps import Log

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file cannot be replaced")

Child = Callable[..., subprocess.Popen[str]]

WRITES_AND_DIES = """
import os, signal, sys
from reasoningbank import ReasoningBank
bank = ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n")
for number in range(int(sys.argv[2])):
    bank.record(title=f"from a process that died {number}", content="x" * 500)
os.kill(os.getpid(), signal.SIGKILL)
"""


def opened(path: Path) -> ReasoningBank:
    return ReasoningBank.open(path, embedder="hash", namespace="n")


def filled(path: Path, count: int, title: str = "memory") -> ReasoningBank:
    bank = opened(path)
    for number in range(count):
        bank.record(title=f"{title} {number}", content="x" * 500)
    return bank


def log_of(path: Path) -> Path:
    return Path(f"{path}-wal")


def crashed(path: Path, child: Child, writes: int = 5) -> None:
    assert child(WRITES_AND_DIES, path, writes).wait(300) == -9
    assert log_of(path).stat().st_size > 0


def an_older_copy(path: Path) -> Path:
    """As `cp` makes one of a bank that nobody has open."""
    filled(path, 3).close()
    copy = path.with_name("copy.db")
    shutil.copyfile(path, copy)
    filled(path, 3, "later").close()
    return copy


# ---------------------------------------------------------------- while it is open


def test_a_backup_copied_over_an_open_bank_is_noticed_before_the_next_acknowledgement(path: Path) -> None:
    bank = filled(path, 5)
    backup = path.with_name("backup.db")
    bank.backup(backup)
    bank.record(title="one more", content="which the backup has not")
    shutil.copyfile(backup, path)
    with pytest.raises(BankUnavailable, match="recover"):
        bank.record(title="lost", content="if this were acknowledged")
    bank.close()
    with pytest.raises(BankUnavailable, match="recover"):
        opened(path)


def test_an_older_copy_put_over_an_open_bank_is_noticed_by_every_process_that_has_it_open(path: Path) -> None:
    copy = an_older_copy(path)
    first, second = filled(path, 2, "first"), filled(path, 2, "second")
    shutil.copyfile(copy, path)
    for bank in (first, second):
        with pytest.raises(BankUnavailable, match="Nothing was written"):
            bank.record(title="lost", content="if this were acknowledged")
    first.close()
    second.close()


@pytest.mark.parametrize("fate", ["deleted", "emptied", "cut", "an older one", "another bank's"])
def test_a_log_that_is_not_the_same_any_more_is_noticed_before_the_next_acknowledgement(path: Path, fate: str) -> None:
    bank = filled(path, 3)
    log = log_of(path)
    older = log.read_bytes()
    bank.record(title="one more", content="which the older log has not")
    if fate == "deleted":
        log.unlink()
    elif fate == "another bank's":
        with filled(path.with_name("other.db"), 4) as other:
            log.write_bytes(log_of(path.with_name("other.db")).read_bytes())
            del other
    else:
        log.write_bytes({"emptied": b"", "cut": older[: len(older) // 2], "an older one": older}[fate])
    with pytest.raises(BankUnavailable, match="Nothing was written"):
        bank.record(title="lost", content="if this were acknowledged")
    bank.close()


def test_closing_saves_what_only_a_deleted_log_held(path: Path) -> None:
    bank = filled(path, 3)
    log_of(path).unlink()
    bank.close()
    with opened(path) as again:
        assert len(again.list()) == 3


def test_a_process_whose_shared_file_is_gone_stores_nothing_beside_one_that_made_another(path: Path) -> None:
    bank = filled(path, 3)
    Path(f"{path}-shm").unlink()
    with pytest.raises(BankUnavailable):
        bank.record(title="lost", content="between two indexes of one log")
    bank.close()
    with opened(path) as again:
        again.record(title="after", content="x")
        assert len(again.list()) == 4
        assert again.verify() == []


def test_a_bank_that_was_replaced_is_not_written_to_by_closing_the_one_before(path: Path) -> None:
    copy = an_older_copy(path)
    bank = filled(path, 4, "never there")
    copy.replace(path)
    bank.close()
    log_of(path).unlink()
    with opened(path) as again:
        assert len(again.list()) == 3
        assert again.verify() == []


def test_opening_a_bank_a_second_time_keeps_the_locks_of_the_first(
    path: Path, child: Child, finished: Callable[..., str]
) -> None:
    """Closing a descriptor of a file drops every lock that the process holds on it; others then take it for free."""
    bank = filled(path, 1)
    second = opened(path)
    asks_for_the_lock = """
import fcntl, sys
with open(sys.argv[1], "rb+") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
        print("free")
    except OSError:
        print("held")
"""
    assert finished(child(asks_for_the_lock, path)) == "held\n"
    second.close()
    bank.close()


def test_logs_that_others_begin_anew_alarm_nobody_who_was_idle_meanwhile(path: Path) -> None:
    idle, one, other = filled(path, 1), opened(path), opened(path)
    for _ in range(3):
        # Each erasure empties the log, and whoever writes next begins it anew.
        one.erase(one.record(title="gone", content="x").id)
        one.record(title="by one", content="x")
        other.erase(other.record(title="gone", content="x").id)
        other.record(title="by the other", content="x")
        one.record(title="by one, in the log of the other", content="x")
        other.erase(other.record(title="gone", content="x").id)
    idle.record(title="after a rest", content="x")
    for bank in (idle, one, other):
        bank.close()
    with opened(path) as again:
        assert len(again.list()) == 11
        assert again.verify() == []


# ---------------------------------------------------------------- when it is opened next


def test_a_backup_copied_over_a_crashed_bank_is_not_mixed_with_the_log_beside_it(path: Path, child: Child) -> None:
    backup = path.with_name("backup.db")
    with filled(path, 5) as bank:
        bank.backup(backup)
    crashed(path, child)
    shutil.copyfile(backup, path)
    log = log_of(path).read_bytes()
    with pytest.raises(BankUnavailable, match="recover"):
        opened(path)
    assert path.read_bytes() == backup.read_bytes()
    assert log_of(path).read_bytes() == log


def test_an_older_copy_over_a_crashed_bank_is_not_mixed_with_the_log_beside_it(path: Path, child: Child) -> None:
    copy = an_older_copy(path)
    crashed(path, child)
    shutil.copyfile(copy, path)
    with pytest.raises(BankUnavailable, match="recover"):
        opened(path)


@pytest.mark.parametrize("share", [0.0, 0.6], ids=["taken away", "cut"])
def test_a_log_that_was_lost_after_a_crash_is_noticed_by_the_next_opening(
    path: Path, child: Child, share: float
) -> None:
    filled(path, 2).close()
    crashed(path, child, 8)
    log = log_of(path)
    os.truncate(log, int(log.stat().st_size * share))
    if not share:
        log.unlink()
    for _ in range(2):
        with pytest.raises(BankUnavailable, match="were acknowledged"):
            opened(path)


@pytest.mark.parametrize("fate", ["emptied", "deleted"])
def test_a_log_whose_file_is_gone_is_not_thrown_away(path: Path, child: Child, fate: str) -> None:
    crashed(path, child)
    log = log_of(path).read_bytes()
    os.truncate(path, 0)
    if fate == "deleted":
        path.unlink()
    with pytest.raises(BankUnavailable, match=f"{log_of(path).name} is still there"):
        opened(path)
    assert log_of(path).read_bytes() == log


def test_a_bank_whose_process_was_killed_opens_with_all_that_it_acknowledged(path: Path, child: Child) -> None:
    for number in range(1, 4):
        crashed(path, child, 4)
        with opened(path) as bank:
            assert len(bank.list()) == 4 * number
            assert bank.verify() == []


def test_an_older_copy_of_a_closed_bank_may_be_put_in_its_place(path: Path) -> None:
    copy = an_older_copy(path)
    filled(path, 3, "newest").close()
    shutil.copyfile(copy, path)
    with opened(path) as bank:
        assert len(bank.list()) == 3
        bank.record(title="and goes on", content="x")
    with opened(path) as bank:
        assert len(bank.list()) == 4


def test_a_backup_opened_as_a_bank_is_one_like_any_other(path: Path) -> None:
    backup = path.with_name("backup.db")
    with filled(path, 3) as bank:
        bank.backup(backup)
    with opened(backup) as bank:
        bank.record(title="more", content="x")
        assert log_of(backup).exists()
    with opened(backup) as bank:
        assert len(bank.list()) == 4


def test_a_log_that_is_cut_while_it_is_read_is_none_that_begins_whole(tmp_path: Path) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash", namespace="n") as bank:
        bank.record(title="kept", content="advice")
        copy = tmp_path / "copy-wal"
        copy.write_bytes((tmp_path / "bank.db-wal").read_bytes())
    with copy.open("r+b") as file:
        log = Log(lambda size, at: os.pread(file.fileno(), size, at))
        log.look()
        assert log.begins_whole()
        file.truncate(log.frame_at(1) + 10)
        assert not log.begins_whole()


def test_an_index_that_another_process_removes_while_it_is_verified_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash", namespace="n") as bank:
        bank.record(title="kept", content="advice")
        bank.search("advice")
        look = mending.find_damage

        def removed_first(follower: Follower) -> list[Damage]:
            shutil.rmtree(tmp_path / "bank.db.index", ignore_errors=True)
            return look(follower)

        monkeypatch.setattr(mending, "find_damage", removed_first)
        assert bank.verify() == []
        monkeypatch.undo()
        assert len(bank.search("advice").memories) == 1
