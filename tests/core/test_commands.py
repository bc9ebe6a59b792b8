"""Shell lines taken apart: the same command is known again, however it was called."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.commands import commands_in, plain_command
from reasoningbank.core.program_names import program_of

SAME = "pytest -q tests/parser"


@pytest.mark.parametrize(
    "line",
    [
        SAME,
        "pytest  -q   tests/parser",
        "pytest -q 'tests/parser'",
        'pytest -q "tests/parser"',
        "pytest -q tests/parser 2>&1",
        "pytest -q tests/parser 2>&1 | tail -5",
        "pytest -q tests/parser | tee out.txt",
        "pytest -q tests/parser > out.txt 2> err.txt",
        "pytest -q tests/parser &> /dev/null",
        "cd app && pytest -q tests/parser",
        "cd app; pytest -q tests/parser",
        "(cd app && pytest -q tests/parser)",
        "FOO=1 pytest -q tests/parser",
        "FOO='a b' BAR=2 pytest -q tests/parser",
        "env FOO=1 pytest -q tests/parser",
        "export FOO=1 && pytest -q tests/parser",
        "timeout 60 pytest -q tests/parser",
        "timeout -k 5 60s pytest -q tests/parser",
        "time pytest -q tests/parser",
        "sudo -E pytest -q tests/parser",
        "sudo -u postgres pytest -q tests/parser",
        "nice -n 10 pytest -q tests/parser",
        'bash -lc "cd app && pytest -q tests/parser"',
        "/bin/bash -c 'pytest -q tests/parser'",
        "pytest -q tests/parser; echo $?",
        "pytest -q tests/parser || true",
        "set -e\npytest -q tests/parser",
        "# the tests\npytest -q tests/parser",
        "pytest -q \\\n  tests/parser",
    ],
)
def test_what_stands_around_a_command_does_not_change_it(line: str) -> None:
    assert plain_command(line) == SAME


def test_what_stood_around_a_command_is_kept_beside_it() -> None:
    [command] = commands_in("cd app && DB=x sudo -E pytest")
    assert command.words == ("pytest",)
    assert command.around == {"cd app", "DB=", "sudo"}


def test_several_commands_are_several() -> None:
    assert [one.words for one in commands_in("make build && make test; git push")] == [
        ("make", "build"),
        ("make", "test"),
        ("git", "push"),
    ]
    assert [one.words for one in commands_in("cd app")] == [("cd", "app")]
    assert [one.words for one in commands_in("python - <<'EOF'\nimport os; print(1)\nEOF\nls")] == [
        ("python", "-"),
        ("ls",),
    ]


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("python run_tests.py --db sqlite", "run_tests.py"),
        ("cd x && python3 -m pytest -k a", "pytest"),
        ("uv run --extra dev pytest", "pytest"),
        ("npx tsc --noEmit", "tsc"),
        ("npm run build -- --fast", "npm run build"),
        ("docker compose -f a.yml up", "docker compose"),
        ("git push -u origin x", "git push"),
        ("./gradlew test", "gradlew test"),
        ("/usr/bin/make -j4 all", "make all"),
        ("bundle exec rspec spec", "rspec"),
        ("python -c 'print(1)'", "python"),
        ("", ""),
    ],
)
def test_a_program_is_named_as_a_person_would(line: str, program: str) -> None:
    assert program_of(line) == program


@given(st.text(alphabet="ab'\"\\$(){}|&;<>=- \n#`", max_size=60))
def test_any_line_is_taken_apart(line: str) -> None:
    for command in commands_in(line):
        assert command.words
    program_of(line)


def test_a_strange_line_costs_about_as_much_as_a_plain_one() -> None:
    def cost(line: str) -> float:
        began = time.process_time()
        commands_in(line)
        return time.process_time() - began

    words = min(cost(str(n) + "word " * 1_600) for n in range(5))
    for strange in ("'", '"', "$(", "<<A\n", "\\", ">", "\t  ", "a='"):
        assert min(cost(str(n) + strange * (8_000 // len(strange))) for n in range(3)) < 40 * words
