"""`link`, `unlink` and `graph neighbours`: edges between memories."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from reasoningbank.cli import figures
from reasoningbank.cli.banks import opened
from reasoningbank.cli.command import Command, add_reference
from reasoningbank.cli.commands.storing import tell_scrubbed
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.types import Edge, EdgeKind
from reasoningbank.graph.link import DEFAULT_WEIGHT
from reasoningbank.graph.walk import DIRECTIONS
from reasoningbank.view import edge_json, neighbour_json


def _link_options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="id or key")
    parser.add_argument("target", metavar="TARGET", help="id or key")
    parser.add_argument("--kind", choices=list(EdgeKind), default=EdgeKind.RELATES.value, help="default relates")
    parser.add_argument(
        "--weight",
        type=float,
        default=DEFAULT_WEIGHT,
        metavar="0..1",
        help=f"how strong (default {DEFAULT_WEIGHT})",
    )
    parser.add_argument("--text", metavar="TEXT", default="", help="the sentence that says why")
    parser.add_argument("--evidence", metavar="TEXT", default="", help="where that is known from")
    parser.add_argument("--tag", metavar="T", action="append", default=[])


def _link(args: Namespace, terminal: Terminal) -> int:
    with opened(args) as found:
        edge = found.bank.link(
            args.source,
            args.target,
            args.kind,
            weight=args.weight,
            text=args.text,
            evidence=args.evidence,
            tags=args.tag,
        )
        scrubbed = found.bank.secrets.found_in([args.text, args.evidence, args.tag])
    _report(edge, terminal, "linked", scrubbed)
    return 0


def _unlink_options(parser: ArgumentParser) -> None:
    parser.add_argument("edge", metavar="EDGE", help="the id of an edge, as `link` or `graph neighbours` print it")


def _unlink(args: Namespace, terminal: Terminal) -> int:
    with opened(args) as found:
        edge = found.bank.unlink(args.edge)
    _report(edge, terminal, "removed")
    return 0


def _report(edge: Edge, terminal: Terminal, what: str, scrubbed: Mapping[str, int] | None = None) -> None:
    if terminal.as_json:
        terminal.json(edge_json(edge) if scrubbed is None else {**edge_json(edge), "scrubbed": dict(scrubbed)})
        return
    ends = f"{edge.source_id} {edge.kind.value} {edge.target_id}"
    terminal.result(edge.id, f"{what}: {ends}, weight {figures.short(edge.weight)}")
    tell_scrubbed(scrubbed or {}, terminal)


def _neighbours_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument("--kind", choices=list(EdgeKind), help="only along such edges")
    parser.add_argument("--direction", choices=DIRECTIONS, default="both", help="default both")
    parser.add_argument("--depth", type=int, default=1, metavar="N", help="how many steps far, 1 to 10 (default 1)")


def _neighbours(args: Namespace, terminal: Terminal) -> int:
    with opened(args) as found:
        near = found.bank.neighbours(args.reference, kind=args.kind, direction=args.direction, depth=args.depth)
    if terminal.as_json:
        terminal.json({"neighbours": [neighbour_json(item) for item in near]})
        return 0
    if not near:
        terminal.tell("No edges from here.")
        return 0
    columns = [
        Column(name="STEPS", right=True),
        Column(name="EDGE"),
        Column(name="STRENGTH", right=True),
        Column(name="MEMORY"),
        Column(name="TITLE", elastic=True),
        Column(name="WHY", elastic=True, optional=True),
        Column(name="EDGE ID", optional=True),
    ]
    rows = [
        [
            str(item.steps),
            f"{item.edge.kind.value} →" if item.outward else f"← {item.edge.kind.value}",
            figures.short(item.strength),
            item.memory.id,
            item.memory.title,
            item.edge.text or item.edge.evidence,
            item.edge.id,
        ]
        for item in near
    ]
    show(terminal, columns, rows)
    return 0


COMMANDS = {
    "link": Command(
        run=_link,
        options=_link_options,
        about="Linking the same two by the same kind again sets the new strength.",
    ),
    "unlink": Command(run=_unlink, options=_unlink_options),
    "graph neighbours": Command(run=_neighbours, options=_neighbours_options),
}
