"""Searches the memory graph: nodes, edge sentences and lessons by words and meaning, within filters and in time.

    nodes, edges   their own index: vectors and BM25 of the text, words of the fields; the filters come first
    lessons        the index of memories, the best scored again by their two facets (`lesson_facets`)
    time           events whose window overlaps that of the question are found by the records, whatever their words

All three are scored on one scale, the chance that they are wanted. What is found is fetched and checked again: an index
is a view and may be a moment old.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reasoningbank.context import BankContext
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import EVERY_NAMESPACE, Edge, Memory, Node
from reasoningbank.graph.graph_query import EDGE, LABELS, GraphQuery
from reasoningbank.graph.subgraph import LESSON, GraphHit, Vertex
from reasoningbank.graph.time_words import TimeWindow, find_time_words
from reasoningbank.graph.vertices import find_vertices
from reasoningbank.graph.visible import Visible
from reasoningbank.ports import Candidates, Filter, Probe, Reader, VertexRow
from reasoningbank.recall.awaiting_vectors import WORDS_ENOUGH
from reasoningbank.recall.graph_index import INDEXED, make_mark
from reasoningbank.recall.relevance import (
    calibration_for,
    cosine_of,
    floor_among,
    passes_floor,
    relevance_of,
    words_met,
)
from reasoningbank.recall.search import Searcher

SHALLOWEST = 64
CANDIDATES_PER_HIT = 6
LESSONS_SCORED = 16
MOST_EVENTS = 200
IN_TIME = 0.5
"""The chance that an event is wanted, by its window alone, where a question names a time."""
WRITTEN_IN_TIME = 0.1
"""The same of anything else that was written down then."""


class GraphHits(list[GraphHit]):
    """Hits, the best first."""

    not_yet_indexed: int = 0
    """Changes and vectors that the indexes still owe; 0 means that everything stored could be found."""
    window: TimeWindow | None = None
    """The time that was asked about, and whether..."""
    words_of_time: str = ""
    """...it was said in the question, as these words."""


class Score(NamedTuple):
    relevance: float
    parts: dict[str, float]


class InTime(NamedTuple):
    window: TimeWindow
    words: str
    strict: bool
    """Said as a filter, not in the words of the question."""


def search_graph(context: BankContext, searcher: Searcher, query: GraphQuery) -> GraphHits:
    with context.bare_store.read(context.tenant) as reader:
        time = _time_asked(reader, query, context.clock())
        events: tuple[str, ...] = ()
        if time is not None:
            # Events in a window are wanted for that alone, and the more so for what they say.
            window = reader.nodes_between(time.window.since, _last(time.window), limit=MOST_EVENTS)
            events = tuple(node.id for node in window)
    probe = searcher.probe(query.text, _filter(context, query, None), max(SHALLOWEST, query.limit * CANDIDATES_PER_HIT))
    probe = replace(probe, also=events)
    scores: dict[str, Score] = {}
    owed = total = 0
    if set(_labels(query)) != {LESSON} and searcher.graph is not None and searcher.graph.has_any(context.tenant):
        for role in query.roles or (None,):
            answer = searcher.graph.find(replace(probe, where=_filter(context, query, role)))
            if answer is not None:
                owed, total = max(owed, answer.owed), total + answer.candidates.considered
                _score_rows(searcher, query, answer.candidates, events, scores)
    with context.read_for_output() as reader:
        if LESSON in _labels(query) and not query.roles and query.conv_id is None:
            owed += _score_lessons(context, searcher, reader, query, probe, scores, total)
        for event in events:
            scores[event] = _raise(scores.get(event, Score(0.0, {})), IN_TIME)
        hits = GraphHits(_fetch_hits(reader, query, time, scores))
    hits.not_yet_indexed = owed
    if time is not None:
        hits.window, hits.words_of_time = time.window, time.words
    return hits


def _labels(query: GraphQuery) -> tuple[str, ...]:
    return query.labels or LABELS


def _namespace(query: GraphQuery) -> str | None:
    return None if query.namespace == EVERY_NAMESPACE else query.namespace


def _filter(context: BankContext, query: GraphQuery, role: str | None) -> Filter:
    labels = _labels(query)
    conversation = () if query.conv_id is None else (make_mark("conv_id", query.conv_id),)
    return Filter(
        tenant=context.tenant,
        namespace=_namespace(query),
        tags=(*(query.tags if query.tags_first else ()), *conversation),
        without_tags=tuple(make_mark("label", label) for label in INDEXED if label not in labels),
        agent=role,
    )


# ---------------------------------------------------------------- scores


def _score_rows(
    searcher: Searcher, query: GraphQuery, candidates: Candidates, events: Sequence[str], scores: dict[str, Score]
) -> None:
    """Nodes and edges that the index brought, above the floor; events that are wanted for their time, in any case."""
    calibration = calibration_for(searcher.index.identity.name)
    relevance = relevance_of(candidates, calibration)
    fits = (candidates.keyword > 0.0) | (cosine_of(candidates) > 0.0)
    if query.floor is None:
        floor = floor_among(calibration, candidates.considered)
        # What says about half of the question's words is a place to begin at, whatever a model makes of it.
        fits &= passes_floor(relevance, candidates, floor) | (words_met(candidates) >= WORDS_ENOUGH)
    else:
        fits &= relevance >= query.floor
    columns = (relevance.tolist(), cosine_of(candidates).tolist(), words_met(candidates).tolist(), fits.tolist())
    timely = frozenset(events)
    for record_id, chance, cosine, words, fit in zip(candidates.ids, *columns, strict=True):
        if fit or record_id in timely:
            scores[record_id] = Score(chance, {"meaning": cosine, "words": words})


def _score_lessons(
    context: BankContext,
    searcher: Searcher,
    reader: Reader,
    query: GraphQuery,
    probe: Probe,
    scores: dict[str, Score],
    beside: int,
) -> int:
    """Lessons above the floor, among so many nodes and edges; says what the index of memories owes."""
    where = Filter(tenant=context.tenant, namespace=_namespace(query), tags=query.tags if query.tags_first else ())
    answer = searcher.look(replace(probe, where=where))
    candidates = replace(answer.candidates, considered=answer.candidates.considered + beside)
    calibration = calibration_for(searcher.index.identity.name)
    likely = np.argsort(-relevance_of(candidates, calibration), kind="stable")[
        : max(LESSONS_SCORED, query.limit)
    ].tolist()
    memories = reader.get(Memory, [candidates.ids[row] for row in likely])
    rows = [row for row in likely if candidates.ids[row] in memories]
    if rows:
        lessons = searcher.facets.score(candidates, rows, memories, probe, searcher.index.halves.words)
        floor = floor_among(calibration, candidates.considered) if query.floor is None else query.floor
        for at, row in enumerate(rows):
            if lessons.relevance[at] >= floor or (query.floor is None and candidates.named[row] > 0.0):
                columns = (("lesson", lessons.lesson), ("context", lessons.context), ("words", lessons.words))
                parts = {name: float(column[at]) for name, column in columns}
                scores[candidates.ids[row]] = Score(float(lessons.relevance[at]), parts)
    return answer.owed


# ---------------------------------------------------------------- time


def _time_asked(reader: Reader, query: GraphQuery, now: float) -> InTime | None:
    """The window that is said as a filter, else the likeliest that the question names and in which something was."""
    if query.since is not None or query.until is not None:
        since = float("-inf") if query.since is None else query.since
        until = float("inf") if query.until is None else query.until
        return InTime(TimeWindow(since, until), "", strict=True)
    mention = find_time_words(query.text, now)
    if mention is None:
        return None
    windows = (window for window in mention.windows if reader.nodes_between(window.since, _last(window), limit=1))
    return InTime(next(windows, mention.windows[0]), mention.words, strict=False)


def _last(window: TimeWindow) -> float:
    """The last moment of a window, by the clock of events."""
    return window.until - 0.001


def _raise(score: Score, by: float) -> Score:
    """Either reason to be wanted is enough."""
    return Score(1.0 - (1.0 - score.relevance) * (1.0 - by), {**score.parts, "time": by})


def _is_in_time(record: Node | Memory | Edge, time: InTime) -> bool:
    """An event by its window, anything else by when it was written down."""
    begins = ends = record.created_at
    if isinstance(record, Node) and record.start_at is not None:
        begins, ends = record.start_at, record.start_at if record.end_at is None else record.end_at
    return begins < time.window.until and ends >= time.window.since


# ---------------------------------------------------------------- records


def _fetch_hits(reader: Reader, query: GraphQuery, time: InTime | None, scores: Mapping[str, Score]) -> list[GraphHit]:
    """Scored records as they may be shown: filtered to the letter, the best first."""
    vertices = find_vertices(reader, [record_id for record_id in scores if not record_id.startswith("edg_")])
    edges = reader.get(Edge, [record_id for record_id in scores if record_id.startswith("edg_")])
    ends = {end for edge in edges.values() for end in (edge.source_id, edge.target_id)}
    visible = Visible(reader, _namespace(query), query.exclude)
    edges = {record_id: edge for record_id, edge in edges.items() if visible.says(edge)}
    rows = visible.rows(sorted({*vertices, *ends}))
    hits: list[GraphHit] = []
    for record_id, score in scores.items():
        vertex, edge = vertices.get(record_id), edges.get(record_id)
        record = edge if vertex is None else vertex.record
        if record is None or not (_passes_vertex(vertex, query, rows) if vertex else _passes_edge(edge, query, rows)):
            continue
        if (final_score := _score_in_time(score, record, time)) is not None:
            hits.append(GraphHit(vertex=vertex, edge=edge, score=final_score.relevance, parts=final_score.parts))
    hits.sort(key=lambda hit: (-hit.score, hit.vertex.id if hit.vertex else hit.edge.id if hit.edge else ""))
    return hits[: query.limit]


def _score_in_time(score: Score, record: Node | Memory | Edge, time: InTime | None) -> Score | None:
    """None where it has no part in the time that is asked about. A filter binds all; words bind the events."""
    if time is None or "time" in score.parts:
        return score
    if _is_in_time(record, time):
        return score if time.strict else _raise(score, WRITTEN_IN_TIME)
    is_event = isinstance(record, Node) and record.start_at is not None
    return None if time.strict or is_event else score


def _passes_vertex(vertex: Vertex, query: GraphQuery, rows: Mapping[str, VertexRow]) -> bool:
    role = vertex.record.fields.get("user_role") if isinstance(vertex.record, Node) else None
    return (
        vertex.id in rows
        and vertex.label in _labels(query)
        and all(tag in vertex.tags for tag in query.tags)
        and (not query.roles or role in query.roles)
        and (query.conv_id is None or vertex.conv_id == query.conv_id)
    )


def _passes_edge(edge: Edge | None, query: GraphQuery, rows: Mapping[str, VertexRow]) -> bool:
    if edge is None or edge.source_id not in rows or edge.target_id not in rows:
        return False
    talks = {rows[end].conv_id for end in (edge.source_id, edge.target_id)}
    return (
        EDGE in _labels(query)
        and all(tag in edge.tags for tag in query.tags)
        and (query.conv_id is None or query.conv_id in talks)
    )
