"""`link`, `unlink`, `graph neighbours` and `graph edges`: edges between memories and nodes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.json_view import edge_json, joined_json, neighbour_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command, add_limit, add_reference
from reasoningbank.cli.commands.storing import tell_scrubbed
from reasoningbank.cli.speaker import speaker
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.types import DEFAULT_LIST_LIMIT, Edge, EdgeKind, Node
from reasoningbank.graph.link import DEFAULT_WEIGHT
from reasoningbank.graph.walk import DIRECTIONS


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
    with open_bank(args) as handle:
        edge = handle.bank.link(
            args.source,
            args.target,
            args.kind,
            weight=args.weight,
            text=args.text,
            evidence=args.evidence,
            tags=args.tag,
            origin=speaker(),
        )
        secrets = handle.bank.secrets.found_in([args.text, args.evidence, args.tag])
    _report(edge, terminal, "linked", secrets)
    return 0


def _unlink_options(parser: ArgumentParser) -> None:
    parser.add_argument("edge", metavar="EDGE", help="the id or name of an edge, as `link` or `graph edges` print it")
    parser.add_argument(
        "other", metavar="TARGET", nargs="?", help="EDGE and this are memories: remove the one edge between them"
    )


def _unlink(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        edge_id = args.edge if args.other is None else _edge_between(handle.bank, args.edge, args.other)
        edge = handle.bank.unlink(edge_id)
    _report(edge, terminal, "removed")
    return 0


def _edge_between(bank: Bank, source: str, target: str) -> str:
    """The id of the only edge that joins two memories, whichever way it points."""
    other = bank.get(target).id
    joining = {item.edge.id: item.edge for item in bank.neighbours(source) if item.record.id == other}
    if not joining:
        raise NotFound(f"No edge joins {source} and {target}: `{PROGRAM} graph edges` lists those that there are.")
    if len(joining) > 1:
        choices = ", ".join(f"{edge.id} ({edge.kind.value})" for edge in joining.values())
        raise InvalidInput(f"Several edges join {source} and {target}: name one of {choices}.")
    return next(iter(joining))


def _report(edge: Edge, terminal: Terminal, what: str, secrets: Mapping[str, int] | None = None) -> None:
    if terminal.as_json:
        terminal.json(edge_json(edge) if secrets is None else {**edge_json(edge), "scrubbed": dict(secrets)})
        return
    ends = f"{edge.source_id} {edge.kind.value} {edge.target_id}"
    terminal.result(edge.id, f"{what}: {ends}, weight {figures.short(edge.weight)}")
    tell_scrubbed(secrets or {}, terminal)


def _neighbours_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument("--kind", choices=list(EdgeKind), help="only along such edges")
    parser.add_argument("--direction", choices=DIRECTIONS, default="both", help="default both")
    parser.add_argument("--depth", type=int, default=1, metavar="N", help="how many steps far, 1 to 10 (default 1)")


def _neighbours(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        near = handle.bank.neighbours(args.reference, kind=args.kind, direction=args.direction, depth=args.depth)
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
        Column(name="TO"),
        Column(name="TITLE", elastic=True),
        Column(name="WHY", elastic=True, optional=True),
        Column(name="EDGE ID", optional=True),
    ]
    rows = [
        [
            str(item.steps),
            f"{item.edge.kind.value} →" if item.outward else f"← {item.edge.kind.value}",
            figures.short(item.strength),
            item.record.name if isinstance(item.record, Node) else item.record.id,
            item.title,
            item.edge.text or item.edge.evidence,
            item.edge.name or item.edge.id,
        ]
        for item in near
    ]
    show(terminal, columns, rows)
    return 0


def _edges_options(parser: ArgumentParser) -> None:
    add_limit(parser, DEFAULT_LIST_LIMIT)
    parser.add_argument("--kind", choices=list(EdgeKind), help="only of this kind")
    parser.add_argument("--tag", metavar="T", action="append", default=[], help="only with this tag; may be repeated")
    parser.add_argument("--min-weight", type=float, default=0.0, metavar="0..1", help="only as strong as this")
    parser.add_argument("--before", metavar="ID", help="the page that follows this edge")


def _edges(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        edges = handle.bank.edges(
            kind=args.kind, tags=args.tag, least_weight=args.min_weight, limit=args.limit, before=args.before
        )
    following = edges[-1].edge.id if len(edges) == args.limit else None
    if terminal.as_json:
        terminal.json({"edges": [joined_json(item) for item in edges], "before": following})
        return 0
    if not edges:
        has_filter = args.kind or args.tag or args.min_weight or args.before
        terminal.tell("No such edges." if has_filter else f"No edges yet: `{PROGRAM} link SOURCE TARGET` makes one.")
        return 0
    columns = [
        Column(name="EDGE ID"),
        Column(name="KIND"),
        Column(name="WEIGHT", right=True),
        Column(name="FROM", elastic=True),
        Column(name="TO", elastic=True),
        Column(name="TAGS", elastic=True, optional=True),
        Column(name="WHY", elastic=True, optional=True),
    ]
    rows = [
        [
            item.edge.name or item.edge.id,
            item.edge.kind.value,
            figures.short(item.edge.weight),
            item.source or item.edge.source_id,
            item.target or item.edge.target_id,
            ", ".join(item.edge.tags),
            item.edge.text or item.edge.evidence,
        ]
        for item in edges
    ]
    show(terminal, columns, rows)
    if following is not None:
        terminal.tell(f"For more: --before {following}")
    return 0


COMMANDS = {
    "link": Command(
        run=_link,
        options=_link_options,
        about="Linking the same two by the same kind again sets the new strength.",
    ),
    "unlink": Command(run=_unlink, options=_unlink_options),
    "graph neighbours": Command(
        run=_neighbours,
        options=_neighbours_options,
        about="Where several edges join the same two, all are shown.",
    ),
    "graph edges": Command(
        run=_edges, options=_edges_options, about="Of every namespace, newest first, by their kind or tags."
    ),
}
