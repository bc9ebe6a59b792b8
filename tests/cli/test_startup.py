"""A promise: what does not search loads nothing that searching needs."""

from __future__ import annotations

import json
import subprocess
import sys

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
from itertools import groupby
from reasoningbank.cli.main import main
told = []
for is_end, words in groupby(sys.argv[1:], ";".__eq__):
    if not is_end:
        main(list(words))
        told.append(sorted(sys.modules))
import json
print(json.dumps(told), file=sys.stderr)
"""
LIGHT = "status ; list ; get k ; store k other ; list --json ; history k ; jobs list ; session list ; --help"


def modules_after(*words: str) -> list[set[str]]:
    """What is loaded after each of several commands, one after the other."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *words], capture_output=True, text=True, check=True, timeout=300
    )
    return [set(names) for names in json.loads(done.stderr.splitlines()[-1])]


def test_a_command_that_does_not_search_loads_no_heavy_module(rb):
    rb("store", "k", "v")
    rb("query", "v")
    loaded = modules_after(*LIGHT.split())
    heavy = {words: names.intersection(HEAVY) for words, names in zip(LIGHT.split(" ; "), loaded, strict=True)}
    assert not any(heavy.values()), heavy


def test_a_command_loads_its_own_module_and_no_other(rb):
    rb("store", "k", "v")
    [loaded] = modules_after("get", "k")
    commands = {name for name in loaded if name.startswith("reasoningbank.cli.commands.")}
    assert commands == {"reasoningbank.cli.commands.reading"}


def test_asking_without_a_bank_loads_no_model(home):
    assert "onnxruntime" not in modules_after("query", "anything")[0]
