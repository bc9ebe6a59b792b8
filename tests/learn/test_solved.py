"""A session that solved its task leaves how: for the same task the solution, for a like one the way."""

from __future__ import annotations

import json

import pytest

from reasoningbank import Episode, EpisodeStep, ReasoningBank
from reasoningbank.core.learning import JudgedBy, Lesson, Verdict, VerdictOutcome
from reasoningbank.learn.offline.distiller import OfflineDistiller

SUCCESS = Verdict(outcome=VerdictOutcome.SUCCESS, source=JudgedBy.ENVIRONMENT, certainty=1.0)


def made(task: str, *steps: tuple[str, str], reward: float | None = 1.0, namespace: str = "n") -> Episode:
    told = tuple(EpisodeStep(action=action, result=result) for action, result in steps)
    return Episode(task=task, namespace=namespace, steps=told, reward=reward)


def way(task: str, *steps: tuple[str, str], verdict: Verdict = SUCCESS, reward: float | None = 1.0) -> Lesson | None:
    found = OfflineDistiller().distill(made(task, *steps, reward=reward), verdict)
    return next((lesson for lesson in found if lesson.kind == "solved"), None)


def test_the_action_that_solved_it_stands_as_it_was_and_the_tasks_own_values_are_marked() -> None:
    lesson = way("Count the '*.log' files below /srv/app", ('find /srv/app -name "*.log" | wc -l', "12"))
    assert lesson is not None
    assert lesson.content == '`find /srv/app -name "*.log" | wc -l`'
    assert lesson.description == "Count the '{*.log}' files below {/srv/app}"


def test_of_a_long_session_only_what_led_to_the_end_is_kept() -> None:
    lesson = way(
        "Find the hidden word of the archive and hand it in",
        ("uname -a", "Linux box 6.1"),
        ("cat readme.md", "nothing of interest"),
        ("unzip -o vault.zip", "inflating: cellar_7.dat"),
        ("df -h", "overlay 20G"),
        ("strings cellar_7.dat", "noise WORD-amber-41 noise"),
        ("whoami", "root"),
        ("submit WORD-amber-41", "accepted"),
    )
    assert lesson is not None
    assert lesson.content == "First: `unzip -o vault.zip`; `strings cellar_7.dat`\n`submit WORD-amber-41`"


def test_what_was_done_in_silence_to_a_thing_that_is_used_later_mattered() -> None:
    lesson = way("Run the tool", ("chmod +x prober", ""), ("date", "Mon"), ("./prober --all", "ok"))
    assert lesson is not None
    assert lesson.content == "First: `chmod +x prober`\n`./prober --all`"


def test_another_try_at_the_same_is_no_step_of_the_way() -> None:
    lesson = way("Copy it", ("cp a.txt b", ""), ("cp -r a.txt b", ""), ("cp -p a.txt b", ""))
    assert lesson is not None
    assert lesson.content == "`cp -p a.txt b`"


def test_code_keeps_its_lines() -> None:
    code = "def twice(x):\n    return 2 * x"
    lesson = way(
        "Write a function that doubles a number", ("def twice(x):\n    return x", "1 of 3 passed"), (code, "ok")
    )
    assert lesson is not None
    assert lesson.content == code


def test_the_bare_word_that_ends_a_run_is_not_its_solution() -> None:
    lesson = way("How many riders?", ("SELECT count(*) FROM riders", "[(4,)]"), ("submit", ""))
    assert lesson is not None
    assert lesson.content == "`SELECT count(*) FROM riders`"


@pytest.mark.parametrize(
    "action",
    ["```sql\nSELECT 1 FROM t\n```", "Sure:\n```\nSELECT 1 FROM t\n```\nDone.", "Action: execute[SELECT 1 FROM t]"],
)
def test_what_the_format_puts_around_an_action_is_taken_off(action: str) -> None:
    lesson = way("Is there a t?", (action, "[(1,)]"))
    assert lesson is not None
    assert lesson.content == "`SELECT 1 FROM t`"


@pytest.mark.parametrize("outcome", [VerdictOutcome.FAILURE, VerdictOutcome.UNKNOWN])
def test_a_session_that_is_not_known_to_have_solved_its_task_leaves_no_way(outcome: VerdictOutcome) -> None:
    assert way("Count", ("wc -l f", "3"), verdict=Verdict(outcome=outcome, certainty=1.0), reward=None) is None


def test_the_check_that_proved_it_is_named() -> None:
    proved = Verdict(outcome=VerdictOutcome.SUCCESS, evidence="3 passed in 0.1s", certainty=0.9)
    steps = (("sed -i s/1/2/ app.cfg", ""), ("pytest -q tests", "...\n3 passed in 0.1s"))
    lesson = way("Raise the limit in app.cfg", *steps, verdict=proved, reward=None)
    assert lesson is not None
    assert lesson.content == "`sed -i s/1/2/ app.cfg`\nCheck: `pytest -q tests`"


def test_an_edit_that_no_line_can_tell_leaves_no_way() -> None:
    edit = "Edit(" + json.dumps({"file_path": "a.py", "new_string": "x = 1\n" * 60}) + ")"
    assert way("Mend a.py", (edit, "ok")) is None


CUSTOMER = (
    ("find_user({})", '{"first_name": "Mira", "last_name": "Quandt", "zip": "19122"}', "mira_quandt_4211"),
    ("get_order({})", '{"order_id": "#W2378156"}', '{"order_id": "#W2378156", "items": [{"item_id": "8310926033"}]}'),
    ("refund({})", '{"order_id": "#W2378156", "item_ids": ["8310926033"], "reason": "no longer needed"}', '{"status": "ok"}'),
)  # fmt: skip
TASK = "You are Mira Quandt in 19122 (mira.q@mail.example, 555-201-3344). Refund the lamp of your order #W2378156."


def customer(task: str = TASK, **changed: str) -> tuple[str, list[tuple[str, str]]]:
    steps = [(call.replace("{}", given), result) for call, given, result in CUSTOMER]
    for old, new in changed.items():
        value = {"name": "Mira", "surname": "Quandt", "order": "#W2378156", "item": "8310926033"}[old]
        task = task.replace(value, new)
        steps = [(action.replace(value, new), result.replace(value, new)) for action, result in steps]
    return task, steps


def test_calls_are_told_by_the_names_of_their_arguments_and_nothing_of_a_person_is_kept() -> None:
    task, steps = customer()
    lesson = way(task, *steps)
    assert lesson is not None
    text = f"{lesson.title} {lesson.description} {lesson.content}"
    for private in ("Mira", "Quandt", "19122", "mira.q", "555", "W2378156", "8310926033"):
        assert private not in text
    assert 'refund({"order_id": "{order_id}", "item_ids": {item_ids}, "reason": "no longer needed"})' in lesson.content
    assert 'get_order({"order_id": "{order_id}"})' in lesson.content


def test_the_same_way_for_another_customer_confirms_it(bank: ReasoningBank) -> None:
    for changed in ({}, {"name": "Tomas", "surname": "Ek", "order": "#W9911002", "item": "4410055021"}):
        task, steps = customer(**changed)
        bank.keep(made(task, *steps, namespace=bank.namespace))
        bank.distill()
    (found,) = bank.list(tags="solved")
    assert found.confidence.mean > 0.7


def test_the_same_task_again_gets_its_solution_and_facts_keep_their_place(bank: ReasoningBank) -> None:
    tables = ("SHOW TABLES", "[('riders',), ('teams',)]")
    columns = ("DESCRIBE riders", "[('rider_id', 'int', 'NO'), ('full_name', 'text', 'NO')]")
    towns = (
        "Delft",
        "Leiden",
        "Gouda",
        "Breda",
        "Venlo",
        "Assen",
        "Sneek",
        "Tiel",
        "Weert",
        "Hoorn",
        "Emmen",
        "Zwolle",
    )
    for town in towns:
        query = (f"SELECT count(*) FROM riders WHERE town = '{town}'", "[(3,)]")
        bank.keep(made(f"How many riders come from {town}?", tables, columns, query, namespace=bank.namespace))
    bank.distill()
    assert len(bank.list(tags="solved", limit=50)) == len(towns)
    shown = bank.inject("How many riders come from Venlo?")
    assert "SELECT count(*) FROM riders WHERE town = 'Venlo'" in shown
    assert "riders: rider_id, full_name" in shown
    assert shown.count("[SOLVED BEFORE]") == 1


def test_who_asks_for_solutions_gets_all_that_fit(bank: ReasoningBank) -> None:
    for town in ("Delft", "Leiden", "Gouda"):
        bank.keep(made(f"How many riders come from {town}?", (f"grep -c {town} riders", "3"), namespace=bank.namespace))
    bank.distill()
    assert len(bank.search("How many riders come from Delft?", tags=["solved"], floor=0.0).memories) == 3
    assert len([hit for hit in bank.search("How many riders come from Delft?").memories if "solved" in hit.tags]) == 1


def test_a_shorter_solution_of_the_same_task_takes_the_place_of_the_longer(bank: ReasoningBank) -> None:
    for action in ("find . -name x -print | cat | cat", "find . -name x"):
        bank.keep(made("Find x", (action, "./x"), namespace=bank.namespace))
        bank.distill()
    (found,) = bank.list(tags="solved")
    assert found.content == "`find . -name x`"
