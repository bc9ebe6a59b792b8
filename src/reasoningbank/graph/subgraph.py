"""The shapes that search and walks over the memory graph give and that renderers take: vertices, hops, paths."""

from __future__ import annotations

from collections.abc import Mapping

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import Trust, level_of
from reasoningbank.core.types import Edge, Memory, Node

LESSON = "Lesson"
"""The label of a memory among the nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """A node or a memory, as one end of an edge."""

    id: str
    name: str
    """The caller's own id: N1001 of a node, the key of a memory, else the id."""
    label: str
    text: str
    tags: tuple[str, ...]
    conv_id: str
    trusted: bool
    """True if more than a tool, a file or a stranger stands behind it."""
    record: Node | Memory


def is_vouched(edge: Edge) -> bool:
    """True if more than a tool, a file or a stranger says the edge; without an origin its trust follows from its
    ends.
    """
    return not edge.origin or level_of(edge.origin) > Trust.UNTRUSTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One step along an edge to the vertex at its other end."""

    edge: Edge
    forward: bool
    """True if the step goes the way that the edge points."""
    vertex: Vertex


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPath:
    seed: Vertex
    hops: tuple[Hop, ...]
    score: float
    parts: Mapping[str, float]
    """The components of the score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphHit:
    """A search hit in the graph: a vertex or an edge."""

    vertex: Vertex | None
    edge: Edge | None
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The paths reached from the seeds of a question, best first."""

    question: str
    seeds: tuple[GraphHit, ...]
    paths: tuple[GraphPath, ...]
    visited: int
    cut_off: Mapping[str, int]
    """Why it went no further, and how often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgraph:
    """A conversation, a selection or everything."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
