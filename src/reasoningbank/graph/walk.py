"""Walk the edges from a memory, both ways, a few steps far.

Breadth first and bounded, so that a dense graph costs no more than it may.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reasoningbank.core.drafts import one_of
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Edge, EdgeKind, Memory, State
from reasoningbank.desk import Desk
from reasoningbank.ports import Reader

MOST_NEIGHBOURS = 1_000
DIRECTIONS = ("out", "in", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    memory: Memory
    edge: Edge
    outward: bool
    """True when the edge points from the nearer end to this memory."""
    steps: int
    strength: float
    """The product of the weights along the way."""


def neighbours(
    desk: Desk, reference: str, *, kind: str | None = None, direction: str = "both", depth: int = 1
) -> list[Neighbour]:
    """The nearest first, the stronger first among equals; forgotten memories are passed over."""
    wanted = None if kind is None else one_of(EdgeKind, kind, "kind")
    if direction not in DIRECTIONS:
        raise InvalidInput(f"direction {direction!r} is unknown: use one of {', '.join(DIRECTIONS)}.")
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= 10:
        raise InvalidInput(f"depth must be a whole number from 1 to 10, not {depth!r}.")
    with desk.store.read(desk.tenant) as reader:
        start = desk.memory(reader, reference)
        seen = {start.id}
        found: list[Neighbour] = []
        frontier = {start.id: 1.0}
        for steps in range(1, depth + 1):
            reached: dict[str, float] = {}
            for edge, near, far in _edges_of(reader, list(frontier), wanted, direction):
                memory = reader.get(Memory, [far]).get(far) if far not in seen else None
                if memory is None or memory.state is State.FORGOTTEN or len(found) >= MOST_NEIGHBOURS:
                    continue
                seen.add(far)
                strength = frontier[near] * edge.weight
                reached[far] = strength
                found.append(
                    Neighbour(
                        memory=desk.shown(memory),
                        edge=desk.shown(edge),
                        outward=edge.source_id == near,
                        steps=steps,
                        strength=strength,
                    )
                )
            frontier = reached
            if not frontier:
                break
    return sorted(found, key=lambda n: (n.steps, -n.strength, n.memory.id))


def _edges_of(reader: Reader, ids: list[str], kind: EdgeKind | None, direction: str) -> Iterator[tuple[Edge, str, str]]:
    """Edges at these memories, the strongest first, as (edge, near end, far end)."""
    narrowed = {} if kind is None else {"kind": kind.value}
    edges: list[tuple[Edge, str, str]] = []
    if direction in ("out", "both"):
        edges += [(e, e.source_id, e.target_id) for e in reader.select(Edge, {"source_id": ids, **narrowed})]
    if direction in ("in", "both"):
        edges += [(e, e.target_id, e.source_id) for e in reader.select(Edge, {"target_id": ids, **narrowed})]
    yield from sorted(edges, key=lambda entry: (-entry[0].weight, entry[0].id))
