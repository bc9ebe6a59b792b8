"""`trust list|show|approve|reject|revoke|undo`: who is believed, and deciding about it."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.json_view import provenance_json, remembered_json, ruling_json, source_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import existing, open_bank
from reasoningbank.cli.command import PROGRAM, Command, add_limit, add_reference
from reasoningbank.cli.memory_page import show_memory
from reasoningbank.cli.speaker import check_is_user, speaker
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import EVERY_NAMESPACE, Remembered, Ruling, RulingKind, State
from reasoningbank.guard.trust import is_doubted, warnings_of

_DEFAULT_LIMIT = 50
PAGE = 200


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--quarantined", action="store_true", help="the memories that nobody is shown")
    parser.add_argument(
        "--waiting", action="store_true", help="those that are only quoted until you approve them: risky or borrowed"
    )
    parser.add_argument("--rulings", action="store_true", help="the decisions so far, newest first")
    add_limit(parser, _DEFAULT_LIMIT)


def _list(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        if args.rulings:
            return _list_rulings(handle.bank.trust.rulings(limit=args.limit), terminal)
        if args.quarantined or args.waiting:
            if not args.quarantined:
                return _list_memories(_waiting(handle.bank, args), terminal, "waiting for your approval")
            namespace = EVERY_NAMESPACE if args.namespace is None else None
            items = handle.bank.list(state=State.QUARANTINED, namespace=namespace, limit=args.limit)
            return _list_memories(items, terminal, "in quarantine")
        sources = handle.bank.trust.origins()
    if terminal.as_json:
        terminal.json({"origins": [source_json(source) for source in sources]})
        return 0
    if not sources:
        terminal.tell("No memories yet.")
        return 0
    columns = [
        Column(name="ORIGIN", elastic=True),
        Column(name="TRUST"),
        Column(name="MEMORIES", right=True),
        Column(name="QUARANTINED", right=True),
        Column(name="NODES", right=True),
    ]
    rows = [
        [s.origin, _standing(source_json(s)), f"{s.memories:,}", f"{s.quarantined:,}", f"{s.nodes:,}"] for s in sources
    ]
    show(terminal, columns, rows)
    return 0


def _standing(source: Mapping[str, Any]) -> str:
    """The trust in an origin. An approval covers what it had brought by then, so what came later is counted."""
    if source["revoked"]:
        return "revoked"
    if not source["approved"]:
        return str(source["trust"])
    return (
        "approved"
        if source["approved"] == source["memories"]
        else f"{source['trust']}; {source['approved']:,} approved"
    )


def _waiting(bank: Bank, args: Namespace) -> list[Remembered]:
    """The newest memories that the user alone can vouch for."""
    namespace, items, before = EVERY_NAMESPACE if args.namespace is None else None, list[Remembered](), None
    while page := bank.list(namespace=namespace, limit=PAGE, before=before):
        items += [item for item in page if item.trust is Trust.UNTRUSTED and is_doubted(item.memory)]
        before = page[-1].id
        if len(page) < PAGE or len(items) >= args.limit:
            break
    return items[: args.limit]


def _list_memories(items: Sequence[Remembered], terminal: Terminal, what: str) -> int:
    if terminal.as_json:
        terminal.json({"memories": [remembered_json(item) for item in items]})
        return 0
    if not items:
        terminal.tell(f"Nothing is {what}.")
        return 0
    columns = [
        Column(name="ID"),
        Column(name="ORIGIN", elastic=True),
        Column(name="TITLE", elastic=True),
        Column(name="WARNINGS", elastic=True, optional=True),
    ]
    rows = [[item.id, item.memory.origin, item.title, "; ".join(warnings_of(item.memory))] for item in items]
    show(terminal, columns, rows)
    return 0


def _list_rulings(rulings: list[Ruling], terminal: Terminal) -> int:
    if terminal.as_json:
        terminal.json({"rulings": [ruling_json(ruling) for ruling in rulings]})
        return 0
    if not rulings:
        terminal.tell("No decisions yet.")
        return 0
    now = time.time()
    columns = [
        Column(name="ID"),
        Column(name="RULING"),
        Column(name="OF", elastic=True),
        Column(name="MEMORIES", right=True),
        Column(name="BY"),
        Column(name="WHEN", optional=True),
        Column(name="COMMENT", elastic=True, optional=True),
    ]
    rows = [
        [r.id, r.kind.value, r.target, f"{len(r.memories):,}", r.source, figures.ago(r.at, now), r.comment]
        for r in rulings
    ]
    show(terminal, columns, rows)
    return 0


def _show(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        report = handle.bank.trust.why(args.reference)
    if terminal.as_json:
        terminal.json(provenance_json(report))
        return 0
    show_memory(terminal, report.remembered.memory, report.remembered)
    terminal.say()
    for parent, trust in report.parents:
        terminal.labelled("made from ", f"{parent.id} ({parent.origin}, {trust}): {parent.title}")
    for missing in report.missing_parents:
        terminal.labelled("made from ", f"{missing} (not here)")
    for ruling in report.rulings:
        comment = f": {ruling.comment}" if ruling.comment else ""
        terminal.labelled("ruling    ", f"{ruling.id} {ruling.kind.value} {ruling.target} by {ruling.source}{comment}")
    if report.descendants:
        terminal.say(f"{figures.counted(report.descendants, 'memory was', 'memories were')} made from it.")
    return 0


# ---------------------------------------------------------------- deciding


def _decision_options(target: str, text: str) -> Callable[[ArgumentParser], None]:
    def options(parser: ArgumentParser) -> None:
        parser.add_argument("target", metavar=target, help=text)
        parser.add_argument("--comment", metavar="TEXT", default="", help="why, for whoever reads it later")
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, and do nothing")

    return options


def _deciding(decide: Callable[[Bank, Namespace], Ruling], verb: str) -> Callable[[Namespace, Terminal], int]:
    def run(args: Namespace, terminal: Terminal) -> int:
        with existing(args) as bank:
            ruling = decide(bank, args)
        if terminal.as_json:
            terminal.json({**ruling_json(ruling), "dry_run": args.dry_run})
            return 0
        count = figures.counted(len(ruling.memories), "memory", "memories")
        if args.dry_run:
            terminal.say(f"{ruling.target}: {count} would be {verb}; nothing was done.")
            return 0
        back = "" if ruling.kind is RulingKind.UNDO else f". To undo: {PROGRAM} trust undo {ruling.id}"
        terminal.result(ruling.id, f"{ruling.target}: {count} {verb}{back}")
        return 0

    return run


def _revoke(args: Namespace, terminal: Terminal) -> int:
    with existing(args) as bank:
        ruling = bank.trust.revoke(args.target, **_as_user(args, "revoke an origin"))
        counts = bank.trust.brought_by(ruling.target)
    if terminal.as_json:
        hidden = {"nodes_hidden": counts.nodes, "edges_hidden": counts.edges}
        terminal.json({**ruling_json(ruling), **hidden, "dry_run": args.dry_run})
        return 0
    would = " would be" if args.dry_run else ""
    effect = f"{figures.counted(len(ruling.memories), 'memory', 'memories')}{would} quarantined"
    if counts.nodes or counts.edges:
        nodes, edges = figures.counted(counts.nodes, "node"), figures.counted(counts.edges, "edge")
        effect += f", {nodes} and {edges}{would} hidden"
    elif not counts.memories:
        effect = f"nothing here came from it; what it brings later{would or ' is'} quarantined"
    if args.dry_run:
        terminal.say(f"{ruling.target}: {effect}; nothing was done.")
        return 0
    terminal.result(ruling.id, f"{ruling.target}: {effect}. To undo: {PROGRAM} trust undo {ruling.id}")
    return 0


def _approve(bank: Bank, args: Namespace) -> Ruling:
    return bank.trust.approve(args.target, voice=speaker(), comment=args.comment, dry_run=args.dry_run)


def _as_user(args: Namespace, what: str) -> dict[str, Any]:
    """Options of a ruling that is written down as the user's own decision."""
    check_is_user(what)
    return {"comment": args.comment, "dry_run": args.dry_run}


COMMANDS = {
    "trust list": Command(
        run=_list, options=_list_options, about="Without options: every origin and what came from it."
    ),
    "trust show": Command(run=_show, options=add_reference),
    "trust approve": Command(
        run=_deciding(_approve, "vouched for"),
        options=_decision_options("ID|KEY|ORIGIN", "a memory, or an origin for everything it has brought so far"),
        about="What it covers is trusted from now on and leaves quarantine.",
    ),
    "trust reject": Command(
        run=_deciding(lambda b, a: b.trust.reject(a.target, **_as_user(a, "reject a memory")), "forgotten"),
        options=_decision_options("ID|KEY", "a memory"),
    ),
    "trust revoke": Command(
        run=_revoke,
        options=_decision_options("ORIGIN", "such as tool:web, peer:KEY or import:NAME"),
        about="Everything that was made from it goes too, and what it brings later is quarantined. Its nodes and "
        "edges in the memory graph are no longer shown.",
    ),
    "trust undo": Command(
        run=_deciding(lambda b, a: b.trust.undo(a.target, **_as_user(a, "undo a decision")), "put back"),
        options=_decision_options("RULING", "the id of a decision, as `trust list --rulings` prints it"),
    ),
}
