"""Entry point of the installed program: a hook takes the short way, everything else goes to the core's `cli.entry`.

A coding agent waits for a hook at every prompt and every tool, so what a hook does not need is not even loaded here.
"""

from __future__ import annotations

import sys

from reasoningbank.cli.entry import main as start
from reasoningbank.cli.entry import open_closed_descriptors


def main() -> int:
    if sys.argv[1:2] != ["hook"]:
        return start()
    open_closed_descriptors()
    from reasoningbank_coding_agents.hooking import run

    return run(sys.argv[2:])
