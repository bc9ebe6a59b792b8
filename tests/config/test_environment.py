"""Where things are kept when nobody says, and which project a folder belongs to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import VARIABLES, from_environment, home, repository_namespace
from reasoningbank.core.types import DEFAULT_NAMESPACE


def a_repository(folder: Path, config: str = "") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config)
    return folder


REMOTE = '[core]\n\tbare = false\n[remote "{name}"]\n\turl = {url}\n\tfetch = +refs/heads/*\n'


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
    repository = a_repository(tmp_path / "x", REMOTE.format(name="origin", url=url))
    assert repository_namespace(repository) == "github.com/owner/project"
    (repository / "a" / "b").mkdir(parents=True)
    assert repository_namespace(repository / "a" / "b") == "github.com/owner/project"


def test_no_secret_of_a_remote_gets_into_a_namespace(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "x", REMOTE.format(name="origin", url="https://u:hunter2@host.org/p.git"))
    assert "hunter2" not in repository_namespace(repository)


def test_origin_wins_over_other_remotes(tmp_path: Path) -> None:
    config = REMOTE.format(name="upstream", url="https://h/up") + REMOTE.format(name="origin", url="https://h/own")
    assert repository_namespace(a_repository(tmp_path / "x", config)) == "h/own"
    assert (
        repository_namespace(a_repository(tmp_path / "y", REMOTE.format(name="upstream", url="https://h/up"))) == "h/up"
    )


def test_worktrees_share_the_namespace_of_their_repository(tmp_path: Path) -> None:
    main = a_repository(tmp_path / "main")
    link = main / ".git" / "worktrees" / "w"
    link.mkdir(parents=True)
    (link / "commondir").write_text("../..\n")
    worktree = tmp_path / "elsewhere"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {link}\n")
    assert repository_namespace(worktree) == repository_namespace(main)


@pytest.mark.parametrize("url", [None, "/srv/git/p.git", "../p", "file:///srv/p", "C:\\p"])
def test_without_a_remote_elsewhere_the_folder_of_the_repository_counts(tmp_path: Path, url: str | None) -> None:
    config = "" if url is None else REMOTE.format(name="origin", url=url)
    first, second = (a_repository(tmp_path / side / "project", config) for side in ("a", "b"))
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
