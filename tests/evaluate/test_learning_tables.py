"""`python -m reasoningbank_eval learning`: episodes in, tables and JSON out."""

from __future__ import annotations

import json

import pytest
from reasoningbank_eval.__main__ import main
from reasoningbank_eval.commands import learning
from reasoningbank_eval.learning import PARTS

from tests.command_line import Result, home  # noqa: F401 - a fixture


@pytest.fixture
def run(capsys):
    def call(*words: str) -> Result:
        code = main(list(words))
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


def test_the_parts_in_help_are_those_of_the_report():
    assert learning.PARTS == PARTS


def test_data_that_are_not_there_are_named(run, tmp_path):
    for part in ("intercode", "tau"):
        missing = run("learning", "--data", str(tmp_path), "--part", part)
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
    run, tmp_path, folder, sessions, questions
):
    lay_out(tmp_path / "data" / folder, sessions, questions)
    out = tmp_path / "told.json"
    words = ("--part", "intercode", "--shuffles", "0", "--out", str(out))
    told = run("learning", "--data", str(tmp_path / "data"), *words)
    assert told.code == 0, told.err
    assert "file order" in told.out
    kept = json.loads(out.read_text())
    for setting in kept["intercode"][folder].values():
        (row,) = setting["orders"]
        assert (row["stumbled"], row["ceiling"], row["hits"]) == (6, 4, 4)
        assert 0 < row["tokens"] < 150
    assert kept["machine"]["python"]


def test_two_models_on_the_same_questions_are_two_sets(run, tmp_path):
    folder = tmp_path / "data" / "databases"
    lay_out(folder, "one-model.json", "questions.json")
    (folder / "other-model.json").write_bytes((folder / "one-model.json").read_bytes())
    out = tmp_path / "told.json"
    words = ("--part", "intercode", "--shuffles", "0", "--episodes", "2", "--out", str(out))
    assert run("learning", "--data", str(tmp_path / "data"), *words).code == 0
    assert set(json.loads(out.read_text())["intercode"]) == {"databases/one-model", "databases/other-model"}


def test_runs_with_a_reward_are_measured_whatever_their_folder_is_called(run, tmp_path):
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
    told = run("learning", "--data", str(tmp_path / "data"), *parts, "--out", str(out))
    assert told.code == 0, told.err
    assert "tau-elsewhere: the rules judge 0% of 8 sessions" in told.out
    rows = json.loads(out.read_text())["tau"]["tau-elsewhere"]["by_flip"]
    assert [row["flipped"] for row in rows] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
