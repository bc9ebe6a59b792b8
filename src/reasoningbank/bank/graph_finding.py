"""How `bank.graph` finds: search, walks from what was found or named, paths and typed questions.

The index and numpy are loaded by a search alone: a walk from named vertices asks the records and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.bank.search_engine import SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_tags
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.graph import questions
from reasoningbank.graph.activation import Bounds, Trail
from reasoningbank.graph.graph_query import GraphQuery, make_query
from reasoningbank.graph.spreading import check_limit, make_paths, ties_of, walk_from
from reasoningbank.graph.strongest_path import find_path
from reasoningbank.graph.subgraph import GraphHit, GraphPath, Vertex, Walk
from reasoningbank.graph.vertices import find_record, make_vertices
from reasoningbank.graph.visible import Visible, namespace_asked
from reasoningbank.ports import Reader

if TYPE_CHECKING:
    from reasoningbank.recall.graph_search import GraphHits

SEEDS = 5
"""Hits that a walk begins at."""
MOST_SEEDS = 64
MOST_PATH_DEPTH = 32
Question = Callable[[Reader, Visible, Vertex, int], Walk]


def search(
    context: BankContext, engine: SearchEngine, question: str | GraphQuery, filters: Mapping[str, Any]
) -> GraphHits:
    from reasoningbank.recall.graph_search import search_graph

    query = make_query(context, question, filters)
    engine.require_configured_embedder()
    return engine.using(lambda searcher: search_graph(context, searcher, query))


def walk(
    context: BankContext,
    engine: SearchEngine,
    question: str | GraphQuery,
    bounds: Bounds,
    limit: int,
    filters: Mapping[str, Any],
) -> Walk:
    """A walk from the best hits of a search."""
    query = make_query(context, question, {"limit": SEEDS, **filters})
    hits = search(context, engine, query, {})
    with context.read_for_output() as reader:
        visible = Visible(reader, _bound(query.namespace), query.exclude)
        result = walk_from(reader, visible, hits, query.text, bounds, limit)
    if hits.not_yet_indexed:
        return replace(result, cut_off={**result.cut_off, "not yet indexed": hits.not_yet_indexed})
    return result


def walk_from_named(
    context: BankContext,
    seeds: Sequence[str],
    question: str,
    bounds: Bounds,
    limit: int,
    filters: Mapping[str, Any],
) -> Walk:
    """A walk from nodes and lessons by their names, keys or ids."""
    references = (seeds,) if isinstance(seeds, str) else tuple(seeds)
    if len(references) > MOST_SEEDS:
        raise InvalidInput(f"A walk begins at {MOST_SEEDS} seeds at most, not at {len(references)}.")
    query = make_query(context, question or "from named seeds", filters)
    with context.read_for_output() as reader:
        hits = [
            GraphHit(vertex=vertex, edge=None, score=1.0, parts={"asked for": 1.0})
            for vertex in (_vertex(context, reader, reference, query.namespace) for reference in references)
        ]
        visible = Visible(reader, _bound(query.namespace), query.exclude)
        return walk_from(reader, visible, hits, question, bounds, limit)


def path_between(
    context: BankContext, source: str, target: str, by: str, depth: int, namespace: str | None
) -> GraphPath | None:
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= MOST_PATH_DEPTH:
        raise InvalidInput(f"depth must be a whole number from 1 to {MOST_PATH_DEPTH}, not {depth!r}.")
    with context.read_for_output() as reader:
        first, last = (_vertex(context, reader, reference, namespace) for reference in (source, target))
        visible = Visible(reader, namespace_asked(context, namespace))
        route = find_path(first.id, last.id, ties_of(reader, visible), visible, by, depth)
        if not route.steps:
            return None
        paths = make_paths(reader, [Trail(route.steps, 1, route.steps[-1].activation)], 1)
        return paths[0] if paths else None


def ask(context: BankContext, question: Question, reference: str, limit: int, namespace: str | None) -> Walk:
    """A typed question about one node or lesson."""
    most = check_limit(limit)
    with context.read_for_output() as reader:
        vertex = _vertex(context, reader, reference, namespace)
        return question(reader, Visible(reader, namespace_asked(context, namespace)), vertex, most)


def bridges(context: BankContext, tag: str, limit: int, namespace: str | None) -> Walk:
    most = check_limit(limit)
    tags = clean_tags([tag])
    if not tags:
        raise InvalidInput("The tag is empty: say which bridges, such as solution.")
    with context.read_for_output() as reader:
        visible = Visible(reader, namespace_asked(context, namespace))
        return questions.bridges(reader, visible, context.scrubber.scrub(tags[0]).text, most)


def _bound(namespace: str | None) -> str | None:
    return None if namespace == EVERY_NAMESPACE else namespace


def _vertex(context: BankContext, reader: Reader, reference: str, namespace: str | None) -> Vertex:
    own = None if namespace == EVERY_NAMESPACE else namespace
    vertices = make_vertices(reader, [find_record(context, reader, reference, own)])
    if not vertices:
        raise NotFound(f"{reference!r} is not to be shown: its origin was revoked, or it is not active.")
    return vertices[0]
