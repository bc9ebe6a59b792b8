"""Runs a command line: from its words to an exit code.

Loads one command, runs it, and puts every failure into one sentence. Nothing else in this folder catches
broadly, and no traceback passes here unless it is asked for.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from reasoningbank import __version__
from reasoningbank.cli.command import MEMORY, PROGRAM, Misuse, Parser, add_globals, command_named, parser_for, split
from reasoningbank.cli.table import COMMANDS, families
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import BankError, InvalidInput

INTERRUPTED = 130
PIPE_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Without `argv`, the whole of a process; with it, a call from a program that goes on."""
    if argv is not None:
        return _run_guarded(argv)
    # A process that ends at once has next to no rubbish: looking for it takes a tenth of its time. So it is looked for
    # seldom, and at the end, when the system takes everything back, not at all.
    gc.set_threshold(100_000)
    code = _run_guarded(sys.argv[1:])
    gc.freeze()
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        # Talk that nobody could take. Its buffer would fail again at the end of the interpreter, which then ends with
        # 120: a caller must not read from lost talk that the command failed, or why.
        _abandon(sys.stderr)
    return code


def _run_guarded(argv: Sequence[str]) -> int:
    words = [_as_utf8(word) for word in argv]
    own_words = _before_dashes(words)
    terminal = Terminal.of_process(as_json="--json" in own_words)
    try:
        code = run(words, terminal)
        terminal.finish()
    except BrokenPipeError:
        _abandon(terminal.out)
        return PIPE_CLOSED
    except KeyboardInterrupt as error:
        # A write that it came into has left word of what became of it.
        notes = getattr(error, "__notes__", None) or ["What was stored before that stays stored."]
        terminal.tell(f"\nInterrupted. {' '.join(notes)}")
        return INTERRUPTED
    except BankError as error:
        return _fail(terminal, error, str(error), error.exit_code)
    except UnicodeEncodeError as error:
        return _fail(terminal, error, "a word of this command line is not text (UTF-8).", InvalidInput.exit_code)
    except Exception as error:  # the outermost door: whoever typed it gets a sentence, and the stack if asked for
        if "--traceback" in own_words:
            raise
        return _fail(terminal, error, _describe_unexpected(error), 1)
    return code


def _as_utf8(word: str) -> str:
    """The word as it was typed, also where the locale is not UTF-8; other bytes (in a file's name) stay as they are."""
    with suppress(UnicodeError):
        return os.fsencode(word).decode("utf-8")
    return word


def run(words: list[str], terminal: Terminal) -> int:
    leading, name, rest = split(words)
    if name is None or name not in COMMANDS:
        return _without_command(leading, name, rest, terminal)
    command = command_named(name)
    parser = parser_for(name, command)
    if _asks_for_help(leading, rest):
        terminal.say(parser.format_help().rstrip())
        return 0
    return command.run(_parse(parser, [*leading, *rest]), terminal)


def _parse(parser: Parser, words: list[str]) -> Namespace:
    # Options may stand between two positional words; but allowing that lays out the usage each time, needed or not, and
    # forgets a "--" that comes first. The plain way gives the same where it succeeds, except for a second "--".
    if words.count("--") <= 1:
        with suppress(Misuse):
            return parser.parse_args(words)
    return parser.parse_intermixed_args(words)


def _asks_for_help(leading: list[str], rest: list[str]) -> bool:
    return not {"-h", "--help"}.isdisjoint([*leading, *_before_dashes(rest)])


def _before_dashes(words: list[str]) -> list[str]:
    return words[: words.index("--")] if "--" in words else words


def _without_command(leading: list[str], name: str | None, rest: list[str], terminal: Terminal) -> int:
    from reasoningbank.cli import overview

    if "--version" in leading:
        if terminal.as_json:
            terminal.json({"version": __version__})
        else:
            terminal.say(f"{PROGRAM} {__version__}")
        return 0
    if name == MEMORY:
        return _memory(rest, terminal)
    if name is not None and name in families():
        if not rest or rest[0] in ("-h", "--help"):
            terminal.say(overview.family(name))
            return 0
        near = overview.nearest_of(rest[0], families()[name])
        hint = f" Did you mean `{name} {near}`?" if near else ""
        raise Misuse(f"{name} has no {rest[0]!r}: use one of {', '.join(families()[name])}.{hint}", "")
    if name is not None:
        near = overview.nearest(name)
        hint = f" Did you mean `{near}`?" if near else ""
        raise Misuse(f"there is no command {name!r}.{hint} `{PROGRAM} help` lists them.", "")
    if not {"-h", "--help"} & set(leading):
        parser = Parser(prog=PROGRAM, usage=overview.USAGE, allow_abbrev=False, add_help=False)
        add_globals(parser)
        parser.parse_args(leading)
    terminal.say(overview.everything())
    return 0


def _memory(rest: list[str], terminal: Terminal) -> int:
    """The word `memory` without a command of ours behind it."""
    from reasoningbank.cli import overview

    if not rest or rest[0].startswith("-"):
        terminal.say(overview.everything())
        return 0
    near = overview.nearest(rest[0])
    hint = f" Did you mean `{near}`?" if near else ""
    raise Misuse(f"there is no command {rest[0]!r}.{hint} `{PROGRAM} help` lists them.", "")


# ---------------------------------------------------------------- failures


def _fail(terminal: Terminal, error: Exception, message: str, code: int) -> int:
    try:
        terminal.finish()
    except OSError as unwritten:
        _abandon(terminal.out)
        if isinstance(error, OSError):
            reason = "it is closed" if unwritten.errno == errno.EBADF else unwritten.strerror
            message = f"the output could not be written: {reason}. What was stored stays stored."
    if isinstance(error, Misuse) and error.usage:
        terminal.tell(error.usage.rstrip())
    terminal.tell(f"error: {message}")
    if terminal.as_json:
        is_misuse = isinstance(error, (Misuse, UnicodeEncodeError))
        kind = InvalidInput.__name__ if is_misuse else type(error).__name__
        with suppress(OSError):
            terminal.json({"error": {"type": kind, "message": message}})
            terminal.out.flush()
    return code


def _describe_unexpected(error: Exception) -> str:
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        too_many = error.errno in (errno.EMFILE, errno.ENFILE)
        remedy = " Close some, or raise the limit (`ulimit -n`), and try again." if too_many else ""
        return f"{error.strerror or error}{where}.{remedy}"
    detail = " ".join(str(error).split())[:300]
    return f"unexpected {type(error).__name__}: {detail}. This is a bug; --traceback shows where."


def _abandon(out: TextIO) -> None:
    """Let what is left in its buffer go nowhere instead of failing again."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
