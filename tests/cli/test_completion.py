from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

import pytest

from reasoningbank.cli.completion_scripts import script
from reasoningbank.cli.table import COMMANDS


def bash_offers(*words: str) -> list[str]:
    """What bash itself would offer after these words, the last one being typed."""
    return bash_offers_for([words])[0]


def bash_offers_for(typed: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """The same for each of several lines, by one bash."""
    asked = [script("bash"), "complete -p reasoningbank >/dev/null && complete -p rbank >/dev/null || exit 9"]
    for words in typed:
        line = " ".join(words)
        quoted = " ".join(f"'{word}'" for word in words)
        asked += [
            f"COMPREPLY=(); COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}",
            "_reasoningbank",
            "echo ${COMPREPLY[@]}",
        ]
    program = ["bash", "--norc", "-c", "\n".join(asked)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=300)
    assert done.stderr == ""
    return [line.split() for line in done.stdout.splitlines()]


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@needs_bash
def test_bash_offers_commands_options_and_values():
    expected = {
        ("reasoningbank", "que"): ["query"],
        ("reasoningbank", "--json", "--bank", "x", "que"): ["query"],
        ("rbank", "session", ""): ["start", "step", "end", "show", "list"],
        ("reasoningbank", "session", "st"): ["start", "step"],
        ("reasoningbank", "query", "--pro"): ["--profile"],
        ("reasoningbank", "query", "text", "--profile", ""): ["balanced", "four-factor", "semantic", "boosted"],
        ("reasoningbank", "store", "k", "v", "--outcome", "f"): ["failure"],
        ("reasoningbank", "outcome", "mem_1", "s"): ["success", "survived"],
        ("reasoningbank", "session", "end", "trj_1", "u"): ["unknown"],
        ("reasoningbank", "completion", ""): [
            "bash", "zsh", "fish", "--bank", "--index", "--namespace", "--domain", "--config", "--json", "--help",
        ],
    }  # fmt: skip
    typed = [*expected, ("reasoningbank", ""), ("reasoningbank", "help", "q")]
    *offered, first, helped = bash_offers_for(typed)
    assert dict(zip(expected, offered, strict=True)) == expected
    assert set(first) >= {name.partition(" ")[0] for name in COMMANDS}
    assert "query" in helped


@needs_bash
def test_bash_offers_every_option_of_every_command(rb):
    typed = [("reasoningbank", *name.split(), "--") for name in COMMANDS]
    for name, offered in zip(COMMANDS, bash_offers_for(typed), strict=True):
        shown = rb("help", *name.split()).out
        assert offered, name
        assert all(option in shown for option in offered), name


@needs_bash
def test_bash_offers_files_for_the_bank(tmp_path, monkeypatch):
    (tmp_path / "work" / "my.db").touch()
    assert bash_offers("reasoningbank", "list", "--bank", "m") == ["my.db"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_name_every_command(rb, shell):
    result = rb("completion", shell)
    assert result.code == 0
    for name in COMMANDS:
        assert name.split()[-1] in result.out
    assert rb("completion", shell, "--json").json["script"] == result.out
    program = shutil.which(shell)
    if program is not None:
        flag = "--no-execute" if shell == "fish" else "-n"
        subprocess.run([program, flag], input=result.out, text=True, check=True, timeout=300)


def test_other_shells_are_refused(rb):
    assert rb("completion", "tcsh").code == 2
