"""The evaluation is a package of its own; without it everything else works and `eval` says how to get it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reasoningbank


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Where a copy has nothing beside it, as the wheel installs it."""
    folder = tmp_path_factory.mktemp("alone")
    source = Path(reasoningbank.__file__).parent
    shutil.copytree(source, folder / "site" / "reasoningbank", ignore=shutil.ignore_patterns("models"))
    return folder


def run_installed_alone(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PYTHONPATH": str(place / "site"),
        "HOME": str(place),
        "REASONINGBANK_BANK": str(place / "b.db"),
    }
    command = [sys.executable, "-m", "reasoningbank", *words]
    return subprocess.run(command, env=env, cwd=place, capture_output=True, text=True, timeout=300, check=False)


def test_without_the_evaluation_eval_says_how_to_install_it(place):
    run = run_installed_alone(place, "eval", "retrieval", "--data", "somewhere")
    assert run.returncode != 0
    assert "pip install 'reasoningbank[eval]'" in run.stderr


def test_without_the_evaluation_help_and_completion_work(place):
    assert "measure on real data" in run_installed_alone(place, "help").stdout
    assert run_installed_alone(place, "completion", "bash").returncode == 0
