"""The core without a plugin, and without any: it works, and says of what is missing that it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reasoningbank.plugins import Plugin, plugins
from scripts.without import PLUGINS, make_without

GROUPS = (
    "backlogs", "checks", "commands", "exports", "indexes", "routes", "servers", "services", "short_ways", "stores",
)  # fmt: skip
LIFE = """
import sys
from reasoningbank.cli.main import main
for words in (
    ["store", "retry", "Retry a GET that timed out"], ["query", "the GET timed out"], ["list"], ["status"],
    ["session", "start", "try it"], ["distill"], ["consolidate", "--dry-run"], ["export", "-"], ["help"], ["doctor"],
):
    if main(words):
        sys.exit(f"{words} failed")
print(*sorted(name for name in sys.modules if name.startswith("reasoningbank_")), file=sys.stderr)
"""
OF_PLUGINS = {
    "bus": ["bus", "id"],
    "coding_agents": ["install", "codex"],
    "milvus": ["--index", "milvus://host", "store", "k", "v"],
    "postgres": ["--bank", "postgresql://host/db", "status"],
    "qdrant": ["--index", "qdrant://host", "store", "k", "v"],
    "server": ["serve"],
}
"""Of each plugin a command that needs it."""


def run(python: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "REASONINGBANK_HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run([python, *words], env=environment, cwd=home, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize(
    "missing",
    [PLUGINS, *(pytest.param([name], marks=pytest.mark.storm) for name in PLUGINS)],
    ids=lambda names: "all" if len(names) > 1 else names[0],
)
def test_the_core_works_without_them_and_a_word_of_theirs_is_an_error_that_says_so(missing, tmp_path):
    python = make_without(tmp_path / "venv", *missing)
    lived = run(python, tmp_path, "-c", LIFE)
    assert lived.returncode == 0, lived.stderr
    assert not [name for name in lived.stderr.split() if name.removeprefix("reasoningbank_") in missing]
    for name in missing:
        refused = run(python, tmp_path, "-m", "reasoningbank", *OF_PLUGINS[name])
        assert (refused.returncode, refused.stdout) == (2, ""), name
        assert refused.stderr.splitlines()[-1].startswith("error: ")
        assert "Traceback" not in refused.stderr


def test_every_entry_point_leads_to_something():
    assert set(OF_PLUGINS) == set(PLUGINS)
    for group in GROUPS:
        assert plugins(group)
        for plugin in plugins(group).values():
            assert plugin.load() is not None


def test_a_plugin_that_cannot_be_loaded_is_named():
    from reasoningbank.core.errors import InvalidInput

    with pytest.raises(InvalidInput, match=r"The plugin half \(no_such_module:THING\) cannot be loaded"):
        Plugin("half", "no_such_module:THING").load()


def test_a_project_that_is_worked_in_brings_no_plugin(tmp_path):
    (tmp_path / "evil-1.dist-info").mkdir()
    entry = "[reasoningbank.checks]\ncoding_agents = evil:CHECKS\n[reasoningbank.commands]\nevil = evil:COMMANDS\n"
    (tmp_path / "evil-1.dist-info" / "entry_points.txt").write_text(entry)
    (tmp_path / "evil.py").write_text("raise SystemExit(99)\n")
    assert run(Path(sys.executable), tmp_path, "-m", "reasoningbank", "status").returncode == 0
    assert run(Path(sys.executable), tmp_path, "-m", "reasoningbank", "evil").returncode == 2


def test_of_two_packages_that_declare_one_name_the_first_on_the_path_counts(tmp_path, monkeypatch):
    for name in ("first", "second"):
        folder = tmp_path / name / f"{name}-1.dist-info"
        folder.mkdir(parents=True)
        (folder / "entry_points.txt").write_text(f"[reasoningbank.exports]\nx = {name}:X\n[other]\ny = z:Y\n")
    (tmp_path / "first" / "broken-1.dist-info").mkdir()
    (tmp_path / "first" / "broken-1.dist-info" / "entry_points.txt").write_bytes(b"\xff[reasoningbank.exports]\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second"), str(tmp_path / "gone")])
    assert json.dumps(plugins("exports")) == json.dumps({"x": ["x", "first:X"]})
    assert plugins("other") == {}
