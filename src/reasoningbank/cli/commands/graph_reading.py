"""`graph search`, `walk`, `path`, `conversation` and `check`: asking the memory graph."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.graph_view import end_names, hit_json, paths_json, subgraph_json, walk_json
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command, add_limit
from reasoningbank.cli.moments import moment
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.graph.graph_query import LABELS
from reasoningbank.graph.questions import say_nothing_found
from reasoningbank.graph.render import DEFAULT_TOKENS, render_paths, render_walk
from reasoningbank.graph.subgraph import GraphHit, Subgraph

DEFAULT_HITS = 10
_LISTED_CHARS = 240
"""The longest text in a listing, however wide the window; --json has the whole."""
_EMPTY = f"The graph is empty here: `{PROGRAM} graph ingest TRANSCRIPT` or `graph add FILE` fills it."
_NOTHING = "Nothing in the graph matches."
_AGO = re.compile(r"\d{1,6}[hdw]")


def _add_filters(parser: ArgumentParser) -> None:
    parser.add_argument("--label", metavar="L", action="append", default=[], choices=LABELS, help="only such nodes")
    parser.add_argument("--tag", metavar="T", action="append", default=[], help="only with this tag; may be repeated")
    parser.add_argument("--role", metavar="R", action="append", default=[], help="only asked by such a user")
    parser.add_argument("--conversation", metavar="ID", help="only of this conversation")
    parser.add_argument("--since", metavar="WHEN", help="7d, 4w, or a date: not over before that")
    parser.add_argument("--until", metavar="WHEN", help="not begun after that")


def _filters(args: Namespace, bank: Bank) -> dict[str, object]:
    now = bank.context.clock()
    return {
        "labels": args.label,
        "tags": args.tag,
        "roles": args.role,
        "conv_id": args.conversation,
        "since": _time(args.since, now),
        "until": _time(args.until, now),
    }


def _time(text: str | None, now: float) -> str | float | None:
    """A span such as 7d as a moment. A date is handed on as it is: the graph knows where it ends."""
    return moment(text, now) if text is not None and _AGO.fullmatch(text) else text


# ---------------------------------------------------------------- search


def _search_options(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="what to look for")
    _add_filters(parser)
    add_limit(parser, DEFAULT_HITS)


def _search(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        hits = handle.bank.graph.search(args.text, **_filters(args, handle.bank), limit=args.limit)
        names = end_names(handle.bank.context, hits)
        empty = not hits and not handle.bank.graph.conversations()
        owed = hits.not_yet_indexed
    if terminal.as_json:
        terminal.json({"hits": [hit_json(hit, names) for hit in hits], "not_yet_indexed": owed})
        return 0
    if not hits:
        terminal.tell(_EMPTY if empty else _NOTHING)
        return 0
    show(terminal, _HIT_COLUMNS, [_hit_row(hit) for hit in hits])
    if owed:
        terminal.tell(f"{owed:,} changes are not indexed yet: ask again for what is new.")
    return 0


_HIT_COLUMNS = [
    Column(name="SCORE", right=True),
    Column(name="NODE"),
    Column(name="LABEL"),
    Column(name="TEXT", elastic=True),
    Column(name="CONVERSATION", elastic=True, optional=True),
]


def _hit_row(hit: GraphHit) -> list[str]:
    if hit.vertex is not None:
        vertex = hit.vertex
        return [figures.short(hit.score), vertex.name, vertex.label, _in_short(vertex.text), vertex.conv_id]
    edge = hit.edge
    return (
        [figures.short(hit.score), edge.name or edge.id, "edge", _in_short(edge.text), ""] if edge is not None else []
    )


def _in_short(text: str) -> str:
    return plain.cut(plain.one_line(text), _LISTED_CHARS)


# ---------------------------------------------------------------- walk, path


def _walk_options(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the question; the walk begins at what matches it")
    parser.add_argument("--from", dest="seeds", metavar="NODE", action="append", default=[], help="begin here instead")
    parser.add_argument("--depth", type=int, default=5, metavar="N", help="how many steps far (default 5)")
    parser.add_argument("--branching", type=int, default=3, metavar="N", help="edges followed from a node (default 3)")
    parser.add_argument(
        "--max-tokens", type=int, default=DEFAULT_TOKENS, metavar="N", help=f"of the text (default {DEFAULT_TOKENS:,})"
    )
    parser.add_argument("--led-to", metavar="NODE", help="instead: what led to this")
    parser.add_argument("--rests-on", metavar="NODE", help="instead: the sources that this rests on")
    parser.add_argument("--contradicting", metavar="NODE", help="instead: what contradicts this")
    parser.add_argument("--bridges", metavar="TAG", help="instead: every edge with this tag, such as solution")


def _walk(args: Namespace, terminal: Terminal) -> int:
    options = {name: getattr(args, name) for name in ("led_to", "rests_on", "contradicting", "bridges")}
    questions = [(name, value) for name, value in options.items() if value is not None]
    if len(questions) + bool(args.text or args.seeds) != 1:
        raise InvalidInput("Ask one thing: a TEXT, --from, --led-to, --rests-on, --contradicting or --bridges.")
    with open_bank(args) as handle:
        graph = handle.bank.graph
        if questions:
            walk = getattr(graph, questions[0][0])(questions[0][1])
        else:
            walk = graph.walk(args.text or "", seeds=args.seeds, depth=args.depth, branching=args.branching)
        empty = not walk.paths and not graph.conversations()
    if terminal.as_json:
        terminal.json({**walk_json(walk), "text": render_walk(walk, args.max_tokens)})
        return 0
    if questions and not walk.paths and not empty:
        terminal.tell(say_nothing_found(*questions[0]))
        return 0
    _tell_text(render_walk(walk, args.max_tokens), terminal, bool(walk.paths or walk.seeds), empty=empty)
    return 0


def _tell_text(text: str, terminal: Terminal, has_hits: bool, *, empty: bool = False) -> None:
    if text:
        terminal.paragraph(text)
    else:
        terminal.tell("--max-tokens is too little for anything." if has_hits else _EMPTY if empty else _NOTHING)


def _path_options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="a node's name or id, or a memory's key or id")
    parser.add_argument("target", metavar="TO")
    parser.add_argument("--max-tokens", type=int, default=DEFAULT_TOKENS, metavar="N", help="of the text")


def _path(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        path = handle.bank.graph.path(args.source, args.target)
    paths = [] if path is None else [path]
    if terminal.as_json:
        terminal.json(paths_json(paths))
    elif path is None:
        terminal.tell("No path leads there.")
    else:
        _tell_text(render_paths(paths, args.max_tokens), terminal, has_hits=True)
    return 0


# ---------------------------------------------------------------- conversation, check


def _conversation_options(parser: ArgumentParser) -> None:
    parser.add_argument("conversation", metavar="ID", nargs="?", help="its conv_id; without one, all are listed")


def _conversation(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        graph = handle.bank.graph
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
    show(terminal, columns, [[vertex.name, vertex.label, _in_short(vertex.text)] for vertex in part.vertices])
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
            _in_short(edge.text or edge.kind.value),
            edge.name or edge.id,
        ]
        for edge in part.edges
    ]
    show(terminal, columns, rows)


def _no_options(parser: ArgumentParser) -> None:
    del parser


def _check(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        damage = handle.bank.graph.check()
    if terminal.as_json:
        problems = [{"kind": item.kind, "id": item.id, "problem": item.problem} for item in damage]
        terminal.json({"intact": not damage, "damage": problems})
    elif not damage:
        terminal.say("Every edge and every pointer leads somewhere.")
    else:
        columns = [Column(name="KIND"), Column(name="ID"), Column(name="PROBLEM", elastic=True)]
        show(terminal, columns, [[item.kind, item.id, item.problem] for item in damage])
    return 1 if damage else 0


COMMANDS = {
    "graph search": Command(
        run=_search, options=_search_options, about="Nodes, edges and lessons, by their words and their meaning."
    ),
    "graph walk": Command(
        run=_walk,
        options=_walk_options,
        about="Prints what a model is given: paths with the whole sentence of each edge.",
    ),
    "graph path": Command(run=_path, options=_path_options),
    "graph conversation": Command(run=_conversation, options=_conversation_options),
    "graph check": Command(
        run=_check, options=_no_options, about="Of every namespace; ends with 1 if something is wrong."
    ),
}
