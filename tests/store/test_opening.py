"""Whatever lies at a path, opening it gives a bank or says in one typed sentence why not, and then leaves it alone."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import apsw
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import (
    BankDamaged,
    BankError,
    BankForeign,
    BankReadOnly,
    BankTooNew,
    BankTooOld,
    BankUnavailable,
    InvalidInput,
    StoreError,
)
from reasoningbank.store.sqlite import pairing
from reasoningbank.store.sqlite.schema import MIGRATIONS, OLDEST_VERSION, SCHEMA_VERSION, fresh_schema
from reasoningbank.store.sqlite.store import SqliteStore


def opened(path: object, **options: object) -> ReasoningBank:
    return ReasoningBank.open(path, embedder="hash", namespace="n", **options)  # type: ignore[arg-type]


def test_a_missing_bank_is_made_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "bank.db"
    with opened(path) as bank:
        bank.store("k", "v")
    assert path.exists()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_a_folder_made_for_a_bank_is_nobody_elses_to_read(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    for folder in (shared, tmp_path / "new"):
        with opened(folder / "bank.db") as bank:
            bank.store("k", "v")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert shared.stat().st_mode & 0o777 == 0o755


def test_a_missing_bank_is_not_made_when_nobody_wants_that(tmp_path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(BankUnavailable, match="no bank"):
            opened(tmp_path / "none.db", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(BankForeign, match=r"bank\.db"):
        opened(tmp_path)


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BankUnavailable):
        opened(tmp_path / "file" / "bank.db")


@pytest.mark.parametrize("name", ["a\0b", "n" * 300, "/dev/null/bank.db"], ids=["NUL", "too long", "below a device"])
def test_a_path_that_cannot_exist_is_a_typed_error(tmp_path: Path, name: str) -> None:
    with pytest.raises((StoreError, InvalidInput)):
        opened(tmp_path / name)


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(InvalidInput, match="oracle"):
        opened("oracle://host/bank")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to become somebody else")
def test_an_unreadable_file_is_refused(tmp_path: Path, child: Callable[..., subprocess.Popen[str]]) -> None:
    path = tmp_path / "bank.db"
    opened(path).close()
    path.chmod(0)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o755)
    code = """
import os, sys
from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankUnavailable
from reasoningbank.store.sqlite.store import SqliteStore  # what is loaded later could not be read any more
os.setgid(65534); os.setuid(65534)
try:
    ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n")
except BankUnavailable as error:
    print("refused:", error)
"""
    out, err = child(code, path).communicate(timeout=300)
    assert out.startswith("refused:"), err


def test_an_sqlite_file_of_another_program_is_refused_and_not_touched(path: Path) -> None:
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE notes (x); INSERT INTO notes VALUES (1)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(BankForeign, match="some other program"):
        opened(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("application", [0, 1, 0x52424E4B - 1])
def test_an_sqlite_file_with_only_numbers_in_its_header_is_refused(path: Path, application: int) -> None:
    other = apsw.Connection(str(path))
    other.execute(f"PRAGMA user_version = 7; PRAGMA application_id = {application}")
    other.close()
    with pytest.raises(BankForeign):
        opened(path)


@pytest.mark.parametrize(
    "content", [b"hello, I am a text file\n" * 100, b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 4080, b"x"]
)
def test_bytes_that_are_no_sqlite_file_are_refused_and_not_touched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises((BankForeign, BankDamaged)):
        opened(path)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_bank(path: Path) -> None:
    path.touch()
    with opened(path) as bank:
        bank.store("k", "v")
    with opened(path) as bank:
        assert bank.get("k").content == "v"


@pytest.mark.parametrize(
    ("version", "error", "says"),
    [
        (SCHEMA_VERSION + 1, BankTooNew, "newer"),
        (
            OLDEST_VERSION - 1,
            BankTooOld,
            r"with that version \(`reasoningbank export FILE`\).*`reasoningbank import FILE`",
        ),
        (1, BankTooOld, "nothing was touched"),
    ],
)
def test_a_bank_of_a_newer_or_an_older_program_is_refused_and_not_touched(
    path: Path, version: int, error: type[BankError], says: str
) -> None:
    with opened(path) as bank:
        bank.store("k", "v")
    raw = apsw.Connection(str(path))
    raw.execute(f"PRAGMA user_version = {version}")
    raw.close()
    before = path.read_bytes()
    for options in ({}, {"read_only": True}):
        with pytest.raises(error, match=says):
            opened(path, **options)
    assert path.read_bytes() == before


def test_an_older_bank_that_was_killed_keeps_what_is_in_its_log(path: Path) -> None:
    log = Path(f"{path}-wal")
    with opened(path) as bank:
        bank.store("k", "v")
        raw = apsw.Connection(str(path))
        raw.execute(f"PRAGMA user_version = {OLDEST_VERSION - 1}")
        before = path.read_bytes(), log.read_bytes()
        raw.close()
    for file, content in zip((path, log), before, strict=True):
        file.write_bytes(content)
    with pytest.raises(BankTooOld):
        opened(path)
    assert (path.read_bytes(), log.read_bytes()) == before


def test_a_file_cut_short_gives_a_typed_error_or_what_was_stored_and_never_anything_else(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    with opened(path) as bank:
        for number in range(60):
            bank.store(f"k{number}", f"value {number} " + "x" * 500)
    whole = path.read_bytes()
    pages = len(whole) // 4096
    lengths = {1, 15, 16, 99, 100, 101, 4095, 4096, 4097, 8192, *(n * 4096 for n in range(1, pages, 4)), len(whole) - 1}
    refused = 0
    for length in sorted(lengths):
        cut = tmp_path / f"cut-{length}.db"
        cut.write_bytes(whole[:length])
        try:
            with opened(cut) as bank:
                for number in range(60):
                    assert bank.get(f"k{number}").content == f"value {number} " + "x" * 500
        except BankError:
            refused += 1
    assert refused > len(lengths) // 2


def test_a_bank_opened_for_reading_shows_everything_and_refuses_every_write(path: Path) -> None:
    with opened(path) as bank:
        kept = bank.record(title="Reading only", content="works without a right to write")
        bank.search("reading only")
        late = bank.record(title="Behind the index", content="stored after the last search")
    before = path.read_bytes()
    with opened(path, read_only=True) as bank:
        assert bank.get(kept.id).content == kept.content
        assert [m.id for m in bank.search("reading only").memories] == [kept.id]
        behind = bank.search("behind the index")
        assert [m.id for m in behind.memories] == [late.id], "found, though the index may not be written"
        assert behind.not_yet_indexed == 0
        assert bank.status().store.read_only
        assert len(bank.list()) == 2
        assert list(bank.export_lines())
        for refused in (
            lambda: bank.store("k", "v"),
            lambda: bank.feedback(kept.id, helpful=True),
            lambda: bank.forget(kept.id),
            lambda: bank.erase(late.id),
            lambda: bank.start_session("t"),
            lambda: bank.reindex("hash"),
        ):
            with pytest.raises(BankReadOnly):
                refused()
    assert path.read_bytes() == before


def test_a_read_only_bank_without_an_index_can_still_be_searched(path: Path) -> None:
    with opened(path) as bank:
        kept = bank.record(title="No index yet", content="was never searched before")
    for leftover in (None, "1-other"):
        if leftover:
            (path.parent / f"{path.name}.index" / leftover).mkdir(parents=True)
        with opened(path, read_only=True) as bank:
            assert [m.id for m in bank.search("never searched before").memories] == [kept.id]
        shutil.rmtree(path.parent / f"{path.name}.index", ignore_errors=True)


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    if os.name == "nt" or os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("a read-only medium needs root and mount")
    folder = tmp_path / "medium"
    folder.mkdir()
    with opened(folder / "bank.db") as bank:
        bank.record(title="On a read-only medium", content="it can be searched")
        bank.search("medium")
    if subprocess.run(["mount", "--bind", folder, folder], capture_output=True, check=False).returncode:
        pytest.skip("mount is not permitted here")
    subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_bank_on_a_read_only_medium_can_be_searched_and_refuses_writes(read_only_folder: Path) -> None:
    with opened(read_only_folder / "bank.db") as bank:
        assert len(bank.search("read-only medium").memories) == 1
        assert bank.list()[0].title == "On a read-only medium"
        with pytest.raises(BankReadOnly):
            bank.store("k", "v")
    with pytest.raises((BankUnavailable, BankReadOnly)):
        opened(read_only_folder / "another.db")


# ---------------------------------------------------------------- the first opening

OPEN_TOGETHER = """
import sys
from reasoningbank.wiring import ReasoningBank
folder, rounds = sys.argv[1], int(sys.argv[2])
for number in range(rounds):
    print("ready", flush=True)
    sys.stdin.readline()
    with ReasoningBank.open(f"{folder}/{number}.db", embedder="hash", namespace="n") as bank:
        bank.store(sys.argv[3], "v")
    print("done", flush=True)
"""


@pytest.mark.parametrize("rounds", [10, pytest.param(40, marks=pytest.mark.storm)])
def test_processes_that_create_the_same_bank_at_once_all_succeed(
    tmp_path: Path, child: Callable[..., subprocess.Popen[str]], rounds: int
) -> None:
    together = 4
    processes = [child(OPEN_TOGETHER, tmp_path, rounds, name) for name in range(together)]
    for number in range(rounds):
        for process in processes:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            assert process.stdout.readline() == "done\n", process.stderr.read()
        with opened(tmp_path / f"{number}.db") as bank:
            assert {m.memory.key for m in bank.list()} == {str(name) for name in range(together)}
            assert bank.verify() == []


def test_a_bank_that_somebody_makes_between_two_looks_is_not_taken_for_a_log_without_its_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, somebody = pairing.log_bytes, ExitStack()

    def be_quicker(place: Path) -> int:
        monkeypatch.setattr(pairing, "log_bytes", look)
        somebody.enter_context(opened(path)).store("theirs", "v")
        return look(place)

    path.touch()
    monkeypatch.setattr(pairing, "log_bytes", be_quicker)
    with somebody, opened(path) as bank:
        bank.store("ours", "v")
        assert {memory.memory.key for memory in bank.list()} == {"theirs", "ours"}


# ---------------------------------------------------------------- migrations

KILLED_WHILE_MIGRATING = """
import os, signal, sys
import apsw
from reasoningbank.store.sqlite.store import SqliteStore

class Dying(apsw.Connection):
    def execute(self, sql, *more, **named):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return super().execute(sql, *more, **named)

apsw.Connection = Dying
for number in range(0, int(sys.argv[2]), int(sys.argv[3])):
    left = number
    pid = os.fork()
    if pid == 0:
        SqliteStore(f"{sys.argv[1]}/{number}.db").close()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.storm)])
def test_a_kill_at_any_statement_of_the_first_opening_leaves_a_bank_that_opens(
    tmp_path: Path, child: Callable[..., subprocess.Popen[str]], finished: Callable[..., str], stride: int
) -> None:
    statements = len(fresh_schema()) + 12
    killed_at = range(0, statements, stride)
    ends = finished(child(KILLED_WHILE_MIGRATING, tmp_path, statements, stride)).split()
    assert {*ends} <= {"0", "-9"}
    assert 0 <= ends.count("0") < len(ends) == len(killed_at)
    for number in killed_at:
        with opened(tmp_path / f"{number}.db") as bank:
            bank.store("k", "v")
            assert bank.verify() == []


def test_a_migration_that_fails_halfway_leaves_the_old_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as bank:
        bank.store("k", "v")
    import reasoningbank.store.sqlite.opening as module

    coming = ("CREATE TABLE more (x)", "ALTER TABLE memories ADD COLUMN more TEXT", "THIS IS NO SQL")
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, coming))
    monkeypatch.setattr(module, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    with pytest.raises(StoreError):
        SqliteStore(path)
    with pytest.raises(BankReadOnly, match="older"):
        SqliteStore(path, read_only=True)
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, coming[:1]))
    SqliteStore(path).close()
    raw = apsw.Connection(str(path))
    assert next(raw.execute("PRAGMA user_version"))[0] == SCHEMA_VERSION + 1
    raw.close()
    monkeypatch.undo()
    with pytest.raises(BankTooNew):
        SqliteStore(path)


def test_random_bytes_at_the_path_never_crash_the_opening(tmp_path: Path) -> None:
    rng = random.Random(7)
    for number in range(30):
        path = tmp_path / f"{number}.db"
        head = b"SQLite format 3\0" if number % 2 else b""
        path.write_bytes(head + rng.randbytes(rng.choice([1, 50, 100, 4096, 10_000])))
        with pytest.raises(BankError):
            opened(path)


@pytest.mark.parametrize("fate", ["deleted", "moved", "replaced"])
def test_nothing_is_acknowledged_once_the_file_has_lost_its_name(path: Path, fate: str) -> None:
    """A write to a deleted file succeeds as far as SQLite can tell, and is gone with the process."""
    aside = path.with_suffix(".aside")
    with opened(path) as bank:
        kept = bank.store("k", "v").id
        if fate == "replaced":
            with opened(aside) as other:
                other.store("other", "v")
            aside.replace(path)
        elif fate == "moved":
            path.rename(aside)
        else:
            path.unlink()
        with pytest.raises(BankUnavailable, match="Nothing was written"):
            bank.store("lost", "v")
        if fate == "moved":
            aside.rename(path)
            assert bank.store("back", "v").id != kept


def test_a_process_may_go_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with opened("bank.db") as bank:
        monkeypatch.chdir("/")
        bank.store("k", "v")
    assert (tmp_path / "bank.db").exists()
