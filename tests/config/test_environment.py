"""Where things are kept when nobody says, and which project a folder belongs to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import VARIABLES, from_environment, home, repository_namespace
from reasoningbank.core.types import DEFAULT_NAMESPACE
from tests.clones import a_clone, a_worktree


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/owner/project.git",
        "https://github.com/owner/project",
        "https://github.com/owner/project/",
        "https://user:secret@github.com/owner/project.git",
        "git@github.com:owner/project.git",
        "ssh://git@github.com/owner/project.git",
        "ssh://git@github.com:22/owner/project",
        "git://github.com/owner/project.git",
    ],
)
def test_every_address_of_a_remote_gives_the_same_namespace(tmp_path: Path, url: str) -> None:
    repository = a_clone(tmp_path / "x", url)
    assert repository_namespace(repository) == "github.com/owner/project"
    (repository / "a" / "b").mkdir(parents=True)
    assert repository_namespace(repository / "a" / "b") == "github.com/owner/project"


def test_no_secret_of_a_remote_gets_into_a_namespace(tmp_path: Path) -> None:
    assert repository_namespace(a_clone(tmp_path / "x", "https://u:hunter2@host.org/p.git")) == "host.org/p"


def test_origin_wins_over_other_remotes(tmp_path: Path) -> None:
    clone = a_clone(tmp_path / "x", "https://h/own")
    config = clone / ".git" / "config"
    config.write_text('[remote "upstream"]\n\turl = https://h/up\n' + config.read_text())
    assert repository_namespace(clone) == "h/own"


def test_worktrees_share_the_namespace_of_their_repository(tmp_path: Path) -> None:
    main = tmp_path / "main"
    (main / ".git").mkdir(parents=True)
    assert repository_namespace(a_worktree(tmp_path / "elsewhere", main)) == repository_namespace(main)


@pytest.mark.parametrize("url", [None, "/srv/git/p.git", "../p", "file:///srv/p", "C:\\p"])
def test_without_a_remote_elsewhere_the_folder_of_the_repository_counts(tmp_path: Path, url: str | None) -> None:
    first, second = (a_clone(tmp_path / side / "project", url or "") for side in ("a", "b"))
    assert repository_namespace(first).startswith("project-")
    assert repository_namespace(first) != repository_namespace(second)


@pytest.mark.skipif(os.name != "posix", reason="needs names of any bytes")
def test_a_repository_in_a_folder_whose_name_is_no_text_has_a_namespace_that_is(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"gr\xfcn")
    try:
        (folder / ".git").mkdir(parents=True)
    except OSError:
        pytest.skip("this file system has no such names")
    assert repository_namespace(folder).encode().startswith("gr\ufffdn-".encode())


def test_outside_of_any_repository_the_default_is_used(tmp_path: Path) -> None:
    assert repository_namespace(tmp_path) == DEFAULT_NAMESPACE
    (tmp_path / ".git").write_text("nonsense")
    assert repository_namespace(tmp_path) == DEFAULT_NAMESPACE


def test_the_environment_is_read_in_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path))
    assert home() == tmp_path
    assert from_environment(tmp_path).bank == str(tmp_path / "bank.db")
    monkeypatch.setenv("REASONINGBANK_BANK", str(tmp_path / "other.db"))
    monkeypatch.setenv("REASONINGBANK_NAMESPACE", "mine")
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    monkeypatch.setenv("REASONINGBANK_DURABILITY", "normal")
    with ReasoningBank.open() as bank:
        bank.store("k", "v")
        assert bank.namespace == "mine"
        status = bank.status()
        assert status.embedder.name == "hash"
        assert status.store.durability.startswith("normal")
    assert (tmp_path / "other.db").exists()
    assert all(name.isupper() and text for name, text in VARIABLES.items())


def test_an_empty_variable_is_as_good_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        if name != "REASONINGBANK_HOME":
            monkeypatch.setenv(name, "")
    config = from_environment(tmp_path)
    assert (config.embedder, config.durability, config.namespace) == (None, None, DEFAULT_NAMESPACE)
