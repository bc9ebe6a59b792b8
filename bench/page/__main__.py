"""`python -m bench page pictures`, `python -m bench page speed`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module


def main(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] in ("pictures", "speed"):
        return import_module(f"bench.page.{arguments[0]}").main(arguments[1:])
    print(__doc__, file=sys.stderr)
    return 2
