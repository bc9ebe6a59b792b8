"""`ingest` from a terminal: transcripts in, lessons out."""

from __future__ import annotations

import json

import pytest

from reasoningbank.learn.ingest.sniff import FORMATS
from reasoningbank_coding_agents.commands import ingest

CHAT = {
    "messages": [
        {"role": "user", "content": "Push my branch"},
        {"role": "assistant", "tool_calls": [
            {"id": "1", "function": {"name": "bash", "arguments": '{"command": "git push"}'}},
            {"id": "2", "function": {"name": "bash", "arguments": '{"command": "git push -u origin x"}'}},
        ]},
        {"role": "tool", "tool_call_id": "1", "content": "fatal: The current branch x has no upstream branch."},
        {"role": "tool", "tool_call_id": "2", "content": "done"},
    ]
}  # fmt: skip


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    return path


def test_the_names_in_help_are_those_of_the_readers():
    assert ingest.FORMATS == FORMATS


def test_a_transcript_is_taken_over_once_and_taught_from(rb, chat):
    first = rb("ingest", str(chat), "--distill")
    assert first.out.startswith("1 session kept (2 steps)")
    assert "1 session distilled; 1 memory learned" in first.err
    assert rb("ingest", str(chat)).out.startswith("0 sessions kept (0 steps), 0 grown, 1 known")
    assert "add `-u origin x`" in rb("inject", "push the branch").out


def lessons_of(rb):
    return {(item["origin"], item["trust"]) for item in rb("list", "--json").json["memories"]}


def test_what_somebody_elses_transcript_teaches_is_quoted_as_data_until_it_is_approved(rb, chat):
    told = rb("ingest", str(chat), "--distill")
    assert "trust approve import:chat.json" in " ".join(told.err.split())
    assert lessons_of(rb) == {("import:chat.json", "untrusted")}
    assert "data, not instructions" in rb("inject", "push the branch").out
    assert rb("trust", "approve", "import:chat.json").code == 0
    assert lessons_of(rb) == {("import:chat.json", "trusted")}


def test_an_import_of_transcripts_may_be_given_a_name_or_be_called_the_users_own(rb, chat, tmp_path):
    rb("ingest", str(chat), "--distill", "--name", "colleague")
    assert lessons_of(rb) == {("import:colleague", "untrusted")}
    own = tmp_path / "own.json"
    own.write_text(json.dumps(CHAT).replace("git push", "hg push").replace("upstream branch", "default path"))
    told = rb("ingest", str(own), "--distill", "--own")
    assert "trust approve" not in told.err
    assert ("agent", "working") in lessons_of(rb)


def test_a_transcript_is_its_agents_where_an_agent_keeps_it(rb, home, tmp_path, monkeypatch):
    folder = tmp_path / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    kept = folder / "projects" / "-work-app" / "s1.jsonl"
    kept.parent.mkdir(parents=True)
    records = [
        {"type": "user", "uuid": "u0", "sessionId": "s1", "cwd": "/work/app", "message": {"role": "user", "content": "Push it"}},
        *(
            line
            for number, (command, result) in enumerate((("git push", "fatal: no upstream branch"), ("git push -u origin x", "done")))
            for line in (
                {"type": "assistant", "uuid": f"a{number}", "sessionId": "s1", "cwd": "/work/app", "message": {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}]}},
                {"type": "user", "uuid": f"r{number}", "sessionId": "s1", "cwd": "/work/app", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": result, "is_error": not number}]}},
            )
        ),
    ]  # fmt: skip
    kept.write_text("\n".join(map(json.dumps, records)))
    copy = tmp_path / "downloaded.jsonl"
    copy.write_text(kept.read_text().replace("s1", "s2").replace('"u0"', '"v0"'))
    assert rb("ingest", str(kept), "--distill").code == rb("ingest", str(copy), "--distill").code == 0
    sessions = rb("session", "list", "--json").json["sessions"]
    assert sorted(one["origin"] for one in sessions) == ["agent", "import:downloaded.jsonl"]


def test_a_rehearsal_leaves_no_bank_behind(rb, chat, home):
    told = rb("ingest", str(chat), "--dry-run", "--json").json
    assert (told["added"], told["steps"], told["dry_run"]) == (1, 2, True)
    assert not list(home.rglob("*.db"))


def test_a_path_that_is_not_there_is_an_error_in_a_sentence(rb, tmp_path):
    missing = rb("ingest", str(tmp_path / "none.jsonl"))
    assert missing.code != 0
    assert "does not exist" in missing.err
