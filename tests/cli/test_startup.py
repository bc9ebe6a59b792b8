"""A promise: what does not search loads nothing that searching needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "numpy",
    "onnxruntime",
    "simsimd",
    "asyncio",
    "urllib.request",
    "http.client",
    "sqlite3",
    "concurrent.futures",
    "openai",
    "reasoningbank.learn.worker_pool",
)
PROBE = """
import sys
from reasoningbank.cli.main import main
code = main(sys.argv[1:])
import json
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def modules_after(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", PROBE, *words], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("list",),
        ("get", "k"),
        ("store", "k", "other"),
        ("list", "--json"),
        ("history", "k"),
        ("jobs", "list"),
        ("session", "list"),
        ("--help",),
        ("eval", "retrieval", "--help"),
    ],
    ids=" ".join,
)
def test_a_command_that_does_not_search_loads_no_heavy_module(rb, words):
    rb("store", "k", "v")
    rb("query", "v")
    loaded = modules_after(*words)
    assert loaded.isdisjoint(HEAVY), sorted(loaded.intersection(HEAVY))


def test_a_command_loads_its_own_module_and_no_other(rb):
    rb("store", "k", "v")
    loaded = modules_after("get", "k")
    commands = {name for name in loaded if name.startswith("reasoningbank.cli.commands.")}
    assert commands == {"reasoningbank.cli.commands.reading"}


def test_asking_without_a_bank_loads_no_model(home):
    assert "onnxruntime" not in modules_after("query", "anything")
