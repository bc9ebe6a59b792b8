"""`store` and `record`: putting memories in."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from reasoningbank.bank.json_view import stored_json
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.memory_page import set_aside_in_words
from reasoningbank.cli.speaker import speaker
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.drafts import MAX_CONTENT_CHARS
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import Outcome, Remembered, Scope

_MOST_STDIN_BYTES = 4 * MAX_CONTENT_CHARS + 2


def _store_options(parser: ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", help="a name of your choice, one memory for each in a namespace")
    parser.add_argument("value", metavar="VALUE", help='the advice itself; "-" reads it from standard input')
    parser.add_argument("--title", metavar="TEXT", help="a headline, instead of the key")
    _add_fields(parser)


def _record_options(parser: ArgumentParser) -> None:
    parser.add_argument("--title", metavar="TEXT", required=True, help="a headline")
    parser.add_argument("--content", metavar="TEXT", required=True, help='the advice itself; "-" reads standard input')
    _add_fields(parser)


def _add_fields(parser: ArgumentParser) -> None:
    parser.add_argument("--description", metavar="TEXT", help="when to apply it, or when to avoid it")
    parser.add_argument("--outcome", choices=list(Outcome), help="success: follow it; failure: avoid it")
    parser.add_argument(
        "--tag", metavar="T", action="append", dest="tags", help="a word to find it by; may be repeated"
    )
    parser.add_argument("--scope", choices=list(Scope), help="who shall find it (default project)")
    parser.add_argument("--agent", metavar="NAME", help="which agent it is for")
    parser.add_argument("--task-type", metavar="NAME", help="which kind of task it is for")
    parser.add_argument(
        "--confidence",
        type=float,
        metavar="0..1",
        dest="initial_confidence",
        help="what it is worth before any evidence",
    )


def _fields(args: Namespace) -> dict[str, Any]:
    names = ("description", "outcome", "tags", "scope", "agent", "task_type", "initial_confidence")
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def text_or_stdin(value: str, terminal: Terminal) -> str:
    if value != "-":
        return value
    if sys.stdin is None:
        raise InvalidInput('"-" reads standard input, but there is none.')
    if sys.stdin.isatty():
        terminal.tell("Type the text and end it with Ctrl-D.")
    # UTF-8 whatever the locale says: a wrong guess would be stored for good.
    text = sys.stdin.buffer.read(_MOST_STDIN_BYTES).decode("utf-8", "replace")
    return text.removesuffix("\n").removesuffix("\r")


def _store(args: Namespace, terminal: Terminal) -> int:
    value = text_or_stdin(args.value, terminal)
    fields = _fields(args)
    if args.title is not None:
        fields["title"] = args.title
    with open_bank(args, create=True) as handle:
        before = {(match.id, match.memory.revision) for match in handle.bank.list(key=args.key)}
        item = handle.bank.store(args.key, value, origin=speaker(), **fields)
    _report(item, terminal, verb="Unchanged" if (item.id, item.memory.revision) in before else "Stored")
    return 0


def _record(args: Namespace, terminal: Terminal) -> int:
    content = text_or_stdin(args.content, terminal)
    with open_bank(args, create=True) as handle:
        item = handle.bank.record(title=args.title, content=content, origin=speaker(), **_fields(args))
    _report(item, terminal)
    return 0


def _report(item: Remembered, terminal: Terminal, verb: str = "Stored") -> None:
    if terminal.as_json:
        terminal.json(stored_json(item))
        return
    memory = item.memory
    name = plain.one_line(memory.key or memory.title)
    revision = f", revision {memory.revision}" if memory.revision > 1 else ""
    confidence = f"confidence {figures.confidence(item.confidence)}"
    terminal.result(memory.id, f"{verb}: {name} (namespace: {memory.namespace}){revision}, {confidence}")
    tell_scrubbed(item.scrubbed, terminal)
    if memory.revision == 1 and item.trust is not Trust.TRUSTED:
        terminal.tell(
            f"Kept as {memory.origin}'s, {item.trust}: a coding agent runs this. `{PROGRAM} trust approve` vouches."
        )
    if item.set_aside:
        keep = f"{PROGRAM} edit {memory.id} --keep-evidence"
        terminal.tell(f"{set_aside_in_words(item.set_aside)}. To keep what was earned: {keep}")


def tell_scrubbed(secrets: Mapping[str, int], terminal: Terminal) -> None:
    """Say what was taken out, so that nobody wonders later where it went."""
    if secrets:
        terminal.tell(f"scrubbed: {', '.join(f'{name} ×{number}' for name, number in secrets.items())}")


COMMANDS = {
    "store": Command(
        run=_store,
        options=_store_options,
        about="Storing another value under an existing key makes a new revision of that memory.",
    ),
    "record": Command(run=_record, options=_record_options),
}
