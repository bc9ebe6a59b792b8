"""Walks the edges from a memory, both ways, a few steps far; lists edges by what they are.

Breadth first and bounded, so that a dense graph costs no more than it may.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_fraction, clean_tags, one_of
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.recency import position_of
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import DEFAULT_LIST_LIMIT, Edge, EdgeKind, Memory, Node, State
from reasoningbank.graph.vertices import find_records
from reasoningbank.guard.trust import revoked_origins
from reasoningbank.ports import Reader

MOST_NEIGHBOURS = 1_000
_MOST_EDGES = 4 * MOST_NEIGHBOURS
"""Looked at in a step, shared out among the vertices that it starts from: some lead to what may not be shown."""
_FEWEST_EDGES = 64
"""Looked at of each vertex, however many there are."""
DIRECTIONS = ("out", "in", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A memory or node that can be reached, and one edge that leads to it: parallel edges are several neighbours."""

    record: Memory | Node
    edge: Edge
    outward: bool
    """True when the edge points from the nearer end to this one."""
    steps: int
    strength: float
    """The product of the weights along the way."""

    @property
    def memory(self) -> Memory | None:
        """None for a node."""
        return self.record if isinstance(self.record, Memory) else None

    @property
    def title(self) -> str:
        return title_of(self.record)


def title_of(record: Memory | Node) -> str:
    """The title of a memory; of a node its name, its label and how its text begins."""
    if isinstance(record, Memory):
        return record.title
    name = "" if record.name == record.id else f"{record.name} "
    return f"{name}{record.label.value}: {record.text[:80]}"


def neighbours(
    context: BankContext, reference: str, *, kind: str | None = None, direction: str = "both", depth: int = 1
) -> list[Neighbour]:
    """Neighbours of a memory or node, the nearest first, the stronger first among equals, without forgotten
    memories.

    Where several edges join the same two, each of them is listed.
    """
    edge_kind = None if kind is None else one_of(EdgeKind, kind, "kind")
    if direction not in DIRECTIONS:
        raise InvalidInput(f"direction {direction!r} is unknown: use one of {', '.join(DIRECTIONS)}.")
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= 10:
        raise InvalidInput(f"depth must be a whole number from 1 to 10, not {depth!r}.")
    with context.read_for_output() as reader:
        start = _named_record(context, reader, reference) or context.memory(reader, reference)
        hidden_origins = revoked_origins(reader)
        # A memory that waits for a decision can be looked at by its id, or nobody could decide.
        if isinstance(start, Node) and start.origin in hidden_origins:
            raise NotFound(f"{reference!r} is not to be shown: its origin was revoked, or is in quarantine.")
        nearer_ids = {start.id}
        neighbourhood: list[Neighbour] = []
        frontier = {start.id: 1.0}
        for steps in range(1, depth + 1):
            next_frontier: dict[str, float] = {}
            ways: dict[str, str] = {}
            near_by = _edges_of(reader, list(frontier), edge_kind, direction)
            edges = [entry for entry in near_by if entry[2] not in nearer_ids and entry[0].origin not in hidden_origins]
            ends = _showable(_records(reader, {far for _, _, far in edges}), hidden_origins)
            for edge, near, far in edges:
                record = ends.get(far)
                if record is None or len(neighbourhood) >= MOST_NEIGHBOURS:
                    continue
                # By the strongest way first; what lies beside that edge is parallel, what comes another way is not.
                if ways.setdefault(far, near) != near:
                    continue
                nearer_ids.add(far)
                strength = frontier[near] * edge.weight
                next_frontier[far] = max(strength, next_frontier.get(far, 0.0))
                neighbourhood.append(
                    Neighbour(
                        record=record,
                        edge=edge,
                        outward=edge.source_id == near,
                        steps=steps,
                        strength=strength,
                    )
                )
            frontier = next_frontier
            if not frontier or len(neighbourhood) >= MOST_NEIGHBOURS:
                break
    best: dict[str, float] = {}
    for neighbour in neighbourhood:
        best[neighbour.record.id] = max(neighbour.strength, best.get(neighbour.record.id, 0.0))
    return sorted(neighbourhood, key=lambda n: (n.steps, -best[n.record.id], n.record.id, -n.strength, n.edge.id))


def _named_record(context: BankContext, reader: Reader, reference: str) -> Memory | Node | None:
    """The record of a name; None for what is no name, or the id of a memory: that asks for no look among the nodes."""
    if not isinstance(reference, str) or reference.startswith(f"{kind_of(Memory).prefix}_"):
        return None
    return find_records(context, reader, [reference], context.namespace).get(reference)


def _records(reader: Reader, ids: set[str]) -> dict[str, Memory | Node]:
    memories = reader.get(Memory, sorted(ids)) if ids else {}
    rest = sorted(ids - memories.keys())
    return {**memories, **(reader.get(Node, rest) if rest else {})}


def _showable(records: Mapping[str, Memory | Node], hidden_origins: Container[str]) -> dict[str, Memory | Node]:
    """The records without those that were forgotten, or came from a revoked origin or from what did."""
    hidden = (State.FORGOTTEN, State.QUARANTINED)
    return {
        record_id: record
        for record_id, record in records.items()
        if record.origin not in hidden_origins and (isinstance(record, Node) or record.state not in hidden)
    }


def _edges_of(reader: Reader, ids: list[str], kind: EdgeKind | None, direction: str) -> Iterator[tuple[Edge, str, str]]:
    """The strongest edges at these memories, the strongest first, as (edge, near end, far end)."""
    where = {} if kind is None else {"kind": kind.value}
    ends = [end for end, way in (("source_id", "out"), ("target_id", "in")) if direction in (way, "both")]
    of_each = max(_FEWEST_EDGES, _MOST_EDGES // len(ids))
    edges = [
        (edge, *((edge.source_id, edge.target_id) if end == "source_id" else (edge.target_id, edge.source_id)))
        for end, rows in zip(ends, reader.strongest_edges(ids, of_each, ends, where), strict=True)
        for edge in rows
    ]
    yield from sorted(edges, key=lambda entry: (-entry[0].weight, entry[0].id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """An edge with the titles of its two ends; of a node, its name, its label and how its text begins."""

    edge: Edge
    source: str
    target: str


def edges(
    context: BankContext,
    *,
    kind: str | None = None,
    tags: Sequence[str] = (),
    least_weight: float = 0.0,
    limit: int = DEFAULT_LIST_LIMIT,
    before: str | None = None,
) -> list[Joined]:
    """Edges of one kind or with all of these tags, newest first; `before` is the last id of the page before."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidInput(f"limit must be a whole number from 1 on, not {limit!r}.")
    where: dict[str, object] = {} if kind is None else {"kind": one_of(EdgeKind, kind, "kind").value}
    if tags:
        where["tags"] = [context.scrubber.scrub(tag).text for tag in clean_tags(tags)]
    least = clean_fraction(least_weight, "least_weight")
    matches: list[Edge] = []
    with context.read_for_output() as reader:
        hidden_origins = revoked_origins(reader)
        titles: dict[str, str] = {}
        while len(matches) < limit and (page := _page(reader, where, before)):
            candidates = [edge for edge in page if edge.weight >= least and edge.origin not in hidden_origins]
            ends = _records(reader, {end for edge in candidates for end in (edge.source_id, edge.target_id)})
            visible = _showable(ends, hidden_origins)
            matches += [edge for edge in candidates if edge.source_id in visible and edge.target_id in visible]
            titles |= {record_id: title_of(record) for record_id, record in visible.items()}
            before = position_of(page[-1])
        matches = matches[:limit]
    return [
        Joined(
            edge=edge,
            source=titles.get(edge.source_id, ""),
            target=titles.get(edge.target_id, ""),
        )
        for edge in matches
    ]


def _page(reader: Reader, where: Mapping[str, object], before: str | None) -> list[Edge]:
    return reader.select(Edge, where, newest_first=True, after=before, limit=500)
