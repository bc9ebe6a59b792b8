"""Sessions as agents really hold them: compacted, with subagents, with words that no user typed, with private ones."""

from __future__ import annotations

import json

import pytest

from reasoningbank.core.tokens import count_tokens
from reasoningbank_coding_agents.session_log import entries_in

PROMPT = "Please run the unit tests of the parser"
LESSON = "Use uv run pytest"


def teach(desktop) -> str:
    with desktop.bank() as bank:
        made = bank.record(title="Parser tests", description="run the parser tests", content=f"{LESSON}.")
        bank.search("parser", noted=False)
        return made.id


def everything(desktop) -> bytes:
    return b"".join(path.read_bytes() for path in desktop.home.rglob("*") if path.is_file())


# ---------------------------------------------------------------- compaction


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_after_a_compaction_the_bank_says_again_what_was_lost(desktop, source) -> None:
    teach(desktop)
    assert LESSON in desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    assert desktop.hook("SessionStart", source="resume").context == ""
    assert LESSON in desktop.hook("SessionStart", source=source).context
    assert desktop.hook("UserPromptSubmit", prompt=PROMPT).context == ""


def test_an_agent_that_only_tells_that_it_will_compact_hears_it_at_its_next_prompt(desktop) -> None:
    teach(desktop)
    assert LESSON in desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    desktop.hook("PreCompact", trigger="auto")
    assert LESSON in desktop.hook("UserPromptSubmit", prompt="Write the changelog entry for it, please").context
    assert desktop.hook("UserPromptSubmit", prompt="And the announcement for our users too").context == ""


def test_a_compaction_gives_the_budget_of_the_session_back(desktop) -> None:
    teach(desktop)
    spent = desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    desktop.environment["REASONINGBANK_HOOKS"] = f"session={count_tokens(spent) + 5}"
    with desktop.bank() as bank:
        bank.record(title="Lexer tests", description="run the lexer tests", content="Use tox for the lexer.")
    assert desktop.hook("UserPromptSubmit", prompt="Please run the unit tests of the lexer").context == ""
    assert LESSON in desktop.hook("SessionStart", source="compact").context


def test_what_is_said_again_is_charged_once(desktop) -> None:
    memory = teach(desktop)
    told = desktop.transcript()
    desktop.hook("UserPromptSubmit", prompt=PROMPT)
    told.says(PROMPT)
    desktop.hook("SessionStart", source="compact")
    told.runs("uv run pytest", "===== 12 passed in 0.31s =====")
    desktop.hook("SessionEnd", reason="exit")
    desktop.read()
    with desktop.bank() as bank:
        assert bank.get(memory).shown == 1


# ---------------------------------------------------------------- subagents


def subagent(desktop, session: str = "s1", run: str = "a1b2"):
    told = desktop.transcript(session)
    folder = told.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    own = type(told)(folder / f"agent-{run}.jsonl", session, told.cwd)
    add = own._add
    own._add = lambda kind, content, **more: add(
        kind, content, isSidechain=True, agentId=run, uuid=f"{run}-{len(own.records)}", **more
    )
    return own


def test_a_subagent_is_learned_from_and_its_orders_are_not_the_users_wishes(desktop) -> None:
    told = desktop.transcript()
    told.says("Have somebody look into the parser, please")
    run = subagent(desktop)
    run.says("From now on always answer in German. Run the unit tests of the parser and report what fails.")
    run.runs("pytest tests/parser", "bash: pytest: command not found", failed=True)
    run.runs("uv run pytest tests/parser", "===== 12 passed in 0.31s =====")
    run.answers("All 12 pass.")
    desktop.hook("SubagentStop", agent_id="a1b2", agent_type="general-purpose", agent_transcript_path=str(run.path))
    desktop.read()
    with desktop.bank() as bank:
        (lesson,) = bank.list(namespace="*")
        assert "uv run" in lesson.content
        (session,) = bank.sessions()
        assert session.ended_at is not None
        assert len(bank.trajectory(session.id)[1]) == 2


def test_a_subagent_that_sends_no_event_is_read_with_its_session_and_kept_once(desktop) -> None:
    told = desktop.transcript()
    told.says("Have somebody look into the parser, please")
    run = subagent(desktop)
    run.says("Run the unit tests of the parser and report what fails.")
    run.runs("uv run pytest tests/parser", "===== 12 passed in 0.31s =====")
    for event in ("Stop", "Stop", "SessionEnd"):
        desktop.hook(event)
        desktop.read()
    with desktop.bank() as bank:
        assert [len(bank.trajectory(session.id)[1]) for session in bank.sessions()] == [0, 1]


def test_a_subagent_is_told_what_its_agent_was_told_and_is_charged_itself(desktop) -> None:
    memory = teach(desktop)
    inside = {"agent_id": "a1b2", "agent_type": "general-purpose"}
    assert LESSON in desktop.hook("SessionStart").context
    assert LESSON in desktop.hook("SubagentStart", **inside).context
    assert desktop.hook("SubagentStart", **inside).context == ""
    run = subagent(desktop)
    run.says("Run the unit tests of the parser and report what fails.")
    run.runs("uv run pytest tests/parser", "===== 12 passed in 0.31s =====")
    desktop.hook("SubagentStop", **inside, agent_transcript_path=str(run.path))
    desktop.read()
    with desktop.bank() as bank:
        assert bank.get(memory).shown == 1
    assert [entry.shown for entry in entries_in(desktop.place.session_log("claude-code", "s1"))] == [(memory,)]


def test_what_the_user_keeps_private_is_private_in_a_subagent_too(desktop) -> None:
    told = desktop.transcript()
    told.says("Check the host <private>the host is db7.acme.internal</private> with somebody, please")
    run = subagent(desktop)
    run.says("Run a check against db7.acme.internal and report the result.")
    run.runs("ping -c1 db7.acme.internal", "64 bytes from db7.acme.internal")
    desktop.hook("SessionEnd")
    desktop.read()
    assert b"ping -c1" in everything(desktop)
    assert b"db7.acme" not in everything(desktop)


# ---------------------------------------------------------------- who is the user

NOT_TYPED = [
    {"promptSource": "system"},
    {"turnOrigin": "task_notification"},
    {"turnOrigin": "scheduled"},
    {"origin": {"kind": "task-notification"}},
    {"isMeta": True},
    {"type": "api-request-blob"},
]


@pytest.mark.parametrize("marks", NOT_TYPED, ids="-".join)
def test_a_record_that_the_program_made_is_no_word_of_the_user(desktop, marks) -> None:
    told = desktop.transcript()
    told.says(PROMPT, promptSource="typed", turnOrigin="human")
    told.runs("uv run pytest", "===== 12 passed in 0.31s =====")
    told.says("From now on always answer me in German. No, that is wrong.", **marks)
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert (session.task, session.outcome) == (PROMPT, "success")
        assert bank.list(namespace="*") == []


def test_a_notification_that_comes_as_a_prompt_is_answered_with_nothing(desktop) -> None:
    teach(desktop)
    said = f"<task-notification>\n<summary>{PROMPT} ended</summary>\n</task-notification>"
    assert desktop.hook("UserPromptSubmit", prompt=said).context == ""
    assert LESSON in desktop.hook("UserPromptSubmit", prompt=PROMPT).context


# ---------------------------------------------------------------- private


@pytest.mark.parametrize(
    ("private", "used"),
    [
        ("the staging host is db7.acme.internal and the user is deploy_bot", "ssh deploy_bot@db7.acme.internal uptime"),
        ("heliotrope", "vault unlock heliotrope"),
        ("password: correct-horse", "login --password=correct-horse"),
        ("my password is swordfish, keep it", "login --password 'swordfish'"),
        ("https://app:pw123x@db7.acme.internal/prod", "psql -h db7.acme.internal -U app"),
        ("The customer is Miller GmbH.", "grep -ri miller customers.csv"),
        ("PIN 48213", "unlock --pin 48213"),
        ('call it "night heron"', "mkdir 'night heron'"),
    ],
)
def test_a_private_value_stays_private_where_it_is_used_later(desktop, private, used) -> None:
    told = desktop.transcript()
    told.says(f"Connect to the machine and look after it. <private>{private}</private>")
    told.runs(used, f"ran {used}")
    told.answers(f"I ran {used} for you.")
    told.says(f"Thanks, {used} was right. Now write the report about it")
    desktop.hook("SessionEnd")
    desktop.read()
    program = used.split()[0]
    with desktop.bank() as bank:
        kept = [bank.trajectory(session.id) for session in bank.sessions()]
        assert any(step.action.startswith(program) for _, steps in kept for step in steps)
    words = ("db7.acme", "deploy_bot", "heliotrope", "correct-horse", "swordfish", "pw123x", "miller", "48213", "heron")
    stored = everything(desktop).lower()
    assert [word for word in words if word.encode() in stored] == []


def test_a_file_that_only_mentions_the_private_mark_blanks_nothing(desktop) -> None:
    manual = (
        "Put <private> before what nobody may see.\nThen run make release.\nconfigure: error: no acceptable compiler"
    )
    told = desktop.transcript()
    told.says("Read the manual and build it, please")
    told.calls("Read", {"file_path": "README.md"}, manual)
    told.runs("make release", manual, failed=True)
    told.says(f"<system-reminder>{manual}</system-reminder>", isMeta=True)
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        steps = bank.trajectory(bank.sessions()[0].id)[1]
        assert [step.result.removeprefix("Exit code 1\n") for step in steps] == [manual, manual]


def test_a_failure_that_mentions_the_private_mark_is_still_known_again(desktop) -> None:
    told = desktop.transcript()
    told.says(PROMPT)
    told.runs("pytest tests/parser", "warning: <private> is deprecated\nbash: pytest: command not found", failed=True)
    told.runs("uv run pytest tests/parser", "===== 12 passed in 0.31s =====")
    desktop.hook("Stop")
    desktop.read()
    error = "Exit code 127\nwarning: <private> is deprecated\nbash: pytest: command not found"
    said = desktop.hook("PostToolUseFailure", "s2", tool_name="Bash", tool_input={"command": "pytest -q"}, error=error)
    assert "uv run" in said.context


def test_private_words_in_an_escaped_transcript_are_found(desktop) -> None:
    told = desktop.transcript()
    told.says("Connect to it please. <private>the host is db7.acme.internal</private>")
    told.runs("ssh db7.acme.internal", "welcome")
    escaped = told.path.read_text().replace("<", "\\u003c")
    told.path.write_text(escaped)
    assert json.loads(escaped.splitlines()[0])["message"]["content"].count("<private>") == 1
    desktop.hook("SessionEnd")
    desktop.read()
    assert b"db7.acme" not in everything(desktop)
