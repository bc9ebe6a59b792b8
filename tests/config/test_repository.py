"""A folder is who it is: what git itself did on this machine makes it a clone, and nothing that an archive can hold does."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main
from reasoningbank.config import clones, project_of, repository_namespace
from tests.clones import a_clone, a_worktree

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.skipif(os.name != "posix", reason="asks for the time at which a file was changed"),
]
URL, EVIL = "https://github.com/acme/app.git", "https://evil.example/lib.git"
APP = "github.com/acme/app"


def git(folder: Path, *words: str) -> str:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-c", "protocol.file.allow=always", "-C", str(folder), *words]
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        command, env={**os.environ, **who, **quiet}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Machine:
    """The user's machine, and the servers that its git can reach."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        for name in ("app", "lib"):
            served = folder / "served" / name
            served.mkdir(parents=True)
            git(served, "init", "-q", "-b", "main")
            git(served, "commit", "-q", "--allow-empty", "-m", name)
        self.served = folder / "served"

    def git(self, folder: Path, *words: str) -> str:
        """As git, with the addresses of the internet answered by folders of this machine."""
        answers = {URL: self.served / "app", EVIL: self.served / "lib"}
        instead = [word for url, path in answers.items() for word in ("-c", f"url.{path.as_uri()}.insteadOf={url}")]
        return git(folder, *instead, *words)

    def clone(self, name: str, *words: str, url: str = URL) -> Path:
        self.git(self.folder, "clone", "-q", *words, url, str(self.folder / name))
        return self.folder / name

    def unpacked(self, folder: Path, name: str) -> Path:
        """The folder from an archive that somebody made of it, a while ago."""
        with tarfile.open(self.folder / f"{name}.tar", "w") as archive:
            archive.add(folder, name)
        with tarfile.open(self.folder / f"{name}.tar") as archive:
            # As every Python did before there were filters, which 3.11 has from 3.11.4 on.
            archive.extraction_filter = lambda member, _: member
            archive.extractall(self.folder)
        return self.folder / name


def made_earlier(folder: Path) -> None:
    """Dates the reflogs of a folder to the day before, as those of whatever is downloaded are."""
    for log in (folder / ".git" / "logs").rglob("*"):
        if log.is_file():
            text = log.read_text()
            log.write_text(text.replace(f"> {text.rpartition('> ')[2].split()[0]} ", f"> {time.time() - 86_400:.0f} "))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("REASONINGBANK_HOME", str(made.home))
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    return made


@pytest.fixture
def web(machine: Machine) -> Iterator[str]:
    """The project on a server that speaks HTTP."""
    bare = machine.folder / "web" / "app.git"
    git(machine.folder, "clone", "-q", "--bare", str(machine.served / "app"), str(bare))
    git(bare, "update-server-info")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(bare.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/app.git"
        server.shutdown()


# ---------------------------------------------------------------- honest folders


@pytest.mark.parametrize("words", [(), ("--depth", "1"), ("--filter=blob:none",), ("-o", "upstream"), ("-b", "main")])
def test_a_clone_is_its_project_and_so_is_a_second_one(machine: Machine, words: tuple[str, ...]) -> None:
    assert repository_namespace(machine.clone("first")) == APP
    project_of(machine.folder / "first", remember=True)
    assert repository_namespace(machine.clone("second", *words)) == APP


def test_a_clone_over_http_is_its_project(machine: Machine, web: str) -> None:
    git(machine.folder, "clone", "-q", web, "app")
    assert repository_namespace(machine.folder / "app") == "127.0.0.1/app"


def test_a_new_project_is_its_remote_from_its_first_push_on_and_another_from_its_first_fetch(machine: Machine) -> None:
    git(machine.served, "init", "-q", "--bare", "empty.git")
    pushed, fetched = machine.folder / "pushed", machine.folder / "fetched"
    for folder in (pushed, fetched):
        git(machine.folder, "init", "-q", "-b", "main", str(folder))
        git(folder, "remote", "add", "origin", URL)
        assert repository_namespace(folder).startswith(f"{folder.name}-")
    git(pushed, "commit", "-q", "--allow-empty", "-m", "start")
    instead = f"url.{(machine.served / 'empty.git').as_uri()}.insteadOf={URL}"
    git(pushed, "-c", instead, "push", "-q", "origin", "main")
    machine.git(fetched, "fetch", "-q")
    assert repository_namespace(pushed) == repository_namespace(fetched) == APP


def test_worktrees_and_submodules_are_what_their_repository_says(machine: Machine) -> None:
    clone = machine.clone("app", url=EVIL)
    git(clone, "worktree", "add", "-q", str(machine.folder / "tree"))
    machine.git(clone, "submodule", "add", "-q", URL, "part")
    assert repository_namespace(machine.folder / "tree") == "evil.example/lib"
    assert repository_namespace(clone / "part") == APP


def test_a_remote_that_was_renamed_is_known_and_one_that_moved_is_by_its_next_fetch(machine: Machine, web: str) -> None:
    clone = machine.clone("app", url=EVIL)
    git(clone, "remote", "rename", "origin", "upstream")
    assert repository_namespace(clone) == "evil.example/lib"
    git(clone, "remote", "set-url", "upstream", web)
    assert repository_namespace(clone) != "127.0.0.1/app", "it was cloned from elsewhere"
    git(clone, "fetch", "-q", "--force", "upstream")
    assert repository_namespace(clone) == "127.0.0.1/app"


def test_a_clone_remains_one_when_its_reflogs_have_ended(machine: Machine) -> None:
    clone = machine.clone("app")
    project_of(clone, remember=True)
    git(clone, "reflog", "expire", "--expire=now", "--all")
    git(clone, "gc", "-q", "--prune=now")
    assert repository_namespace(clone) == APP
    shutil.rmtree(machine.home / "projects")
    assert repository_namespace(clone) != APP, "or else this test shows nothing"


def test_a_folder_that_was_there_before_identities_were_checked_keeps_its_namespace(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = machine.unpacked(machine.clone("app"), "copy")
    made_earlier(copy)
    assert repository_namespace(copy) != APP
    monkeypatch.setattr(clones, "RULE_CAME_AT", time.time() + 60)
    assert repository_namespace(copy) == APP


# ---------------------------------------------------------------- folders that came another way


def config_only(machine: Machine) -> Path:
    folder = machine.folder / "fake"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {URL}\n')
    return folder


def with_refs(machine: Machine) -> Path:
    """A configuration, and refs, reflogs and objects that name commits of the project which are not there."""
    folder = a_clone(machine.folder / "fake", URL)
    shutil.rmtree(folder / ".git" / "objects")
    return folder


def other_history(machine: Machine) -> Path:
    """A whole clone of another project, of the same second, with the address changed wherever it stands."""
    folder = machine.unpacked(machine.clone("foreign", url=EVIL), "fake")
    for file in (folder / ".git" / "config", *(folder / ".git" / "logs").rglob("*")):
        if file.is_file():
            file.write_text(file.read_text().replace(EVIL, URL))
    return folder


def changed_remote(machine: Machine) -> Path:
    folder = machine.unpacked(machine.clone("foreign", url=EVIL), "fake")
    git(folder, "remote", "set-url", "origin", URL)
    return folder


def archive_of_the_project(machine: Machine) -> Path:
    """Everything that a clone of the public project has, and hostile files in it perhaps."""
    folder = machine.unpacked(machine.clone("theirs"), "fake")
    made_earlier(folder)
    return folder


def nonsense(machine: Machine) -> Path:
    """Ids of an odd length, an index of a pack that is none, a remote whose name leads elsewhere."""
    folder = a_clone(machine.folder / "fake", URL)
    git_folder = folder / ".git"
    shutil.rmtree(git_folder / "refs" / "remotes")
    (git_folder / "packed-refs").write_text(f"{'a' * 41} refs/remotes/origin/main\n{'a' * 40} refs/remotes/origin/x\n")
    (git_folder / "objects" / "pack").mkdir()
    (git_folder / "objects" / "pack" / "pack-1.idx").write_bytes(b"\xfftOc\x00\x00\x00\x02" + b"\xff" * 2_000)
    return folder


def with_fresh_commit(machine: Machine) -> Path:
    folder = archive_of_the_project(machine)
    git(folder, "commit", "-q", "--allow-empty", "-m", "an agent worked here")
    return folder


def pointer(machine: Machine) -> Path:
    folder = machine.folder / "fake"
    folder.mkdir()
    (folder / ".git").write_text("gitdir: ../app/.git\n")
    return folder


def link(machine: Machine) -> Path:
    folder = machine.folder / "fake"
    folder.mkdir()
    (folder / ".git").symlink_to("../app/.git")
    return folder


def common_folder(machine: Machine) -> Path:
    folder = a_clone(machine.folder / "fake", URL)
    (folder / ".git" / "commondir").write_text("../../app/.git\n")
    return folder


def linked_parts(machine: Machine) -> Path:
    folder = config_only(machine)
    for part in ("refs", "objects", "logs", "packed-refs", "HEAD"):
        (folder / ".git" / part).symlink_to(f"../../app/.git/{part}")
    return folder


def anothers_worktree(machine: Machine) -> Path:
    git(machine.folder / "app", "worktree", "add", "-q", str(machine.folder / "tree"))
    folder = machine.folder / "fake"
    folder.mkdir()
    (folder / ".git").write_text((machine.folder / "tree" / ".git").read_text())
    return folder


@pytest.mark.parametrize(
    "make",
    [
        config_only, with_refs, other_history, changed_remote, archive_of_the_project, nonsense, with_fresh_commit, pointer, link,
        common_folder, linked_parts, anothers_worktree,
    ],
)  # fmt: skip
def test_an_unpacked_folder_reads_nothing_of_the_project_that_it_names_and_tells_it_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, make
) -> None:
    monkeypatch.chdir(machine.clone("app"))
    with ReasoningBank.open() as bank:
        assert bank.namespace == APP
        bank.record(title="Deploy", content="Deploy the app with its own key.")
    monkeypatch.chdir(make(machine))
    with ReasoningBank.open() as bank:
        assert bank.namespace.startswith("fake-")
        assert bank.list() == []
        bank.record(title="Deploy", content="Deploy with this other key.")
    with ReasoningBank.open(namespace=APP) as bank:
        assert [memory.content for memory in bank.list()] == ["Deploy the app with its own key."]


def test_a_bare_or_mirrored_clone_has_nothing_that_speaks_for_it_until_it_is_joined(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("bare", "mirror"):
        bare, tree = machine.clone(f"{kind}.git", f"--{kind}"), machine.folder / f"{kind}-tree"
        git(bare, "worktree", "add", "-q", "--detach", str(tree))
        assert repository_namespace(tree) != APP
        monkeypatch.chdir(tree)
        assert main(["join"]) == 0
        assert repository_namespace(tree) == APP
    assert APP in capsys.readouterr().out


def test_a_person_is_told_of_a_folder_that_is_not_believed_and_joins_it_with_one_command(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(config_only(machine))
    assert main(["status"]) == 0
    assert "reasoningbank join" in " ".join(capsys.readouterr().out.split())
    main(["doctor", "--json"])
    [check] = [check for check in json.loads(capsys.readouterr().out)["checks"] if check["name"] == "project"]
    assert check["verdict"] == "warn"
    assert APP in check["says"]
    before = repository_namespace(Path.cwd())
    monkeypatch.setenv("CLAUDECODE", "1")
    assert main(["join"]) != 0, "an agent may not"
    assert repository_namespace(Path.cwd()) == before
    monkeypatch.delenv("CLAUDECODE")
    assert main(["join"]) == 0
    assert repository_namespace(Path.cwd()) == APP
    main(["status"])
    assert "reasoningbank join" not in capsys.readouterr().out
    assert main(["join", before]) == 0
    assert repository_namespace(Path.cwd()) == before


def test_a_worktree_of_a_folder_that_is_not_believed_shares_with_that_folder_only(machine: Machine) -> None:
    fake = config_only(machine)
    assert repository_namespace(a_worktree(machine.folder / "tree", fake)) == repository_namespace(fake)
