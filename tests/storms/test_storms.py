"""A short, fixed slice of every storm in `bench/storms`. The long ones: `reasoningbank bench storm --all --minutes N`."""

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


def slices() -> list[object]:
    """Those that are too long for every day run with `pytest -m storm`."""
    long = {name for name in names() if hasattr(import_module(f"bench.storms.{name.replace('-', '_')}"), "IS_LONG")}
    return [pytest.param(name, marks=pytest.mark.storm) if name in long else name for name in names()]


@pytest.mark.parametrize("name", slices())
def test_a_slice_of_each_storm_breaks_no_promise(name: str, tmp_path: Path) -> None:
    rounds = import_module(f"bench.storms.{name.replace('-', '_')}").SLICE
    out = tmp_path / "table.json"
    options = {"--rounds": str(rounds), "--seed": "15112026", "--minutes": "2", "--out": str(out)}
    words = [word for option in options.items() for word in option]
    run = subprocess.run(
        [sys.executable, "-m", "bench", "storm", name, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert out.exists(), run.stdout + run.stderr
    promises = json.loads(out.read_text("utf-8"))["storms"][name]
    judged = [promise for promise in promises if not promise["timed"]]
    assert [how for promise in judged for how in promise["violations"]] == []
    assert promises
    assert all(promise["tries"] > 0 for promise in promises)
    assert run.returncode in (0, 1)
