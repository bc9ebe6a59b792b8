"""Walks the memory graph from seeds by spreading activation, and tells the paths with their sentences.

Ties are asked for by level, a few of each vertex, and texts only for what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reasoningbank.core.drafts import clean_fraction
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Edge
from reasoningbank.graph.activation import Bounds, FindTies, Reached, Spread, Trail, spread, trails
from reasoningbank.graph.subgraph import GraphHit, GraphPath, Hop, Vertex, Walk
from reasoningbank.graph.vertices import find_vertices
from reasoningbank.graph.visible import Visible
from reasoningbank.ports import Reader, Tie

MOST_DEPTH = 10
MOST_BRANCHING = 32
MOST_PATHS = 200
DEFAULT_PATHS = 12
TIES_ASKED = 16
"""Edges of a vertex that are looked at each way, the strongest; a degree is counted no further."""


def check_bounds(depth: object, branching: object, faintest: object) -> Bounds:
    return Bounds(
        depth=_whole(depth, "depth", MOST_DEPTH),
        branching=_whole(branching, "branching", MOST_BRANCHING),
        faintest=clean_fraction(faintest, "faintest"),
    )


def check_limit(limit: object) -> int:
    return _whole(limit, "limit", MOST_PATHS)


def _whole(value: object, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidInput(f"{name} must be a whole number from 1 to {most}, not {value!r}.")
    return value


def ties_of(reader: Reader, visible: Visible, accepts: Callable[[Tie], bool] | None = None) -> FindTies:
    """Finder of the strongest ties of vertices that may be shown; with `accepts`, of these the ties that it accepts."""

    def find(ids: Sequence[str]) -> Mapping[str, Sequence[Tie]]:
        return {
            vertex_id: [tie for tie in ties if visible.says(tie) and (accepts is None or accepts(tie))]
            for vertex_id, ties in reader.strongest_ties(ids, TIES_ASKED).items()
        }

    return find


def walk_from(
    reader: Reader,
    visible: Visible,
    seeds: Sequence[GraphHit],
    question: str,
    bounds: Bounds,
    limit: int,
    find_ties: FindTies | None = None,
    ends: Callable[[Reached], bool] | None = None,
) -> Walk:
    """The best paths from the seeds; with `ends`, those alone that end so."""
    result = spread(_seed_matches(seeds, visible), find_ties or ties_of(reader, visible), visible, bounds)
    ways = trails(result) if ends is None else _trails_to(result, ends)
    return Walk(
        question=question,
        seeds=tuple(seeds),
        paths=tuple(make_paths(reader, ways, limit)),
        visited=len(result.reached),
        cut_off={**result.cut_off, **({"paths": len(ways) - limit} if len(ways) > limit else {})},
    )


def _seed_matches(seeds: Sequence[GraphHit], visible: Visible) -> dict[str, float]:
    """Match of each seed with the question; the ends of an edge match as its sentence does, times its weight."""
    matches: dict[str, float] = {}
    for hit in seeds:
        ends = [(hit.vertex.id, hit.score)] if hit.vertex is not None else []
        if hit.edge is not None:
            ends += [(end, hit.score * hit.edge.weight) for end in (hit.edge.source_id, hit.edge.target_id)]
        for end, match in ends:
            matches[end] = max(match, matches.get(end, 0.0))
    there = visible(list(matches))
    return {end: match for end, match in matches.items() if end in there}


def _trails_to(result: Spread, ends: Callable[[Reached], bool]) -> list[Trail]:
    """The way to each vertex that is an end, the strongest first."""
    ways = []
    for arrival in result.reached.values():
        if arrival.tie is not None and ends(arrival):
            steps = [arrival]
            while steps[0].tie is not None:
                steps.insert(0, result.reached[steps[0].before])
            ways.append(Trail(tuple(steps), 1, arrival.activation))
    return sorted(ways, key=lambda trail: (-trail.gain, trail.steps[-1].id))


def make_paths(reader: Reader, ways: Sequence[Trail], limit: int) -> list[GraphPath]:
    """The best trails with their texts, without those through something that was removed meanwhile."""
    best = ways[:limit]
    vertices = find_vertices(reader, [step.id for way in best for step in way.steps])
    edges = reader.get(Edge, list(dict.fromkeys(step.tie.edge_id for way in best for step in way.steps if step.tie)))
    return [
        _path(way, vertices, edges)
        for way in best
        if all(step.id in vertices and (step.tie is None or step.tie.edge_id in edges) for step in way.steps)
    ]


def _path(way: Trail, vertices: Mapping[str, Vertex], edges: Mapping[str, Edge]) -> GraphPath:
    seed, *steps = way.steps
    parts = {"match": seed.activation}
    parts |= {f"hop {at}": step.activation for at, step in enumerate(steps, start=1) if at >= way.new_from}
    hops = [
        Hop(edge=edges[step.tie.edge_id], forward=step.tie.forward, vertex=vertices[step.id])
        for step in steps
        if step.tie is not None
    ]
    return GraphPath(seed=vertices[seed.id], hops=tuple(hops), score=way.gain, parts=parts)
