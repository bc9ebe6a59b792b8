"""What worked in the end and teaches nothing all the same: look-ups, bypassed checks, typos, other runs."""

from __future__ import annotations

import pytest

from reasoningbank.core.learning import Episode, EpisodeStep, Verdict, VerdictOutcome
from reasoningbank.learn.offline.distiller import OfflineDistiller
from reasoningbank.learn.offline.fixes import find_fixes
from reasoningbank.learn.offline.remedies import find_remedies

SILENT = Verdict(outcome=VerdictOutcome.SUCCESS)


def steps_of(*told: tuple[str, str] | tuple[str, str, bool]) -> tuple[EpisodeStep, ...]:
    return tuple(EpisodeStep(action=one[0], result=one[1], ok=one[2] if len(one) == 3 else None) for one in told)


def taught(*told: tuple[str, str] | tuple[str, str, bool]) -> list[str]:
    episode = Episode(task="work", namespace="n", steps=steps_of(*told))
    return [lesson.title for lesson in OfflineDistiller().distill(episode, SILENT) if lesson.kind == "fix"]


NO_FILE = "No such file or directory"
HOOK = "black....................................................................Failed"
NOTHING = {
    "cat of another path": (("cat src/x.py", f"cat: src/x.py: {NO_FILE}", False), ("cat lib/x.py", "x = 1")),
    "ls": (("ls app/models", f"ls: cannot access 'app/models': {NO_FILE}", False), ("ls src/models", "a.py")),
    "grep": (("grep -rn Cart src", "", False), ("grep -rn Cart lib", "lib/a.py:1:Cart")),
    "which": (("which python", "", False), ("which python3", "/usr/bin/python3")),
    "a tool that reads": (
        ('Read({"file_path": "/a/src/x.py"})', "File does not exist.", False),
        ('Read({"file_path": "/a/lib/x.py"})', "1 x = 1", True),
    ),
    "a bit of code": (
        ('python -c "import foo; print(foo.v)"', "AttributeError: module 'foo' has no attribute 'v'", False),
        ('python -c "import foo; print(foo.__version__)"', "1.2"),
    ),
    "no verify": (("git commit -m x", HOOK, False), ("git commit --no-verify -m x", "[main 1234567] x")),
    "no verify, other order": (("git commit -m 'a b'", HOOK, False), ("git commit -m 'a b' -n --no-verify", "[main 1a] x")),
    "force": (
        ("git push", " ! [rejected] main -> main (non-fast-forward)", False),
        ("git push --force", "+ 1...2 main -> main (forced update)"),
    ),
    "force with lease": (
        ("git push origin x", " ! [rejected] x -> x (non-fast-forward)", False),
        ("git push --force-with-lease origin x", "+ 1...2 x -> x (forced update)"),
    ),
    "force by letter": (
        ("git push origin x", " ! [rejected] x -> x (non-fast-forward)", False),
        ("git push -f origin x", "+ 1...2 x -> x (forced update)"),
    ),
    "a failure that is swallowed": (("make lint", "error: E501 line too long", False), ("make lint || true", "E501")),
    "tests left out": (
        ("mvn package", "[ERROR] There are test failures: expected 3 but was 2", False),
        ("mvn package -DskipTests", "BUILD SUCCESS"),
    ),
    "what was expected is overwritten": (
        ("npx jest ui.test.tsx", "expect(received).toMatchSnapshot()\nTests: 1 failed, 1 total", False),
        ("npx jest ui.test.tsx -u", "1 snapshot updated.\nTests: 1 passed, 1 total"),
    ),
    "somebody's address": (
        ("git commit -m a", "fatal: unable to auto-detect email address (got 'root@box.(none)')", False),
        ("git -c user.email=ann@example.com commit -m a", "[main 1234567] a"),
    ),
    "a port in use": (
        ("npm run dev", "Error: listen EADDRINUSE: address already in use :::3000", False),
        ("PORT=3001 npm run dev", "ready"),
    ),
    "a dependency that is written down now": (
        ("go build ./...", "main.go:6:2: no required module provides package example.org/pgx", False),
        ("go get example.org/pgx", "go: added example.org/pgx v5.7.1"),
        ("go build ./...", ""),
    ),
    "rights for all": (
        ("./run.sh", "bash: ./run.sh: Permission denied", False),
        ("chmod 777 run.sh", ""),
        ("./run.sh", "ok"),
    ),
    "as root": (
        ("npm install -g tool", "npm error code EACCES\nnpm error syscall mkdir\nnpm error Error: EACCES: permission denied", False),
        ("sudo npm install -g tool", "added 1 package"),
    ),
    "a test that is deleted": (
        ("pytest", "E   KeyError: 'user'\n1 failed in 0.1s", False),
        ("rm tests/test_user.py", ""),
        ("pytest", "3 passed in 0.1s"),
    ),
    "work that is taken back": (
        ("pytest", "E   KeyError: 'user'\n1 failed in 0.1s", False),
        ("git stash", "Saved working directory"),
        ("pytest", "3 passed in 0.1s"),
    ),
    "letters swapped": (("gti status", "bash: gti: command not found", False), ("git status", "On branch main")),
    "a letter too many": (("make tests", "make: *** No rule to make target 'tests'.", False), ("make test", "ok")),
    "a typo in a longer word": (("npm run bulid", 'npm error Missing script: "bulid"', False), ("npm run build", "done")),
    "another test": (
        ("pytest tests/test_a.py", "E   assert 2 == 3\n1 failed in 0.1s", False),
        ("pytest tests/test_b.py", "2 passed in 0.1s"),
    ),
    "fewer tests": (
        ("pytest", "E   assert 2 == 3\n1 failed in 0.1s", False),
        ("pytest -k 'not slow'", "2 passed in 0.1s"),
    ),
    "luck": (("pytest -q", "E   TimeoutError\n1 failed in 9.1s", False), ("ls", "tests"), ("pytest -q", "1 passed in 1s")),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTHING)
def test_what_got_round_a_failure_without_mending_it_teaches_nothing(case: str) -> None:
    assert taught(*NOTHING[case]) == []


TAUGHT = {
    "an option that a program wants": (
        ("python run_tests.py", "ConfigError: DATABASE_URL is not set", False),
        ("python run_tests.py --db sqlite", "ok"),
    ),
    "another version of a program": (
        ("python app.py", "bash: python: command not found", False),
        ("python3 app.py", "ok"),
    ),
    "a folder to be in": (
        ("npm test", "npm error code ENOENT\nnpm error enoent Could not read package.json", False),
        ("cd web && npm test", "Tests: 3 passed, 3 total"),
    ),
    "a file for an option": (
        ("docker compose up -d", "no configuration file provided: not found", False),
        ("docker compose -f deploy/compose.yml up -d", "Started"),
    ),
    "an option of a look-up": (
        ("grep -P 'a(?=b)' f", "grep: invalid option -- P", False),
        ("grep -E 'ab' f", "ab"),
    ),
    "something to be done first": (
        ("pytest", "E   OperationalError: connection refused\n1 error in 0.1s", False),
        ("docker compose up -d db", "Started"),
        ("pytest", "3 passed in 0.1s"),
    ),
}


@pytest.mark.parametrize("case", TAUGHT)
def test_what_mended_a_failure_is_taught(case: str) -> None:
    assert len(taught(*TAUGHT[case])) == 1


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("cat of another path", "look-up"),
        ("no verify", "--no-verify"),
        ("a typo in a longer word", "typo"),
        ("fewer tests", "-k not"),
        ("rights for all", "chmod 777"),
        ("luck", "nothing done in between"),
    ],
)
def test_there_is_a_reason_for_what_is_not_taught(case: str, why: str) -> None:
    steps = steps_of(*NOTHING[case])
    reasons = [found.why for found in (*find_fixes(steps, frozenset()), *find_remedies(steps)) if hasattr(found, "why")]
    assert any(why in reason for reason in reasons), reasons


def test_a_lesson_keeps_program_goal_change_and_error_in_fields() -> None:
    steps = (
        EpisodeStep(
            action="cd app && python run_tests.py 2>&1 | tail -5",
            result="Exit code 1\nConfigError: DATABASE_URL is not set",
            ok=False,
            metadata={"goal": "Run the unit tests"},
        ),
        EpisodeStep(action="cd app && python run_tests.py --db sqlite", result="12 passed", ok=True),
    )
    [lesson] = OfflineDistiller().distill(Episode(task="fix the parser", namespace="n", steps=steps), SILENT)
    trouble = lesson.metadata["trouble"]
    assert trouble["program"] == "run_tests.py"
    assert trouble["goal"] == "Run the unit tests"
    assert trouble["change"] == "add --db sqlite"
    assert trouble["error"] == "ConfigError: DATABASE_URL is not set"
