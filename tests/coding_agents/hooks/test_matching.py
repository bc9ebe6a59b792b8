"""A command is known again however it is called, and whoever takes the way that worked is never warned."""

from __future__ import annotations

import pytest

from reasoningbank_coding_agents.known_failures_file import Trouble
from reasoningbank_coding_agents.matching import after_failure, before_command, same_command
from reasoningbank_coding_agents.quoted_commands import quoted_commands

DB = Trouble(
    memory_id="db",
    action="cd app && python run_tests.py 2>&1 | tail -5",
    signature="configerror: database_url is not set",
    worked="cd app && python run_tests.py --db sqlite 2>&1 | tail -5",
)
SET = Trouble(memory_id="set", action="pytest tests", worked="DATABASE_URL=sqlite:// pytest tests")
FOLDER = Trouble(memory_id="folder", action="npm test", worked="cd web && npm test")
FIRST = Trouble(memory_id="first", action="make e2e", first="docker compose up -d db")
CODE = Trouble(memory_id="code", action="", signature="keyerror: _", names=("user",))


@pytest.mark.parametrize(
    "command",
    [
        "python run_tests.py",
        "cd app && python run_tests.py",
        "cd /somewhere/else && python run_tests.py 2>&1",
        "FOO=1 python run_tests.py",
        "env FOO=1 BAR=2 timeout 60 python run_tests.py | tee out.log",
        'bash -lc "cd app && python run_tests.py"',
        "time python  'run_tests.py'",
        "sudo -E python run_tests.py > out.txt 2>&1",
    ],
)
def test_a_command_that_is_known_to_fail_is_known_however_it_is_called(command: str) -> None:
    assert same_command(command, [DB]) == ["db"]
    assert before_command(command, [DB]) == ["db"]


@pytest.mark.parametrize(
    ("command", "trouble"),
    [
        ("python run_tests.py --db sqlite", DB),
        ("cd app && timeout 30 python run_tests.py --db sqlite -x", DB),
        ("DATABASE_URL=postgres://x pytest tests", SET),
        ("export DATABASE_URL=x && pytest tests", SET),
        ("cd web && npm test", FOLDER),
        ("python run_other.py", DB),
        ("python -m run_tests", DB),
        ("cat run_tests.py", DB),
        ("git commit -m 'python run_tests.py'", DB),
    ],
)
def test_the_way_that_worked_and_other_commands_are_not_warned_of(command: str, trouble: Trouble) -> None:
    assert before_command(command, [trouble]) == []
    assert same_command(command, [trouble]) == []


def test_an_environment_that_worked_is_asked_for_by_name() -> None:
    assert same_command("pytest tests", [SET]) == ["set"]
    assert before_command("pytest tests/unit", [SET]) == ["set"]


def test_whoever_stands_in_the_right_folder_already_is_not_warned() -> None:
    assert same_command("npm test", [FOLDER], "/repo/web") == []
    assert same_command("npm test", [FOLDER], "/repo") == ["folder"]


def test_what_only_needs_something_done_first_is_told_and_never_stopped() -> None:
    assert before_command("make e2e", [FIRST]) == ["first"]
    assert same_command("make e2e", [FIRST]) == []


def test_wrong_code_is_told_when_its_error_comes_again_and_not_before_the_tests() -> None:
    assert before_command("pytest tests", [CODE]) == []
    assert after_failure("pytest tests", "E   KeyError: 'user'", [CODE]) == ["code"]
    assert after_failure("pytest tests", "E   KeyError: 'price'", [CODE]) == []


@pytest.mark.parametrize(
    ("text", "avoided", "advised"),
    [
        ("Never `make deploy` here. Use `make ship` instead.", "make deploy", "make ship"),
        ("Use `uv run pytest`, never `pytest`", "pytest", "uv run pytest"),
        ("Run `npm ci` instead of `npm install`", "npm install", "npm ci"),
        ("`git push --force` breaks the mirror; `git push --force-with-lease` works", "git push --force",
         "git push --force-with-lease"),
        ("`pytest` failed with x\nDo this instead: `uv run pytest` worked next.", "pytest", "uv run pytest"),
        ("Always use `pnpm install`", "", "pnpm install"),
        ("`make deploy` on Fridays", "make deploy", ""),
        ("Don't run `rm -rf build`", "rm -rf build", ""),
        ("no commands at all", "", ""),
    ],
)  # fmt: skip
def test_a_written_warning_says_which_command_it_is_against(text: str, avoided: str, advised: str) -> None:
    assert quoted_commands(text) == (avoided, advised)


def test_a_warning_that_quotes_the_remedy_is_silent_about_the_remedy(desktop) -> None:
    with desktop.bank() as bank:
        bank.record(
            title="Use `make ship` and not `make deploy`", content="`make deploy` skips the checks.", outcome="failure"
        )
    desktop.hook("SessionStart", "s0")
    desktop.read()
    call = {"tool_name": "Bash", "tool_use_id": "toolu_9"}
    assert desktop.hook("PreToolUse", "s1", tool_input={"command": "cd app && make ship 2>&1"}, **call).out == ""
    assert desktop.hook("PreToolUse", "s1", tool_input={"command": "cd app && make deploy | tail"}, **call).out
