"""`migrate`: move a bank from any store to any other, and say what was compared."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.cli.command import Command
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import locate
from reasoningbank.core.wording import counted
from reasoningbank.wiring.migrating import migrate_bank


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="the path or URL of the bank that is there")
    parser.add_argument("target", metavar="TO", help="the path or URL of one that is to be made")
    parser.add_argument("--dry-run", action="store_true", help="say what would be copied, and make nothing")


def _run(args: Namespace, terminal: Terminal) -> int:
    source, target = locate(args.source), locate(args.target)
    with Bar(terminal, "copying") as bar:
        done = migrate_bank(source, target, dry_run=args.dry_run, progress=bar)
    if terminal.as_json:
        terminal.json({"rows": done.rows, "went_on": done.went_on, "missing": done.missing, "dry_run": args.dry_run})
        return int(done.missing > 0)
    rows = counted(done.rows, "row")
    if args.dry_run:
        goes_on = " A copy that was begun would be finished." if done.went_on else ""
        terminal.tell(f"{rows} of {source} would be copied to {target}.{goes_on} Nothing was made.")
        return 0
    terminal.tell(f"{rows} copied and compared one by one: {target} is what {source} was.")
    if done.missing:
        late = counted(done.missing, "change")
        terminal.tell(
            f"{late} came to {source} meanwhile, and not over. Remove {target}, and begin anew when all rest."
        )
    return int(done.missing > 0)


COMMANDS = {
    "migrate": Command(
        run=_run,
        options=_options,
        about="Copies one moment of a bank, whatever both are kept in, and compares both row by row. Killed, it goes "
        "on where it was, or begins anew where the bank has changed. Changes that come meanwhile are counted and do "
        "not come over: let nobody write.",
    )
}
