"""Which namespaces a hook reads and writes: the repository's, a branch's when asked for, the user's own."""

from __future__ import annotations

import pytest

from reasoningbank_coding_agents.namespaces import spaces_of
from reasoningbank_coding_agents.policy import HookPolicy, policy_from


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("", HookPolicy()),
        ("prompt=10,session=20", HookPolicy(prompt_tokens=10, session_tokens=20)),
        (" PROMPT = 10 ; branch", HookPolicy(branch=True)),
        ("branch=no,deadline_ms=5", HookPolicy(deadline_ms=5)),
        ("prompt=-1,session=x,what=ever,,=", HookPolicy()),
        ("prompt=99999999999", HookPolicy(prompt_tokens=100_000)),
    ],
)
def test_settings_that_make_no_sense_change_nothing(text, policy) -> None:
    assert policy_from(text) == policy


def test_a_branch_has_a_namespace_of_its_own_only_when_asked_for(desktop) -> None:
    head = desktop.repository / ".git" / "HEAD"
    folder = str(desktop.repository)
    head.write_text("ref: refs/heads/feature/login\n")
    assert spaces_of(folder, HookPolicy()).read == ("example.com/acme/app", "user")
    assert spaces_of(folder, HookPolicy(branch=True)).read == (
        "example.com/acme/app@feature/login",
        "example.com/acme/app",
        "user",
    )
    for words in ("ref: refs/heads/main\n", "0123456789abcdef0123456789abcdef01234567\n", ""):
        head.write_text(words)
        assert spaces_of(folder, HookPolicy(branch=True)).own == "example.com/acme/app"


def test_outside_of_a_repository_and_in_a_folder_that_is_not_there(desktop) -> None:
    assert spaces_of(str(desktop.folder / "nowhere"), HookPolicy()).own == "default"
    assert spaces_of("", HookPolicy(), "named").read == ("named", "user")


def test_what_a_branch_learned_is_seen_there_and_the_repository_is_seen_from_it(desktop) -> None:
    (desktop.repository / ".git" / "HEAD").write_text("ref: refs/heads/feature\n")
    desktop.environment["REASONINGBANK_HOOKS"] = "branch"
    with desktop.bank() as bank:
        bank.record(title="Parser tests", description="run the parser tests", content="Known on main.")
    told = desktop.transcript()
    told.says("Please run the unit tests of the parser")
    told.runs("pytest tests/parser", "bash: pytest: command not found", failed=True)
    told.runs("uv run pytest tests/parser", "===== 12 passed in 0.31s =====")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank("example.com/acme/app@feature") as bank:
        assert [memory.title for memory in bank.list()] == ["add `uv run`"]
    assert "Known on main" in desktop.hook("UserPromptSubmit", "s2", prompt="Please run the parser tests").context
    bash = {"tool_name": "Bash", "tool_input": {"command": "pytest -x"}}
    assert "uv run" in desktop.hook("PreToolUse", "s3", **bash).context
    desktop.environment["REASONINGBANK_HOOKS"] = ""
    assert desktop.hook("PreToolUse", "s4", **bash).out == ""
