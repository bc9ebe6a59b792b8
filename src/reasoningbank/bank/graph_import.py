"""Imports a graph file into a bank: lessons, nodes and edges in one transaction, all or nothing.

A dry run does everything and then takes it back, so what it says is what would happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reasoningbank.bank import memories
from reasoningbank.bank.transaction import TransactionStore
from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.origins import USER, clean_origin
from reasoningbank.core.types import Draft, Outcome
from reasoningbank.exchange.coerce import clip_title, moment_of
from reasoningbank.exchange.graph_files.entries import IncomingGraph
from reasoningbank.exchange.graph_files.graph_import import (
    find_graph_layout,
    in_places_of_the_file,
    read_graph_file,
    sort_edges,
)
from reasoningbank.graph.add import add
from reasoningbank.graph.vertices import find_records
from reasoningbank.ports import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphImport:
    """Where a graph file goes, and as whose word."""

    namespace: str
    origin: str
    restore: bool
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedGraph:
    """What became of a graph file."""

    layout: str
    origin: str
    counts: Mapping[str, int]
    """How many were added, revised and unchanged: `nodes added`, `lessons unchanged` …"""
    left_out: Mapping[str, int]
    """Properties of the file that nothing here has a place for."""
    refused_edges: int
    """Edges that join two vertices which are believed more than a file."""


class _GraphRehearsal(Exception):
    """Takes a dry run back; never seen by a caller."""

    def __init__(self, done: ImportedGraph) -> None:
        self.done = done


def import_graph(
    context: BankContext,
    path: Path,
    *,
    layout: str | None = None,
    namespace: str | None = None,
    dry_run: bool = False,
    restore: bool = False,
    name: str | None = None,
) -> ImportedGraph:
    chosen = find_graph_layout(path, layout)
    wish = GraphImport(
        namespace=context.namespace if namespace is None else clean_namespace(namespace),
        origin=USER if restore else clean_origin(f"import:{name or chosen}"),
        restore=restore,
        dry_run=dry_run,
    )
    found = read_graph_file(context, path, chosen)

    def change(writer: Writer) -> ImportedGraph:
        inside = replace(context, bare_store=TransactionStore(context.bare_store, writer))
        counts, refused = _take(inside, writer, found, wish)
        left_out = {context.scrubber.scrub(one).text: count for one, count in found.left_out.items()}
        done = ImportedGraph(
            layout=chosen, origin=wish.origin, counts=dict(counts), left_out=left_out, refused_edges=refused
        )
        if dry_run:
            raise _GraphRehearsal(done)
        return done

    try:
        return context.bare_store.write(context.tenant, change, alone=dry_run)
    except _GraphRehearsal as rehearsal:
        return rehearsal.done


def _take(context: BankContext, writer: Writer, found: IncomingGraph, wish: GraphImport) -> tuple[Counter[str], int]:
    counts = _take_lessons(context, writer, found, wish)
    edges, refused = found.edges, 0
    if not wish.restore:
        sorted_edges = sort_edges(context, writer, found, wish.namespace)
        edges, refused = sorted_edges.allowed, sorted_edges.refused
        counts["edges unchanged"] = sorted_edges.there
    try:
        added = add(
            context,
            nodes=[node for _, node in found.nodes],
            edges=[edge for _, edge in edges],
            namespace=wish.namespace,
            origin=wish.origin,
        )
    except InvalidInput as error:
        raise in_places_of_the_file(error, found, edges) from None
    return counts + Counter(added.counts), refused


def _take_lessons(context: BankContext, writer: Writer, found: IncomingGraph, wish: GraphImport) -> Counter[str]:
    there = find_records(context, writer, [lesson["id"] for _, lesson in found.lessons], wish.namespace)
    counts: Counter[str] = Counter()
    for where, lesson in found.lessons:
        if lesson["id"] in there:
            counts["lessons unchanged"] += 1
            continue
        try:
            memories.record(context, _draft(lesson, wish))
        except InvalidInput as error:
            raise ImportRejected(f"{where}: {_in_seed_words(str(error))}") from None
        counts["lessons added"] += 1
    return counts


def _draft(lesson: Mapping[str, Any], wish: GraphImport) -> Draft:
    content = lesson.get("key_lesson", "")
    return Draft(
        title=lesson.get("title") or (clip_title(content) if isinstance(content, str) else ""),
        description=lesson.get("context_to_prefer", ""),
        content=content,
        outcome=lesson.get("outcome", Outcome.SUCCESS),
        key=lesson["id"],
        namespace=wish.namespace,
        tags=lesson.get("tags", ()),
        origin=wish.origin,
        created_at=moment_of(lesson.get("ingestion_time")),
    )


def _in_seed_words(said: str) -> str:
    return said.replace("content", "key_lesson").replace("description", "context_to_prefer")
