"""Commits that sessions made, in real repositories: those that last speak for a memory, those that are reverted against."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time

import pytest

from reasoningbank import ReasoningBank

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

DAY = 86_400.0
NAMESPACE = "example.com/team/app"


class Work:
    """A repository whose commits are as old as a test wants."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", "https://example.com/team/app.git")
        self.commit("README", "hello\n", days=60)
        self.git("update-ref", "--create-reflog", "-m", "update by push", "refs/remotes/origin/main", "HEAD")

    def git(self, *words, days=0.0):
        at = f"{int(time.time() - days * DAY)} +0000"
        who = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
        }
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words],
            env={**os.environ, **who, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, "GIT_CONFIG_GLOBAL": os.devnull},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self, name, text, *, days, message="change"):
        """What git says about it, as a transcript would show it."""
        (self.folder / name).write_text(text)
        self.git("add", "-A")
        return self.git("commit", "-m", message, days=days)


@pytest.fixture
def work(tmp_path):
    return Work(tmp_path / "app")


@pytest.fixture
def session(tmp_path, monkeypatch):
    """`session(said, …)` is a finished session in which git said this; gives back the shown and the used memory."""
    monkeypatch.setenv("REASONINGBANK_BANK", str(tmp_path / "bank.db"))

    def make(*said, namespace=NAMESPACE):
        with ReasoningBank.open(namespace=namespace) as bank:
            shown = bank.record(title="Retry politely", content="Wait before a request is retried.")
            used = bank.record(title="Cap the retries", content="Give up after five tries of a request.")
            run = bank.start_session("retry requests")
            bank.search("retry a request", session=run.id, limit=5)
            for text in said:
                bank.add_step(run.id, "git commit -am change", text)
            bank.end_session(run.id, "unknown")
            bank.outcome(used.id, succeeded=True, session=run.id)
            return shown.id, used.id

    return make


def git_signals(memory_id):
    with ReasoningBank.open() as bank:
        points = bank.history(memory_id).points
        return [
            (s.positive, s.weight, s.comment)
            for s in (point.signal for point in points)
            if s is not None and s.kind == "stability"
        ]


def fates(result):
    return [one["fate"] for one in result.json["sessions"]]


def test_a_commit_that_lasted_a_week_speaks_for_what_was_shown_and_more_for_what_was_used(rb, work, session):
    shown, used = session(work.commit("client.py", "retry()\n", days=8))
    with ReasoningBank.open() as bank:
        before = bank.get(used).confidence.mean, bank.get(used).usage_count
    assert fates(rb("watch-git", work.folder, "--json")) == ["survived"]
    [(positive, weight, comment)] = git_signals(used)
    assert (positive, weight) == (True, 1.0)
    assert re.fullmatch("commit [0-9a-f]{7,12} survived", comment)
    assert git_signals(shown)[0][:2] == (True, 0.05), "shown beside one that was used"
    with ReasoningBank.open() as bank:
        assert bank.get(used).confidence.mean > before[0]
        assert bank.get(used).usage_count == before[1], "surviving is no second use"


def test_looking_again_or_at_the_same_time_adds_nothing(rb, work, session, child):
    _, used = session(work.commit("client.py", "retry()\n", days=8))
    code = "import sys; from reasoningbank.cli.main import main; sys.exit(main(['watch-git', sys.argv[1]]))"
    processes = [child(code, work.folder) for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    rb("watch-git", work.folder)
    assert len(git_signals(used)) == 1


def test_a_young_commit_is_waited_for(rb, work, session):
    session(work.commit("client.py", "retry()\n", days=2))
    assert fates(rb("watch-git", work.folder, "--json")) == ["unknown"]
    assert fates(rb("watch-git", work.folder, "--json", "--days", "1")) == ["survived"]


def test_a_revert_speaks_against_also_after_it_had_lasted(rb, work, session):
    shown, used = session(work.commit("client.py", "retry()\n", days=20))
    rb("watch-git", work.folder)
    work.git("revert", "--no-edit", "HEAD", days=3)
    assert fates(rb("watch-git", work.folder, "--json")) == ["reverted"]
    assert [positive for positive, _, _ in git_signals(used)] == [True, False]
    rb("watch-git", work.folder)
    assert len(git_signals(used)) == 2
    assert len(git_signals(shown)) == 2


def test_a_revert_that_was_itself_reverted_does_not_count(rb, work, session):
    session(work.commit("client.py", "retry()\n", days=20))
    work.git("revert", "--no-edit", "HEAD", days=15)
    work.git("revert", "--no-edit", "HEAD", days=14)
    assert fates(rb("watch-git", work.folder, "--json")) == ["survived"]


def test_what_was_put_back_by_hand_is_taken_back_and_what_was_edited_since_is_not(rb, work, session):
    session(work.commit("client.py", "retry()\n", days=20))
    session(work.commit("server.py", "a\nb\nc\n", days=20))
    (work.folder / "client.py").unlink()
    work.commit("server.py", "a\nB\nc\nd\n", days=5)
    assert fates(rb("watch-git", work.folder, "--json")) == ["reverted", "survived"]


def test_what_was_wholly_rewritten_is_unknown(rb, work, session):
    session(work.commit("client.py", "retry()\n", days=20))
    work.commit("client.py", "import other\n", days=5)
    assert fates(rb("watch-git", work.folder, "--json")) == ["unknown"]


def test_a_rebased_a_squashed_and_an_unmerged_commit_are_unknown(rb, work, session):
    work.git("checkout", "-q", "-b", "feature")
    session(work.commit("client.py", "retry()\n", days=20))
    work.git("checkout", "-q", "main")
    assert fates(rb("watch-git", work.folder, "--json")) == ["unknown"], "unmerged"
    work.git("merge", "--squash", "-q", "feature")
    work.git("commit", "-qm", "squashed", days=10)
    assert fates(rb("watch-git", work.folder, "--json")) == ["unknown"], "squashed"
    work.git("branch", "-qD", "feature")
    work.git("reflog", "expire", "--expire=now", "--all")
    work.git("gc", "-q", "--prune=now")
    assert fates(rb("watch-git", work.folder, "--json")) == ["unknown"], "gone"


def test_a_clone_elsewhere_tells_the_same_and_another_repository_nothing(rb, work, session, tmp_path):
    session(work.commit("client.py", "retry()\n", days=8))
    clone, url = tmp_path / "copy", "git@example.com:team/app.git"
    instead = f"url.{work.folder}.insteadOf={url}"
    subprocess.run(["git", "-c", instead, "clone", "-q", url, str(clone)], check=True, timeout=300)
    assert fates(rb("watch-git", clone, "--json", "--dry-run")) == ["survived"]
    other = Work(tmp_path / "other")
    other.git("remote", "set-url", "origin", "https://example.com/team/other.git")
    assert fates(rb("watch-git", other.folder, "--json")) == []


def test_only_what_git_itself_said_counts_as_a_commit(rb, work, session):
    text = work.commit("client.py", "retry()\n", days=8)
    name = re.search("[0-9a-f]{7,}", text)[0]
    session(f"see {name}", f"x [main {name}] quoted in a sentence", "[main nothexx] no", "[--output 1234567] ")
    assert fates(rb("watch-git", work.folder, "--json")) in ([], ["unknown"])


def test_a_dry_run_notes_nothing(rb, work, session):
    _, used = session(work.commit("client.py", "retry()\n", days=8))
    result = rb("watch-git", work.folder, "--dry-run")
    assert "evidence for 2 memories" in result.out
    assert git_signals(used) == []


def test_a_folder_without_a_repository_and_a_machine_without_git_say_so(rb, work, session, tmp_path, monkeypatch):
    session("[main 1234567] x")
    (tmp_path / "plain").mkdir()
    assert "not in a git repository" in rb("watch-git", tmp_path / "plain").err
    assert "not a folder" in rb("watch-git", tmp_path / "nowhere").err
    monkeypatch.setenv("PATH", str(tmp_path / "plain"))
    result = rb("watch-git", work.folder)
    assert result.code == 1
    assert "git is not installed" in result.err


def test_a_watch_ends_when_it_is_asked_to(work, session, child):
    session(work.commit("client.py", "retry()\n", days=8))
    code = "import sys; from reasoningbank.cli.main import main; sys.exit(main(['watch-git', sys.argv[1], '--watch']))"
    process = child(code, work.folder)
    patience = threading.Timer(300.0, process.kill)
    patience.start()
    assert "survived" in process.stderr.readline()
    patience.cancel()
    process.terminate()
    assert process.wait(timeout=300) == 0
