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
from reasoningbank.recall.graph_index import INDEXED, make_mark
from reasoningbank.recall.owed import WORDS_ENOUGH
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


def search_graph(context: BankContext, searcher: Searcher, asked: GraphQuery) -> GraphHits:
    with context.bare_store.read(context.tenant) as reader:
        time = _time_asked(reader, asked, context.clock())
        events = _events_in(reader, time)
    probe = searcher.probe(asked.text, _filter(context, asked, None), _depth(asked))
    probe = replace(probe, also=events)
    scores: dict[str, Score] = {}
    owed = considered = 0
    if set(_labels(asked)) != {LESSON} and searcher.graph is not None and searcher.graph.has_any(context.tenant):
        for role in asked.roles or (None,):
            looked = searcher.graph.find(replace(probe, where=_filter(context, asked, role)))
            if looked is not None:
                owed, considered = max(owed, looked.owed), considered + looked.candidates.considered
                _score_rows(searcher, asked, looked.candidates, events, scores)
    with context.read_for_output() as reader:
        if LESSON in _labels(asked) and not asked.roles and asked.conv_id is None:
            owed += _score_lessons(context, searcher, reader, asked, probe, scores, considered)
        for event in events:
            scores[event] = _raise(scores.get(event, Score(0.0, {})), IN_TIME)
        hits = GraphHits(_fetch_hits(reader, asked, time, scores))
    hits.not_yet_indexed = owed
    if time is not None:
        hits.window, hits.words_of_time = time.window, time.words
    return hits


def _labels(asked: GraphQuery) -> tuple[str, ...]:
    return asked.labels or LABELS


def _namespace(asked: GraphQuery) -> str | None:
    return None if asked.namespace == EVERY_NAMESPACE else asked.namespace


def _depth(asked: GraphQuery) -> int:
    return max(SHALLOWEST, asked.limit * CANDIDATES_PER_HIT)


def _filter(context: BankContext, asked: GraphQuery, role: str | None) -> Filter:
    wanted = _labels(asked)
    conversation = () if asked.conv_id is None else (make_mark("conv_id", asked.conv_id),)
    return Filter(
        tenant=context.tenant,
        namespace=_namespace(asked),
        tags=(*(asked.tags if asked.tags_first else ()), *conversation),
        without_tags=tuple(make_mark("label", label) for label in INDEXED if label not in wanted),
        agent=role,
    )


# ---------------------------------------------------------------- scores


def _score_rows(
    searcher: Searcher, asked: GraphQuery, found: Candidates, events: Sequence[str], scores: dict[str, Score]
) -> None:
    """Nodes and edges that the index brought, above the floor; events that are wanted for their time, in any case."""
    calibration = calibration_for(searcher.index.identity.name)
    relevance = relevance_of(found, calibration)
    fits = (found.keyword > 0.0) | (cosine_of(found) > 0.0)
    if asked.floor is None:
        floor = floor_among(calibration, found.considered)
        # What says about half of the question's words is a place to begin at, whatever a model makes of it.
        fits &= passes_floor(relevance, found, floor) | (words_met(found) >= WORDS_ENOUGH)
    else:
        fits &= relevance >= asked.floor
    columns = (relevance.tolist(), cosine_of(found).tolist(), words_met(found).tolist(), fits.tolist())
    timely = frozenset(events)
    for one, wanted, cosine, words, fit in zip(found.ids, *columns, strict=True):
        if fit or one in timely:
            scores[one] = Score(wanted, {"meaning": cosine, "words": words})


def _score_lessons(
    context: BankContext,
    searcher: Searcher,
    reader: Reader,
    asked: GraphQuery,
    probe: Probe,
    scores: dict[str, Score],
    beside: int,
) -> int:
    """Lessons above the floor, among so many nodes and edges; says what the index of memories owes."""
    where = Filter(tenant=context.tenant, namespace=_namespace(asked), tags=asked.tags if asked.tags_first else ())
    looked = searcher.look(replace(probe, where=where))
    found = replace(looked.candidates, considered=looked.candidates.considered + beside)
    calibration = calibration_for(searcher.index.identity.name)
    likely = np.argsort(-relevance_of(found, calibration), kind="stable")[: max(LESSONS_SCORED, asked.limit)].tolist()
    memories = reader.get(Memory, [found.ids[row] for row in likely])
    rows = [row for row in likely if found.ids[row] in memories]
    if rows:
        scored = searcher.facets.score(found, rows, memories, probe, searcher.index.halves.words)
        floor = floor_among(calibration, found.considered) if asked.floor is None else asked.floor
        for at, row in enumerate(rows):
            if scored.relevance[at] >= floor or (asked.floor is None and found.named[row] > 0.0):
                columns = (("lesson", scored.lesson), ("context", scored.context), ("words", scored.words))
                parts = {name: float(column[at]) for name, column in columns}
                scores[found.ids[row]] = Score(float(scored.relevance[at]), parts)
    return looked.owed


# ---------------------------------------------------------------- time


def _time_asked(reader: Reader, asked: GraphQuery, now: float) -> InTime | None:
    """The window that is said as a filter, else the likeliest that the question names and in which something was."""
    if asked.since is not None or asked.until is not None:
        since = float("-inf") if asked.since is None else asked.since
        until = float("inf") if asked.until is None else asked.until
        return InTime(TimeWindow(since, until), "", strict=True)
    named = find_time_words(asked.text, now)
    if named is None:
        return None
    known = (window for window in named.windows if reader.nodes_between(window.since, _last(window), limit=1))
    return InTime(next(known, named.windows[0]), named.words, strict=False)


def _last(window: TimeWindow) -> float:
    """The last moment of a window, by the clock of events."""
    return window.until - 0.001


def _events_in(reader: Reader, time: InTime | None) -> tuple[str, ...]:
    """Events in a window: wanted for that alone, and the more so for what they say."""
    if time is None:
        return ()
    return tuple(node.id for node in reader.nodes_between(time.window.since, _last(time.window), limit=MOST_EVENTS))


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


def _fetch_hits(reader: Reader, asked: GraphQuery, time: InTime | None, scores: Mapping[str, Score]) -> list[GraphHit]:
    """What was found, as it may be shown: filtered to the letter, the best first."""
    vertices = find_vertices(reader, [one for one in scores if not one.startswith("edg_")])
    edges = reader.get(Edge, [one for one in scores if one.startswith("edg_")])
    ends = {end for edge in edges.values() for end in (edge.source_id, edge.target_id)}
    visible = Visible(reader, _namespace(asked), asked.exclude)
    edges = {one: edge for one, edge in edges.items() if visible.says(edge)}
    shown = visible.rows(sorted({*vertices, *ends}))
    hits: list[GraphHit] = []
    for one, score in scores.items():
        vertex, edge = vertices.get(one), edges.get(one)
        record = edge if vertex is None else vertex.record
        if record is None or not (_passes_vertex(vertex, asked, shown) if vertex else _passes_edge(edge, asked, shown)):
            continue
        if (timed := _score_in_time(score, record, time)) is not None:
            hits.append(GraphHit(vertex=vertex, edge=edge, score=timed.relevance, parts=timed.parts))
    hits.sort(key=lambda hit: (-hit.score, hit.vertex.id if hit.vertex else hit.edge.id if hit.edge else ""))
    return hits[: asked.limit]


def _score_in_time(score: Score, record: Node | Memory | Edge, time: InTime | None) -> Score | None:
    """None where it has no part in the time that is asked about. A filter binds all; words bind the events."""
    if time is None or "time" in score.parts:
        return score
    if _is_in_time(record, time):
        return score if time.strict else _raise(score, WRITTEN_IN_TIME)
    is_event = isinstance(record, Node) and record.start_at is not None
    return None if time.strict or is_event else score


def _passes_vertex(vertex: Vertex, asked: GraphQuery, shown: Mapping[str, VertexRow]) -> bool:
    role = vertex.record.fields.get("user_role") if isinstance(vertex.record, Node) else None
    return (
        vertex.id in shown
        and vertex.label in _labels(asked)
        and all(tag in vertex.tags for tag in asked.tags)
        and (not asked.roles or role in asked.roles)
        and (asked.conv_id is None or vertex.conv_id == asked.conv_id)
    )


def _passes_edge(edge: Edge | None, asked: GraphQuery, shown: Mapping[str, VertexRow]) -> bool:
    if edge is None or edge.source_id not in shown or edge.target_id not in shown:
        return False
    talks = {shown[end].conv_id for end in (edge.source_id, edge.target_id)}
    return (
        EDGE in _labels(asked)
        and all(tag in edge.tags for tag in asked.tags)
        and (asked.conv_id is None or asked.conv_id in talks)
    )
