"""The line that says what went wrong, in outputs of the tools that coding agents run (`error_outputs.txt`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from reasoningbank.learn.offline.error_line import error_line
from reasoningbank.learn.offline.failure_kind import kind, message, reads_as_failure


def outputs() -> dict[str, tuple[list[str], str]]:
    """By name: what may be found in it, and the output. Escapes are written as `\\e`."""
    text = (Path(__file__).parent / "error_outputs.txt").read_text("utf-8").replace("\\e", "\x1b")
    found = {}
    for block in text.removeprefix("### ").split("\n### "):
        header, _, output = block.partition("\n")
        name, _, wanted = header.partition(" => ")
        found[name] = ([" ".join(one.split()) for one in wanted.split(" | ")], output)
    return found


OUTPUTS = outputs()


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_line_that_says_what_went_wrong_is_found(name: str) -> None:
    wanted, output = OUTPUTS[name]
    line = error_line(output)
    assert any(one.casefold() in line.casefold() for one in wanted), line
    assert len(line) <= 300
    assert "\x1b" not in line


def test_the_same_line_is_found_with_colours_times_and_a_bare_code_around_it() -> None:
    plain = "src/a.ts(1,5): error TS2322: Type 'string' is not assignable to type 'number'."
    dressed = f"Exit code 2\n2026-11-16T09:00:00.123Z \x1b[31m{plain}\x1b[0m\nFound 1 error."
    assert message(dressed) == message(plain) == "TS2322: Type 'string' is not assignable to type 'number'."
    assert kind(message(dressed)) == kind(message(plain))


def test_a_long_output_is_read_at_both_ends() -> None:
    noise = "compiling module of no interest\n" * 5_000
    assert error_line(f"{noise}ConfigError: DATABASE_URL is not set\n") == "ConfigError: DATABASE_URL is not set"
    assert reads_as_failure(f"{noise}npm error Missing script: tests\n")


@pytest.mark.parametrize(
    "output",
    [
        "=== 1 failed, 3 passed in 0.04s ===",
        "ok\nTests:       1 failed, 2 passed, 3 total\nTime: 1 s",
        "x\nFAIL\tshop/cart\t0.1s",
    ],
)
def test_a_count_of_failures_is_a_failure_without_an_exit_code(output: str) -> None:
    assert reads_as_failure("collected 4 items\nrunning\nmore\nand more\n" + output)


def test_a_count_without_failures_is_none() -> None:
    assert not reads_as_failure("collected 4 items\n\n\na\nb\nc\n=== 4 passed in 0.04s ===")
    assert not reads_as_failure("a\nb\nc\nd\ne\nTests:       0 failed, 3 passed, 3 total")
