"""`gaps`: what is asked for in vain, so that somebody can teach it."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from reasoningbank.bank.json_view import gap_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import Command, add_limit
from reasoningbank.cli.indexing import index_before
from reasoningbank.cli.moments import moment
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.recall.gaps import Gaps

_DEFAULT_LIMIT = 20
_ID_CHARS = len("gap_") + 6


def _options(parser: ArgumentParser) -> None:
    add_limit(parser, _DEFAULT_LIMIT)
    parser.add_argument("--since", metavar="WHEN", help="asked since then: 12h, 7d, 4w or a date like 2026-05-31")
    parser.add_argument("--all-namespaces", action="store_true", help="of every project")
    parser.add_argument("--forget", metavar="ID", help="drop one instead, with all its wordings")
    parser.add_argument("--clear", action="store_true", help="drop them all instead")


def _run(args: Namespace, terminal: Terminal) -> int:
    if args.forget is not None and args.clear:
        raise InvalidInput("--forget drops one gap, --clear all: give one of them.")
    since = None if args.since is None else moment(args.since, time.time())
    with open_bank(args) as handle:
        if not args.clear and handle.bank.context.store.gaps(handle.bank.tenant):
            # Each is asked again, and must not be called a gap because the index lags behind.
            index_before(handle.bank, terminal)
        if args.clear or args.forget is not None:
            count = handle.bank.gaps.clear() if args.clear else handle.bank.gaps.forget(args.forget)
            if terminal.as_json:
                terminal.json({"dropped": count})
            else:
                terminal.tell(f"{figures.counted(count, 'question')} dropped.")
            return 0
        gaps = handle.bank.gaps.list(
            namespace=EVERY_NAMESPACE if args.all_namespaces else None, since=since, limit=args.limit
        )
        namespace = "any namespace" if args.all_namespaces else f"namespace {handle.bank.namespace}"
    if terminal.as_json:
        terminal.json(
            {"gaps": [gap_json(gap) for gap in gaps.open], "answered": gaps.answered, "unchecked": gaps.unchecked}
        )
        return 0
    _table(gaps, terminal, with_namespace=args.all_namespaces)
    if not gaps.open:
        terminal.tell(f"Nothing was asked for in vain in {namespace}.")
    if gaps.answered:
        terminal.tell(f"{figures.counted(gaps.answered, 'question')} asked in vain before would be answered now.")
    if gaps.unchecked:
        terminal.tell(f"{figures.counted(gaps.unchecked, 'rarer question')} not looked at.")
    return 0


def _table(gaps: Gaps, terminal: Terminal, *, with_namespace: bool) -> None:
    if not gaps.open:
        return
    now = time.time()
    columns = [
        Column(name="TIMES", right=True),
        Column(name="QUESTION", elastic=True),
        Column(name="LAST", right=True),
        Column(name="FIRST", right=True, optional=True),
        Column(name="ID"),
    ]
    rows = [
        [
            str(gap.times),
            gap.question,
            figures.ago(gap.last_at, now),
            figures.ago(gap.first_at, now),
            # As much as a person needs to type for --forget; a program gets the whole id.
            gap.id if terminal.width is None else f"{gap.id[:_ID_CHARS]}…",
        ]
        for gap in gaps.open
    ]
    if with_namespace:
        columns.insert(2, Column(name="NAMESPACES", elastic=True))
        for row, gap in zip(rows, gaps.open, strict=True):
            row.insert(2, ", ".join(gap.namespaces))
    show(terminal, columns, rows)


COMMANDS = {
    "gaps": Command(
        run=_run,
        options=_options,
        about="Each question is asked again, so what a later memory answers is gone from the list.",
    )
}
