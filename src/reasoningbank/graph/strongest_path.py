"""The strongest or the shortest path between two vertices of the memory graph.

The strongest has the greatest product of weights. The open vertices are gone on from a batch at a time, the best first,
until no way that is left can be better than the one that was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import log
from typing import NamedTuple

from reasoningbank.core.errors import InvalidInput
from reasoningbank.graph.activation import FindTies, FindVisible, Reached
from reasoningbank.ports import Tie

BATCH = 64
MOST_VISITED = 20_000
LEAST_WEIGHT = 1e-6
BY = ("strongest", "shortest")


class PathSoFar(NamedTuple):
    """The best way to a vertex so far."""

    cost: float
    hops: int
    before: str
    tie: Tie | None


class PathFound(NamedTuple):
    steps: tuple[Reached, ...]
    """The first vertex first; none where there is no path."""
    visited: int
    cut_off: Mapping[str, int]


def find_path(
    source: str, target: str, find_ties: FindTies, find_visible: FindVisible, by: str, depth: int
) -> PathFound:
    if by not in BY:
        raise InvalidInput(f"by {by!r} is unknown: use one of {', '.join(BY)}.")
    ways = {source: PathSoFar(0.0, 0, "", None)}
    frontier = {source}
    hidden: set[str] = set()
    cut_off: Counter[str] = Counter()
    while frontier:
        best = ways[target][:2] if target in ways else (float("inf"), 0)
        batch = sorted((ways[vertex][:2], vertex) for vertex in frontier if ways[vertex][:2] < best)[:BATCH]
        if not batch or len(ways) > MOST_VISITED:
            cut_off["visited"] += len(batch)
            break
        near = [vertex for _, vertex in batch]
        frontier.difference_update(near)
        deeper = [vertex for vertex in near if ways[vertex].hops < depth]
        cut_off["depth"] += len(near) - len(deeper)
        adjacency = find_ties(deeper) if deeper else {}
        unknown = sorted({tie.far for ties in adjacency.values() for tie in ties} - ways.keys() - hidden)
        hidden.update(set(unknown).difference(find_visible(unknown)))
        for vertex in deeper:
            for tie in sorted(adjacency.get(vertex, ()), key=lambda tie: (tie.far, -tie.weight, tie.edge_id)):
                step_cost = -log(max(tie.weight, LEAST_WEIGHT)) if by == "strongest" else 1.0
                way = PathSoFar(ways[vertex].cost + step_cost, ways[vertex].hops + 1, vertex, tie)
                if tie.far not in hidden and (tie.far not in ways or way[:2] < ways[tie.far][:2]):
                    ways[tie.far] = way
                    frontier.add(tie.far)
    return PathFound(_steps(ways, source, target), len(ways), +cut_off)


def _steps(ways: Mapping[str, PathSoFar], source: str, target: str) -> tuple[Reached, ...]:
    if target not in ways:
        return ()
    chain = [target]
    while ways[chain[0]].tie is not None:
        chain.insert(0, ways[chain[0]].before)
    strength, steps = 1.0, []
    for depth, vertex in enumerate(chain):
        tie = ways[vertex].tie
        strength *= 1.0 if tie is None else tie.weight
        steps.append(Reached(vertex, strength, source, depth, ways[vertex].before, tie))
    return tuple(steps)
