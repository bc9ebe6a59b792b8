"""A medium that fails: full, erring at any write, flipping bits. Nothing acknowledged is lost, nothing wrong is served."""

from __future__ import annotations

import errno
import gc
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main
from reasoningbank.core.errors import (
    BankDamaged,
    BankError,
    BankFull,
    BankReadOnly,
    BankUnavailable,
    NotFound,
    StoreError,
)
from reasoningbank.core.types import Exposure, Memory
from reasoningbank.store.sqlite.store import SqliteStore


def opened(path: Path, **options: object) -> ReasoningBank:
    return ReasoningBank.open(path, embedder="hash", namespace="n", **options)  # type: ignore[arg-type]


# ---------------------------------------------------------------- a full disk


def test_a_full_disk_is_a_typed_error_and_loses_nothing_acknowledged(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(5_500_000))
    path = small_disk / "bank.db"
    acknowledged: dict[str, str] = {}
    with opened(path) as bank:
        first = bank.record(title="The first", content="stored while there was room")
        acknowledged[first.id] = first.content
        assert [m.id for m in bank.search("while there was room").memories] == [first.id]
        with pytest.raises(BankFull):  # noqa: PT012 - whichever comes first
            for number in range(10_000):
                kept = bank.record(title=f"number {number}", content=f"{number} " + "filling " * 300)
                acknowledged[kept.id] = kept.content
        assert len(acknowledged) > 5

        for memory_id, content in acknowledged.items():
            assert bank.get(memory_id).content == content
        assert len(bank.list(limit=10_000)) == len(acknowledged)
        assert first.id in {m.id for m in bank.search("while there was room").memories}
        with pytest.raises(BankFull):  # noqa: PT012 - whichever comes first
            for number in range(10_000):
                bank.record(title=f"again {number}", content="filling " * 300)
        assert bank.verify() == []

        ballast.unlink()
        after = bank.record(title="Room again", content="stored after space was freed")
        assert after.id in {m.id for m in bank.search("after space was freed").memories}
        held = {m.id: m.content for m in bank.list(limit=10_000)}
    assert acknowledged.items() <= held.items()
    with opened(path) as bank:
        assert {m.id: m.content for m in bank.list(limit=10_000)} == held
        assert bank.verify() == []


def test_opening_on_a_full_disk_says_so_and_works_once_there_is_room(small_disk: Path) -> None:
    path = small_disk / "bank.db"
    with opened(path) as bank:
        kept = bank.record(title="Stored early", content="before the disk was full")
        bank.search("early")
    with pytest.raises(OSError, match="space"), (small_disk / "ballast").open("wb") as file:  # noqa: PT012
        while True:
            file.write(bytes(4096))
            file.flush()
    with pytest.raises(BankFull):
        opened(path)
    (small_disk / "ballast").unlink()
    with opened(path) as bank:
        assert bank.get(kept.id).content == kept.content
        assert [m.id for m in bank.search("before the disk was full").memories] == [kept.id]


def fill(disk: Path, left: int = 0) -> Path:
    """Take all room but so many bytes."""
    ballast = disk / "ballast"
    room = os.statvfs(disk)
    with suppress(OSError):
        ballast.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - left)))
    return ballast


@pytest.mark.parametrize("left", [0, 100_000, 400_000])
def test_a_first_search_on_a_full_disk_answers_by_words_and_builds_the_index_once_there_is_room(
    small_disk: Path, left: int
) -> None:
    with opened(small_disk / "bank.db") as bank:
        kept = bank.record(title="Stored early", content="before the disk was full")
        ballast = fill(small_disk, left)
        for _ in range(2):
            assert [m.id for m in bank.search("before the disk was full").memories] == [kept.id]
        ballast.unlink()
        assert [m.id for m in bank.search("before the disk was full").memories] == [kept.id]
        assert bank.catch_up(budget_s=600)


@pytest.mark.parametrize("left", [0, 40_000, 400_000])
def test_a_command_that_reads_answers_on_a_full_disk_though_the_index_owes_something(
    small_disk: Path, left: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small_disk / "bank.db"
    with opened(path) as bank:
        bank.record(title="First", content="retry a request after a pause")
        bank.search("retry a request")
        for number in range(100):
            bank.record(title=f"Other {number}", content=f"{number} has nothing to do with any of it " + "word " * 40)
        cap = bank.record(title="Cap", content="cap the backoff of retries at a minute")
    fill(small_disk, left)
    for command in (["query", "cap the backoff of retries"], ["inject", "cap the backoff of retries"], ["get", cap.id]):
        assert main(["--bank", str(path), "--namespace", "n", *command]) == 0
        assert "cap the backoff of retries" in capsys.readouterr().out
    assert main(["--bank", str(path), "--namespace", "n", "list"]) == 0
    assert main(["--bank", str(path), "--namespace", "n", "store", "b", "word " * 200_000]) != 0
    assert "full" in capsys.readouterr().err


def test_erasing_works_on_a_full_disk_and_leaves_nothing_of_what_it_erased(small_disk: Path) -> None:
    with opened(small_disk / "bank.db") as bank:
        kept = [bank.record(title=f"number {n}", content=f"advice {n} " + "filling " * 300) for n in range(20)]
        secret = bank.record(title="a secret", content="the word is sesquipedalian")
        assert secret.id in {hit.id for hit in bank.search("sesquipedalian").memories}
        with pytest.raises(OSError, match="space"), (small_disk / "ballast").open("wb") as file:  # noqa: PT012
            while True:
                file.write(bytes(4096))
                file.flush()
        bank.erase(secret.id)
        with pytest.raises(NotFound):
            bank.get(secret.id)
    named = [p for p in small_disk.rglob("*") if p.is_file() and b"sesquipedalian" in p.read_bytes()]
    assert named == []
    (small_disk / "ballast").unlink()
    with opened(small_disk / "bank.db") as bank:
        assert {item.id for item in bank.list()} == {item.id for item in kept}
        assert bank.verify() == []
        assert kept[3].id in {hit.id for hit in bank.search("advice 3", floor=0.0, limit=50).memories}


# ---------------------------------------------------------------- errors of the medium


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.EIO, BankUnavailable),
        (errno.EMFILE, BankUnavailable),
        (errno.EACCES, BankReadOnly),
        (errno.ENOSPC, BankFull),
    ],
    ids=["an I/O error", "too many files", "no permission", "a full disk"],
)
@pytest.mark.parametrize("verb", ["search", "reindex", "consolidate", "erase", "backup"])
def test_what_the_system_refuses_is_a_typed_error_with_the_remedy(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[BankError], verb: str
) -> None:
    with opened(path) as bank:
        kept = [bank.record(title=f"number {n}", content=f"advice {n}").id for n in range(3)]
        bank.search("advice")
    real = os.open

    def refusing(name: object, *more: int, **named: object) -> int:
        if ".index" in str(name) or ".partial" in str(name):
            raise OSError(number, os.strerror(number), str(name))
        return real(name, *more, **named)  # type: ignore[arg-type]

    acts = {
        "search": lambda bank: bank.search("advice"),
        "reindex": lambda bank: bank.reindex(),
        "consolidate": lambda bank: bank.consolidate(),
        "erase": lambda bank: bank.erase(kept[0]),
        "backup": lambda bank: bank.backup(path.with_name("copy.db")),
    }
    with opened(path) as bank, monkeypatch.context() as failing:
        failing.setattr(os, "open", refusing)
        if (verb, number) == ("erase", errno.ENOSPC):
            # Without room for an index that leaves something out, the index goes and the erasure stays.
            bank.erase(kept[0])
        elif (verb, number) == ("search", errno.ENOSPC):
            # Without room for what an index is opened with, words have to do.
            assert {hit.id for hit in bank.search("advice", floor=0.0).memories} == set(kept)
        else:
            with pytest.raises(error, match=r"try again|check the permissions|open it again"):
                acts[verb](bank)
    with opened(path) as bank:
        assert bank.verify() == []
        assert len(bank.search("advice", floor=0.0).memories) == 3 - (verb == "erase")


def test_a_medium_that_fails_when_a_commit_is_looked_at_again_is_a_typed_error_and_what_was_written_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pread

    def failing(descriptor: int, size: int, at: int) -> bytes:
        if (size, at) == (4, 0):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, size, at)

    with opened(path) as bank:
        bank.record(title="before", content="advice")
        with monkeypatch.context() as broken:
            broken.setattr(os, "pread", failing)
            with pytest.raises(BankUnavailable, match="see whether what was being stored is there"):
                bank.record(title="meanwhile", content="advice")
        bank.record(title="after", content="advice")
        assert {item.title for item in bank.list()} == {"before", "meanwhile", "after"}
        assert bank.verify() == []


def test_a_backup_is_durable_under_its_name_before_it_is_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = path.parent / "made" / "copy.db"
    target.parent.mkdir()
    synced: list[tuple[int, bool]] = []
    real = os.fsync

    def noting(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, target.exists()))
        real(descriptor)

    with opened(path) as bank:
        bank.record(title="t", content="c")
        monkeypatch.setattr(os, "fsync", noting)
        bank.backup(target)
    assert (target.stat().st_ino, False) in synced
    assert (target.parent.stat().st_ino, True) in synced


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_what_a_killed_backup_has_left_is_removed_by_the_next(
    path: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    with opened(path) as bank:
        bank.record(title="t", content="c")
    dies = """
import os, signal, sys
from reasoningbank import ReasoningBank
bank = ReasoningBank.open(sys.argv[1], namespace="n")
bank.backup(sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""
    folder = path.parent / "backups"
    folder.mkdir()
    assert child(dies, path, folder / "first.db").wait(600) == -9
    assert [p.name for p in folder.iterdir()] != []
    with opened(path) as bank:
        bank.backup(folder / "second.db")
    assert [p.name for p in folder.iterdir()] == ["second.db"]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_doctor_tells_of_copies_that_a_killed_backup_has_left_and_not_of_one_that_is_being_made(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def copies() -> list[str]:
        main(["--bank", str(path), "doctor", "--json"])
        return [check["says"] for check in json.loads(capsys.readouterr().out)["checks"] if check["name"] == "copies"]

    during: list[list[str]] = []
    with opened(path) as bank:
        bank.record(title="t", content="c")
        bank.backup(path.parent / "whole.db", lambda *_: during.append(copies()))
    assert during
    assert not any(during)
    left = path.parent / "first.db.partial-1-abcdef"
    left.write_bytes(bytes(5_000))
    [says] = copies()
    assert "1 copy of a killed backup (5.0 KB)" in says
    (path.parent / "elsewhere").mkdir()
    with opened(path) as bank:
        bank.backup(path.parent / "elsewhere" / "next.db")
    assert not left.exists()


class Medium(apsw.VFS):
    """Passes everything on to the real file system until the `fail_at`-th write, sync or truncation."""

    def __init__(self, name: str) -> None:
        self.base = ""
        self.calls = 0
        self.fail_at: int | None = None
        self.forever = False
        self.error: type[Exception] = apsw.IOError
        super().__init__(name, self.base)

    def xOpen(self, name: object, flags: list[int]) -> MediumFile:
        return MediumFile(self, name, flags)

    def step(self) -> None:
        self.calls += 1
        if self.fail_at is not None and (self.calls == self.fail_at or (self.forever and self.calls > self.fail_at)):
            fault = self.error("injected")
            fault.extendedresult = apsw.SQLITE_IOERR_WRITE if self.error is apsw.IOError else apsw.SQLITE_FULL  # type: ignore[attr-defined]
            raise fault


class MediumFile(apsw.VFSFile):
    def __init__(self, medium: Medium, name: object, flags: list[int]) -> None:
        self.medium = medium
        super().__init__(medium.base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.medium.step()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self.medium.step()
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self.medium.step()
        super().xTruncate(size)


@pytest.fixture
def medium(monkeypatch: pytest.MonkeyPatch) -> Iterator[Medium]:
    import reasoningbank.store.sqlite.store as module

    shim = Medium("erring")
    real = apsw.Connection

    class Connection(real):  # type: ignore[misc, valid-type]
        def __init__(self, filename: str, **named: object) -> None:
            super().__init__(filename, vfs="erring", **named)

    monkeypatch.setattr(module.apsw, "Connection", Connection)
    # Where SQLite itself passes over an error, as in closing, APSW reports it here.
    loud = sys.unraisablehook
    monkeypatch.setattr(sys, "unraisablehook", lambda e: None if "injected" in str(e.exc_value) else loud(e))
    yield shim
    gc.collect()
    monkeypatch.undo()
    shim.unregister()


def a_short_life(path: Path, acknowledged: dict[str, str], gone: set[str]) -> None:
    """Every way of writing once; what was acknowledged is noted outside as soon as it is."""
    store = SqliteStore(path)
    try:
        bank = make_bank(store)
        for number in range(2):
            kept = bank.record(title=f"memory {number}", content=f"content {number} " + "x" * 3_000)
            acknowledged[kept.id] = kept.content
        edited = bank.edit(kept.id, content="edited")
        acknowledged[edited.id] = edited.content
        bank.feedback(kept.id, helpful=True)
        store.log_shown(
            [Exposure(memory_id=kept.id, tenant="local", trajectory_id=None, query_hash="q", rank=1, at=1.0)]
        )
        # An erasure that fails at its very end may have happened, so from here on neither is promised.
        first = min(acknowledged)
        del acknowledged[first]
        store.write("local", lambda w: w.remove(Memory, first))
        gone.add(first)
        bank.store("k", "v1")
        keyed = bank.store("k", "v2")
        acknowledged[keyed.id] = "v2"
    finally:
        store.close()


def make_bank(store: SqliteStore) -> ReasoningBank:
    import time

    from reasoningbank.context import BankContext
    from reasoningbank.core.confidence import policy_named
    from reasoningbank.core.ids import IdSource

    context = BankContext(
        bare_store=store,
        tenant="local",
        namespace="n",
        clock=time.time,
        ids=IdSource(time.time, random.Random(1).getrandbits),
        policy=policy_named("bayes"),
    )
    return ReasoningBank(context, None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=pytest.mark.storm)])
@pytest.mark.parametrize(
    ("error", "forever"),
    [(apsw.IOError, False), (apsw.FullError, True)],
    ids=["an I/O error once", "a full disk from then on"],
)
def test_an_error_at_any_write_is_typed_and_neither_corrupts_nor_lies(
    tmp_path: Path, medium: Medium, error: type[Exception], forever: bool, stride: int
) -> None:
    a_short_life(tmp_path / "sound.db", {}, set())
    total = medium.calls
    assert total > 40
    medium.error, medium.forever = error, forever
    failed = 0
    tried = range(1, total + 1, stride)
    for at in tried:
        path = tmp_path / f"{at}.db"
        acknowledged: dict[str, str] = {}
        gone: set[str] = set()
        medium.calls, medium.fail_at = 0, at
        try:
            a_short_life(path, acknowledged, gone)
        except BankError:
            failed += 1
        medium.fail_at = None
        store = SqliteStore(path)
        assert store.verify() == []
        with store.read("local") as reader:
            kept = {m.id: m.content for m in reader.select(Memory, {})}
            for memory_id, content in acknowledged.items():
                versions = {kept.get(memory_id), *(r.content for r in reader.revisions(Memory, memory_id))}
                assert content in versions, f"acknowledged and lost at call {at}"
            assert not gone & kept.keys(), f"erased and back at call {at}"
        numbers = [change.seq for change in store.changes(0, 1_000)]
        assert numbers == list(range(1, len(numbers) + 1))
        store.close()
    assert failed > len(tried) // 3


# ---------------------------------------------------------------- flipped bits


@pytest.mark.parametrize("flips", [50, pytest.param(1_000, marks=pytest.mark.storm)])
def test_a_flipped_bit_is_never_served_and_verify_names_the_row(tmp_path: Path, flips: int) -> None:  # noqa: C901
    rng = random.Random(20_261_115)
    path = tmp_path / "bank.db"
    with opened(path) as bank:
        truth = {}
        for number in range(40):
            kept = bank.store(
                f"k{number}", f"advice number {number} " + rng.randbytes(60).hex(), tags=["a", f"t{number}"]
            )
            truth[kept.id] = (kept.title, kept.content, kept.tags, kept.memory.key)
            bank.feedback(kept.id, helpful=bool(number % 2), comment="because")
        for number in range(0, 40, 4):
            changed = bank.store(f"k{number}", f"changed advice {number}")
            truth[changed.id] = (changed.title, changed.content, changed.tags, changed.memory.key)
    whole = path.read_bytes()
    texts = [match.start() for match in re.finditer(b"advice number|changed advice", whole)]
    rows_hit = named = 0
    for trial in range(flips):
        # Every other flip goes where it hurts, the rest anywhere.
        at = rng.randrange(len(whole) * 8) if trial % 2 else 8 * rng.choice(texts) + rng.randrange(400)
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << (at % 8)
        flipped = tmp_path / "flipped.db"
        flipped.write_bytes(damaged)
        refused: set[str] = set()
        try:
            with opened(flipped, read_only=True) as bank:
                for memory_id, expected in truth.items():
                    try:
                        got = bank.get(memory_id)
                    except BankDamaged:
                        refused.add(memory_id)
                        continue
                    except (NotFound, StoreError):
                        continue
                    assert (got.title, got.content, got.tags, got.memory.key) == expected, f"trial {trial}, bit {at}"
                try:
                    for got in bank.list(limit=1_000):
                        assert (got.title, got.content, got.tags, got.memory.key) == truth[got.id]
                    list(bank.export_lines())
                    for memory_id in list(truth)[::8]:
                        bank.history(memory_id)
                except BankError:
                    pass
                damage = bank.verify()
        except BankError:
            continue
        hit = row_at(whole, at)
        if refused:
            assert damage
        if hit is not None:
            rows_hit += 1
            named += any(hit in (d.id, "") or d.id == "" for d in damage) and bool(damage)
    assert rows_hit > flips // 10
    assert named == rows_hit


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE feed SET op = 'ade' WHERE seq = 3",
        "UPDATE feed SET kind = 'memorx' WHERE seq = 3",
        "UPDATE feed SET id = CAST(x'6d656dff' AS TEXT) WHERE seq = 3",
        "UPDATE feed SET tenant = 'locam' WHERE seq = 3",
        "DELETE FROM feed WHERE seq = 3",
    ],
)
def test_verify_names_a_change_in_the_feed_that_no_view_could_follow(path: Path, damage: str) -> None:
    with opened(path) as bank:
        kept = [bank.store(f"k{number}", f"advice number {number}") for number in range(5)]
        bank.erase(kept[0].id)
        bank.forget(kept[1].id)
        assert bank.verify() == []
    connection = apsw.Connection(str(path))
    connection.execute(damage)
    connection.close()
    with opened(path) as bank:
        found = bank.verify()
    assert {problem.kind for problem in found} == {"feed"}
    assert found[0].id in ("3", "4")


def row_at(whole: bytes, bit: int) -> str | None:
    """The id of the memory whose content text holds this bit, if any."""
    byte = bit // 8
    for marker in (b"advice number ", b"changed advice "):
        start = whole.rfind(marker, max(0, byte - 130), byte + 1)
        if start >= 0:
            row = whole.rfind(b"mem_", 0, start)
            return whole[row : row + 30].decode("ascii", "replace") if start - row < 400 else None
    return None


def test_verify_names_every_damaged_row_even_when_its_text_cannot_be_read(path: Path) -> None:
    with opened(path) as bank:
        kept = [bank.store(f"k{number}", f"needle-{number:02}-{'x' * 50}") for number in range(10)]
    whole = bytearray(path.read_bytes())
    for number, byte in ((2, 0xFF), (5, ord("y")), (7, 0x80)):
        whole[whole.index(f"needle-{number:02}".encode())] = byte
    path.write_bytes(whole)
    with opened(path, read_only=True) as bank:
        assert {damage.id for damage in bank.verify()} == {kept[n].id for n in (2, 5, 7)}
        for number, memory in enumerate(kept):
            if number in (2, 5, 7):
                with pytest.raises(BankDamaged):
                    bank.get(memory.id)
            else:
                assert bank.get(memory.id).content == memory.content
        with pytest.raises(BankDamaged):
            bank.list()


def test_a_damaged_row_does_not_stop_the_others_from_being_found(path: Path) -> None:
    with opened(path) as bank:
        kept = [bank.store(f"k{n}", f"advice about topic{n} number {n}") for n in range(10)]
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"advice about topic3")] = 0xFF
    path.write_bytes(whole)
    with opened(path) as bank:
        assert kept[5].id in {hit.id for hit in bank.search("advice about topic5").memories}
        assert kept[3].id not in {hit.id for hit in bank.search("advice about topic3", limit=20).memories}
