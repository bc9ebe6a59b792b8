"""Reads the memories to consolidate, each with its evidence and trust, once.

Only active ones: what is in quarantine, forgotten or archived neither gives nor takes anything here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.confidence import Context, evidence_for
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import EVERY_NAMESPACE, Consolidation, ConsolidationKind, Memory, Signal, State
from reasoningbank.guard.trust import levels_of, trust_of
from reasoningbank.learn.consolidate.wording import Wording, wording_of
from reasoningbank.ports import Reader

ROWS_PER_PAGE = 2_000
PINNED = "pinned"
"""A tag: whoever wears it is never archived and never merged away."""
FACT = "fact"
"""A tag: it says what is there, and its distiller keeps its kind in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    memory: Memory
    wording: Wording
    trust: Trust
    signals: tuple[Signal, ...]
    """Signals that count for what it advises now."""
    confidence: float
    used: int
    all_uses: int
    """Uses of all memories of its namespace, where the policy compares them."""
    last_used_at: float

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def namespace(self) -> str:
        return self.memory.namespace

    @property
    def is_distilled(self) -> bool:
        return "distiller" in self.memory.metadata

    @property
    def is_named(self) -> bool:
        """True if somebody asks for it by the name that somebody gave it."""
        return self.memory.key is not None and not self.is_distilled


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneDecisions:
    """Decisions that were undone before, so that nobody has to undo the same thing twice."""

    apart: frozenset[frozenset[str]] = frozenset()
    """Pairs whose merge was undone."""
    unlinked: frozenset[tuple[str, str, str]] = frozenset()
    kept_links: frozenset[tuple[str, str, str]] = frozenset()
    """Links whose removal was undone."""
    left_as_it_was: frozenset[str] = frozenset()
    """Edges whose new strength was undone."""
    kept: frozenset[str] = frozenset()
    """Memories whose archival was undone."""
    at_home: frozenset[str] = frozenset()
    """Memories whose promotion was undone."""


def members(context: BankContext, reader: Reader, namespace: str) -> list[Member]:
    """The active memories of a namespace, by id, which is by age."""
    where = {"state": State.ACTIVE.value}
    if namespace != EVERY_NAMESPACE:
        where["namespace"] = namespace
    pool: list[Member] = []
    after: str | None = None
    while page := reader.select(Memory, where, after=after, limit=ROWS_PER_PAGE):
        pool += _weigh(context, reader, page)
        after = page[-1].id
    return pool


def _weigh(context: BankContext, reader: Reader, memories: Sequence[Memory]) -> Iterable[Member]:
    levels = levels_of(reader, memories)
    signals: dict[str, list[Signal]] = {memory.id: [] for memory in memories}
    for signal in reader.select(Signal, {"memory_id": list(signals)}):
        signals[signal.memory_id].append(signal)
    uses = context.uses(reader)
    for memory in memories:
        evidence = evidence_for(memory, signals[memory.id])
        all_uses = uses.get(memory.namespace, 0)
        yield member_of(context, memory, wording_of(memory), trust_of(memory, levels), evidence, all_uses)


def member_of(
    context: BankContext, memory: Memory, wording: Wording, trust: Trust, signals: Sequence[Signal], all_uses: int
) -> Member:
    """`signals` are those that count for what it advises now."""
    standing = context.policy.standing(memory.initial_confidence, memory.created_at, signals)
    return Member(
        memory=memory,
        wording=wording,
        trust=trust,
        signals=tuple(signals),
        confidence=context.policy.confidence(standing, context.clock(), Context(total_uses=all_uses)).mean,
        used=standing.used,
        all_uses=all_uses,
        last_used_at=standing.last_used_at,
    )


def units_of(reader: Reader) -> tuple[list[Consolidation], set[str]]:
    """Every unit, and the ids of those that were undone."""
    units = reader.select(Consolidation, {})
    undone = {str(unit.changes.get("undone")) for unit in units if unit.kind is ConsolidationKind.UNDO}
    return [unit for unit in units if unit.kind is not ConsolidationKind.UNDO], undone


def read_settled(reader: Reader) -> UndoneDecisions:
    units, undone = units_of(reader)
    apart: set[frozenset[str]] = set()
    links: set[tuple[str, str, str]] = set()
    kept_links: set[tuple[str, str, str]] = set()
    as_it_was: set[str] = set()
    live_ids: set[str] = set()
    at_home: set[str] = set()
    for unit in units:
        if unit.id not in undone:
            continue
        for act in unit.changes.get("acts", ()):
            match act:
                case {"act": "merge", "kept": kept_id, "merged": merged_ids}:
                    apart.update(frozenset((kept_id, other)) for other in merged_ids)
                case {"act": "link", "source": source, "target": target, "kind": kind}:
                    links.add((source, target, kind))
                case {"act": "unlink", "source": source, "target": target, "kind": kind}:
                    kept_links.add((source, target, kind))
                case {"act": "reweigh", "edge": edge_id}:
                    as_it_was.add(edge_id)
                case {"act": "archive", "id": memory_id}:
                    live_ids.add(memory_id)
                case {"act": "promote", "id": memory_id}:
                    at_home.add(memory_id)
    return UndoneDecisions(
        apart=frozenset(apart),
        unlinked=frozenset(links),
        kept_links=frozenset(kept_links),
        left_as_it_was=frozenset(as_it_was),
        kept=frozenset(live_ids),
        at_home=frozenset(at_home),
    )
