"""A disk that loses power: what the recorder of the storm sees, and what a bank promised before it."""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.storms._disk import Disk, Tree
from bench.storms._recorder import SECTOR, Recorder, events_in
from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.index import mapping
from reasoningbank_coding_agents.capture_queue import leave_note, take_notes
from reasoningbank_coding_agents.payload import Event
from reasoningbank_coding_agents.state_dir import place_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the recorder is started in a child of its own")


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Disk]:
    """Do something in a folder in a process whose disk is recorded, and have that disk as it was at some moment."""

    def do(act: Callable[[Path], None], until: Callable[[Disk], bool] = lambda disk: False) -> Disk:
        root, log = tmp_path / "disk", tmp_path / "log"
        root.mkdir()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                recorder = Recorder(root, log)
                recorder.start()
                act(root)
                recorder.look()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
        disk = Disk(root.stat().st_ino)
        for at, event in events_in(log):
            disk.replay(at, event)
            if until(disk):
                break
        return disk

    return do


def every(path: str) -> bool:
    return True


def opened(tree: Tree, folder: Path, bank: str) -> ReasoningBank:
    folder.mkdir()
    tree.write_to(folder)
    return ReasoningBank.open(folder / bank, embedder="hash", namespace="n")


def test_only_what_was_synced_by_name_and_by_content_is_sure_to_be_there(recorded) -> None:
    def act(root: Path) -> None:
        for name in ("nothing", "content", "both"):
            with (root / name).open("wb") as file:
                file.write(b"x" * 700)
                file.flush()
                if name != "nothing":
                    os.fsync(file.fileno())
            if name == "content":
                (root / "content").replace(root / "moved")
        folder = os.open(root, os.O_RDONLY)
        os.fsync(folder)
        (root / "both").replace(root / "renamed")

    disk = recorded(act)
    assert disk.bare(every).files == {"nothing": b"", "moved": b"x" * 700, "both": b"x" * 700}
    assert disk.untouched(every).files == {"nothing": b"x" * 700, "moved": b"x" * 700, "renamed": b"x" * 700}


def test_a_store_into_a_mapped_file_is_recorded_and_durable_once_it_was_synced(recorded) -> None:
    def act(root: Path) -> None:
        with (root / "mapped").open("w+b") as file:
            file.truncate(4 * SECTOR)
            os.fsync(file.fileno())
            view = mapping.map_file(file.fileno(), 4 * SECTOR, mmap.ACCESS_WRITE)
            view[0] = 1
            os.fsync(file.fileno())
            # As if it had been long ago: a store into a map need not change it.
            os.utime(file.fileno(), (0.0, 0.0))
            view[3 * SECTOR] = 2
        folder = os.open(root, os.O_RDONLY)
        os.fsync(folder)

    disk = recorded(act)
    sure, likely = (disk.bare(every).files["mapped"], disk.untouched(every).files["mapped"])
    assert (sure[0], sure[3 * SECTOR]) == (1, 0)
    assert (likely[0], likely[3 * SECTOR]) == (1, 2)


def test_the_first_memory_of_a_bank_in_new_folders_outlives_a_power_loss(recorded, tmp_path) -> None:
    def act(root: Path) -> None:
        bank = ReasoningBank.open(root / "one" / "two" / "bank.db", embedder="hash", namespace="n")
        bank.record(title="kept", content="acknowledged")

    disk = recorded(act)
    with opened(disk.bare(every), tmp_path / "after", "one/two/bank.db") as bank:
        assert [item.memory.title for item in bank.list()] == ["kept"]


def test_a_bank_that_was_being_made_when_the_power_failed_can_be_opened(recorded, tmp_path) -> None:
    def act(root: Path) -> None:
        ReasoningBank.open(root / "bank.db", embedder="hash", namespace="n").close()

    tree = recorded(act, until=lambda disk: disk.untouched(every).files.get("bank.db", b"") != b"").bare(every)
    # Room for the first page was taken, the page itself did not reach the disk.
    tree.files["bank.db"] = bytes(4096)
    assert tree.files["bank.db-journal"]
    with opened(tree, tmp_path / "after", "bank.db") as bank:
        bank.record(title="kept", content="after all")
        assert bank.verify() == []


def test_an_erased_text_is_not_in_the_log_again_after_a_power_loss(recorded, tmp_path) -> None:
    def act(root: Path) -> None:
        bank = ReasoningBank.open(root / "bank.db", embedder="hash", namespace="n")
        bank.erase(bank.record(title="secret", content="the word is xyzzy").id)

    disk = recorded(act)
    tree = disk.bare(every)
    assert [path for path, content in tree.files.items() if b"xyzzy" in content] == []
    with opened(tree, tmp_path / "after", "bank.db") as bank:
        assert bank.list() == []


def test_a_backup_outlives_a_power_loss_once_it_was_acknowledged(recorded, tmp_path) -> None:
    def act(root: Path) -> None:
        bank = ReasoningBank.open(root / "bank.db", embedder="hash", namespace="n")
        bank.record(title="kept", content="acknowledged")
        bank.backup(root / "copy.db")

    with opened(recorded(act).bare(every), tmp_path / "after", "copy.db") as bank:
        assert [item.memory.title for item in bank.list()] == ["kept"]


def test_the_note_of_a_hook_outlives_a_power_loss(recorded, tmp_path) -> None:
    def act(root: Path) -> None:
        stop = Event(agent="claude-code", kind="stop", named="Stop", session="s", cwd="/", tool_input={})
        leave_note(place_of(locate(root / "bank.db")), stop, "n", 1.0)

    after = tmp_path / "after"
    after.mkdir()
    recorded(act).bare(every).write_to(after)
    assert [note.session for _, note in take_notes(place_of(locate(after / "bank.db")))] == ["s"]


def test_a_row_of_the_index_that_was_being_changed_is_in_doubt_and_not_damaged_after_a_power_loss(
    recorded, tmp_path
) -> None:
    ready = "ready"

    def act(root: Path) -> None:
        bank = ReasoningBank.open(root / "bank.db", embedder="hash", namespace="n")
        kept = [bank.record(title=f"kept {number}", content="acknowledged") for number in range(3)]
        assert bank.catch_up()
        with (root / ready).open("wb") as file:
            os.fsync(file.fileno())
        bank.feedback(kept[0].id, helpful=True)
        bank.forget(kept[1].id)
        assert bank.catch_up()

    seen, problems = set[object](), list[str]()

    def lose_power(disk: Disk) -> bool:
        if ready in disk.untouched(lambda path: path == ready).files:
            for chance in range(6):
                tree = disk.lost(random.Random(chance), every)
                index = tuple(content for path, content in tree.files.items() if ".index/" in path)
                if index not in seen:
                    seen.add(index)
                    with opened(tree, tmp_path / f"after-{len(seen)}", "bank.db") as bank:
                        # One of the two copies of the header may be torn: the other one counts.
                        problems.extend(damage.problem for damage in bank.verify() if damage.id)
        return bool(problems)

    recorded(act, until=lose_power)
    assert problems == []
    assert len(seen) > 5
