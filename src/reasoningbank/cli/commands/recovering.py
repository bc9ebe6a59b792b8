"""`recover`: put a backup in the place of the bank, and say what was there and what is there now."""

from __future__ import annotations

import shlex
import time
from argparse import ArgumentParser, Namespace

from reasoningbank.bank.json_view import iso
from reasoningbank.cli import figures
from reasoningbank.cli.banks import is_there, location_of
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.location import Location
from reasoningbank.ports import Contents, Recovered
from reasoningbank.wiring import ReasoningBank


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="what `backup` has made, or a bank that was kept aside")
    parser.add_argument("--dry-run", action="store_true", help="check the backup and say what would happen")
    parser.add_argument("--yes", action="store_true", help="replace the bank without asking")


def _run(args: Namespace, terminal: Terminal) -> int:
    location = location_of(args)
    if not args.dry_run and not args.yes and is_there(location):
        would = _recover(args, terminal, location, dry_run=True)
        _say_both(would, args.path, terminal)
        if not terminal.confirmed(f"Put {args.path} in the place of {location}? The bank there is kept aside."):
            raise InvalidInput("Nothing was changed. To recover without being asked, add --yes.")
    recovery = _recover(args, terminal, location, dry_run=args.dry_run)
    if terminal.as_json:
        terminal.json(_json(recovery, dry_run=args.dry_run))
        return 0
    _say_both(recovery, args.path, terminal)
    if args.dry_run:
        terminal.tell("The backup is whole. Nothing was changed.")
        return 0
    terminal.tell(f"{location} is now what {args.path} holds; the next query builds its index.")
    if recovery.kept is not None and recovery.trouble:
        terminal.tell(f"What was there is kept as {recovery.kept}.")
    elif recovery.kept is not None:
        undo = f"{PROGRAM} recover {shlex.quote(recovery.kept)} --bank {shlex.quote(str(location))}"
        terminal.tell(f"What was there is kept as {recovery.kept}. To undo: {undo}")
    return 0


def _recover(args: Namespace, terminal: Terminal, location: Location, *, dry_run: bool) -> Recovered:
    with Bar(terminal, "copying") as bar:
        return ReasoningBank.recover(args.path, location, dry_run=dry_run, progress=bar)


def _say_both(recovery: Recovered, backup: str, terminal: Terminal) -> None:
    if terminal.as_json:
        return
    there = "no bank" if recovery.before is None else _in_words(recovery.before)
    if recovery.trouble:
        there = f"a bank that does not open. {recovery.trouble}"
    terminal.labelled("there:   ", there)
    terminal.labelled("backup:  ", f"{_in_words(recovery.after)} ({backup})")


def _in_words(contents: Contents) -> str:
    count = figures.counted(contents.memories, "memory", "memories")
    if contents.newest_at is None:
        return count
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(contents.newest_at))
    return f"{count}, the last of {figures.counted(contents.changes, 'change')} at {when}"


def _json(recovery: Recovered, *, dry_run: bool) -> dict[str, object]:
    return {
        "bank": str(recovery.bank),
        "dry_run": dry_run,
        "before": None if recovery.before is None else _figures(recovery.before),
        "trouble": recovery.trouble,
        "after": _figures(recovery.after),
        "kept": recovery.kept,
    }


def _figures(contents: Contents) -> dict[str, object]:
    return {"memories": contents.memories, "changes": contents.changes, "newest_at": iso(contents.newest_at)}


COMMANDS = {
    "recover": Command(
        run=_run,
        options=_options,
        about="Checks the backup row by row, keeps the bank that was there aside and says how to undo it. Nobody else "
        "may have the bank open; it may be damaged, or missing.",
    )
}
