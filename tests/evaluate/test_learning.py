"""`reasoningbank_eval learning` on made-up episodes: what is offered again, what lessons are like, and what a ranking may know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reasoningbank_eval.again import is_offered, like
from reasoningbank_eval.cases import Case, case_sets
from reasoningbank_eval.grading import grades, would_parse
from reasoningbank_eval.learning import Plan, report
from reasoningbank_eval.tau import Run, Shelf

from reasoningbank import Episode, EpisodeStep, InvalidInput, Memory, NotFound
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.types import Draft

FIX = [
    {"action": "tool --colour red", "result": "error: unknown option --colour", "ok": False},
    {"action": "tool --color red", "result": "painted", "ok": True},
]


def write_lines(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def lesson(content: str, **fields) -> Memory:
    metadata = {"kind": fields.pop("kind", "fix")}
    draft = Draft(title="A lesson", content=content, metadata=metadata, **fields)
    return memory_from(draft, memory_id="mem_1", tenant="t", namespace="n", initial_confidence=0.5, now=0.0)


def test_sessions_in_the_neutral_form_are_cases_with_what_solved_them(tmp_path: Path) -> None:
    rows = [
        {"task": "paint it red", "steps": FIX, "reward": 1},
        {"task": "paint it blue", "steps": FIX[:1], "outcome": "failure"},
        {"task": "paint it green", "steps": FIX, "outcome": "success", "solution": ["tool --color green"]},
    ]
    write_lines(tmp_path / "painting" / "run.jsonl", rows)
    (cases,) = case_sets(tmp_path).values()
    assert [case.solution for case in cases] == [("tool --color red",), (), ("tool --color green",)]


def test_a_line_that_is_no_session_is_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "run.jsonl", [{"task": "t", "steps": [], "reward": 0}, {"question": "q"}])
    with pytest.raises(InvalidInput, match="line 2"):
        case_sets(tmp_path)


def test_files_that_differ_in_a_number_are_one_set_and_what_has_another_shape_is_left_out(tmp_path: Path) -> None:
    for number in (1, 2):
        write_lines(tmp_path / "work" / f"agent-{number}.jsonl", [{"task": "t", "steps": FIX, "reward": 1}])
    write_lines(tmp_path / "work" / "other.jsonl", [{"task": "t", "steps": FIX, "reward": 1}])
    write_lines(tmp_path / "notes" / "notes.jsonl", [{"question": "q", "text": "t"}])
    assert {name: len(cases) for name, cases in case_sets(tmp_path).items()} == {"work/agent": 2, "work/other": 1}


def test_a_solution_is_offered_to_the_letter_or_with_placeholders_and_not_in_part() -> None:
    solution = ("find /srv -name '*.log' | xargs gzip",)
    assert is_offered("What worked:\n`find /srv  -name '*.log' | xargs gzip`", solution)
    assert is_offered("Do: `find <folder> -name '<pattern>' | xargs gzip`", solution)
    assert not is_offered("`find /srv -name '*.log' | xargs…`", solution)
    assert not is_offered("`find <folder> -name '<pattern>' | xargs bzip2`", solution)
    assert not is_offered("", solution)


def test_lessons_are_graded_by_remedy_thing_and_code_that_is_whole() -> None:
    steps = (
        EpisodeStep(action="tool --colour red", result="error: unknown option --colour", ok=False),
        EpisodeStep(action="tool --color red", result="painted", ok=True),
    )
    told = grades(
        [
            lesson("`tool --colour red` failed. What worked: `tool --color red`"),
            lesson("Paint with `tool --color <colour>`"),
            lesson("`tool --colour red` failed. Stop after the first failure.", kind="warning"),
            lesson("`tool --color red` works; `tool --color 'blue` too"),
            lesson("Names in Test: case, did, not, pass, the", kind="fact", tags=("fact",)),
        ],
        [Episode(task="paint", namespace="n", steps=steps, outcome="success")],
    )
    assert told["by_kind"]["fix"]["usable"]["share"] == pytest.approx(2 / 3, abs=1e-3)
    assert told["by_kind"]["warning"]["remedy"] == 0.0
    assert told["by_kind"]["fact"]["parses"] == 0.0


@pytest.mark.parametrize("code", ["ls -l", "awk '{print $1}' x", "f(a, [1])", '{"a": 1}', "it = 'don\\'t'", "a\\ b"])
def test_whole_code_parses(code: str) -> None:
    assert would_parse(code)


@pytest.mark.parametrize("code", ["ls 'a", "f(a, [1)", "SELECT count(* FROM t", "find . -name…", 'echo "x'])
def test_code_that_was_cut_does_not(code: str) -> None:
    assert not would_parse(code)


def test_a_ranking_is_not_told_the_outcome_of_the_lesson_it_ranks(tmp_path: Path) -> None:
    """Every run did something else, so nothing but its own outcome could tell the lessons apart."""
    runs = [
        Run(task=f"task {n}", succeeded=(n + k) % 2 == 0, lesson=f"task {n}\nway {n} {k}", deed=f"way {n} {k}")
        for n in range(12)
        for k in range(2)
    ]
    ranked = Shelf(runs, tmp_path).ranked(0.0, 1)
    assert ranked.pairs == 12
    assert ranked.weighted < 0.8


def test_of_a_like_task_the_words_that_recur_are_counted(tmp_path: Path) -> None:
    cases = []
    for n in range(12):
        action = f"painter --colour shade{n} --twice"
        steps = (EpisodeStep(action="painter --color", result="error: unknown option", ok=False),)
        steps += (EpisodeStep(action=action, result="painted", ok=True),)
        episode = Episode(
            task=f"paint the wall number {n} in its shade", namespace="all", steps=steps, outcome="success"
        )
        cases.append(Case(episode=episode, solution=(action,)))
    told = like(cases, 1, "hash")
    assert told["asked"] == 6
    assert told["words_in_the_best_learned_solution"] == 1.0


def test_what_was_not_run_is_named_unless_it_was_asked_for(tmp_path: Path) -> None:
    write_lines(tmp_path / "work" / "run.jsonl", [{"task": "paint it red", "steps": FIX, "reward": 1}])
    told = report(Plan(data=tmp_path, parts=("intercode", "judge")), lambda _: None)
    assert told["judge"]["work"]["episodes"] == 1
    assert told["not_run"]["intercode"].startswith("No InterCode sessions")
    assert told["not_run"]["tau"] == "not asked for"
    with pytest.raises(NotFound):
        report(Plan(data=tmp_path, parts=("intercode",), needed=True), lambda _: None)


def test_a_solved_task_that_is_asked_again_is_counted_by_what_is_offered(tmp_path: Path) -> None:
    write_lines(tmp_path / "work" / "run.jsonl", [{"task": "paint it red", "steps": FIX, "reward": 1}])
    told = report(Plan(data=tmp_path, parts=("again",)), lambda _: None)["again"]["work"]
    assert (told["sessions"], told["solved_tasks"]) == (1, 1)
    assert {"kept", "remedy", "thing", "parses", "usable"} <= set(told["lessons"])
    assert told["tokens"]["mean"] >= 0
