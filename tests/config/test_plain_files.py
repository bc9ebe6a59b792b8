"""Whoever made a folder chose what lies under its names: nothing waits for a FIFO, or reads a device to its end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main
from reasoningbank.config import repository_branch, repository_namespace
from tests.clones import a_clone

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs FIFOs and devices")
HUGE_BYTES = 1 << 40


def fifo(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE_BYTES)


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path.name)


KINDS = [fifo, endless, huge, folder, loop]


@pytest.fixture(params=KINDS, ids=[kind.__name__ for kind in KINDS])
def instead(request: pytest.FixtureRequest):
    """`instead(path)` puts something that is no plain file, or an endless one, in the place of a file."""

    def put(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        request.param(path)
        return path

    return put


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    with ReasoningBank.open() as bank:
        bank.record(title="One", content="Advice about one thing.")
    return tmp_path / "home"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "name",
    ["config", "HEAD", "commondir", "packed-refs", "FETCH_HEAD", "logs/HEAD", "refs/remotes/origin/main"],
)
def test_a_git_folder_with_something_else_in_it_gives_a_namespace_at_once(tmp_path: Path, instead, name: str) -> None:
    clone = a_clone(tmp_path / "clone", "https://example.com/acme/app")
    instead(clone / ".git" / name)
    assert (
        repository_namespace(clone) in ("example.com/acme/app", "default")
        or repository_namespace(clone)[:6] == "clone-"
    )
    repository_branch(clone)


@pytest.mark.usefixtures("home")
def test_a_list_in_such_a_folder_answers(tmp_path: Path, instead, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    work = tmp_path / "work"
    instead(work / ".git" / "config")
    monkeypatch.chdir(work)
    assert main(["list", "--json"]) == 0
    instead(work / ".git" / "HEAD")
    assert main(["status", "--json"]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("home")
def test_a_folder_that_is_imported_skips_such_notes(tmp_path: Path, instead, capsys) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "good.md").write_text("Retry a request after a pause.\n")
    instead(notes / "other.md")
    assert main(["import", str(notes), "--json"]) == 0
    capsys.readouterr()
    with ReasoningBank.open() as bank:
        assert "Retry a request after a pause." in {memory.content for memory in bank.list()}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", ["ingest", "import", "graph import"])
def test_a_file_that_is_named_is_refused_if_it_is_none(tmp_path: Path, instead, command: str, capsys) -> None:
    path = instead(tmp_path / "given.jsonl")
    assert main([*command.split(), str(path)]) != 0
    assert "given.jsonl" in capsys.readouterr().err


def test_a_configuration_that_is_no_plain_file_is_an_error_that_names_it(home: Path, instead, capsys) -> None:
    assert main(["list", "--config", str(instead(home / "other.toml"))]) != 0
    assert "other.toml" in capsys.readouterr().err


def test_settings_of_an_agent_in_a_project_hang_no_doctor(
    home: Path, tmp_path: Path, instead, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    work = tmp_path / "work"
    work.mkdir()
    instead(work / ".mcp.json")
    monkeypatch.chdir(work)
    main(["doctor", "--json"])
    assert json.loads(capsys.readouterr().out)["checks"]
