"""Finds what of a stretch of the bank's feed is to be shared: records with their namespace and scope, and erasures.

Nothing that came from a peer is among it, whatever was lost since: that is told by its origin. What becomes shared for
the first time brings the evidence and the edges that were there before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import IMPORT, PEER, Trust, kind_of, level_of
from reasoningbank.core.types import Change, Edge, Memory, Node, Op, Record, Ruling, Scope, Signal, SignalKind
from reasoningbank.guard.trust import levels_of, trust_of
from reasoningbank.ports import Reader
from reasoningbank_bus.exchange.bodies import EndName
from reasoningbank_bus.exchange.naming import KnownRecord, known_records
from reasoningbank_bus.exchange.policy import Policy
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.wire.entry import RecordName

NODE_SCOPE = Scope.TEAM.value
"""A node has none of its own."""
_OTHERS = (PEER, IMPORT, "tool")
_ERASABLE = ("memory", "node", "edge")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRecord:
    noun: str
    record: Record
    namespace: str
    scope: str
    known: KnownRecord | None
    """The record as the bus knows it already."""


class SharedChanges:
    """Changes of this tenant as everybody else may see them, as of one moment."""

    def __init__(self, context: BankContext, log: EntryLog, own: bytes, policy: Policy, reader: Reader) -> None:
        self._context, self._log, self._own, self._policy, self._reader = context, log, own, policy, reader
        self._known: dict[str, KnownRecord] = {}
        self._looked_up: set[str] = set()
        self._vertices: dict[str, Memory | Node] = {}
        self._fresh: set[str] = set()
        """Ids of what is shared for the first time."""

    def name_of(self, record_id: str) -> RecordName:
        prior = self._known.get(record_id)
        return RecordName(self._own, record_id) if prior is None else prior.name

    def end_of(self, record_id: str) -> EndName:
        return EndName("node" if isinstance(self._vertices[record_id], Node) else "memory", self.name_of(record_id))

    def find(self, changes: Iterable[Change]) -> list[SharedRecord]:
        """Memories and nodes first, then what refers to them."""
        ids: dict[str, dict[str, None]] = {noun: {} for noun in ("memory", "node", "edge", "signal", "ruling")}
        for change in changes:
            if change.tenant == self._context.tenant and change.kind in ids and change.op is not Op.REMOVE:
                ids[change.kind][change.id] = None
        signals = list(self._reader.get(Signal, list(ids["signal"])).values())
        rulings = self._reader.get(Ruling, list(ids["ruling"])).values()
        memories = [*ids["memory"], *(i for ruling in rulings for i in ruling.memories)]
        if self._policy.least_confidence:
            memories += [signal.memory_id for signal in signals]
        records = [*self._memories(list(dict.fromkeys(memories))), *self._nodes(list(ids["node"]))]
        edges = list(self._reader.get(Edge, list(ids["edge"])).values())
        return [*records, *self._edges(edges), *self._signals(signals)]

    def find_erased(self, changes: Iterable[Change]) -> dict[str, KnownRecord]:
        """Records that were shared and are gone here, by id; also those that are not this bank's own."""
        removals = {
            change.id: None
            for change in changes
            if change.op is Op.REMOVE and change.tenant == self._context.tenant and change.kind in _ERASABLE
        }
        records = known_records(self._log, removals)
        there = self._log.erased([(record.name, record.namespace) for record in records.values()])
        return {
            record_id: record for record_id, record in records.items() if (record.name, record.namespace) not in there
        }

    # ------------------------------------------------------------ by kind

    def _memories(self, ids: Sequence[str]) -> list[SharedRecord]:
        # What was applied just before comes by here too, and need not be read.
        mine = [memory_id for memory_id, row in self._reader.vertex_rows(ids).items() if kind_of(row.origin) != PEER]
        memories = self._reader.get(Memory, mine)
        self._look_up([*mine, *(parent for memory in memories.values() for parent in memory.parents)])
        self._vertices.update(memories)
        own = list(memories.values())
        levels, confidence = levels_of(self._reader, own), self._confidence(own)
        records = []
        for memory in own:
            scope, prior = memory.scope.value, self._known.get(memory.id)
            if prior is None:
                mean = confidence.get(memory.id, 1.0)
                if self._policy.why_not(memory, mean, trust_of(memory, levels)) is not None:
                    continue
                self._fresh.add(memory.id)
            elif not self._policy.reaches(memory.namespace, scope):
                continue
            records.append(
                SharedRecord(noun="memory", record=memory, namespace=memory.namespace, scope=scope, known=prior)
            )
        return records

    def _confidence(self, memories: Sequence[Memory]) -> dict[str, float]:
        if not self._policy.least_confidence:
            return {}
        items = self._context.weigh_memories(self._reader, memories)
        return {item.memory.id: item.confidence.mean for item in items}

    def _nodes(self, ids: Sequence[str]) -> list[SharedRecord]:
        if not ids or not self._policy.nodes:
            return []
        self._look_up(ids)
        nodes = self._reader.get(Node, ids)
        self._vertices.update(nodes)
        records = []
        for node in nodes.values():
            if level_of(node.origin) is not Trust.UNTRUSTED and self._policy.reaches(node.namespace, NODE_SCOPE):
                prior = self._known.get(node.id)
                if prior is None:
                    self._fresh.add(node.id)
                records.append(
                    SharedRecord(noun="node", record=node, namespace=node.namespace, scope=NODE_SCOPE, known=prior)
                )
        return records

    def _edges(self, changes: Sequence[Edge]) -> list[SharedRecord]:
        edges = {edge.id: edge for edge in changes}
        if self._fresh:
            for batch in self._reader.select_either(Edge, ("source_id", "target_id"), sorted(self._fresh), {}):
                edges.update({edge.id: edge for edge in batch})
        credible = [edge for edge in edges.values() if not edge.origin or level_of(edge.origin) is not Trust.UNTRUSTED]
        self._learn({end for edge in credible for end in (edge.source_id, edge.target_id)})
        self._look_up([edge.id for edge in credible])
        records = []
        for edge in credible:
            ends = [self._place(end) for end in (edge.source_id, edge.target_id)]
            if None in ends:
                continue
            (namespace, scope), (_, other) = [end for end in ends if end is not None]
            narrower = Scope.TEAM.value if Scope.TEAM.value in (scope, other) else scope
            prior = self._known.get(edge.id)
            records.append(SharedRecord(noun="edge", record=edge, namespace=namespace, scope=narrower, known=prior))
        return records

    def _signals(self, changes: Sequence[Signal]) -> list[SharedRecord]:
        signals = {signal.id: signal for signal in changes}
        fresh = [memory_id for memory_id in self._fresh if isinstance(self._vertices[memory_id], Memory)]
        if fresh:
            for signal in self._reader.select(Signal, {"memory_id": sorted(fresh)}):
                signals[signal.id] = signal
        own = [signal for signal in signals.values() if _is_own_evidence(signal)]
        self._learn({signal.memory_id for signal in own})
        records = []
        for signal in own:
            place = self._place(signal.memory_id)
            if place is not None:
                records.append(
                    SharedRecord(noun="signal", record=signal, namespace=place[0], scope=place[1], known=None)
                )
        return records

    # ------------------------------------------------------------ what they hang on

    def _learn(self, ids: Iterable[str]) -> None:
        missing = sorted(set(ids) - self._vertices.keys())
        if missing:
            self._vertices.update(self._reader.get(Memory, missing))
            nodes = [vertex_id for vertex_id in missing if vertex_id not in self._vertices]
            self._vertices.update(self._reader.get(Node, nodes) if nodes else {})
            self._look_up(missing)

    def _look_up(self, ids: Iterable[str]) -> None:
        missing = set(ids) - self._looked_up
        self._known.update(known_records(self._log, missing))
        self._looked_up |= missing

    def _place(self, vertex_id: str) -> tuple[str, str] | None:
        """Namespace and scope of a vertex that others know; None where they do not, or need not hear of it."""
        vertex = self._vertices.get(vertex_id)
        if vertex is None or (vertex_id not in self._fresh and vertex_id not in self._known):
            return None
        scope = vertex.scope.value if isinstance(vertex, Memory) else NODE_SCOPE
        return (vertex.namespace, scope) if self._policy.reaches(vertex.namespace, scope) else None


def _is_own_evidence(signal: Signal) -> bool:
    """True if the signal arose in this bank, and no peer, file or tool said it."""
    return signal.kind is not SignalKind.PEER and kind_of(signal.source) not in _OTHERS and signal.weight > 0.0
