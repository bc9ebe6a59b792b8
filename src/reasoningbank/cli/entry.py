"""Entry point of the program: a hook takes the short way, everything else goes to `cli.main`.

A coding agent waits for a hook at every prompt and every tool, so what a hook does not need is not even loaded here.
"""

from __future__ import annotations

import sys


def main() -> int:
    if sys.argv[1:2] == ["hook"]:
        from reasoningbank.cli.hooking import run

        return run(sys.argv[2:])
    from reasoningbank.cli.main import main as door

    return door()
