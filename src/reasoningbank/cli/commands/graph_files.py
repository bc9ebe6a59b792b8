"""`graph add`, `ingest`, `export` and `import`: between the memory graph and files."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from reasoningbank.bank.graph_import import ImportedGraph
from reasoningbank.bank.graph_view import added_json, imported_graph_json, ingested_json
from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank, without_traces
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.commands.exchange import write_whole
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.speaker import check_is_user, speaker
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.origins import AGENT
from reasoningbank.core.types import NodeLabel

FORMATS = ("graphml", "cypher", "json")
LAYOUTS = ("graphml", "json")
PARTS = ("nodes", "edges", "lessons")
"""The parts that can be added, as `bank.graph.add` takes them."""
_LINES_AT_ONCE = 500
_EXAMPLE = '{"nodes": [{"id", "label", "conv_id", "text", …}], "edges": [{"source", "target", "text", "weight"}]}'


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help='JSON: nodes, edges, lessons; "-" is standard input')
    parser.add_argument("--label", choices=list(NodeLabel), help="instead of a file: one node with this label")
    parser.add_argument("--id", metavar="NAME", help="its name, such as N1001; the same name again revises it")
    parser.add_argument("--conversation", metavar="ID", help="its conversation")
    parser.add_argument("--text", metavar="TEXT", help="what it says")
    parser.add_argument("--tag", metavar="T", action="append", default=[])
    parser.add_argument(
        "--field", metavar="NAME=VALUE", action="append", default=[], help="a field of its label, such as user_role=CFO"
    )


def _add(args: Namespace, terminal: Terminal) -> int:
    if (args.file is None) == (args.label is None):
        raise InvalidInput(f"Name a FILE with {_EXAMPLE}, or describe one node by --label, --text and so on.")
    document = _node_of(args) if args.file is None else _document(args.file)
    with open_bank(args, create=True) as handle:
        parts = [document.get(name, []) for name in PARTS]
        addition = handle.bank.graph.add(*parts, origin=speaker())
    if terminal.as_json:
        terminal.json(added_json(addition))
    else:
        terminal.say(_counts_in_words(addition.counts) or "nothing added")
    return 0


def _node_of(args: Namespace) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for pair in args.field:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidInput(f"--field takes NAME=VALUE, not {pair!r}.")
        # Several of one name are a list, such as metrics.
        fields[name] = value if name not in fields else [*_as_list(fields[name]), value]
    for name in ("metrics", "analysis_types"):
        if name in fields:
            fields[name] = _as_list(fields[name])
    options = {"id": args.id, "label": args.label, "conv_id": args.conversation, "text": args.text, "tags": args.tag}
    return {"nodes": [{**{name: value for name, value in options.items() if value is not None}, **fields}]}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _json_of(file: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is not JSON ({error}).") from None


def _document(file: str) -> Mapping[str, Any]:
    document = _json_of(file)
    if not isinstance(document, dict) or not document.keys() & set(PARTS):
        raise InvalidInput(f"{file} must be an object such as {_EXAMPLE}.")
    if unknown := sorted(document.keys() - set(PARTS)):
        raise InvalidInput(
            f"{file} has {unknown[0]!r} besides {', '.join(PARTS)}: `{PROGRAM} graph import` reads other layouts."
        )
    return document


def _counts_in_words(counts: Mapping[str, int]) -> str:
    """Counts of an addition or an import as people read them: 2 nodes added, 1 edge unchanged."""
    parts = []
    for what in sorted(counts):
        noun, _, deed = what.partition(" ")
        if counts[what]:
            parts.append(f"{figures.counted(counts[what], noun.removesuffix('s'))} {deed}")
    return ", ".join(parts)


# ---------------------------------------------------------------- out


def _export_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="FILE", nargs="?", default="-", help='where to; "-" or nothing is standard output'
    )
    parser.add_argument(
        "--as",
        dest="form",
        choices=FORMATS,
        help="default: by the ending of FILE, else graphml; json is nodes and links",
    )
    parser.add_argument("--conversation", metavar="ID", help="only this conversation")
    parser.add_argument("--walk", metavar="TEXT", help="only what a walk from this question finds")
    parser.add_argument("--all-namespaces", action="store_true", help="everything, instead of one namespace")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")


def _export(args: Namespace, terminal: Terminal) -> int:
    if args.path != "-" and Path(args.path).exists() and not args.force:
        raise InvalidInput(f"{args.path} exists already. To replace it, add --force.")
    if (args.conversation is not None) + (args.walk is not None) + args.all_namespaces > 1:
        raise InvalidInput("Export one thing: --conversation, --walk or --all-namespaces.")
    ending = Path(args.path).suffix.lower().lstrip(".")
    form = args.form or {"cql": "cypher", "cypher": "cypher", "json": "json"}.get(ending, "graphml")
    with open_bank(args) as handle:
        graph, everywhere = handle.bank.graph, "*" if args.all_namespaces else None
        part = None if args.walk is None else graph.walk(args.walk)
        lines = graph.export(form, part=part, conv_id=args.conversation, namespace=everywhere)
        if args.path == "-":
            while chunk := list(islice(lines, _LINES_AT_ONCE)):
                terminal.verbatim_lines(chunk)
            return 0
        with Bar(terminal, "exporting") as bar:
            count = write_whole(Path(args.path), lines, bar)
    if terminal.as_json:
        terminal.json({"path": args.path, "format": form, "lines": count})
    else:
        terminal.tell(f"{figures.counted(count, 'line')} of {form} written to {args.path}.")
    return 0


# ---------------------------------------------------------------- in


def _import_options(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="GraphML, or JSON of Cypher, APOC, D3 or NetworkX")
    parser.add_argument("--layout", choices=LAYOUTS, help="told from the contents when left out")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and keep nothing")
    parser.add_argument("--name", metavar="NAME", help="call its origin import:NAME, to find or revoke it by")
    parser.add_argument("--restore", action="store_true", help="it is your own: believe it as what you write yourself")


def _import(args: Namespace, terminal: Terminal) -> int:
    if args.restore:
        check_is_user("import a graph as the user's own")
    with open_bank(without_traces(args), create=True) as handle:
        tally = handle.bank.graph.import_file(
            args.path, layout=args.layout, dry_run=args.dry_run, restore=args.restore, name=args.name
        )
    if terminal.as_json:
        terminal.json({**imported_graph_json(tally), "dry_run": args.dry_run})
    else:
        _report_import(tally, terminal, dry_run=args.dry_run)
    return 0


def _report_import(tally: ImportedGraph, terminal: Terminal, *, dry_run: bool) -> None:
    would = "would be: " if dry_run else ""
    terminal.say(f"{would}{_counts_in_words(tally.counts) or 'nothing'} ({tally.layout})")
    if tally.left_out:
        names = ", ".join(f"{name} ×{number:,}" for name, number in sorted(tally.left_out.items()))
        terminal.tell(f"not kept, since no field is for it: {names}.")
    if tally.refused_edges:
        terminal.tell(
            f"{figures.counted(tally.refused_edges, 'edge')} left out: a file may not join what is believed more. "
            "--restore says that it is your own."
        )
    if any("added" in what and number for what, number in tally.counts.items()) and not dry_run:
        approve = f"{PROGRAM} trust revoke {shlex.quote(tally.origin)}"
        if tally.origin != "user":
            terminal.tell(f"It came in untrusted, from {tally.origin}: quoted as data. To take it out: {approve}")


def _ingest_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help='transcripts, folders of them, or "-" for JSON messages'
    )
    parser.add_argument("--conversation", metavar="ID", help="its conv_id; from the transcript when left out")
    parser.add_argument("--role", metavar="R", default="user", help="who asked, such as CFO (default user)")
    parser.add_argument("--user", metavar="ID", help="who that was")
    parser.add_argument("--by", choices=("auto", "rules", "model"), default="auto", help="who draws it (default auto)")


def _ingest(args: Namespace, terminal: Terminal) -> int:
    # Whoever hands a transcript over, an agent acted in it, and nobody can tell who else wrote it.
    source = {"user_role": args.role, "user_id": args.user, "by": args.by, "origin": AGENT}
    if args.paths == ["-"]:
        if args.conversation is None:
            raise InvalidInput("Messages from standard input need --conversation ID.")
        messages = _json_of("-")
        with open_bank(args, create=True) as handle:
            conversations = [handle.bank.graph.ingest(messages, conv_id=args.conversation, **source)]
    else:
        with open_bank(args, create=True) as handle:
            conversations = handle.bank.graph.ingest_files(*args.paths, conv_id=args.conversation or "", **source)
    if terminal.as_json:
        terminal.json({"conversations": [ingested_json(conversation) for conversation in conversations]})
        return 0
    if not conversations:
        terminal.tell("There is no conversation in there.")
        return 0
    columns = [
        Column(name="CONVERSATION", elastic=True),
        Column(name="NODES", right=True),
        Column(name="NEW", right=True),
        Column(name="EDGES", right=True),
        Column(name="BRIDGES", right=True),
        Column(name="LESSONS", right=True),
        Column(name="BY", optional=True),
    ]
    rows = [
        [
            conversation.conv_id,
            *(f"{number:,}" for number in (len(conversation.nodes), conversation.nodes_added, len(conversation.edges))),
            *(f"{number:,}" for number in (len(conversation.bridges), len(conversation.lessons))),
            conversation.drawn_by,
        ]
        for conversation in conversations
    ]
    show(terminal, columns, rows)
    for note in dict.fromkeys(conversation.note for conversation in conversations if conversation.note):
        terminal.tell(note)
    return 0


COMMANDS = {
    "graph ingest": Command(
        run=_ingest,
        options=_ingest_options,
        about="Requests, preferences, answers, actions, events and sources become nodes, and sentences join them. The "
        "same conversation again adds nothing.",
    ),
    "graph add": Command(
        run=_add,
        options=_add_options,
        about="All or nothing. A name that is there already is revised where something differs. `link` adds one edge.",
    ),
    "graph export": Command(
        run=_export,
        options=_export_options,
        about="GraphML for NetworkX, Gephi and yEd; Cypher for Neo4j; JSON nodes and links for a drawing.",
    ),
    "graph import": Command(
        run=_import,
        options=_import_options,
        about="All or nothing. Importing the same file twice adds nothing. What comes in is untrusted.",
    ),
}
