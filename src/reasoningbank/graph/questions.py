"""Typed questions to the memory graph: what led to this, what it rests on, what contradicts it, all bridges of a kind.

A cause is what an edge says it is: by its kind, or by a weight from which an edge is direct, causal or core logic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reasoningbank.core.link_meaning import MEANINGS
from reasoningbank.core.types import Edge, EdgeKind, NodeLabel
from reasoningbank.graph.activation import Bounds, FindTies, Reached
from reasoningbank.graph.spreading import ties_of, walk_from
from reasoningbank.graph.subgraph import GraphHit, GraphPath, Hop, Vertex, Walk
from reasoningbank.graph.vertices import find_vertices
from reasoningbank.graph.visible import Visible
from reasoningbank.ports import Reader, Tie

CAUSAL_FROM = 0.85
"""The weight from which an edge is direct, causal or core logic, whatever its kind."""
_CAUSE_FIRST = frozenset({EdgeKind.CAUSES.value, EdgeKind.TEACHES.value})
"""These point from the cause; the next ones point to it."""
_CAUSE_LAST = frozenset({EdgeKind.REQUIRES.value, EdgeKind.DERIVED_FROM.value, EdgeKind.SUPERSEDES.value})
_NO_CAUSE = frozenset(
    {kind.value for kind, meaning in MEANINGS.items() if meaning.holds_either_way} - {EdgeKind.RELATES.value}
)
"""However strong: what is like another, or can be had in its place, did not lead to it."""
_AGAINST = ("contradict", "conflict")
_WIDE = Bounds(depth=6, branching=8, width=256, faintest=0.0)
_NOTHING = {
    "led_to": "Nothing led to {}.",
    "rests_on": "{} rests on no source.",
    "contradicting": "Nothing contradicts {}.",
    "bridges": "No edge has the tag {}.",
}


def say_nothing_found(ask: str, about: str) -> str:
    """The answer to a typed question that found no path."""
    return _NOTHING[ask].format(about)


def led_to(reader: Reader, visible: Visible, vertex: Vertex, limit: int) -> Walk:
    """Walk to what led to a vertex: backwards over causal edges."""
    return _from(reader, visible, vertex, f"What led to {vertex.name}?", limit, ties_of(reader, visible, _is_cause))


def rests_on(reader: Reader, visible: Visible, vertex: Vertex, limit: int) -> Walk:
    """Walk to the sources that a vertex rests on: its own, and those of what led to it."""
    sources: dict[str, bool] = {}

    def find(ids: Sequence[str]) -> Mapping[str, Sequence[Tie]]:
        adjacency = ties_of(reader, visible)([vertex_id for vertex_id in ids if not sources.get(vertex_id)])
        unknown = sorted({tie.far for ties in adjacency.values() for tie in ties} - sources.keys())
        labels = reader.vertex_rows(unknown) if unknown else {}
        sources.update(
            (vertex_id, vertex_id in labels and labels[vertex_id].label == NodeLabel.DATA_SOURCE)
            for vertex_id in unknown
        )
        return {
            vertex_id: [tie for tie in ties if sources[tie.far] or _is_cause(tie)]
            for vertex_id, ties in adjacency.items()
        }

    question = f"Which sources does {vertex.name} rest on?"
    return _from(reader, visible, vertex, question, limit, find, lambda end: sources.get(end.id, False))


def contradicting(reader: Reader, visible: Visible, vertex: Vertex, limit: int) -> Walk:
    """Walk to what contradicts a vertex, or what led to it."""
    against: set[str] = set()

    def find(ids: Sequence[str]) -> Mapping[str, Sequence[Tie]]:
        find_ties = ties_of(reader, visible, lambda tie: _is_cause(tie) or _is_against(tie))
        adjacency = find_ties([vertex_id for vertex_id in ids if vertex_id not in against])
        against.update(tie.far for ties in adjacency.values() for tie in ties if _is_against(tie))
        return adjacency

    def is_end(step: Reached) -> bool:
        return step.tie is not None and _is_against(step.tie)

    bounds = Bounds(depth=3, branching=_WIDE.branching, width=_WIDE.width, faintest=0.0)
    return _from(reader, visible, vertex, f"What contradicts {vertex.name}?", limit, find, is_end, bounds)


def bridges(reader: Reader, visible: Visible, tag: str, limit: int) -> Walk:
    """Walk over every edge with a tag, such as `solution`, the strongest first: a path of one hop each."""
    edges: list[Edge] = []
    after: str | None = None
    while page := reader.select(Edge, {"tags": tag}, after=after, limit=2_000):
        edges += filter(visible.says, page)
        after = page[-1].id
    edges.sort(key=lambda edge: (-edge.weight, edge.id))
    visible_ids = (
        visible(sorted({end for edge in edges for end in (edge.source_id, edge.target_id)})) if edges else set()
    )
    visible_edges = [edge for edge in edges if edge.source_id in visible_ids and edge.target_id in visible_ids]
    ends = find_vertices(reader, [end for edge in visible_edges[:limit] for end in (edge.source_id, edge.target_id)])
    paths = [
        GraphPath(
            seed=ends[edge.source_id],
            hops=(Hop(edge=edge, forward=True, vertex=ends[edge.target_id]),),
            score=edge.weight,
            parts={"weight": edge.weight},
        )
        for edge in visible_edges[:limit]
        if edge.source_id in ends and edge.target_id in ends
    ]
    cut_off = {"paths": len(visible_edges) - limit} if len(visible_edges) > limit else {}
    return Walk(question=f"All {tag} bridges", seeds=(), paths=tuple(paths), visited=len(visible_ids), cut_off=cut_off)


def _is_cause(tie: Tie) -> bool:
    """True if the far end led to the near one."""
    if tie.kind in _CAUSE_LAST:
        return tie.forward
    if _is_against(tie) or tie.forward or tie.kind in _NO_CAUSE:
        return False
    return tie.kind in _CAUSE_FIRST or tie.weight >= CAUSAL_FROM


def _is_against(tie: Tie) -> bool:
    """True if the two ends contradict each other, by the kind of the edge or by its tags."""
    return tie.kind == EdgeKind.CONFLICTS or any(word in tie.tags.lower() for word in _AGAINST)


def _from(
    reader: Reader,
    visible: Visible,
    vertex: Vertex,
    question: str,
    limit: int,
    find_ties: FindTies,
    ends: Callable[[Reached], bool] | None = None,
    bounds: Bounds = _WIDE,
) -> Walk:
    seed = GraphHit(vertex=vertex, edge=None, score=1.0, parts={"asked for": 1.0})
    return walk_from(reader, visible, [seed], question, bounds, limit, find_ties, ends)
