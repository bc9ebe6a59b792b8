"""A bank that is no file: everything that is kept beside a file has a folder of the user's, and nobody misses the file."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.core.errors import BankUnavailable, InvalidInput
from reasoningbank.core.frozen import replace
from reasoningbank.files import hold
from reasoningbank.location import Location
from reasoningbank.ports import Check, Recovered, Store, StoreInfo
from reasoningbank.store.memory import MemoryEngine, MemoryTables
from reasoningbank.store.record_store import RecordStore
from reasoningbank.wiring.backends import BACKENDS
from reasoningbank_coding_agents.capture_queue import waiting
from reasoningbank_coding_agents.capture_worker import work
from reasoningbank_coding_agents.hook_client import ask_server
from reasoningbank_coding_agents.hook_listener import serve_hooks
from reasoningbank_coding_agents.hook_local import answer
from reasoningbank_coding_agents.state_dir import make_room, place_of

URL = "toy://ann:geheim@host/lessons"
PROMPT = "Please run the parser tests"
PATIENCE_S = 300.0


class ToyEngine(MemoryEngine):
    """Rows in this process, under a URL."""

    def __init__(self, tables: MemoryTables, location: Location) -> None:
        super().__init__(tables)
        self._location = location

    @property
    def info(self) -> StoreInfo:
        return replace(super().info, backend="toy", location=self._location)


class ToyBackend:
    def __init__(self) -> None:
        self.kept: dict[str, MemoryTables] = {}

    def exists(self, location: Location) -> bool:
        return location.url in self.kept

    def open(
        self, location: Location, *, durability: str, create: bool, read_only: bool, clock: Callable[[], float]
    ) -> Store:
        if location.url not in self.kept and not create:
            raise BankUnavailable(f"There is no bank at {location}.")
        tables = self.kept.setdefault(location.url, MemoryTables())
        return RecordStore(ToyEngine(tables, location), clock)

    def checks(self, location: Location) -> Iterator[Check]:
        yield Check.ok("bank", f"{location} answers")

    def integrity(self, location: Location) -> Check:
        return Check.ok("integrity", f"{location} is whole")

    def recover(self, location: Location, backup: Path, **_: Any) -> Recovered:
        raise InvalidInput(f"{location} takes no {backup}.")


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> ToyBackend:
    backend = ToyBackend()
    monkeypatch.setitem(BACKENDS, "toy", lambda: backend)
    monkeypatch.setenv("REASONINGBANK_BANK", URL)
    return backend


def teach() -> None:
    with ReasoningBank.open(namespace="n") as bank:
        bank.record(title="Run the parser tests with uv", description="parser tests", content="Use uv run pytest.")
        bank.search("parser")


def event(name: str, **more: Any) -> bytes:
    return json.dumps({"session_id": "s", "cwd": "/", "hook_event_name": name, **more}).encode()


def test_commands_work_and_nothing_lies_in_the_folder_they_run_in(rb, home):
    assert rb("list").code != 0
    stored = rb("store", "parser", "Run the parser tests with uv run pytest.")
    assert stored.code == 0, stored.err
    assert "uv run pytest" in rb("query", "parser tests").out
    assert rb("verify").code == 0
    assert rb("reindex").code == 0
    assert list(Path.cwd().iterdir()) == []
    (state,) = (home / "banks").iterdir()
    assert [path.name for path in state.iterdir()] == ["index"]


def test_status_and_doctor_ask_the_store(rb):
    rb("store", "parser", "Run the parser tests with uv run pytest.")
    status = rb("status")
    assert "toy://ann@host/lessons (toy)" in status.out
    assert rb("status", "--json").json["store"]["location"] == "toy://ann@host/lessons"
    doctor = rb("doctor", "--json")
    assert doctor.code == 0
    says = {check["name"]: check["says"] for check in doctor.json["checks"]}
    assert says["bank"] == "toy://ann@host/lessons answers"
    assert "geheim" not in status.out + doctor.out + rb("store", "k", "v").err


def test_what_it_holds_moves_to_a_file_and_a_rehearsal_makes_no_bank(rb, toy, tmp_path):
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"title": "Wrap errors", "content": "with context"}\n')
    assert rb("import", lines, "--dry-run").code == 0
    assert toy.kept == {}
    assert rb("import", lines).code == 0
    assert "export it" in rb("backup", tmp_path / "copy.db").err
    assert rb("export", tmp_path / "all.jsonl").code == 0
    assert rb("--bank", tmp_path / "file.db", "import", tmp_path / "all.jsonl").code == 0
    with ReasoningBank.open(tmp_path / "file.db", create=False) as copy:
        assert copy.status().memories == {"active": 1}


def test_a_configuration_in_its_state_folder_counts_for_it():
    state = locate().state
    state.mkdir(parents=True)
    (state / "config.toml").write_text("[search]\ndefault_limit = 7\n")
    with ReasoningBank.open() as bank:
        assert bank.settings.search.default_limit == 7
        assert bank.settings.files == (str(state / "config.toml"),)


def test_hooks_give_advice_from_it_and_note_sessions_in_its_state_folder(tmp_path):
    location = locate()
    raw = event("UserPromptSubmit", prompt=PROMPT)
    assert answer(location, "claude-code", None, raw, namespace="n", hooks="", cwd="/") == ""
    teach()
    assert "uv run pytest" in answer(location, "claude-code", None, raw, namespace="n", hooks="", cwd="/")
    place = place_of(location)
    make_room(place.work_lock)
    lock = hold(place.work_lock)
    try:
        ended = event("SessionEnd", transcript_path=str(tmp_path / "none.jsonl"))
        answer(location, "claude-code", None, ended, namespace="n", hooks="", cwd="/")
    finally:
        os.close(lock)
    assert waiting(place) == 1
    assert place.folder.parent == location.state
    work(location, place, clock=time.time, over=lambda: False)
    assert waiting(place) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no such sockets there")
def test_a_server_of_it_answers_hooks():
    teach()
    location = locate()
    asked = {"agent": "claude-code", "event": None, "namespace": "n", "hooks": "", "cwd": "/"}
    raw = event("UserPromptSubmit", prompt=PROMPT)
    with ReasoningBank.open(namespace="n") as bank, serve_hooks(bank, location):
        deadline = time.monotonic() + PATIENCE_S
        while (
            said := ask_server(location.path_of("hooks"), raw, asked, within_s=PATIENCE_S, loading_s=PATIENCE_S)
        ) is None:
            assert time.monotonic() < deadline, "nobody answers"
            time.sleep(0.01)
    assert "uv run pytest" in said[0]
