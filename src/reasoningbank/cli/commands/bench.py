"""`bench`: hands over to the benchmarks of a checkout, which are not part of the installed package."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from reasoningbank.cli.command import Command
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import NotFound


def _options(parser: ArgumentParser) -> None:
    parser.usage = "%(prog)s [ARGUMENTS OF THE BENCHMARKS …]"


def _run(args: Namespace, terminal: Terminal) -> int:
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "bench" / "__main__.py").is_file():
            terminal.tell(f"Running {folder / 'bench'}.")
            arguments = args.arguments[1:] if args.arguments[:1] == ["--"] else args.arguments
            return subprocess.run(  # noqa: S603 - this very Python, on the user's own checkout and words
                [sys.executable, "-m", "bench", *arguments], cwd=folder, check=False
            ).returncode
    raise NotFound(
        f"There are no benchmarks at {here} or above it. They are in the repository, not in the installed "
        "package: go into a checkout of reasoningbank (a folder with bench/__main__.py) and try again."
    )


COMMANDS = {
    "bench": Command(
        run=_run,
        options=_options,
        raw=True,
        about="Everything after `bench` goes to them as it is; `bench -- --help` shows what they take.",
    )
}
