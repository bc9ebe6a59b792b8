"""Entry point of the program. A first word that a plugin answers by itself, such as `hook`, takes the short way."""

from __future__ import annotations

import os
import sys

SHORT_WAYS = ("hook",)
"""First words for which a plugin has an entry point of the group `reasoningbank.short_ways`."""


def main() -> int:
    open_closed_descriptors()
    if sys.argv[1:2] and sys.argv[1] in SHORT_WAYS:
        from reasoningbank.plugins import plugins

        if plugin := plugins("short_ways").get(sys.argv[1]):
            code: int = plugin.load()(sys.argv[2:])
            return code
    from reasoningbank.cli.main import main as run

    return run()


def open_closed_descriptors() -> None:
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # Closed by whoever started this: the next file that is opened would get its number, and with it what is
            # printed. Of this one nothing can be read, and writing to it fails as it does to a closed one.
            os.open(os.devnull, os.O_RDONLY if number else os.O_WRONLY)
