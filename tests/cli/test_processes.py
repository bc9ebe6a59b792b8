"""Several command lines on one bank at the same time."""

from __future__ import annotations

import subprocess
import sys

LOOP = """
import sys
from reasoningbank.cli.main import main
who = sys.argv[1]
for number in range(10):
    assert main(["store", f"{who}-{number}", "value"]) == 0
    assert main(["store", "shared", f"{who} {number}"]) == 0
"""


def test_two_processes_storing_at_once_lose_nothing(rb, home):
    writers = [
        subprocess.Popen([sys.executable, "-c", LOOP, who], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for who in ("one", "two")
    ]
    for writer in writers:
        _, err = writer.communicate(timeout=300)
        assert writer.returncode == 0, err.decode()
    keys = [memory["key"] for memory in rb("list", "--limit", "1000", "--json").json["memories"]]
    assert sorted(keys) == sorted([*(f"{who}-{n}" for who in ("one", "two") for n in range(10)), "shared"])
    assert rb("get", "shared", "--json").json["revision"] == 20
    assert rb("verify").code == 0
