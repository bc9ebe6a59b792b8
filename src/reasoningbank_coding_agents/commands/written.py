"""`export --as agents-md|claude-md|skill`: the best memories where agents read anyway, between two marks."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.seams import ExportPlugin
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.origins import Trust
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import EVERY_NAMESPACE, Edge, EdgeKind, Remembered, Rule, Scope
from reasoningbank.learn.offline.user_rules import rules_to_tell
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents.agents_md.choosing import Clashes, Wanted
from reasoningbank_coding_agents.agents_md.files import PLACES, AdvicePage, is_ours_alone, page_of, target_of
from reasoningbank_coding_agents.agents_md.marked import START
from reasoningbank_coding_agents.install.changing import FileChange, installing, uninstalling, write
from reasoningbank_coding_agents.install.writing import backups_of, read_seen
from reasoningbank_coding_agents.places import repository

_AT_ONCE = 500
_MOST_NAMED = 5
_DEFAULTS = Wanted()


def _options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(f"with --as {', '.join(PLACES)}")
    group.add_argument(
        "--limit", type=int, default=_DEFAULTS.limit, metavar="N",
        help=f"for agents: at most this many (default {_DEFAULTS.limit})",
    )  # fmt: skip
    group.add_argument(
        "--max-tokens", type=int, default=_DEFAULTS.max_tokens, metavar="N",
        help=f"what they may cost whoever reads them (default {_DEFAULTS.max_tokens:,})",
    )  # fmt: skip
    group.add_argument("--trusted", action="store_true", help="only what you said or approved")
    group.add_argument("--untried", action="store_true", help="also what agents noted and nothing has confirmed yet")
    group.add_argument("--remove", action="store_true", help="take our part out of the file again")
    group.add_argument("--dry-run", action="store_true", help="show the change, and write nothing")


def _run(kind: str, args: Namespace, terminal: Terminal) -> int:
    for name in ("limit", "max_tokens"):
        if getattr(args, name) < 1:
            raise InvalidInput(f"--{name.replace('_', '-')} must be from 1 on, not {getattr(args, name)}.")
    with open_bank(args) as handle:
        namespace = handle.bank.namespace
        memories, rules = ((), []) if args.remove else (_memories(handle.bank), _rules(handle.bank))
        least = Trust.TRUSTED if args.trusted else Trust.WORKING
        request = Wanted(limit=args.limit, max_tokens=args.max_tokens, least_trust=least, untried=args.untried)
        page = page_of(kind, memories, request, _clashes(handle.bank), rules)
    if args.path == "-":
        terminal.verbatim_lines(page.lines)
        return 0
    path = Path(args.path).expanduser() if args.path else repository() / PLACES[kind]
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder. Name a file in it.")
    target = target_of(kind, path, page, namespace)
    change = _removal(kind, *uninstalling([target])) if args.remove else installing([target])[0]
    if not args.remove and not page.lines and START not in change.was.text:
        change = replace(change, text=change.was.text if change.was.data is not None else None)
    if not args.dry_run:
        # In a file that has our part already nothing else is touched, so there is nothing to keep a copy of.
        write([change], time.time(), copies=START not in change.was.text)
    _tell(args, terminal, change, page)
    return 0


def _rules(bank: ReasoningBank) -> list[Rule]:
    """Rules of this project. Those about the person are no business of whoever else reads the file."""
    return rules_to_tell([rule for rule in bank.rules.in_force() if rule.namespace == bank.namespace])


def _memories(bank: ReasoningBank) -> Iterator[Remembered]:
    """Memories of this namespace, and those that its team and the whole tenant share; a page at a time."""
    shared_ids: set[str] = set()
    shared_filter: dict[str, Any] = {"namespace": EVERY_NAMESPACE, "scope": (Scope.TEAM, Scope.ORG)}
    teams = bank.teams.now()
    for where in ({}, shared_filter):
        before: str | None = None
        while page := bank.list(limit=_AT_ONCE, before=before, **where):
            yield from (
                item
                for item in page
                if item.id not in shared_ids
                and (item.scope is not Scope.TEAM or teams.are_mates(item.namespace, bank.namespace))
            )
            # What is shared may lie in this namespace too.
            shared_ids.update(item.id for item in page if item.scope is not Scope.PROJECT)
            before = position_of(page[-1].memory)


def _clashes(bank: ReasoningBank) -> Clashes:
    context = bank.context
    with context.store.read(context.tenant) as reader:
        edges = reader.select(Edge, {"kind": EdgeKind.CONFLICTS.value})
    return frozenset(frozenset((edge.source_id, edge.target_id)) for edge in edges)


def _removal(kind: str, change: FileChange) -> FileChange:
    if change.text is None or change.kind == "unchanged":
        return change
    if is_ours_alone(kind, change.text):
        return replace(change, text=None)
    for copy in backups_of(change.was.path):
        before = read_seen(copy).text
        # A last line that was not ended was ended by us.
        if before.rstrip("\r\n") == change.text.rstrip("\r\n"):
            return replace(change, text=before, kept=copy)
    return change


def _tell(args: Namespace, terminal: Terminal, change: FileChange, page: AdvicePage) -> None:
    if terminal.as_json:
        terminal.json(
            {
                "path": str(change.target.path),
                "change": change.kind,
                "dry_run": args.dry_run,
                "rules": page.rules,
                "memories": [item.id for item in page.memories],
                "tokens": page.tokens,
                "contested": [{"left_out": loser.id, "contradicts": other.id} for loser, other in page.contested],
                "diff": change.diff,
            }
        )
        return
    if args.dry_run and change.kind != "unchanged":
        terminal.say(change.diff)
    contents = figures.counted(len(page.memories), "memory", "memories")
    if page.rules:
        contents = f"{figures.counted(page.rules, 'rule')} of yours, {contents}"
    if args.remove:
        terminal.tell(f"{change.target.path} {change.kind}.")
    elif not page.lines and change.kind == "unchanged":
        terminal.tell(
            "Nothing here has earned a place yet: a memory needs some confidence, and a use or an approval behind it."
        )
    else:
        verb = f"would be {change.kind}" if args.dry_run and change.kind != "unchanged" else change.kind
        terminal.tell(f"{change.target.path} {verb}: {contents}, about {page.tokens:,} tokens.")
        for left_out, winner in page.contested[:_MOST_NAMED]:
            terminal.tell(
                f"Left out: “{plain.one_line(left_out.title)}” contradicts “{plain.one_line(winner.title)}”, "
                "which has more to say for it."
            )


EXPORTS = ExportPlugin(forms=tuple(PLACES), options=_options, run=_run)
