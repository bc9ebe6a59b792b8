"""Red, edit, green: what was wrong with the code and what put it right, where that holds on another day; else nothing."""

from __future__ import annotations

import json

import pytest

from reasoningbank.core.learning import Episode, EpisodeStep, Lesson, Verdict, VerdictOutcome
from reasoningbank.learn.offline.distiller import OfflineDistiller

FAILED = "\n1 failed in 0.03s"


def ran(command: str, output: str = "3 passed in 0.03s", *, ok: bool = True) -> EpisodeStep:
    return EpisodeStep(action=command, result=output, ok=ok, metadata={"tool": "Bash", "goal": "Run the tests"})


def edited(path: str, old: str, new: str) -> EpisodeStep:
    given = {"replace_all": False, "file_path": f"/home/me/repo/{path}", "old_string": old, "new_string": new}
    return EpisodeStep(action=f"Edit({json.dumps(given)})", result="updated", ok=True, metadata={"tool": "Edit"})


def patched(path: str, old: str, new: str) -> EpisodeStep:
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    patch = "\n".join(["*** Begin Patch", f"*** Update File: {path}", "@@", *lines, "*** End Patch"])
    return EpisodeStep(action=f"apply_patch({patch})", result="Success.", ok=True, metadata={"tool": "apply_patch"})


def written(path: str, text: str) -> EpisodeStep:
    given = {"file_path": f"/home/me/repo/{path}", "content": text}
    return EpisodeStep(action=f"Write({json.dumps(given)})", result="created", ok=True, metadata={"tool": "Write"})


def taught(*steps: EpisodeStep) -> list[Lesson]:
    episode = Episode(task="work on the shop", namespace="n", steps=steps)
    return list(OfflineDistiller().distill(episode, Verdict(outcome=VerdictOutcome.SUCCESS)))


CAUSES = {
    "a key that may be missing": (
        "E       KeyError: 'user'",
        edited("src/load.py", '    user = payload["user"]', '    user = payload.get("user", {})'),
        '.get("user", {}) instead of ["user"] in src/load.py',
    ),
    "where a thing is imported from": (
        "E   ModuleNotFoundError: No module named 'shop.prices'",
        edited("tests/test_p.py", "from shop.prices import load", "from shop.core.prices import load"),
        "from shop.core.prices import load instead of from shop.prices import load in tests/test_p.py",
    ),
    "what an interface is called": (
        "E   AttributeError: 'Settings' object has no attribute 'json_dict'",
        patched("src/view.py", "    return s.json_dict()", '    return s.model_dump(mode="json")'),
        'model_dump(mode="json") instead of json_dict() in src/view.py',
    ),
    "a fixture by its name here": (
        "E       fixture 'db' not found",
        edited("tests/test_r.py", "def test_save(db):\n    Repo(db)", "def test_save(db_session):\n    Repo(db_session)"),
        "db_session instead of db in tests/test_r.py",
    ),
    "a mark that a test needs": (
        'E   RuntimeError: Database access not allowed, use the "django_db" mark, or the "db" fixture to enable it.',
        edited("tests/test_o.py", "def test_o():\n    pass", "@pytest.mark.django_db\ndef test_o():\n    pass"),
        "add @pytest.mark.django_db in tests/test_o.py",
    ),
    "a setting": (
        "E   Failed: async def functions are not natively supported.",
        patched("pyproject.toml", "[tool.pytest.ini_options]", '[tool.pytest.ini_options]\nasyncio_mode = "auto"'),
        'add asyncio_mode = "auto" in pyproject.toml',
    ),
    "an import that is missing": (
        "[ERROR] /app/Cart.java:[12,9] cannot find symbol\n[ERROR]   symbol:   class Money",
        edited("shop/Cart.java", "package shop;", "package shop;\n\nimport com.acme.money.Money;"),
        "add import com.acme.money.Money; in shop/Cart.java",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CAUSES)
def test_what_was_wrong_with_the_code_and_what_put_it_right_is_taught(case: str) -> None:
    error, edit, change = CAUSES[case]
    [lesson] = taught(ran("pytest -q 2>&1 | tail -5", error + FAILED, ok=False), edit, ran("pytest -q"))
    trouble = lesson.metadata["trouble"]
    assert trouble["change"] == change
    assert trouble["program"] == "pytest"
    assert trouble["goal"] == "Run the tests"
    assert not trouble["action"], "the command was right, and is not to be warned of"
    assert "First Edit" not in lesson.title


NOTHING = {
    "a wrong sum": ("E       assert 2 == 3", edited("src/a.py", "    return a - b", "    return a + b")),
    "a function that a test asked for": (
        "E   ImportError: cannot import name 'total' from 'shop.cart'",
        edited("shop/cart.py", "class Cart:\n    pass", "class Cart:\n    pass\n\n\ndef total(items):\n    return sum(items)"),
    ),
    "a module that a test asked for": ("E   ModuleNotFoundError: No module named 'shop.tax'", written("shop/tax.py", "RATE = 1")),
    "a type": ("src/a.ts(1,5): error TS2322: Type 'string' is not assignable to type 'number'.",
               edited("src/a.ts", "const n: number = '1';", "const n: number = 1;")),
    "a name mistyped": ("./main.go:12:10: undefined: http.MethodGett",
                        edited("main.go", "r.Method != http.MethodGett", "r.Method != http.MethodGet")),
    "a test that is skipped": ("E   KeyError: 'user'",
                               edited("tests/test_a.py", "def test_a():", "@pytest.mark.skip\ndef test_a():")),
    "a test that is expected to fail": ("E   KeyError: 'user'",
                                        edited("tests/test_a.py", "def test_a():", "@pytest.mark.xfail\ndef test_a():")),
    "a test of jest that is skipped": ("TypeError: Cannot read properties of undefined (reading 'map')",
                                       edited("a.test.ts", "it('maps', () => {", "it.skip('maps', () => {")),
    "an assertion commented out": ("E   KeyError: 'user'",
                                   edited("tests/test_a.py", "    assert load()['user']", "    # assert load()['user']")),
    "a type checker silenced": ('src/a.py:1: error: Module has no attribute "foo"  [attr-defined]',
                                edited("src/a.py", "x = m.foo", "x = m.foo  # type: ignore")),
    "lines that were only set in": (
        "E   ImportError: cannot import name 'Cart' from partially initialized module 'shop.cart'",
        edited("shop/o.py", "from shop.cart import Cart", "if TYPE_CHECKING:\n    from shop.cart import Cart"),
    ),
    "a dependency that is written down now": (
        "/app/C.java:7: error: package com.google.common.collect does not exist",
        edited("build.gradle", "dependencies {", "dependencies {\n    implementation 'com.google.guava:guava:33.0.0'"),
    ),
    "an edit about something else": ("E   KeyError: 'user'", edited("src/b.py", "LIMIT = 1", "LIMIT = 2")),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTHING)
def test_a_bug_of_that_day_and_a_check_that_was_silenced_teach_nothing_and_say_why(case: str) -> None:
    error, edit = NOTHING[case]
    steps = (ran("pytest -q", error + FAILED, ok=False), edit, ran("pytest -q"))
    assert taught(*steps) == []
    [reason, *_] = OfflineDistiller().left_out(Episode(task="t", namespace="n", steps=steps))
    assert reason.why


def test_each_failure_on_the_way_is_mended_by_the_edits_after_it() -> None:
    [lesson] = taught(
        ran("pytest", "E   ModuleNotFoundError: No module named 'shop.prices'" + FAILED, ok=False),
        edited("tests/t.py", "from shop.prices import load", "from shop.core.prices import load"),
        ran("pytest", "E       assert 2 == 3" + FAILED, ok=False),
        edited("shop/core/prices.py", "    return 2", "    return 3"),
        ran("pytest"),
    )
    assert "shop.core.prices" in lesson.content
    assert "return 3" not in lesson.content


def test_a_check_that_never_passed_teaches_nothing() -> None:
    error = "E   ModuleNotFoundError: No module named 'shop.prices'" + FAILED
    edit = edited("tests/t.py", "from shop.prices import load", "from shop.core.prices import load")
    assert taught(ran("pytest", error, ok=False), edit, ran("pytest", "E   assert 1 == 2" + FAILED, ok=False)) == []


def test_what_was_taught_of_the_code_is_told_when_the_error_comes_again_and_not_before() -> None:
    error, edit, _ = CAUSES["a key that may be missing"]
    [lesson] = taught(ran("pytest -q", error + FAILED, ok=False), edit, ran("pytest -q"))
    assert lesson.metadata["trouble"]["names"] == ["user"]
    assert lesson.metadata["trouble"]["signature"] == "keyerror: _"


def test_a_session_that_taught_nothing_says_why_for_each_candidate(bank) -> None:
    error, edit = NOTHING["a wrong sum"]
    steps = (ran("pytest -q", error + FAILED, ok=False), edit, ran("pytest -q", "ok"))
    bank.keep(Episode(task="mend the sum", namespace="n", steps=steps, outcome="failure"))
    [attempt] = bank.distill().attempts
    assert [reason.why for reason in attempt.left_out] == ["a bug that was mended once"]
    [queued] = bank.jobs.list()
    assert queued.job.metadata["left_out"][0]["why"] == "a bug that was mended once"
