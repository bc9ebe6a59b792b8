"""Entry point of the program: a hook takes the short way, everything else goes to `cli.main`.

A coding agent waits for a hook at every prompt and every tool, so what a hook does not need is not even loaded here.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # Closed by whoever started this: the next file that is opened would get its number, and with it what is
            # printed. Of this one nothing can be read, and writing to it fails as it does to a closed one.
            os.open(os.devnull, os.O_RDONLY if number else os.O_WRONLY)
    if sys.argv[1:2] == ["hook"]:
        from reasoningbank.cli.hooking import run

        return run(sys.argv[2:])
    from reasoningbank.cli.main import main as door

    return door()
