"""`migrate`: move a bank from any store to any other while it is in use, and say what was compared."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace

from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import locate
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.wording import counted
from reasoningbank.wiring.migrating import migrate_bank, undo_migration


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="the path or URL of the bank that is there")
    parser.add_argument("target", metavar="TO", nargs="?", help="the path or URL of one that is to be made")
    parser.add_argument("--dry-run", action="store_true", help="say what would be copied, and make nothing")
    parser.add_argument(
        "--undo",
        action="store_true",
        help="open FROM to writers again, and close TO, which must hold nothing new; without TO nobody looks",
    )


def _run(args: Namespace, terminal: Terminal) -> int:
    if args.undo:
        return _undo(args, terminal)
    if args.target is None:
        raise InvalidInput("Name both: the bank that is there, and where it is to go.")
    source, target = locate(args.source), locate(args.target)
    with Bar(terminal, "copying") as bar:
        migration = migrate_bank(source, target, dry_run=args.dry_run, watch=bar)
    if terminal.as_json:
        terminal.json({**migration._asdict(), "waited_s": round(migration.waited_s, 3), "dry_run": args.dry_run})
        return 0
    if migration.was_done:
        terminal.tell(f"{source} was moved to {target} already: there is nothing left to do.")
        return 0
    rows = counted(migration.rows, "row")
    if args.dry_run:
        goes_on = " A copy that was begun would be finished." if migration.went_on else ""
        terminal.tell(f"{rows} of {source} would be copied to {target}.{goes_on} Nothing was made.")
        return 0
    late = counted(migration.meanwhile, "change")
    terminal.tell(f"{rows} of {source} copied to {target} and compared one by one, with {late} that came meanwhile.")
    terminal.tell(
        f"Writers waited {migration.waited_s:.1f} s. {source} takes no more writes and says where it went; "
        f"`{PROGRAM} migrate --undo {shlex.quote(str(source))} {shlex.quote(str(target))}` goes back."
    )
    return 0


def _undo(args: Namespace, terminal: Terminal) -> int:
    source, target = locate(args.source), None if args.target is None else locate(args.target)
    if args.dry_run:
        raise InvalidInput("There is no rehearsal of --undo: it changes one setting of each bank.")
    undo_migration(source, target)
    if terminal.as_json:
        terminal.json({"bank": str(source)})
    elif target is None:
        terminal.tell(f"{source} takes writes again. What was written to the other since then is not here.")
    else:
        terminal.tell(f"{source} takes writes again; {target} held nothing new, and takes none any more.")
    return 0


COMMANDS = {
    "migrate": Command(
        run=_run,
        options=_options,
        about="Moves a bank, whatever both are kept in, while others read and write it: copies, takes along what comes "
        "meanwhile, compares both row by row, and keeps writers waiting only for the last changes. Then FROM takes no "
        "more writes and names TO. Killed at any moment, the same command goes on.",
    )
}
