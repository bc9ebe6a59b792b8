"""Existing edges of the memories, and how many more each may have.

A memory with a hundred links is linked to nothing: each gets a few discovered ones, the strongest first, and what
somebody has linked, or has unlinked again, stays so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from reasoningbank.core.link_meaning import DISCOVERED, FROM_USE, MEANINGS
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import Edge, EdgeKind, Node
from reasoningbank.learn.consolidate.plan import Link
from reasoningbank.learn.consolidate.pool import UndoneDecisions
from reasoningbank.ports import Reader

MOST_LINKS = 5
_ROWS_PER_PAGE = 2_000
_NODE = f"{kind_of(Node).prefix}_"


class Web:
    """Edges of the memories, which grow while links are taken; one that is there, or finds no room, is refused."""

    def __init__(
        self,
        edges: Iterable[Edge],
        before: UndoneDecisions,
        stands_for: Mapping[str, str],
        most: int = MOST_LINKS,
    ) -> None:
        """`stands_for` says which memory will have the edges of another."""
        self._most = most
        self._there: set[tuple[str, str, str]] = set(before.unlinked)
        self._joined: set[frozenset[str]] = set()
        self._degree: Counter[str] = Counter()
        for edge in edges:
            if edge.kind is EdgeKind.SUPERSEDES and FROM_USE not in edge.tags:
                continue
            ends = (stands_for.get(edge.source_id, edge.source_id), stands_for.get(edge.target_id, edge.target_id))
            fresh = (*ends, edge.kind.value) not in self._there
            self._there.add((*ends, edge.kind.value))
            self._joined.add(frozenset(ends))
            if DISCOVERED in edge.tags and fresh:
                self._degree.update(ends)

    def are_joined(self, memory_id: str, other: str) -> bool:
        """True if an edge of any kind joins the two."""
        return frozenset((memory_id, other)) in self._joined

    def take(self, link: Link) -> bool:
        kind = link.kind.value
        ways = {(link.source, link.target, kind)}
        if MEANINGS[link.kind].holds_either_way:
            ways.add((link.target, link.source, kind))
        if ways & self._there or link.source == link.target:
            return False
        if max(self._degree[link.source], self._degree[link.target]) >= self._most:
            return False
        self._there |= ways
        self._joined.add(frozenset((link.source, link.target)))
        self._degree.update((link.source, link.target))
        return True


def edges_in(reader: Reader) -> list[Edge]:
    """Edges between memories; those of nodes, of which there may be far more, are no part of this."""
    edges: list[Edge] = []
    after: str | None = None
    while page := reader.select(Edge, {}, after=after, limit=_ROWS_PER_PAGE):
        edges += [edge for edge in page if not any(end.startswith(_NODE) for end in (edge.source_id, edge.target_id))]
        after = page[-1].id
    return edges


def day_of(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return "an unknown day"
