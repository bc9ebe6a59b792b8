"""`scrub`: secrets in a bank that is there already, and what this tenant rules about them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from reasoningbank.bank.json_view import swept_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import existing, open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.guard.scrubbing import PERSONAL, Scrubbing, allowing, refusing, with_personal
from reasoningbank.guard.sweep import Swept

FOUND = 1
_MOST_SHOWN = 50
_NONE = "none"


def _options(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--dry-run", action="store_true", help="say what is there and change nothing; this is the default"
    )
    what.add_argument("--apply", action="store_true", help="really remove it, from earlier revisions and the index too")
    what.add_argument("--allow", metavar="VALUE", help='this is no secret; "-" reads it from standard input')
    what.add_argument("--disallow", metavar="VALUE", help="take that back; the value, or its fingerprint")
    what.add_argument("--allowed", action="store_true", help="list the fingerprints of allowed values")
    what.add_argument(
        "--personal", metavar="KINDS", help=f"take out personal data as well: {','.join(PERSONAL)}, or {_NONE}"
    )


def _run(args: Namespace, terminal: Terminal) -> int:
    if args.allow is None and args.disallow is None and args.personal is None and not args.allowed:
        return _sweep(args, terminal)
    with open_bank(args, create=not args.allowed) as handle:
        scrubbing = handle.bank.secrets.scrubbing
        if not args.allowed:
            scrubbing = _apply_rules(args, scrubbing)
            handle.bank.secrets.set_scrubbing(scrubbing)
    rules = {"allowed": list(scrubbing.allow), "personal": list(scrubbing.personal)}
    if terminal.as_json:
        terminal.json(rules)
        return 0
    for fingerprint in scrubbing.allow:
        terminal.say(fingerprint)
    personal = ", ".join(scrubbing.personal) or _NONE
    terminal.tell(f"{figures.counted(len(scrubbing.allow), 'value')} allowed; personal data: {personal}")
    return 0


def _apply_rules(args: Namespace, scrubbing: Scrubbing) -> Scrubbing:
    if args.allow is not None:
        # A value on a command line stays in the shell's history; standard input does not.
        value = sys.stdin.read().strip("\r\n") if args.allow == "-" else args.allow
        return allowing(scrubbing, value)
    if args.disallow is not None:
        return refusing(scrubbing, args.disallow)
    if args.personal == _NONE:
        return with_personal(scrubbing, ())
    kinds = tuple(kind.strip() for kind in args.personal.split(",") if kind.strip())
    if not kinds:
        raise InvalidInput(f"Name some of {', '.join(PERSONAL)}, or {_NONE}.")
    return with_personal(scrubbing, kinds)


def _sweep(args: Namespace, terminal: Terminal) -> int:
    with existing(args) as bank, Bar(terminal, "looking") as bar:
        swept = bank.secrets.scrub(apply=args.apply, progress=bar)
    if terminal.as_json:
        terminal.json(swept_json(swept))
    else:
        _report(swept, terminal)
    return FOUND if swept.places and not swept.applied else 0


def _report(swept: Swept, terminal: Terminal) -> None:
    records = figures.counted(swept.looked_at, "record")
    if not swept.places:
        terminal.say(f"No secret in {records}.")
        return
    rows = [
        [
            place.kind,
            place.id,
            "" if place.revision is None else str(place.revision),
            ", ".join(f"{name} ×{number}" if number > 1 else name for name, number in place.found.items()),
        ]
        for place in swept.places[:_MOST_SHOWN]
    ]
    columns = [Column(name="KIND"), Column(name="ID"), Column(name="REVISION"), Column(name="SECRETS", elastic=True)]
    show(terminal, columns, rows)
    more = len(swept.places) - _MOST_SHOWN
    if more > 0:
        terminal.tell(f"and {more:,} more; --json lists all.")
    total = figures.counted(sum(swept.found.values()), "secret")
    if swept.applied:
        terminal.tell(f"{total} removed from {records}. Change them where they are used: they were kept in the clear.")
    else:
        terminal.tell(f"{total} in {records}; nothing was changed. To remove them: {PROGRAM} scrub --apply")


COMMANDS = {
    "scrub": Command(
        run=_run,
        options=_options,
        about="Shows the kind of each secret and where it is, never the secret. Exits with 1 when some are left.",
    )
}
