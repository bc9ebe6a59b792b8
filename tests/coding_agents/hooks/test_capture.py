"""What a session leaves behind: read in steps, once, without what must not be kept, whatever happens to the reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.core.types import Step
from reasoningbank_coding_agents.capture_queue import waiting
from reasoningbank_coding_agents.state_dir import place_of
from tests.coding_agents.hooks.conftest import PATIENCE_S


def failing_then_mended(desktop, session: str = "s1") -> None:
    told = desktop.transcript(session)
    told.says("Please run the unit tests of the parser")
    told.runs("pytest tests/parser", "bash: pytest: command not found", failed=True)
    told.runs("uv run pytest tests/parser", "===== 12 passed in 0.31s =====")
    told.answers("All 12 pass.")


def test_a_stop_keeps_the_task_and_learns_from_it(desktop) -> None:
    failing_then_mended(desktop)
    assert desktop.spawn("Stop", stop_hook_active=False).out == ""
    desktop.settle()
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert session.task == "Please run the unit tests of the parser"
        assert session.agent == "claude-code"
        assert [step.action for step in bank.trajectory(session.id)[1]] == [
            "pytest tests/parser",
            "uv run pytest tests/parser",
        ]
        (lesson,) = bank.list()
        assert "uv run" in lesson.content


def test_a_bank_that_is_named_by_a_relative_path_is_the_same_for_the_reader(desktop) -> None:
    failing_then_mended(desktop)
    raw = json.dumps(desktop.payload("Stop")).encode()
    assert desktop.hook_raw(raw, "claude-code", "--bank", "mine.db").code == 0
    desktop.place = place_of(locate(desktop.folder / "mine.db"))
    desktop.settle()
    with ReasoningBank.open(desktop.folder / "mine.db", create=False) as bank:
        assert [session.task for session in bank.sessions(namespace="example.com/acme/app")] == [
            "Please run the unit tests of the parser"
        ]


def test_reading_again_keeps_and_confirms_nothing_twice(desktop) -> None:
    failing_then_mended(desktop)
    for event in ("Stop", "PreCompact", "Stop", "SessionEnd"):
        desktop.hook(event)
        desktop.read()
    (desktop.place.cursor("claude-code", "s1")).unlink()
    desktop.hook("Stop")
    desktop.read()
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert len(bank.trajectory(session.id)[1]) == 2
        assert session.outcome == "success"
        (lesson,) = bank.list()
        assert lesson.confidence.mean == lesson.memory.initial_confidence


def test_a_task_that_grows_adds_what_is_new_and_a_new_prompt_is_a_new_task(desktop) -> None:
    failing_then_mended(desktop)
    desktop.hook("Stop")
    desktop.read()
    told = desktop.transcript()
    told.says("no, the lexer tests as well")
    told.runs("uv run pytest tests/lexer", "===== 3 passed in 0.1s =====")
    desktop.hook("Stop")
    desktop.read()
    told.says("Now write a changelog entry for the parser")
    told.calls("Write", {"file_path": "CHANGELOG.md", "content": "x"}, "written")
    desktop.hook("Stop")
    desktop.read()
    with desktop.bank() as bank:
        tasks = {session.task: session for session in bank.sessions()}
        assert set(tasks) == {"Please run the unit tests of the parser", "Now write a changelog entry for the parser"}
        steps = bank.trajectory(tasks["Please run the unit tests of the parser"].id)[1]
        assert [step.number for step in steps] == [1, 2, 3]
        assert tasks["Please run the unit tests of the parser"].ended_at is not None
        assert tasks["Now write a changelog entry for the parser"].ended_at is None


def test_a_torn_last_line_waits(desktop) -> None:
    failing_then_mended(desktop)
    path = desktop.folder / "s1.jsonl"
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(whole[: last + 40])
    desktop.hook("Stop")
    desktop.read()
    path.write_bytes(whole)
    desktop.hook("Stop")
    desktop.read()
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert len(bank.trajectory(session.id)[1]) == 2


def test_a_transcript_that_was_replaced_is_read_from_its_beginning(desktop) -> None:
    failing_then_mended(desktop)
    desktop.hook("Stop")
    desktop.read()
    (desktop.folder / "s1.jsonl").unlink()
    told = desktop.transcript()
    told.session = "other"
    told.says("Something else entirely, please look at the docs")
    told.runs("ls docs", "guide.md")
    desktop.hook("Stop")
    desktop.read()
    with desktop.bank() as bank:
        assert len(bank.sessions()) == 2


def test_private_words_are_never_kept_even_when_the_agent_repeats_them(desktop) -> None:
    told = desktop.transcript()
    told.says("Log in with <private>the launch word is heliotrope-77</private> and list the users of the service")
    told.runs("login --word 'the launch word is heliotrope-77'", "ok: the launch word is heliotrope-77")
    told.answers("Done with the launch word is heliotrope-77.")
    desktop.hook("Stop")
    desktop.read()
    told.says("And now <private>an open end: umbrella-42")
    told.runs("echo 'an open end: umbrella-42'", "the launch word is heliotrope-77")
    desktop.hook("SessionEnd", reason="exit")
    desktop.read()
    everything = b"".join(path.read_bytes() for path in desktop.home.rglob("*") if path.is_file())
    assert b"login" in everything
    assert b"heliotrope" not in everything
    assert b"umbrella" not in everything


def test_secrets_in_a_session_are_scrubbed_before_they_are_stored(desktop) -> None:
    key = "sk-ant-api03-" + "Ab1_" * 23 + "AA"
    told = desktop.transcript()
    told.says(f"Use the key {key} to call the service and print the answer")
    told.runs(f"curl -H 'x-api-key: {key}' https://example.com", "ok")
    desktop.hook("Stop")
    desktop.read()
    assert all(key.encode() not in path.read_bytes() for path in desktop.home.rglob("*") if path.is_file())


def test_what_was_shown_for_a_task_is_credited_by_how_it_ended(desktop) -> None:
    with desktop.bank() as bank:
        memory = bank.record(title="Parser tests", description="run the parser tests", content="Use uv run pytest.").id
    assert desktop.hook("UserPromptSubmit", prompt="Please run the unit tests of the parser").context
    failing_then_mended(desktop)
    desktop.transcript().says("Thanks! Now please write the changelog entry for it")
    for _ in range(2):
        desktop.hook("Stop")
        desktop.read()
    with desktop.bank() as bank:
        signals = [signal for signal in (point.signal for point in bank.history(memory).points) if signal is not None]
        assert [signal.positive for signal in signals] == [True]
        assert bank.get(memory).shown == 1


def test_what_was_recalled_is_not_learned_again(desktop) -> None:
    with desktop.bank() as bank:
        bank.record(title="Parser tests", description="run the parser tests", content="Always use uv run pytest.")
    context = desktop.hook("UserPromptSubmit", prompt="Please run the unit tests of the parser").context
    told = desktop.transcript()
    told.says(f"Please run the unit tests of the parser\n{context}")
    told.runs("uv run pytest tests/parser", "ok")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        assert len(bank.list()) == 1
        assert bank.sessions()[0].task == "Please run the unit tests of the parser"


def test_a_codex_session_is_kept_too(desktop) -> None:
    def item(number: int, kind: str = "response_item", **payload: object) -> str:
        return json.dumps({"timestamp": f"2026-11-15T12:00:{number:02}Z", "type": kind, "payload": payload}) + "\n"

    failing = json.dumps({"output": "bash: pytest: command not found", "metadata": {"exit_code": 127}})
    passing = json.dumps({"output": "=== 2 passed in 0.1s ===", "metadata": {"exit_code": 0}})
    asked = [{"type": "input_text", "text": "Run the tests of the parser"}]
    (desktop.folder / "c1.jsonl").write_text(
        item(0, "session_meta", id="c1", cwd=str(desktop.repository))
        + item(1, type="message", role="user", content=asked)
        + item(2, type="function_call", name="shell", call_id="1", arguments='{"command": ["bash", "-lc", "pytest"]}')
        + item(3, type="function_call_output", call_id="1", output=failing)
        + item(4, type="function_call", name="shell", call_id="2", arguments='{"command": "uv run pytest"}')
        + item(5, type="function_call_output", call_id="2", output=passing)
    )
    told = desktop.payload("Stop", "c1", turn_id="t1", last_assistant_message="done", stop_hook_active=False)
    assert desktop.hook_raw(json.dumps(told).encode(), "codex").code == 0
    desktop.settle()
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert (session.agent, session.task) == ("codex", "Run the tests of the parser")
        assert [memory.title for memory in bank.list()] == ["add `uv run`"]


def test_a_session_that_judges_for_the_bank_is_not_learned_from(desktop) -> None:
    from reasoningbank.learn.prompting import prompt

    told = desktop.transcript()
    told.says(prompt("judge").text + "\n\nTask: run the tests")
    told.runs("cat trace", "whatever")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        assert bank.sessions() == []


def test_nothing_of_a_session_is_counted_twice_when_the_reader_is_killed_after_keeping(desktop) -> None:
    failing_then_mended(desktop)
    desktop.hook("Stop")
    desktop.read()
    # As after a kill between the last write and the end of the note: the cursor is old and the note is there.
    desktop.place.cursor("claude-code", "s1").unlink()
    note = desktop.place.note("claude-code", "s1")
    desktop.hook("Stop")
    desktop.read()
    assert not note.exists()
    with desktop.bank() as bank, bank.context.store.read(bank.tenant) as reader:
        assert reader.count(Step, {}) == 2


def test_everything_hooks_keep_is_for_this_user_only(desktop) -> None:
    failing_then_mended(desktop)
    desktop.hook("UserPromptSubmit", prompt="Please run the unit tests of the parser")
    desktop.hook("SessionEnd")
    desktop.read()
    folder = desktop.place.folder
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.rglob("*")))


def test_words_of_the_agent_about_private_marks_hide_nothing(desktop) -> None:
    told = desktop.transcript()
    told.says("How do I keep words out of the memory of this tool, please?")
    told.runs("grep -r private docs", "Write <private> around it")
    told.answers("Write <private> before it.\nThe rest of this answer matters")
    told.runs("echo 'The rest of this answer matters'", "ok")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        steps = bank.trajectory(bank.sessions()[0].id)[1]
        assert steps[-1].action == "echo 'The rest of this answer matters'"


def test_a_prompt_too_odd_to_be_kept_costs_itself_only(desktop) -> None:
    told = desktop.transcript()
    told.says("\x00 \ud800 " + "x" * 300_000)
    told.runs("ls", "a")
    failing_then_mended(desktop)
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        assert "Please run the unit tests of the parser" in {session.task for session in bank.sessions()}


def test_a_sidechain_a_recap_and_a_command_are_no_tasks(desktop) -> None:
    told = desktop.transcript()
    told.says("Please run the unit tests of the parser")
    told.says("Do as the subagent says, always use nano", isSidechain=True)
    told.says("This session is being continued from a previous conversation. Always use vi.", isCompactSummary=True)
    told.says("<command-name>/compact</command-name>")
    told.says("Caveat: The messages below were generated by the user", isMeta=True)
    told.runs("uv run pytest", "===== 12 passed in 0.31s =====")
    with told.path.open("a") as file:
        file.write('"no object"\n{broken\n[]\n')
    desktop.hook("PreCompact", trigger="auto", custom_instructions="")
    desktop.read()
    with desktop.bank() as bank:
        assert [session.task for session in bank.sessions()] == ["Please run the unit tests of the parser"]
        assert bank.list() == []


def test_a_session_that_is_resumed_under_another_name_is_not_kept_again(desktop) -> None:
    failing_then_mended(desktop)
    desktop.hook("SessionEnd")
    desktop.read()
    forked = desktop.transcript("s2")
    for record in desktop.transcript("s1").records:
        with forked.path.open("a") as file:
            file.write(json.dumps({**record, "sessionId": "s2"}) + "\n")
    desktop.hook("Stop", "s2")
    desktop.read()
    with desktop.bank() as bank:
        assert len(bank.sessions()) == 1


@pytest.mark.skipif(os.name != "posix", reason="no such files there")
def test_a_transcript_that_is_no_file_keeps_nobody_waiting(desktop, tmp_path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    failing_then_mended(desktop)
    for number, odd in enumerate((pipe, "/dev/zero", tmp_path)):
        desktop.hook("Stop", f"odd-{number}", transcript_path=str(odd))
    desktop.hook("Stop")
    reader = subprocess.run(
        [sys.executable, "-m", "reasoningbank_coding_agents.capture_worker", str(desktop.bank_path)],
        env=desktop.env(),
        timeout=PATIENCE_S,
        check=False,
    )
    assert reader.returncode == 0
    assert waiting(desktop.place) == 0
    with desktop.bank() as bank:
        assert len(bank.sessions()) == 1


def test_the_reader_indexes_what_others_have_written_so_that_no_hook_has_to(desktop) -> None:
    with ReasoningBank.open(desktop.bank_path, namespace="example.com/acme/app") as bank:
        bank.record_many({"title": f"Note {n}", "content": f"shelf {n} holds box {n * 7}"} for n in range(100))
        assert bank.index_lag() == 100
    failing_then_mended(desktop)
    desktop.spawn("Stop", stop_hook_active=False)
    desktop.settle()
    with ReasoningBank.open(desktop.bank_path) as bank:
        assert bank.index_lag() == 0
