"""The evaluation is a package of its own; without it everything else works and `eval` says how to get it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import reasoningbank


def run_installed_alone(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line of a copy that has nothing beside it, as the wheel installs it."""
    package = place / "site" / "reasoningbank"
    if not package.exists():
        leave_out = shutil.ignore_patterns("__pycache__", "models")
        shutil.copytree(Path(reasoningbank.__file__).parent, package, ignore=leave_out)
    env = {
        **os.environ,
        "PYTHONPATH": str(place / "site"),
        "HOME": str(place),
        "REASONINGBANK_BANK": str(place / "b.db"),
    }
    command = [sys.executable, "-m", "reasoningbank", *words]
    return subprocess.run(command, env=env, cwd=place, capture_output=True, text=True, timeout=60, check=False)


def test_without_the_evaluation_eval_says_how_to_install_it(tmp_path):
    run = run_installed_alone(tmp_path, "eval", "retrieval", "--data", "somewhere")
    assert run.returncode != 0
    assert "pip install 'reasoningbank[eval]'" in run.stderr


def test_without_the_evaluation_help_and_completion_work(tmp_path):
    assert "measure on real data" in run_installed_alone(tmp_path, "help").stdout
    assert run_installed_alone(tmp_path, "completion", "bash").returncode == 0
