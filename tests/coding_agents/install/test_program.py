"""How a command is written down for a shell, and known again."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from reasoningbank_coding_agents.install.program import Program, is_ours, program_in


def test_a_path_with_spaces_reaches_the_program_as_one_word():
    program = Program(words=("/opt/my tools/$x/reasoningbank",), options=("--bank", "/data/it's.db"))
    assert shlex.split(program.line("hook", "codex")) == [*program.words, *program.options, "hook", "codex"]


def test_on_windows_slashes_and_double_quotes_are_used():
    program = Program(words=("C:\\Program Files\\py\\reasoningbank.exe",), windows=True)
    assert program.line("hook", "codex") == '"C:/Program Files/py/reasoningbank.exe" hook codex'


def test_without_a_script_the_module_is_started(tmp_path):
    assert program_in(tmp_path, "/usr/bin/python3", windows=False).words == ("/usr/bin/python3", "-m", "reasoningbank")
    (tmp_path / "reasoningbank").touch()
    assert program_in(tmp_path, "python3", windows=False).words == (str(tmp_path / "reasoningbank"),)


@pytest.mark.parametrize(
    "line",
    [
        "reasoningbank hook codex",
        "/opt/v/bin/reasoningbank hook claude-code",
        "'/opt/my v/reasoningbank' hook cursor --event stop",
        '"C:/Program Files/py/reasoningbank.exe" hook codex',
        "/usr/bin/python3 -m reasoningbank --bank /tmp/x.db hook codex",
        "/opt/rbank --bank '/tmp/x y.db' hook codex",
    ],
)
def test_our_own_calls_are_known_from_wherever_they_were_installed(line):
    assert is_ours(line)


@pytest.mark.parametrize(
    "line", ["echo hook", "hook reasoningbank", "notreasoningbank hook x", "reasoningbank store a b", None, 3, ""]
)
def test_calls_of_others_are_not(line):
    assert not is_ours(line)


def test_a_line_that_is_written_is_known_again():
    for words in (("/a b/reasoningbank",), ("python", "-m", "reasoningbank")):
        assert is_ours(Program(words=words, options=("--bank", str(Path("/x y/b.db")))).line("hook", "codex"))
