"""`graph conversation` and `graph check`: reading the memory graph."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from reasoningbank.bank.graph_view import subgraph_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.graph.subgraph import Subgraph

_EMPTY = f"The graph is empty here: `{PROGRAM} graph add FILE` fills it."


def _conversation_options(parser: ArgumentParser) -> None:
    parser.add_argument("conversation", metavar="ID", nargs="?", help="its conv_id; without one, all are listed")


def _conversation(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as found:
        graph = found.bank.graph
        if args.conversation is None:
            return _tell_conversations(graph.conversations(), terminal)
        part = graph.conversation(args.conversation)
    if terminal.as_json:
        terminal.json({"conversation": args.conversation, **subgraph_json(part)})
        return 0
    if not part.vertices:
        terminal.tell(
            f"There is no conversation {args.conversation!r} here: `{PROGRAM} graph conversation` lists them."
        )
        return 0
    _show_part(part, terminal)
    return 0


def _tell_conversations(counts: Mapping[str, int], terminal: Terminal) -> int:
    if terminal.as_json:
        terminal.json({"conversations": counts})
    elif not counts:
        terminal.tell(_EMPTY)
    else:
        columns = [Column(name="NODES", right=True), Column(name="CONVERSATION", elastic=True)]
        show(terminal, columns, [[f"{count:,}", name] for name, count in sorted(counts.items())])
    return 0


def _show_part(part: Subgraph, terminal: Terminal) -> None:
    names = {vertex.id: vertex.name for vertex in part.vertices}
    columns = [Column(name="NODE"), Column(name="LABEL"), Column(name="TEXT", elastic=True)]
    show(terminal, columns, [[vertex.name, vertex.label, vertex.text] for vertex in part.vertices])
    if not part.edges:
        return
    terminal.say()
    columns = [
        Column(name="FROM"),
        Column(name="TO"),
        Column(name="WEIGHT", right=True),
        Column(name="WHY", elastic=True),
        Column(name="EDGE", optional=True),
    ]
    rows = [
        [
            names.get(edge.source_id, edge.source_id),
            names.get(edge.target_id, edge.target_id),
            figures.short(edge.weight),
            edge.text or edge.kind.value,
            edge.name or edge.id,
        ]
        for edge in part.edges
    ]
    show(terminal, columns, rows)


def _no_options(parser: ArgumentParser) -> None:
    del parser


def _check(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as found:
        damage = found.bank.graph.check()
    if terminal.as_json:
        listed = [{"kind": item.kind, "id": item.id, "problem": item.problem} for item in damage]
        terminal.json({"intact": not damage, "damage": listed})
    elif not damage:
        terminal.say("Every edge and every pointer leads somewhere, and every node is as its label has it.")
    else:
        columns = [Column(name="KIND"), Column(name="ID"), Column(name="PROBLEM", elastic=True)]
        show(terminal, columns, [[item.kind, item.id, item.problem] for item in damage])
    return 1 if damage else 0


COMMANDS = {
    "graph conversation": Command(run=_conversation, options=_conversation_options),
    "graph check": Command(
        run=_check, options=_no_options, about="Of every namespace; ends with 1 if something is wrong."
    ),
}
