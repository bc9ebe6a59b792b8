"""Without a model: what traces of many kinds teach, and what they must not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.learning import (
    LONGEST_LESSON_CONTENT_CHARS,
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    MOST_LESSONS,
    Episode,
    EpisodeStep,
    Lesson,
    Verdict,
    VerdictOutcome,
)
from reasoningbank.core.types import Outcome
from reasoningbank.learn.offline.distiller import OfflineDistiller
from reasoningbank.learn.offline.spelling import plain_steps
from reasoningbank.learn.offline.wishes import wishes_in
from reasoningbank.learn.store_lessons import validate

Steps = Sequence[tuple[str, str]]


def lessons(steps: Steps, *, finding: VerdictOutcome = VerdictOutcome.UNKNOWN) -> list[Lesson]:
    episode = Episode(
        task="do the work",
        namespace="n",
        steps=tuple(EpisodeStep(action=action, result=result) for action, result in steps),
    )
    return list(OfflineDistiller().distill(episode, Verdict(outcome=finding)))


def of_kind(found: Sequence[Lesson], kind: str) -> list[Lesson]:
    return [lesson for lesson in found if lesson.kind == kind]


# ---------------------------------------------------------------- facts

PLACES: dict[str, tuple[Steps, list[str]]] = {
    "rows of a database": (
        [
            ("SELECT name FROM players", "Error: Table 'poker.players' doesn't exist"),
            ("SHOW TABLES", "[('people',), ('poker_player',)]"),
            ("DESCRIBE people", "[('People_ID', b'int', 'NO', 'PRI', None), ('Name', b'text', 'YES', '', None)]"),
            ("SELECT Name FROM people", "[('Teodor',), ('Maksim',)]"),
        ],
        ["In poker:", "people: People_ID, Name", "also here: poker_player"],
    ),
    "a definition": (
        [
            (
                ".schema t",
                "CREATE TABLE t (\n id INTEGER PRIMARY KEY,\n full_name TEXT,\n FOREIGN KEY(id) REFERENCES x(id))",
            )
        ],
        ["t: id, full_name"],
    ),
    "a drawn table": (
        [("\\d users", " Column | Type | Nullable\n--------+------+------\n id | integer | not null\n email | text |")],
        ["users: id, email"],
    ),
    "files": (
        [("ls", "src\ntests\nMakefile"), ("ls src", "app.py\ndb.py"), ("cat src/app.py", "import db")],
        ["src: app.py, db.py", "also here: tests, Makefile"],
    ),
    "columns of a frame": (
        [
            ("print(df['revenue'])", "KeyError: 'revenue'"),
            ("print(list(df.columns))", "['date', 'amount']"),
            ("print(df['amount'])", "0    1\n1    2"),
        ],
        ["df: date, amount"],
    ),
    "flags": (
        [
            ("tool --help", "Usage: tool\n  -v, --verbose  more\n  --dry-run  nothing\n  --out FILE"),
            ("tool --dry-run", "ok"),
        ],
        ["tool: --verbose, --dry-run, --out"],
    ),
    "a version": ([("pip show numpy", "Name: numpy\nVersion: 1.26.4\nSummary: x")], ["numpy: version 1.26.4"]),
    "fields of a service's answers that code has to name": (
        [
            ('get_order({"id": "7"})', '{"order_id": "7", "items": [], "status": "pending"}'),
            ("""python -c "print(get_order(id=7)['status'])" """, "pending"),
        ],
        ["get_order: order_id, items, status"],
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_what_an_inspection_lists_is_a_fact(case: str) -> None:
    steps, lines = PLACES[case]
    (fact,) = of_kind(lessons(steps), "fact")
    assert fact.content.splitlines() == lines
    assert fact.evidence
    assert fact.outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    "steps",
    [
        [("SELECT * FROM singer", "[(1, 'Joe', 'France'), (2, 'Ann', 'NL')]")],
        [("cat notes.txt", "buy\nmilk")],
        [('get_order({"id": "7"})', '{"order_id": "7", "status": "sent"}'), ('track({"order_id": "7"})', "near you")],
        [("echo hello", "hello")],
    ],
)
def test_values_that_were_asked_for_are_no_facts(steps: Steps) -> None:
    assert not of_kind(lessons(steps), "fact")


def test_a_wrong_name_is_told_by_the_facts_and_by_nothing_else() -> None:
    steps, _ = PLACES["rows of a database"]
    found = lessons(steps, finding=VerdictOutcome.FAILURE)
    assert [lesson.kind for lesson in found] == ["fact"]
    assert "Table 'poker.players' doesn't exist" in found[0].description


# ---------------------------------------------------------------- fixes


@pytest.mark.parametrize(
    ("steps", "change"),
    [
        (
            [("git push", "fatal: The current branch x has no upstream branch."), ("git push -u origin x", "done")],
            "add `-u origin x`",
        ),
        (
            [("rg --hidden-files a", "error: unexpected argument '--hidden-files' found"), ("rg --hidden a", "f:a")],
            "`--hidden` instead of `--hidden-files`",
        ),
        (
            [("make test", "make: *** No rule to make target 'test'."), ("make help", "check"), ("make check", "ok")],
            "`check` instead of `test`",
        ),
        (
            [("pytest t", "bash: pytest: command not found"), ("uv run pytest t", "3 passed")],
            "add `uv run`",
        ),
        (
            [('book({"date": "1 May"})', "Error: no such date"), ('book({"date": "2026-05-01"})', '"ok"')],
            "`date` like `2026-05-01`, not `1 May`",
        ),
    ],
)
def test_what_changed_between_a_failure_and_a_success_is_a_fix(steps: Steps, change: str) -> None:
    (fix,) = of_kind(lessons(steps), "fix")
    assert fix.content.endswith(f"The change: {change}")
    assert "fails with" in fix.description


def test_what_made_the_same_action_work_is_a_remedy() -> None:
    steps = [
        ("python app.py", "Traceback (most recent call last):\nModuleNotFoundError: No module named 'requests'"),
        ("ls", "app.py"),
        ("pip install requests", "Successfully installed requests-2.32"),
        ("python app.py", "ok"),
    ]
    (remedy,) = of_kind(lessons(steps), "fix")
    assert remedy.content.endswith("It worked after: `pip install requests`")


def test_another_value_of_the_same_shape_teaches_nothing() -> None:
    steps = [('get_user({"zip": "98186"})', "Error: user not found"), ('get_user({"zip": "98187"})', '"ann"')]
    assert not of_kind(lessons(steps), "fix")


def test_a_quite_different_action_is_no_fix() -> None:
    steps = [("SELECT a FROM b", "Error: syntax"), ("DROP DATABASE production CASCADE NOW", "ok")]
    assert not lessons(steps)


# ---------------------------------------------------------------- warnings


def test_a_failure_that_comes_again_is_a_warning_with_the_way_that_worked() -> None:
    steps = [
        ('click("Forums")', "Error: element not visible"),
        ('click("Forums")', "Error: element not visible"),
        ("scroll(down)", "ok"),
        ('open("Forums")', "12 threads"),
    ]
    (warning,) = lessons(steps, finding=VerdictOutcome.FAILURE)
    assert warning.outcome is Outcome.FAILURE
    assert 'Do this instead: `open("Forums")` worked next.' in warning.content


@pytest.mark.parametrize("after", [[], [("scroll(down)", "ok")], [("ls", "src\ntests")]])
def test_nobody_is_warned_who_cannot_be_told_what_to_do_instead(after: Steps) -> None:
    failed = [("SELECT a FROM b", "Error: server has gone away")] * 4
    assert not lessons([*failed, *after], finding=VerdictOutcome.FAILURE)


def test_a_session_that_went_well_warns_of_nothing() -> None:
    steps = [("click(a)", "Error: not visible"), ("click(b)", "Error: not visible"), ("scroll()", "ok")]
    assert not of_kind(lessons(steps, finding=VerdictOutcome.SUCCESS), "warning")


# ---------------------------------------------------------------- in all


def test_runs_of_one_task_are_compared_with_those_that_went_well_first() -> None:
    good = Episode(task="t", namespace="n", steps=(EpisodeStep(action="git push", result="fatal: no upstream"),
                                                   EpisodeStep(action="git push -u o x", result="ok")))  # fmt: skip
    hidden = EpisodeStep(action="click(a)", result="Error: a is hidden")
    bad = Episode(task="t", namespace="n", steps=(hidden, hidden, EpisodeStep(action="open(a)", result="page a")))
    found = OfflineDistiller().contrast(
        [(bad, Verdict(outcome=VerdictOutcome.FAILURE)), (good, Verdict(outcome=VerdictOutcome.SUCCESS))]
    )
    assert [lesson.kind for lesson in found] == ["fix", "warning"]


def test_a_session_without_anything_to_learn_teaches_nothing() -> None:
    assert lessons([]) == []
    assert lessons([("echo hi", "hi"), ("", "")]) == []


nasty = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["[('a',), ('b',)]", "{" * 500, "[" * 5000, "Error: '" + "x" * 3000, "\x00\ud800\x1b[31mred", "a: b\n" * 200,
         "-rw-r--r-- 1 a b 5 Jan 1 10:00 f", "CREATE TABLE t (" + "a int, " * 500 + ")", "| a | b |\n|---|---|\n| x | y |"]
    ),
)  # fmt: skip


@given(
    st.lists(st.tuples(nasty, nasty), max_size=8), st.lists(nasty, max_size=4), st.sampled_from(list(VerdictOutcome))
)
def test_every_lesson_keeps_the_limits_whatever_the_trace(
    steps: list[tuple[str, str]], said: list[str], finding: VerdictOutcome
) -> None:
    found = lessons(steps, finding=finding)
    assert len(found) <= MOST_LESSONS
    messages = tuple({"role": "user", "content": f"Never {words}"} for words in said)
    wishes = wishes_in(Episode(task="do the work", namespace="n", messages=messages))
    for lesson in (*found, *wishes):
        assert 0 < len(lesson.title) <= LONGEST_LESSON_TITLE_CHARS
        assert len(lesson.description) <= LONGEST_LESSON_DESCRIPTION_CHARS
        assert 0 < len(lesson.content) <= LONGEST_LESSON_CONTENT_CHARS
    validate(found, MOST_LESSONS, "offline")


@pytest.mark.parametrize("result", ["a" * 2_000_000, "Error: " + "'" * 200_000, "x: y\n" * 100_000, "/" * 100_000])
def test_a_huge_result_is_read_quickly(result: str) -> None:
    assert len(lessons([("cat f", result), ("cat g", result)])) <= MOST_LESSONS


def test_a_very_long_session_is_read_in_one_go() -> None:
    listing = "\n".join(f"file_{n}.py" for n in range(150))
    steps = [(f"ls dir_{n}", listing.replace("file", f"f{n}")) for n in range(300)]
    steps += [(f"cat dir_{n}/f{n}_1.py", "x = 1") for n in range(300)]
    steps += [(f"make t{n}", "error: no such target") for n in range(300)]
    assert of_kind(lessons(steps), "fact")


@pytest.mark.parametrize(
    "said",
    [
        "Test case did not pass.",
        "Nothing happens.",
        "You are in the middle of a room",
        "Oslo is a city in Norway",
        "The flag is hidden somewhere",
        "ELF executable not stripped",
        "Hello, world",
        "Title: Night Train\nPlot: A man walks home along the river and meets the girl whom he lost in the war\nEnd: too easy",
    ],
)
def test_a_sentence_is_no_list_of_names_though_later_actions_use_its_words(said: str) -> None:
    later = [(f"look {word}", "nothing") for word in said.split()]
    assert not of_kind(lessons([("look", said), ('read({"page": 1})', said), *later]), "fact")


@pytest.mark.parametrize(
    "listed",
    ["dir1 hello.c run_all.sh", "notes  plans  drafts", "notes, plans, drafts", "notes\nplans", "['notes', 'plans']"],
)
def test_names_that_are_set_apart_are_a_list(listed: str) -> None:
    used = [("cat hello.c", "int main"), ("cat notes", "x")]
    assert of_kind(lessons([("ls", listed), *used]), "fact")


@pytest.mark.parametrize(
    "steps",
    [
        (
            ("Analyze user requirements", "Identified need for JWT auth"),
            ("Design authentication flow", "Access token + refresh token pattern"),
            ("Implement token generation", "Successfully created JWT service"),
        ),
        (
            ("Design authentication", "Chose JWT pattern"),
            ("Add refresh rotation", "Implemented rotation logic, then tests, then docs"),
            ("Deploy to production", "Success - no issues"),
        ),
    ],
)
def test_what_somebody_tells_in_sentences_is_no_list_of_names(steps) -> None:
    told = tuple(EpisodeStep(action=action, result=result) for action, result in steps)
    episode = Episode(task="build the login", namespace="n", steps=told, outcome="success")
    assert list(OfflineDistiller().distill(episode, Verdict(outcome=VerdictOutcome.SUCCESS))) == []


def test_what_worked_and_was_only_run_again_later_is_still_the_fix(bank) -> None:
    edit = 'Edit({"file_path": "lib/parse.ts", "old_string": "s.split()", "new_string": "(s || []).split()"})'
    steps = (
        EpisodeStep(action="npm test", result='npm error Missing script: "test"', ok=False),
        EpisodeStep(action="npm run test:unit", result="Tests: 12 passed", ok=True),
        EpisodeStep(action="npm run test:unit", result="TypeError: s is undefined\nTests: 1 failed", ok=False),
        EpisodeStep(action=edit, result="updated", ok=True),
        EpisodeStep(action="npm run test:unit", result="Tests: 12 passed", ok=True),
    )
    bank.keep(Episode(task="run the tests", namespace="n", steps=steps, outcome="success"))
    bank.distill()
    assert any("`npm run test:unit` instead of `npm test`" in item.content for item in bank.list())


def test_a_program_under_its_newer_name_is_a_fix(bank) -> None:
    steps = (
        EpisodeStep(action="docker-compose up -d", result="zsh: command not found: docker-compose", ok=False),
        EpisodeStep(action="docker compose up -d", result="Started", ok=True),
    )
    bank.keep(Episode(task="start the services", namespace="n", steps=steps, outcome="success"))
    bank.distill()
    assert any("`docker compose` instead of `docker-compose`" in item.content for item in bank.list())


@pytest.mark.parametrize("written", ['get_order {"id": "7"}', 'get_order({"id": "7"})'])
def test_a_call_is_read_as_one_however_it_was_written(written: str) -> None:
    (step,) = plain_steps([EpisodeStep(action=written)])
    assert step.action == 'get_order({"id": "7"})'


def test_a_command_in_a_call_is_that_command() -> None:
    steps = [EpisodeStep(action='bash {"command": "ls -l", "timeout": 5}'), EpisodeStep(action="awk {print} notes.txt")]
    assert [step.action for step in plain_steps(steps)] == ["ls -l", "awk {print} notes.txt"]
