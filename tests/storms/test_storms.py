"""A short, fixed slice of every storm in `bench/storms`. The long ones: `python -m bench storm --all --minutes N`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from bench.storms.__main__ import names

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the storms fork")


ROUNDS_OF_A_STORM = 6
"""So many times the rounds of every day."""
HANGS_AFTER_S = 1_800


def slices() -> list[object]:
    """A few rounds of each for every day; more of them, and the storms that are dear as a slice, with `pytest -m storm`."""
    params = []
    for name in names():
        module = import_module(f"bench.storms.{name.replace('-', '_')}")
        marks = [pytest.mark.storm] if hasattr(module, "IS_LONG") else []
        params += [
            pytest.param(name, module.SLICE, marks=marks, id=name),
            pytest.param(name, ROUNDS_OF_A_STORM * module.SLICE, marks=pytest.mark.storm, id=f"more of {name}"),
        ]
    return params


@pytest.mark.parametrize(("name", "rounds"), slices())
def test_a_slice_of_each_storm_breaks_no_promise(name: str, rounds: int, tmp_path: Path) -> None:
    out = tmp_path / "table.json"
    options = {"--rounds": str(rounds), "--seed": "15112026", "--minutes": "20", "--out": str(out)}
    words = [word for option in options.items() for word in option]
    run = subprocess.run(
        [sys.executable, "-m", "bench", "storm", name, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert out.exists(), run.stdout + run.stderr
    promises = json.loads(out.read_text("utf-8"))["storms"][name]
    judged = [promise for promise in promises if not promise["timed"]]
    assert [how for promise in judged for how in promise["violations"]] == []
    assert promises
    assert all(promise["tries"] > 0 for promise in promises)
    assert run.returncode in (0, 1)
