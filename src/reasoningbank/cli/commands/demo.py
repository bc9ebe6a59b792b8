"""`demo`: the main job, by the real commands, in a bank of its own.

Runs the commands that a newcomer would type and shows them as typed. Needs no network and no configuration.
"""

from __future__ import annotations

import io
import json
import shlex
import tempfile
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path

from reasoningbank.cli import plain
from reasoningbank.cli.banks import is_there
from reasoningbank.cli.command import PROGRAM, Command, command_named, parser_for, split
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import locate
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import replace

_NAMESPACE = "demo"
_TASK = "the payment timed out: send it again?"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    says: str
    words: tuple[str, ...]


_STEPS = (
    DemoStep(
        says="1. Keep what was learned, what to do and what to avoid.",
        words=("store", "retry-get", "Retry a GET that timed out, after a pause."),
    ),
    DemoStep(
        says="",
        words=("store", "retry-pay", "A payment sent again is paid twice.", "--outcome", "failure"),
    ),
    DemoStep(says="", words=("store", "push", "Run the tests before you push a branch.")),
    DemoStep(
        says="2. Ask before a task. Each hit says why; what does not fit stays out.",
        words=("query", _TASK),
    ),
    DemoStep(
        says="3. Say how it went. Confidence is earned by outcomes.",
        words=("outcome", "retry-get", "success"),
    ),
    DemoStep(says="4. Every number can be explained.", words=("history", "retry-get")),
)


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--keep", metavar="PATH", help="make the bank here and leave it, to go on with")


def _run(args: Namespace, terminal: Terminal) -> int:
    if args.keep is not None and is_there(locate(args.keep)):
        raise InvalidInput(f"{args.keep} exists already: name a new file.")
    with tempfile.TemporaryDirectory(prefix="reasoningbank-demo-") as folder:
        bank = args.keep or str(Path(folder) / "demo.db")
        if terminal.as_json:
            steps = []
            for step in _STEPS:
                out = io.StringIO()
                _perform(step, bank, Terminal(out=out, err=io.StringIO(), as_json=True))
                steps.append({"command": _command_line(step), "output": json.loads(out.getvalue())})
            terminal.json({"steps": steps})
            return 0
        # One stream: the talk of the commands belongs to what is shown.
        stage = replace(terminal, err=terminal.out, err_live=False)
        for step in _STEPS:
            if step.says:
                stage.say(step.says, bold=True)
            stage.paragraph(f"$ {_command_line(step)}")
            _perform(step, bank, stage)
    if args.keep:
        where = f"--bank {shlex.quote(args.keep)} --namespace {_NAMESPACE}"
        stage.say(f"The bank stays: {PROGRAM} list {where}")
    return 0


def _command_line(step: DemoStep) -> str:
    words = [word if plain.one_line(word) == word and shlex.quote(word) == word else f'"{word}"' for word in step.words]
    return " ".join([PROGRAM, *words])


def _perform(step: DemoStep, bank: str, stage: Terminal) -> None:
    _, name, rest = split(list(step.words))
    assert name is not None
    command = command_named(name)
    # The same for everybody, whatever this user has set.
    words = [*rest, "--bank", bank, "--namespace", _NAMESPACE, "--config", "none"]
    command.run(parser_for(name, command).parse_intermixed_args(words), stage)


COMMANDS = {"demo": Command(run=_run, options=_options)}
