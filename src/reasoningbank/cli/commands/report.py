"""`report`: what each memory has done, what difference it makes, what is dead weight, and what models have cost."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.json_view import report_json, spending_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import Command, add_limit
from reasoningbank.cli.curves import show_curves
from reasoningbank.cli.moments import moment
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.core.uplift import Uplift
from reasoningbank.files import ORDINARY_MODE, whole_file
from reasoningbank.learn.report import Report, ReportLine
from reasoningbank.learn.trends import MOST_DAYS, Trends

_DEFAULT_LIMIT = 20
_DAY_S = 86_400.0


def _options(parser: ArgumentParser) -> None:
    add_limit(parser, _DEFAULT_LIMIT)
    parser.add_argument("--since", metavar="WHEN", help="what happened since: 12h, 7d, 4w or a date like 2026-05-31")
    parser.add_argument("--all-namespaces", action="store_true", help="of every project")
    parser.add_argument(
        "--html", metavar="FILE", help="write it as one HTML file with charts, to be attached to a mail"
    )
    parser.add_argument("--spending", action="store_true", help="show what models have cost, by day, instead")


def _run(args: Namespace, terminal: Terminal) -> int:
    if args.spending:
        return _spending(args, terminal)
    since = None if args.since is None else moment(args.since, time.time())
    with open_bank(args) as handle:
        namespace = EVERY_NAMESPACE if args.all_namespaces else None
        report = handle.bank.report(namespace=namespace, since=since, limit=args.limit)
        where = "any namespace" if args.all_namespaces else f"namespace {handle.bank.namespace}"
        days = 30 if since is None else min(MOST_DAYS, max(1, 1 + int((time.time() - since) // _DAY_S)))
        trends = handle.bank.trends(days=days, namespace=namespace)
        if args.html is not None:
            return _write_page(args.html, handle.bank, report, trends, namespace, terminal)
    if terminal.as_json:
        terminal.json(report_json(report))
        return 0
    if report.lines:
        _memories(report, terminal)
    else:
        terminal.tell(f"No memory was shown or used in {where}.")
    show_curves(trends, terminal, "every namespace" if args.all_namespaces else handle.bank.namespace)
    if report.dead:
        _dead_weight(report, terminal)
    if report.kinds:
        _kinds(report, terminal)
    terminal.say()
    terminal.say(
        f"{figures.counted(report.memories, 'memory', 'memories')}: shown {report.shown:,}, used {report.used:,}, "
        f"helped {report.helped:,}, hurt {report.hurt:,}; {report.dead_count:,} dead weight"
    )
    _legend(report, terminal)
    return 0


def _write_page(
    path: str, bank: Bank, report: Report, trends: Trends, namespace: str | None, terminal: Terminal
) -> int:
    from reasoningbank.cli.report_page import ReportContents, report_html

    contents = ReportContents(
        namespace="every project" if namespace else bank.namespace,
        made=f"{len(trends.days)} days until {trends.days[-1].day}",
        report=report,
        trends=trends,
        gaps=bank.gaps.list(namespace=namespace).open,
    )
    try:
        with whole_file(Path(path), mode=ORDINARY_MODE, durable=False) as file:
            file.write(report_html(contents).encode("utf-8", "replace"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    terminal.tell(f"Written: {path}")
    return 0


def _memories(report: Report, terminal: Terminal) -> None:
    columns = [
        Column(name="MEMORY", elastic=True),
        *(Column(name=name, right=True) for name in ("SHOWN", "USED", "HELPED", "HURT")),
        Column(name="UPLIFT", right=True),
        Column(name="95 %", right=True),
        Column(name="BY"),
        Column(name="CONFIDENCE", right=True, optional=True),
        Column(name="WITHHELD", right=True, optional=True),
        Column(name="ID", optional=True),
    ]
    show(terminal, columns, [_row(line) for line in report.lines])


def _row(line: ReportLine) -> list[str]:
    tally = line.tally
    return [
        line.remembered.title,
        *(f"{count:,}" for count in (tally.shown, tally.used, tally.helped, tally.hurt)),
        *_uplift(line.uplift),
        figures.confidence(line.remembered.confidence),
        f"{line.withheld:,}",
        line.remembered.id,
    ]


def _uplift(uplift: Uplift | None) -> tuple[str, str, str]:
    if uplift is None:
        return "", "", ""
    value, low, high = map(figures.difference, (uplift.value, uplift.low, uplift.high))
    return value, f"{low} to {high}", uplift.by


def _dead_weight(report: Report, terminal: Terminal) -> None:
    terminal.say()
    terminal.say("Dead weight", bold=True)
    columns = [Column(name="MEMORY", elastic=True), Column(name="WHY"), Column(name="ID", optional=True)]
    lines = report.dead[:10]
    show(terminal, columns, [[line.remembered.title, line.dead, line.remembered.id] for line in lines])
    if report.dead_count > len(lines):
        terminal.say(f"and {report.dead_count - len(lines):,} more", dim=True)


def _kinds(report: Report, terminal: Terminal) -> None:
    terminal.say()
    terminal.say("How tasks go", bold=True)
    columns = [Column(name="KIND", elastic=True), *(Column(name=n, right=True) for n in ("SESSIONS", "WENT WELL"))]
    rows = [[kind.name, f"{kind.sessions:,}", f"{kind.succeeded / kind.sessions:.0%}"] for kind in report.kinds]
    show(terminal, columns, [*rows, ["all", f"{report.sessions:,}", f"{report.succeeded / report.sessions:.0%}"]])


def _legend(report: Report, terminal: Terminal) -> None:
    ways = {line.uplift.by for line in report.lines if line.uplift is not None}
    if "hold-out" in ways:
        terminal.tell("Uplift by hold-out: chance decided which sessions had the memory, so this is what it is worth.")
    if "compared" in ways:
        terminal.tell(
            "Uplift compared: sessions that had the memory beside those that had not, which may differ in more than "
            "that. REASONINGBANK_HOLDOUT=0.05 would tell."
        )


def _spending(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        items = handle.bank.jobs.spending()
        llm = handle.bank.learning.llm
    if terminal.as_json:
        terminal.json({"llm": llm, "spending": [spending_json(item) for item in items]})
        return 0
    if not items:
        terminal.tell(f"Nothing was spent. llm: {llm}.")
        return 0
    columns = [
        Column(name="DAY"),
        Column(name="CALLS", right=True),
        Column(name="TOKENS IN", right=True),
        Column(name="OUT", right=True),
        Column(name="RESERVED", right=True),
        Column(name="MODEL", elastic=True),
    ]
    rows = [
        [s.day, f"{s.calls:,}", f"{s.tokens_in:,}", f"{s.tokens_out:,}", f"{s.reserved:,}", f"{s.model} ({s.purpose})"]
        for s in items
    ]
    show(terminal, columns, rows)
    return 0


COMMANDS = {
    "report": Command(
        run=_run,
        options=_options,
        about="Helped and hurt count uses and what people said; uplift is the difference in the rate of success.",
    )
}
