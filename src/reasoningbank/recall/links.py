"""Adds links to hits: which memories contradict them, and what else is worth a look.

Links are kept as edges. Whoever reads one side of a contradiction should know of the other, and a strong link is worth
naming though its other end was not found. A stranger's title is not quoted outside of its envelope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from reasoningbank.core.frozen import replace
from reasoningbank.core.link_meaning import relation, sentence_from
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import Edge, EdgeKind, Memory, Remembered, Scope, State
from reasoningbank.graph.subgraph import is_vouched
from reasoningbank.guard.trust import levels_of, revoked_origins, trust_of
from reasoningbank.ports import Filter, Reader, Tie
from reasoningbank.recall.query import Clash, Recalled, SeeAlso
from reasoningbank.recall.reach import is_in_reach, is_referred_to

MOST_NAMED = 3
"""Memories, each with all its links."""
STRONG_FROM = 0.55
"""The weight from which a link is a strong bridge; below it is of the same topic at best."""
NEEDED_FROM = 0.5
"""The same for what is required: the strength of a link of which nobody says how strong it is."""
_MOST_LOOKED_AT = 32
"""Links of one hit each way, the strongest: what has a million is no dearer than what has a hundred."""
_MOST_LOOKED_UP = 60
"""Links of one search whose other ends are read, the strongest first."""


class Bond(NamedTuple):
    """A link of a hit, and the memory at its other end."""

    edge: Edge
    memory: Memory
    trust: Trust
    outward: bool
    """The link points away from the hit."""

    @property
    def relation(self) -> str:
        """Relation of the hit to the other memory."""
        return relation(self.edge.kind, outward=self.outward)


class Bonds:
    """The links of hits that are worth telling, the contradictions first and then the strongest; each hit is looked up
    once.
    """

    def __init__(self, reader: Reader, find_revoked: Callable[[], frozenset[str]] | None = None) -> None:
        """`revoked` tells the origins that nobody believes any more, where somebody knows them already."""
        self._reader = reader
        self._revoked = find_revoked or (lambda: revoked_origins(reader))
        self._known: dict[str, list[Bond]] = {}

    def of(self, hit: Remembered) -> Sequence[Bond]:
        return self._known.get(hit.id, ())

    def look_up(self, hits: Sequence[Remembered]) -> None:
        ids = [hit.id for hit in hits if hit.id not in self._known]
        if not ids:
            return
        bonds: dict[str, list[Bond]] = {memory_id: [] for memory_id in ids}
        self._known |= bonds
        ties = [
            (near, tie)
            for near, strongest_ties in self._reader.strongest_ties(ids, _MOST_LOOKED_AT).items()
            for tie in strongest_ties
            if _is_told(tie)
        ]
        if ties and (origins := self._revoked()):
            ties = [pair for pair in ties if pair[1].origin not in origins]
        if not ties:
            return
        # Contradictions first: they are named however weak they are.
        strongest = nlargest(
            _MOST_LOOKED_UP,
            ties,
            key=lambda pair: (pair[1].kind == EdgeKind.CONFLICTS, pair[1].weight, pair[1].edge_id),
        )
        there = {hit.id: (hit.memory, hit.trust) for hit in hits}
        far = {tie.far for _, tie in strongest}
        read = self._reader.get_each(
            {Memory: sorted(far - there.keys()), Edge: sorted({tie.edge_id for _, tie in strongest})}
        )
        ends, edges = self._ends_in_force(there, read[Memory]), read[Edge]
        for near, tie in strongest:
            if tie.far in ends and tie.edge_id in edges:
                memory, trust = ends[tie.far]
                bonds[near].append(Bond(edges[tie.edge_id], memory, trust, tie.forward))

    def _ends_in_force(
        self, there: Mapping[str, tuple[Memory, Trust]], rest: Mapping[str, Memory]
    ) -> Mapping[str, tuple[Memory, Trust]]:
        """Linked memories that are active and trusted, with their trust."""
        levels = levels_of(self._reader, rest.values())
        ends = dict(there) | {i: (m, trust_of(m, levels)) for i, m in rest.items() if m.state is State.ACTIVE}
        return {i: end for i, end in ends.items() if end[1] > Trust.UNTRUSTED}


def _is_told(tie: Tie) -> bool:
    if tie.kind == EdgeKind.CONFLICTS:
        return True
    least = NEEDED_FROM if tie.kind == EdgeKind.REQUIRES else STRONG_FROM
    # What a memory was made from says the same; what has replaced a memory is told.
    is_origin = tie.kind == EdgeKind.DERIVED_FROM or (tie.kind == EdgeKind.SUPERSEDES and tie.forward)
    return tie.weight >= least and not is_origin


def links_around(reader: Reader, item: Remembered) -> list[SeeAlso]:
    """Every strong link of one memory, contradictions first; of those that are in force and believed by somebody."""
    bonds = Bonds(reader)
    bonds.look_up([item])
    return [_reference(bond) for bond in bonds.of(item)]


def name_links(hits: Sequence[Recalled], bonds: Bonds, where: Filter) -> list[Recalled]:
    """The hits with what their links lead to, those that contradict each other side by side."""
    return _side_by_side([_with_names(hit, bonds.of(hit), where) for hit in hits])


def _with_names(hit: Recalled, bonds: Sequence[Bond], where: Filter) -> Recalled:
    if not bonds:
        return hit
    against = (
        b
        for b in bonds
        if b.edge.kind is EdgeKind.CONFLICTS
        and (b.memory.namespace == hit.memory.namespace or b.memory.scope is not Scope.PROJECT)
        and is_in_reach(b.memory, where)
    )
    rest = (b for b in bonds if b.edge.kind is not EdgeKind.CONFLICTS and is_referred_to(b.memory, where))
    clashing = [joining[0].memory for joining in _by_memory(against)]
    return replace(
        hit,
        conflicts=tuple(Clash(id=memory.id, title=memory.title) for memory in clashing),
        see_also=tuple(_reference(bond) for joining in _by_memory(rest) for bond in joining),
    )


def _by_memory(bonds: Iterable[Bond]) -> list[list[Bond]]:
    """The links to each of the first few memories, all of them: two may need each other and be alike."""
    groups: dict[str, list[Bond]] = {}
    for bond in bonds:
        groups.setdefault(bond.memory.id, []).append(bond)
    return list(groups.values())[:MOST_NAMED]


def _reference(bond: Bond) -> SeeAlso:
    return SeeAlso(
        id=bond.memory.id,
        title=bond.memory.title,
        namespace=bond.memory.namespace,
        kind=bond.edge.kind.value,
        relation=bond.relation,
        weight=bond.edge.weight,
        # A stranger's sentence is not quoted outside of an envelope.
        text=sentence_from(bond.edge, outward=bond.outward) if is_vouched(bond.edge) else "",
    )


def _side_by_side(hits: Sequence[Recalled]) -> list[Recalled]:
    """Each in its place, followed at once by those that contradict it."""
    by_id = {hit.id: hit for hit in hits}
    order: dict[str, Recalled] = {}
    for hit in hits:
        order.setdefault(hit.id, hit)
        for clash in hit.conflicts:
            if clash.id in by_id:
                order.setdefault(clash.id, by_id[clash.id])
    return list(order.values())
