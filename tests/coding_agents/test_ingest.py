"""`ingest` and `eval learning` from a terminal: transcripts in, lessons and tables out."""

from __future__ import annotations

import json

import pytest
from reasoningbank_eval.commands import learning as eval_learning
from reasoningbank_eval.learning import PARTS

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
    assert eval_learning.PARTS == PARTS


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


def test_data_that_are_not_there_are_named(rb, tmp_path):
    for part in ("intercode", "tau"):
        missing = rb("eval", "learning", "--data", str(tmp_path), "--part", part)
        assert missing.code != 0
        assert "`--data` names the folder" in missing.err


def episode(number, first, table, columns):
    described = str([(column, "int", "NO") for column in columns])
    turns = {
        "actions": [first, "SHOW TABLES", f"DESCRIBE {table}", f"SELECT {columns[0]} FROM {table}"],
        "observations": ["Error: Table 'x.y' doesn't exist", f"[('{table}',), ('other',)]", described, "[(1,)]"],
        "valid_action": [False, True, True, True],
    }
    query = f"How many {table} are there in town {number}?"
    return {"query": query, "turn_history": turns, "summary": {"max_reward": 1.0}}


def lay_out(folder, sessions_name, questions_name):
    folder.mkdir(parents=True)
    tables = [("boats", ["boat_id", "harbour"]), ("flowers", ["flower_id", "colour"])] * 3
    episodes = {str(n): episode(n, f"SELECT x FROM guess_{n}", t, c) for n, (t, c) in enumerate(tables)}
    questions = [
        {"db": table, "query": episodes[str(n)]["query"], "gold": f"SELECT {columns[0]} FROM {table}",
         "db_tables": {table: columns, "other": ["id"]}}
        for n, (table, columns) in enumerate(tables)
    ]  # fmt: skip
    (folder / sessions_name).write_text(json.dumps(episodes))
    (folder / questions_name).write_text(json.dumps(questions))


@pytest.mark.parametrize(
    ("folder", "sessions", "questions"),
    [
        ("other-databases", "told.json", "asked.json"),
        pytest.param("intercode-sql", "episodes-gpt-4.json", "ic_spider_dev.json", marks=pytest.mark.storm),
    ],
)
def test_a_small_stream_is_measured_and_written_down_whatever_its_files_are_called(
    rb, tmp_path, folder, sessions, questions
):
    lay_out(tmp_path / "data" / folder, sessions, questions)
    out = tmp_path / "told.json"
    words = ("--part", "intercode", "--shuffles", "0", "--out", str(out))
    told = rb("eval", "learning", "--data", str(tmp_path / "data"), *words)
    assert told.code == 0, told.err
    assert "file order" in told.out
    kept = json.loads(out.read_text())
    for setting in kept["intercode"][folder].values():
        (row,) = setting["orders"]
        assert (row["stumbled"], row["ceiling"], row["hits"]) == (6, 4, 4)
        assert 0 < row["tokens"] < 150
    assert kept["machine"]["python"]


def test_two_models_on_the_same_questions_are_two_sets(rb, tmp_path):
    folder = tmp_path / "data" / "databases"
    lay_out(folder, "one-model.json", "questions.json")
    (folder / "other-model.json").write_bytes((folder / "one-model.json").read_bytes())
    out = tmp_path / "told.json"
    words = ("--part", "intercode", "--shuffles", "0", "--episodes", "2", "--out", str(out))
    assert rb("eval", "learning", "--data", str(tmp_path / "data"), *words).code == 0
    assert set(json.loads(out.read_text())["intercode"]) == {"databases/one-model", "databases/other-model"}


def test_runs_with_a_reward_are_measured_whatever_their_folder_is_called(rb, tmp_path):
    folder = tmp_path / "data" / "tau-elsewhere"
    folder.mkdir(parents=True)
    runs = [
        {"task_id": task, "reward": float((task + trial) % 2), "trial": trial, "info": {},
         "traj": [{"role": "user", "content": f"Please change order {task} of mine."},
                  {"role": "assistant", "content": None, "tool_calls": [
                      {"id": "c1", "type": "function",
                       "function": {"name": f"change_order_{trial}", "arguments": "{}"}}]},
                  {"role": "tool", "tool_call_id": "c1", "content": "done"}]}
        for task in range(4) for trial in range(2)
    ]  # fmt: skip
    (folder / "some-model.json").write_text(json.dumps(runs))
    out = tmp_path / "told.json"
    parts = ("--part", "tau", "--part", "judge")
    told = rb("eval", "learning", "--data", str(tmp_path / "data"), *parts, "--out", str(out))
    assert told.code == 0, told.err
    assert "tau-elsewhere: the rules judge 0% of 8 sessions" in told.out
    rows = json.loads(out.read_text())["tau"]["tau-elsewhere"]["by_flip"]
    assert [row["flipped"] for row in rows] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
