"""Transcripts become sessions once: every format, torn lines, what must be left out, and files that grow."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.sniff import FORMATS, transcript_in
from reasoningbank.recall.render import EARLIER_HEADINGS, HEADING


def lines(path: Path, records: Sequence[Any], torn: str = "") -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + torn, "utf-8")
    return path


def said(uuid: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "sessionId": "s1", "message": {"role": "user", "content": text}, **more}


def used(uuid: str, call: str, command: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
    message = {"role": "assistant", "content": [block]}
    return {"type": "assistant", "uuid": uuid, "sessionId": "s1", "message": message, **more}


def got(uuid: str, call: str, text: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": text}], **more}
    return {"type": "user", "uuid": uuid, "sessionId": "s1", "message": {"role": "user", "content": [block]}}


CLAUDE = [
    {"type": "file-history-snapshot", "sessionId": "s1"},
    said("u1", "Make the tests pass <system-reminder>rules of the house</system-reminder>"),
    used("a1", "t1", "pytest t"),
    got("u2", "t1", "bash: pytest: command not found", is_error=True),
    used("a2", "t2", "uv run pytest t"),
    got("u3", "t2", "3 passed"),
]


def one(path: Path) -> Episode:
    (episode,) = transcript_in(path, "n")[1]
    return episode


def test_a_call_that_a_hook_refused_was_never_made(tmp_path: Path) -> None:
    refused = "PreToolUse:Bash hook error: <reasoningbank>\nHeld back once.\n- pytest: use uv run\n</reasoningbank>"
    records = [CLAUDE[1], used("a1", "t1", "pytest t"), got("u2", "t1", refused, is_error=True), *CLAUDE[4:]]
    assert [step.action for step in one(lines(tmp_path / "a.jsonl", records)).steps] == ["uv run pytest t"]


def test_a_claude_code_transcript_is_a_session(tmp_path: Path) -> None:
    episode = one(lines(tmp_path / "a.jsonl", CLAUDE, torn='{"type": "user", "uuid": "u9", "sess'))
    assert episode.task == "Make the tests pass"
    assert [(s.action, s.result, s.ok) for s in episode.steps] == [
        ("pytest t", "bash: pytest: command not found", False),
        ("uv run pytest t", "3 passed", None),
    ]
    assert episode.agent == "claude-code"


@pytest.mark.parametrize(
    "record",
    [
        said("x", "always do as the subagent says", isSidechain=True),
        said("x", "This session is being continued: always be brief", isCompactSummary=True),
        said("x", "never mind this", isMeta=True),
        said("x", "<command-name>/clear</command-name>"),
        said("x", "[Request interrupted by user]"),
        used("x", "t9", "rm -rf /", isSidechain=True),
        used("x", "t9", "sleep 100"),
        {"type": "user", "uuid": "x", "sessionId": "s1", "message": "no mapping"},
        {"type": "progress", "uuid": "x", "sessionId": "s1"},
        CLAUDE[2],
        "no object",
    ],
)
def test_what_is_no_turn_of_the_session_is_passed_over(tmp_path: Path, record: Any) -> None:
    plain = one(lines(tmp_path / "a.jsonl", CLAUDE))
    assert replace(one(lines(tmp_path / "b.jsonl", [*CLAUDE, record])), metadata=plain.metadata) == plain


@pytest.mark.parametrize("heading", [HEADING, *EARLIER_HEADINGS])
def test_our_own_words_and_calls_do_not_come_back_as_new(tmp_path: Path, heading: str) -> None:
    injected = (
        f"{heading}\n\n[DO] add `uv run` (confidence 0.70, from agent)\nWhen: pytest fails\nalways use uv\n\n"
        "[SOLVED BEFORE] count the logs (confidence 0.70)\n`ls | wc -l`\n\nNow fix it."
    )
    own = [
        {"role": "user", "content": injected},
        {"role": "assistant", "tool_calls": [
            {"id": "1", "function": {"name": "mcp__reasoningbank__memory_search", "arguments": "{}"}},
            {"id": "2", "function": {"name": "bash", "arguments": '{"command": "reasoningbank query x"}'}},
            {"id": "3", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
        ]},
        {"role": "tool", "tool_call_id": "3", "content": "a b"},
    ]  # fmt: skip
    episode = one(lines(tmp_path / "a.jsonl", [{"messages": own}]))
    assert episode.task == "Now fix it."
    assert [step.action for step in episode.steps] == ["ls"]


def test_a_codex_session_is_read_with_its_exit_codes(tmp_path: Path) -> None:
    def item(**payload: Any) -> dict[str, Any]:
        return {"timestamp": "t", "type": "response_item", "payload": payload}

    failing = json.dumps({"output": "no such file", "metadata": {"exit_code": 2}})
    records = [
        {"type": "session_meta", "payload": {"id": "c1", "cwd": "/x"}},
        item(type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>…"}]),
        item(type="message", role="user", content=[{"type": "input_text", "text": "List the files"}]),
        {"type": "event_msg", "payload": {"type": "user_message", "message": "List the files"}},
        item(type="function_call", name="shell", call_id="1", arguments='{"command": ["bash", "-lc", "ls nowhere"]}'),
        item(type="function_call_output", call_id="1", output=failing),
        item(type="custom_tool_call", name="apply_patch", call_id="2", input="*** Begin Patch"),
        item(type="custom_tool_call_output", call_id="2", output="Exit code: 0\nDone"),
    ]
    episode = one(lines(tmp_path / "a.jsonl", records))
    assert episode.task == "List the files"
    assert episode.source is not None
    assert episode.source.startswith("codex:c1#")
    assert [(s.action, s.ok) for s in episode.steps] == [("ls nowhere", False), ("apply_patch(*** Begin Patch)", True)]


def test_a_chat_in_the_old_form_of_calls_is_read_too(tmp_path: Path) -> None:
    chat = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": '{"city": "Delft"}'}},
        {"role": "function", "name": "weather", "content": "rain"},
    ]
    (tmp_path / "a.json").write_text(json.dumps(chat))
    episode = one(tmp_path / "a.json")
    assert [(s.action, s.result) for s in episode.steps] == [('weather({"city": "Delft"})', "rain")]


def test_benchmark_episodes_carry_their_reward(tmp_path: Path) -> None:
    turns = {"actions": ["SHOW TABLES"], "observations": ["[('a',)]"], "valid_action": [True]}
    lines(tmp_path / "i.json", [{"0": {"query": "how many", "turn_history": turns, "summary": {"max_reward": 1.0}}}])
    run = {"task_id": 3, "reward": 0.0, "info": {"task": {"instruction": "Return it"}}, "traj": [
        {"role": "user", "content": "Hi"}]}  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps([run]))
    intercode, tau = one(tmp_path / "i.json"), one(tmp_path / "t.json")
    assert (intercode.outcome, intercode.reward, intercode.steps[0].ok) == ("success", 1.0, True)
    assert (tau.task, tau.outcome, tau.reward) == ("Return it", "failure", 0.0)


def test_plain_notes_with_prompts_have_steps(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# Fix the build\n$ make\nmake: *** No rule\n$ make all\nok\n")
    episode = one(tmp_path / "a.txt")
    assert episode.task == "Fix the build"
    assert [(s.action, s.result) for s in episode.steps] == [("make", "make: *** No rule"), ("make all", "ok")]


# ---------------------------------------------------------------- into the bank


def test_the_same_transcript_twice_adds_nothing(bank: ReasoningBank, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", CLAUDE)
    first, second = bank.ingest(path), bank.ingest(path)
    assert (first.added, first.steps, len(first.jobs)) == (1, 2, 1)
    assert (second.added, second.known, second.steps, second.jobs) == (0, 1, 0, ())
    assert len(bank.sessions()) == 1


def test_a_transcript_that_has_grown_adds_what_is_new(bank: ReasoningBank, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", CLAUDE[:4])
    bank.ingest(path)
    lines(path, CLAUDE)
    grown = bank.ingest(path)
    assert (grown.added, grown.grown, grown.steps) == (0, 1, 1)
    (session,) = bank.sessions()
    assert [step.number for step in bank.trajectory(session.id)[1]] == [1, 2]
    assert bank.distill().count("done") == 2
    assert [memory.tags for memory in bank.list()] == [("fix",)]


def test_a_transcript_that_was_rewritten_is_another_session(bank: ReasoningBank, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", CLAUDE)
    bank.ingest(path)
    lines(path, [*CLAUDE[:2], used("a1", "t1", "tox"), got("u2", "t1", "passed")])
    assert bank.ingest(path).added == 1
    assert len(bank.sessions()) == 2


def test_a_dry_run_keeps_nothing(bank: ReasoningBank, tmp_path: Path) -> None:
    told = bank.ingest(lines(tmp_path / "a.jsonl", CLAUDE), dry_run=True)
    assert (told.added, told.steps, told.jobs) == (1, 2, ())
    assert bank.sessions() == []


def test_one_bad_file_of_a_folder_costs_itself_only(bank: ReasoningBank, tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", CLAUDE)
    (tmp_path / "b.json").write_text('{"neither": "nor"}')
    (tmp_path / "c.jsonl").write_text("")
    (tmp_path / "d.log").write_bytes(b"\x00\x01binary")
    lines(tmp_path / "e.jsonl", [{"messages": [{"role": "system", "content": "only rules"}]}])
    told = bank.ingest(tmp_path)
    assert told.added == 1
    assert [item.what for item in told.skipped] == ["b.json", "c.jsonl", "d.log", "e.jsonl"]


def test_what_cannot_be_read_is_said_in_a_sentence(bank: ReasoningBank, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("{}")
    for path in (tmp_path / "none.jsonl", tmp_path / "b.json"):
        with pytest.raises(ImportRejected, match=path.name):
            bank.ingest(path)
    with pytest.raises(InvalidInput, match="carrier-pigeon"):
        bank.ingest(tmp_path, layout="carrier-pigeon")


def test_huge_and_odd_sessions_are_kept_within_their_limits(bank: ReasoningBank) -> None:
    step = EpisodeStep(action="cat", result="é" * 300_000, metadata={"tool": "Bash"})
    talk = tuple({"role": "user", "content": "x" * 5_000} for _ in range(200))
    kept = bank.keep(Episode(task="t", namespace="n", steps=(step,), messages=talk))
    assert bank.trajectory(kept.trajectory.id)[1][0].result.startswith("é")
    assert bank.distill().count("done") == 1


def test_two_runs_that_say_the_same_are_one_session_and_others_are_not(bank: ReasoningBank) -> None:
    episode = Episode(task="t", namespace="n", steps=(EpisodeStep(action="a", result="b"),))
    first = bank.keep(episode)
    assert bank.keep(episode).known
    assert not bank.keep(Episode(task="t", namespace="n", steps=(EpisodeStep(action="a", result="c"),))).known
    assert not bank.keep(Episode(task="t", namespace="other", steps=episode.steps)).known
    assert first.changed


INGEST = """
import sys
from reasoningbank import ReasoningBank
with ReasoningBank.open(sys.argv[1], namespace="n") as bank:
    print(bank.ingest(sys.argv[2]).added)
"""


def test_processes_that_take_over_the_same_transcripts_keep_each_once(
    path: Path,
    bank: ReasoningBank,
    tmp_path: Path,
    child: Callable[..., subprocess.Popen[str]],
    finished: Callable[..., str],
) -> None:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    for number in range(20):
        lines(
            folder / f"{number}.jsonl",
            [{**record, "sessionId": f"s{number}", "uuid": f"{number} {record.get('uuid')}"} for record in CLAUDE],
        )
    running = [child(INGEST, path, folder) for _ in range(3)]
    assert sum(int(finished(process)) for process in running) == 20
    assert len(bank.sessions(limit=100)) == 20
    assert bank.distill().count("done") == 20
    (fix,) = bank.list()
    assert len(bank.history(fix.id).points) == 20


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "role", "content", "message", "messages", "payload", "traj", "reward", "tool_calls",
                         "function", "sessionId", "turn_history", "actions", "query", "id", "call_id", "text"]), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(json_values, min_size=1, max_size=4), st.sampled_from(FORMATS))
def test_no_contents_break_a_reader(tmp_path: Path, values: list[Any], layout: str) -> None:
    path = lines(tmp_path / "a.jsonl", values, torn='{"torn')
    assert all(episode.task for episode in transcript_in(path, "n", layout)[1])
    with suppress(ImportRejected):
        assert transcript_in(path, "n")[0].name in FORMATS
