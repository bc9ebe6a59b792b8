"""The same promises for every coding agent, in what each one sends, reads and writes down."""

from __future__ import annotations

import json
import os

import pytest

from reasoningbank.config import locate
from reasoningbank.files import hold
from reasoningbank_coding_agents.events import (
    AFTER_FAILURE,
    AFTER_TOOL,
    BEFORE_TOOL,
    PROMPT,
    SESSION_END,
    SESSION_START,
    STOP,
)
from reasoningbank_coding_agents.hook_local import answer
from reasoningbank_coding_agents.hosts import NAMES, host_named
from reasoningbank_coding_agents.install.targets import Places
from reasoningbank_coding_agents.refusal import CHANGE_IT, KNOWN_TO_FAIL
from reasoningbank_coding_agents.session_log import entries_in
from reasoningbank_coding_agents.state_dir import make_room
from reasoningbank_coding_agents.transcripts import found, open_transcript
from tests.coding_agents.hooks.dialects import DIALECTS, SESSION, Ran

ASKED = "Run the test suite of the parser module, please"
WRONG = Ran("./run_tests.sh", "ConfigError: DATABASE_URL is not set", 1)
RIGHT = Ran("./run_tests.sh --db sqlite", "5 passed in 0.1s")
HELD_BACK = f"<reasoningbank>\n{KNOWN_TO_FAIL}\n- run_tests.sh: add --db sqlite\n{CHANGE_IT}\n</reasoningbank>"
LONG = Ran("make all", "\n".join(f"compiling part {n}" for n in range(200)) + "\nerror: linker not found", 2)


@pytest.fixture(params=DIALECTS)
def agent(request, desktop, monkeypatch):
    kind, tool = DIALECTS[request.param]
    monkeypatch.setenv("HOME", str(desktop.folder))
    for name in ("COPILOT_HOME", "CLINE_DIR", "CLINE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    return kind(folder=desktop.folder, repository=desktop.repository, agent=request.param, tool=tool)


def tell(desktop, agent, event: str, payload) -> dict:
    """What the hook of an event answers, as the settings that `install` writes call it."""
    make_room(desktop.place.work_lock)
    lock = hold(desktop.place.work_lock)
    assert lock is not None
    # The command line names the event, where the agent's own name for it is another one.
    named = None if agent.agent in ("claude-code", "cursor") else event
    try:
        out = answer(
            locate(desktop.bank_path),
            agent.agent,
            named,
            json.dumps(payload).encode(),
            namespace=None,
            hooks="",
            cwd=str(desktop.folder),
        )
    finally:
        os.close(lock)
    return json.loads(out) if out else {}


def after(desktop, agent, ran: Ran) -> dict:
    payload = agent.after(ran)
    named = AFTER_FAILURE if agent.agent in ("claude-code", "cursor") and ran.code else AFTER_TOOL
    return tell(desktop, agent, named, payload)


def work(desktop, agent, *steps: Ran, said: str = "All tests pass now.") -> None:
    tell(desktop, agent, SESSION_START, agent.start())
    tell(desktop, agent, PROMPT, agent.prompt(ASKED))
    for ran in steps:
        tell(desktop, agent, BEFORE_TOOL, agent.before(ran.command))
        after(desktop, agent, ran)
    agent.write_transcript(ASKED, list(steps), said)
    tell(desktop, agent, STOP, agent.stop())
    tell(desktop, agent, SESSION_END, agent.end())
    desktop.read()


def test_every_agent_has_a_dialect_here():
    # Codex is tried with its own transcripts elsewhere.
    assert {*DIALECTS, "codex"} == set(NAMES)


def test_a_session_is_learned_from_as_it_happened(desktop, agent):
    work(desktop, agent, WRONG, RIGHT)
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert (session.agent, session.task, session.outcome) == (agent.agent, ASKED, "success")
        _, steps = bank.trajectory(session.id)
        assert [(step.action, step.result) for step in steps] == [
            (WRONG.command, WRONG.output),
            (RIGHT.command, RIGHT.output),
        ]
        (memory,) = bank.list()
        assert "--db sqlite" in memory.content


def test_a_call_that_was_held_back_was_never_made(desktop, agent):
    if not host_named(agent.agent).transcripts_tell_results:
        pytest.skip("its hooks hear only of calls that were made")
    work(desktop, agent, Ran(WRONG.command, HELD_BACK, 1), RIGHT)
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert [step.action for step in bank.trajectory(session.id)[1]] == [RIGHT.command]
        assert bank.list() == []


def test_an_agent_that_reads_nothing_with_its_prompt_is_told_at_its_first_call(desktop, agent):
    if PROMPT in host_named(agent.agent).reads_context_at:
        pytest.skip("it is told with the prompt")
    with desktop.bank() as bank:
        bank.record(title="Test suite of the parser", content="The parser's test suite needs --db sqlite to run.")
    agent.write_transcript(ASKED, [], "")
    assert "--db sqlite" in agent.context_in(tell(desktop, agent, BEFORE_TOOL, agent.before("ls")))
    assert agent.context_in(tell(desktop, agent, BEFORE_TOOL, agent.before("ls"))) == ""


def test_reading_it_again_adds_nothing(desktop, agent):
    work(desktop, agent, WRONG, RIGHT)
    tell(desktop, agent, STOP, agent.stop())
    tell(desktop, agent, SESSION_END, agent.end())
    desktop.read()
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert len(bank.trajectory(session.id)[1]) == 2


def test_a_lesson_is_told_with_the_prompt_where_the_model_reads_it(desktop, agent):
    with desktop.bank() as bank:
        bank.record(title="Test suite of the parser", content="The parser's test suite needs --db sqlite to run.")
    said = agent.context_in(tell(desktop, agent, PROMPT, agent.prompt(ASKED)))
    shown = [memory for entry in entries_in(desktop.place.session_log(agent.agent, SESSION)) for memory in entry.shown]
    if PROMPT in host_named(agent.agent).reads_context_at:
        assert "--db sqlite" in said
        assert len(shown) == 1
    else:
        assert (said, shown) == ("", [])


def test_a_failure_that_is_known_is_answered_with_what_worked(desktop, agent):
    work(desktop, agent, WRONG, RIGHT)
    other = type(agent)(folder=desktop.folder / "o", repository=agent.repository, agent=agent.agent, tool=agent.tool)
    payload = json.loads(json.dumps(other.after(WRONG)).replace(SESSION, "second"))
    named = AFTER_FAILURE if agent.agent in ("claude-code", "cursor") else AFTER_TOOL
    assert "--db sqlite" in agent.context_in(tell(desktop, agent, named, payload))


def test_the_exit_code_is_found_however_long_the_output_is(desktop, agent):
    from reasoningbank_coding_agents.payload import event_from

    named = None if agent.agent in ("claude-code", "cursor") else AFTER_TOOL
    failed = event_from(agent.agent, agent.after(LONG), event_name=named, cwd="/")
    assert failed is not None
    assert failed.kind == AFTER_FAILURE
    assert failed.tool_input["command"] == LONG.command
    assert "linker not found" in (failed.failure or "")
    fine = event_from(agent.agent, agent.after(RIGHT), event_name=named, cwd="/")
    assert fine is not None
    assert (fine.kind, fine.output, fine.failure) == (AFTER_TOOL, RIGHT.output, None)


@pytest.mark.parametrize("payload", [{}, {"sessionId": 7, "tool_response": "x", "toolResult": []}, {"tool_call": 1}])
def test_a_payload_that_makes_no_sense_costs_nothing(desktop, agent, payload):
    for event in (SESSION_START, PROMPT, BEFORE_TOOL, AFTER_TOOL, STOP, SESSION_END):
        assert agent.context_in(tell(desktop, agent, event, payload)) == ""


def test_a_prompt_without_words_is_nothing_to_answer(desktop, agent):
    with desktop.bank() as bank:
        bank.record(title="Anything", content="Anything at all.")
    # Qwen Code says so after every tool.
    assert agent.context_in(tell(desktop, agent, PROMPT, agent.prompt(""))) == ""
    assert entries_in(desktop.place.session_log(agent.agent, SESSION)) == []


def test_transcripts_from_before_are_found_and_say_where_they_come_from(desktop, agent):
    if not host_named(agent.agent).transcripts_tell_results:
        pytest.skip("it has none that tell what tools returned")
    if agent.agent in ("claude-code", "qwen-code"):
        folder = {"claude-code": ".claude/projects/x", "qwen-code": ".qwen/projects/x/chats"}[agent.agent]
        agent.folder = desktop.folder / folder
    agent.write_transcript(ASKED, [WRONG, RIGHT], "Done.")
    (path,) = found(agent.agent, Places(home=desktop.folder))
    told = open_transcript(agent.agent, path)
    assert (told.session, told.folder) == (SESSION, str(desktop.repository))
