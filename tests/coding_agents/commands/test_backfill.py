"""What agents did before the hooks came, read from transcripts as Claude Code, Codex and Cursor leave them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from reasoningbank_coding_agents.hooking import location_of
from reasoningbank_coding_agents.state_dir import place_of
from tests.clones import a_clone

FIXED = [
    ("pytest tests", "E   ModuleNotFoundError: No module named 'httpx'", True),
    ("pip install httpx", "Successfully installed httpx-0.28.1", False),
    ("pytest tests", "3 passed in 0.12s", False),
]
HOURS = 3600.0


pytestmark = pytest.mark.usefixtures("user")


@pytest.fixture
def repository(tmp_path):
    """`repository(name)` is the folder of a repository with a remote."""

    def make(name):
        return a_clone(tmp_path / name, f"git@example.com:team/{name}.git")

    return make


def aged(path, days=1.0):
    at = time.time() - days * 24 * HOURS
    os.utime(path, (at, at))
    return path


def written(path, records, *, days=1.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return aged(path, days)


def claude_code(user, session, cwd, task="Make the tests of the client pass", *, calls=FIXED, days=1.0, slug="-a-b"):
    common = {"sessionId": session, "cwd": str(cwd), "version": "2.1.0", "gitBranch": "main", "isSidechain": False}
    records = [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}]
    records.append({**common, "type": "user", "uuid": f"{session}-p", "message": {"role": "user", "content": task}})
    for number, (command, result, failed) in enumerate(calls):
        call = f"toolu_{session}_{number}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
        told = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}
        records.append({**common, "type": "assistant", "uuid": f"{session}-a{number}", "message": {"content": [use]}})
        records.append({**common, "type": "user", "uuid": f"{session}-r{number}", "message": {"content": [told]}})
    return written(user / ".claude" / "projects" / slug / f"{session}.jsonl", records, days=days)


def codex(user, session, cwd, task="Make the tests of the client pass", *, days=1.0, git=None):
    def item(kind, payload):
        return {"timestamp": "2026-11-01T10:00:00Z", "type": kind, "payload": payload}

    records = [
        item("session_meta", {"id": session, "cwd": str(cwd), "originator": "codex_cli_rs", "git": git}),
        item("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": task}]}),
    ]
    for number, (command, result, failed) in enumerate(FIXED):
        arguments = json.dumps({"command": ["bash", "-lc", command]})
        output = json.dumps({"output": result, "metadata": {"exit_code": int(failed)}})
        call = {"type": "function_call", "name": "shell", "call_id": f"c{number}", "arguments": arguments}
        records.append(item("response_item", call))
        records.append(
            item("response_item", {"type": "function_call_output", "call_id": f"c{number}", "output": output})
        )
    name = f"rollout-2026-11-01T10-00-00-{session}.jsonl"
    return written(user / ".codex" / "sessions" / "2026" / "11" / "01" / name, records, days=days)


def cursor(user, session, paths, task="Make the tests of the client pass"):
    records = [
        {
            "role": "user",
            "message": {"content": [{"type": "text", "text": f"<user_query>\n{task}\n</user_query>"}]},
        }
    ]
    for path in paths:
        use = {"type": "tool_use", "name": "Shell", "input": {"command": "make", "working_directory": str(path)}}
        told = {"type": "tool_result", "content": "make: *** No rule to make target 'all'.  Stop."}
        records.append({"role": "assistant", "message": {"content": [use]}})
        records.append({"role": "user", "message": {"content": [told]}})
    folder = user / ".cursor" / "projects" / "x-y" / "agent-transcripts" / session
    return written(folder / f"{session}.jsonl", records)


def counts(result):
    return {name: (told["sessions"], told["tasks"]) for name, told in result.json["namespaces"].items()}


def test_every_agent_s_sessions_are_learned_from_and_belong_to_their_repository(rb, user, repository):
    one, two = repository("one"), repository("two")
    (one / "src").mkdir()
    claude_code(user, "s1", one / "src", slug="-two")
    codex(user, "s2", two)
    cursor(user, "s3", [two / "app"])
    result = rb("backfill", "--json")
    assert result.code == 0
    assert counts(result) == {"example.com/team/one": (1, 1), "example.com/team/two": (2, 2)}
    assert result.json["skipped"] == []
    found = rb("query", "No module named 'httpx'", "--namespace", "example.com/team/one")
    assert "pip install httpx" in found.out
    assert all(item["namespace"] != "default" for item in result.json["learned"])


def test_again_adds_nothing_and_a_session_that_grew_adds_what_is_new(rb, user, repository):
    path = claude_code(user, "s1", repository("one"))
    rb("backfill")
    before = rb("status", "--json").json["changes"]
    again = rb("backfill", "--json").json
    assert (again["namespaces"], again["known"]) == ({}, 1)
    assert rb("status", "--json").json["changes"] == before
    for file in place_of(location_of(None)).folder.rglob("*.json"):
        file.unlink()
    assert rb("backfill", "--json").json["namespaces"] == {}, "known by its ids, also without the cursors"
    more = json.loads(path.read_text().splitlines()[1]) | {"uuid": "next"}
    more["message"] = {"role": "user", "content": "Now write a changelog entry about the client, please."}
    with path.open("a") as file:
        file.write(json.dumps(more) + "\n")
    os.utime(path)
    grown = rb("backfill", "--json")
    assert counts(grown) != {}
    told = rb("session", "list", "--json", "--namespace", "example.com/team/one").json["sessions"]
    assert [one["origin"] for one in told] == ["agent"] * 2, "no hook of ours saw it"


def test_what_hooks_have_captured_is_not_taken_twice(rb, user, repository):
    from reasoningbank import ReasoningBank
    from reasoningbank_coding_agents.capture_queue import CaptureNote
    from reasoningbank_coding_agents.capture_worker import read_session

    path = claude_code(user, "s1", repository("one"))
    with ReasoningBank.open() as bank:
        note = CaptureNote(
            agent="claude-code",
            session="s1",
            transcript=str(path),
            namespace="example.com/team/one",
            ended=True,
            at=1.0,
            captured=True,
        )
        read_session(bank, place_of(location_of(None)), note, now=time.time())
        bank.distill()
    before = rb("status", "--json").json["changes"]
    assert rb("backfill", "--json").json["known"] == 1
    assert rb("status", "--json").json["changes"] == before
    [told] = rb("session", "list", "--json", "--namespace", "example.com/team/one").json["sessions"]
    assert told["origin"] == "hook:claude-code"


def test_only_what_changed_lately_is_read(rb, user, repository):
    root = repository("one")
    claude_code(user, "new", root, days=2)
    claude_code(user, "old", root, days=40)
    assert counts(rb("backfill", "--json", "--dry-run")) == {"example.com/team/one": (1, 1)}
    assert counts(rb("backfill", "--json", "--dry-run", "--since", "10w")) == {"example.com/team/one": (2, 2)}
    assert rb("backfill", "--since", "yesterday").code == 2


def test_a_dry_run_keeps_nothing(rb, user, repository, home):
    claude_code(user, "s1", repository("one"))
    result = rb("backfill", "--dry-run")
    assert "example.com/team/one: 1 session would be read, 1 task" in result.out
    assert not home.exists()


def test_what_cannot_be_read_is_named_and_costs_only_itself(rb, user, repository, tmp_path):
    root = repository("one")
    claude_code(user, "good", root)
    folder = user / ".claude" / "projects" / "-x"
    folder.mkdir()
    aged_files = {
        "binary": b"\x00\xff\x00" * 500,
        "empty": b"",
        "other": b'{"type": "user"}\n[1, 2]\nnull\n',
    }
    for name, data in aged_files.items():
        (folder / f"{name}.jsonl").write_bytes(data)
        aged(folder / f"{name}.jsonl")
    claude_code(user, "gone", tmp_path / "deleted" / "repo")
    cursor(user, "nowhere", [], "Explain to me how the client of this service retries a request.")
    result = rb("backfill", "--json")
    assert counts(result) == {"example.com/team/one": (1, 1)}
    why = {Path(item["path"]).stem: item["why"] for item in result.json["skipped"]}
    assert set(why) == {"binary", "empty", "other", "gone", "nowhere"}
    assert "is gone" in why["gone"]
    assert "does not say" in why["nowhere"]
    everything = rb("backfill", "--json", "--namespace", "mine").json
    assert everything["namespaces"]["mine"]["sessions"] == 2


def test_a_repository_that_the_transcript_names_is_known_also_when_its_folder_is_gone(rb, user, tmp_path):
    codex(user, "s1", tmp_path / "deleted", git={"repository_url": "ssh://git@example.com:22/team/gone.git"})
    assert counts(rb("backfill", "--json")) == {"example.com/team/gone": (1, 1)}


def test_a_torn_last_line_is_left_alone_and_the_run_of_a_subagent_is_a_task_of_its_own(rb, user, repository):
    root = repository("one")
    path = claude_code(user, "s1", root)
    with path.open("a") as file:
        file.write('{"type": "user", "sessionId": "s1", "mess')
    aged(path)
    inner = path.with_suffix("") / "subagents" / "agent-7.jsonl"
    inner.parent.mkdir(parents=True)
    inner.write_bytes(path.read_bytes())
    path.with_name("agent-8.jsonl").write_bytes(path.read_bytes())
    assert counts(rb("backfill", "--json")) == {"example.com/team/one": (1, 2)}


def test_a_session_that_goes_on_is_not_ended(rb, user, repository):
    path = claude_code(user, "s1", repository("one"), days=0)
    rb("backfill")
    task = rb("session", "list", "--json", "--namespace", "example.com/team/one").json["sessions"][0]
    assert task["ended_at"] is None
    aged(path)
    rb("backfill")
    shown = rb("session", "show", task["id"], "--json").json
    assert shown["ended_at"] is not None


def test_a_run_that_was_interrupted_is_finished_by_the_next(rb, user, repository, monkeypatch):
    claude_code(user, "s1", repository("one"))

    def interrupted(bank, terminal):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("reasoningbank_coding_agents.commands.backfill._lessons", interrupted)
        assert rb("backfill").code == 130
    assert rb("backfill", "--json").json["learned"] != []
    assert rb("backfill", "--json").json["learned"] == []


def test_runs_of_our_own_distiller_teach_nothing(rb, user, repository):
    from reasoningbank.learn.prompting import prompt

    claude_code(user, "s1", repository("one"), task=prompt("success").text)
    assert rb("backfill", "--json").json["learned"] == []


def test_without_transcripts_nothing_happens(rb, user):
    result = rb("backfill")
    assert result.code == 0
    assert "0 sessions read" in result.err
