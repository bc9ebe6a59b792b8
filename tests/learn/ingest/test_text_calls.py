"""Calls that agents write into their text are calls, and what comes back in the user's name is a result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest.sniff import transcript_in
from reasoningbank.learn.ingest.text import action_of


def read(tmp_path: Path, value: Any) -> list[Episode]:
    path = tmp_path / "a.txt"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return list(transcript_in(path, "n")[1])


def steps(episode: Episode) -> list[tuple[str, str]]:
    return [(step.action, step.result) for step in episode.steps]


WRITTEN = {
    "tool_call marks": '<tool_call>\n{"name": "stock", "arguments": {"sku": "L-2"}}\n</tool_call>',
    "a call that is all there is": '{"name": "stock", "arguments": {"sku": "L-2"}}',
    "in a fence": '```json\n{"tool": "stock", "args": {"sku": "L-2"}}\n```',
    "a function with parameters": "I look.\n<function=stock>\n<parameter=sku>L-2</parameter>\n</function>",
    "an invoked one": '<invoke name="stock"><parameter name="sku">L-2</parameter></invoke>',
    "an action with its input": 'Thought: look\nAction: stock\nAction Input: {"sku": "L-2"}',
    "an action as JSON": 'Thought: look\nAction:\n```json\n{"action": "stock", "action_input": {"sku": "L-2"}}\n```',
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("reply", ["Observation: 17 left", "<tool_response>\n17 left\n</tool_response>", "17 left"])
def test_a_call_in_the_text_is_a_call_and_the_next_words_are_its_result(tmp_path: Path, text: str, reply: str) -> None:
    chat = [
        {"role": "user", "content": "How many blue lamps?"},
        {"role": "assistant", "content": text},
        {"role": "user", "content": reply},
        {"role": "assistant", "content": "There are 17."},
    ]
    [episode] = read(tmp_path, chat)
    assert steps(episode) == [('stock({"sku": "L-2"})', "17 left")]
    assert [m["content"] for m in episode.messages if m["role"] == "user"] == ["How many blue lamps?"]
    assert episode.metadata["answer"] == "There are 17."


def test_a_shell_block_is_a_command_and_its_report_tells_how_it_ended(tmp_path: Path) -> None:
    chat = [
        {"role": "system", "content": "You solve issues with a shell."},
        {"role": "user", "content": "<pr_description>\nThe parser drops dates.\n</pr_description>\n\nUse the shell. Submit when done."},
        {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls src\n```"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>\nls: cannot access 'src'\n</output>"},
        {"role": "assistant", "content": "```mswea_bash_command\nls lib\n```"},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\ndates.py\n</output>"},
    ]  # fmt: skip
    [episode] = read(tmp_path, {"info": {"exit_status": "Submitted"}, "messages": chat, "trajectory_format": "mini"})
    assert episode.task == "The parser drops dates."
    assert [(step.action, step.ok) for step in episode.steps] == [("ls src", False), ("ls lib", True)]


def test_a_user_who_says_no_after_a_call_is_heard(tmp_path: Path) -> None:
    chat = [
        {"role": "user", "content": "Clean up"},
        {"role": "assistant", "content": WRITTEN["tool_call marks"]},
        {"role": "user", "content": "No, stop! Never delete lamps."},
    ]
    [episode] = read(tmp_path, chat)
    assert [m["content"] for m in episode.messages if m["role"] == "user"] == [
        "Clean up",
        "No, stop! Never delete lamps.",
    ]


def test_examples_before_the_question_are_not_sessions(tmp_path: Path) -> None:
    text = """Solve a question answering task with interleaving Thought, Action, Observation steps. Here are some examples.
Question: Which river runs through Paris?
Thought 1: I search.
Action 1: Search[Paris]
Observation 1: Paris lies on the Seine.
Action 2: Finish[Seine]
Question: Which river runs through Rome?
Thought 1: I search Rome.
Action 1: Search[Rome]
Observation 1: Could not find [Rome]. Similar: ['Roma'].
Question: a line of the page
Thought 2: Another name.
Action 2: Search[Roma]
Observation 2: The Tiber.
Action 3: Finish[Tiber]"""
    [episode] = read(tmp_path, text)
    assert episode.task == "Which river runs through Rome?"
    assert episode.metadata["answer"] == "Tiber"
    assert steps(episode)[0] == (
        "Search[Rome]",
        "Could not find [Rome]. Similar: ['Roma'].\nQuestion: a line of the page",
    )
    assert [action for action, _ in steps(episode)] == ["Search[Rome]", "Search[Roma]", "Finish[Tiber]"]


def test_questions_without_a_word_of_examples_are_sessions(tmp_path: Path) -> None:
    text = "Question: a?\nAction: look[a]\nObservation: x\nFinal Answer: x\nQuestion: b?\nAction: look[b]\nObservation: y\nFinal Answer: y"
    assert [(e.task, e.metadata["answer"]) for e in read(tmp_path, text)] == [("a?", "x"), ("b?", "y")]


def test_a_trace_of_text_in_a_record_has_the_records_question_and_reward(tmp_path: Path) -> None:
    trace = "Thought: look\nAction: open\nAction Input: lamp.txt\nObservation: blue\nFinal Answer: blue"
    [episode] = read(tmp_path, {"question": "Which colour?", "trajectory": trace, "reward": 0})
    assert (episode.task, steps(episode), episode.outcome) == ("Which colour?", [("open(lamp.txt)", "blue")], "failure")


def test_what_a_command_printed_is_neither_the_task_nor_a_users_word(tmp_path: Path) -> None:
    [episode] = read(
        tmp_path, "User: Fix the build\n$ make\nmake: *** No rule. Always run ./configure\n$ make all\nok\nUser: thanks"
    )
    assert episode.task == "Fix the build"
    assert [m["content"] for m in episode.messages] == ["Fix the build", "thanks"]
    [bare] = read(tmp_path, "$ make\nmake: *** No rule\n$ make all\nok")
    assert bare.task == "make"
    assert steps(bare) == [("make", "make: *** No rule"), ("make all", "ok")]


def test_a_game_in_text_is_a_session_and_a_quotation_is_none(tmp_path: Path) -> None:
    text = """You are in a kitchen. You see a shelf 1.
Your task is to: put a clean cup on the shelf.
> go to sink 1
On the sink 1, you see a cup 1.
> clean cup 1 with sink 1
You clean the cup 1.
> put cup 1 on shelf 1
You put the cup 1 on the shelf 1."""
    [episode] = read(tmp_path, text)
    assert episode.task == "put a clean cup on the shelf."
    assert steps(episode)[0] == ("go to sink 1", "On the sink 1, you see a cup 1.")
    assert len(episode.steps) == 3
    [quoting] = read(tmp_path, "# Notes\n> a quoted line\n> and its end\n\n> another\n\n$ make\nok")
    assert steps(quoting) == [("make", "ok")]


def test_examples_in_the_users_first_words_are_not_the_task(tmp_path: Path) -> None:
    prompt = "Answer with steps. Here are two examples.\nQuestion: Which river?\nAnswer: Seine\nQuestion: Which lamp is blue?\nThought:"
    chat = [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": "I look.\nAction: find[lamp]"},
        {"role": "user", "content": "Observation: L-2"},
    ]
    [episode] = read(tmp_path, chat)
    assert (episode.task, steps(episode)) == ("Which lamp is blue?", [("find[lamp]", "L-2")])


def test_names_before_the_words_may_be_those_of_tools(tmp_path: Path) -> None:
    text = 'User: How many?\nAssistant: {"name": "stock", "arguments": {"sku": "L-2"}}\nTool: 17 left\nAssistant: 17.'
    [episode] = read(tmp_path, text)
    assert steps(episode) == [('stock({"sku": "L-2"})', "17 left")]
    assert episode.metadata["answer"] == "17."


@pytest.mark.parametrize(
    ("tool", "given", "action"),
    [
        ("str_replace_editor", {"command": "view", "path": "/a.py"}, 'str_replace_editor({"command": "view", "path": "/a.py"})'),
        ("run_shell_command", {"command": "ls", "directory": "/x"}, "ls"),
        ("Bash", {"command": "pytest -q", "description": "Run tests", "timeout": 5}, "pytest -q"),
        ("shell", {"command": ["bash", "-lc", "ls -a"]}, "ls -a"),
        ("sql_db_query", {"query": "SELECT 1"}, "SELECT 1"),
        ("web_search", {"query": "select a lamp"}, 'web_search({"query": "select a lamp"})'),
        ("think", {"text": "with care"}, 'think({"text": "with care"})'),
    ],
)  # fmt: skip
def test_a_command_is_told_as_it_was_typed_and_any_other_call_with_all_its_arguments(
    tool: str, given: dict[str, Any], action: str
) -> None:
    assert action_of(tool, given) == action_of(tool, json.dumps(given)) == action
