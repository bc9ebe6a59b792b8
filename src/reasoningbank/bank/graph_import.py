"""Imports a graph file into a bank: lessons, nodes and edges in one transaction, all or nothing.

A dry run does everything and then takes it back, so what it says is what would happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from reasoningbank.bank.graph_add import add_to_graph
from reasoningbank.bank.transaction import TransactionStore
from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.origins import USER, clean_origin
from reasoningbank.exchange.graph_files.entries import IncomingGraph
from reasoningbank.exchange.graph_files.graph_import import (
    find_graph_layout,
    in_places_of_the_file,
    read_graph_file,
    sort_edges,
)
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
    """Outcome of the import of a graph file."""

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

    def __init__(self, outcome: ImportedGraph) -> None:
        self.outcome = outcome


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
    graph_layout = find_graph_layout(path, layout)
    wish = GraphImport(
        namespace=context.namespace if namespace is None else clean_namespace(namespace),
        origin=USER if restore else clean_origin(f"import:{name or graph_layout}"),
        restore=restore,
        dry_run=dry_run,
    )
    graph = read_graph_file(context, path, graph_layout)

    def change(writer: Writer) -> ImportedGraph:
        inside = replace(context, bare_store=TransactionStore(context.bare_store, writer))
        counts, refusals = _take(inside, writer, graph, wish)
        left_out = {context.scrubber.scrub(key).text: count for key, count in graph.left_out.items()}
        outcome = ImportedGraph(
            layout=graph_layout, origin=wish.origin, counts=dict(counts), left_out=left_out, refused_edges=refusals
        )
        if dry_run:
            raise _GraphRehearsal(outcome)
        return outcome

    try:
        return context.bare_store.write(context.tenant, change, alone=dry_run)
    except _GraphRehearsal as rehearsal:
        return rehearsal.outcome


def _take(context: BankContext, writer: Writer, graph: IncomingGraph, wish: GraphImport) -> tuple[Counter[str], int]:
    counts: Counter[str] = Counter()
    edges, refusals = graph.edges, 0
    if not wish.restore:
        sorted_edges = sort_edges(context, writer, graph, wish.namespace)
        edges, refusals = sorted_edges.allowed, sorted_edges.refused
        counts["edges unchanged"] = sorted_edges.there
    try:
        addition = add_to_graph(
            context,
            [node for _, node in graph.nodes],
            [edge for _, edge in edges],
            [lesson for _, lesson in graph.lessons],
            namespace=wish.namespace,
            origin=wish.origin,
        )
    except InvalidInput as error:
        raise in_places_of_the_file(error, graph, edges) from None
    return counts + Counter(addition.counts), refusals
