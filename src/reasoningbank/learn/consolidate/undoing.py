"""Undoes a consolidation: states, scopes, tags, parents, texts, signals and edges as they were before.

Field by field: what nobody has touched since goes back, what somebody has changed meanwhile stays, and is named. One
unit to a transaction, the last first, so an undoing that is killed is finished by another. A link that was removed is
made again from the ids and numbers that the unit keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reasoningbank.context import LIVE_STATES, BankContext
from reasoningbank.core.errors import Conflict, NotFound
from reasoningbank.core.link_meaning import DISCOVERED, FROM_USE
from reasoningbank.core.origins import AGENT
from reasoningbank.core.types import Consolidation, ConsolidationKind, Edge, EdgeKind, Memory, Signal, State
from reasoningbank.guard.trust import refold
from reasoningbank.learn.consolidate.applying import put
from reasoningbank.learn.consolidate.plan import ConsolidationRun, Undone
from reasoningbank.learn.consolidate.pool import units_of
from reasoningbank.learn.consolidate.use import sentence_of
from reasoningbank.ports import Reader, Writer

_FIELDS = ("state", "scope", "tags", "parents", "metadata", "title", "description", "content")
_COUNTED = {
    "merge": "merged",
    "link": "linked",
    "reweigh": "reweighed",
    "unlink": "unlinked",
    "archive": "archived",
    "promote": "promoted",
}


def undo(context: BankContext, run_id: str, source: str) -> Undone:
    with context.store.read(context.tenant) as reader:
        units, undone = units_of(reader)
    run_units = [unit for unit in units if unit.run == run_id]
    if not run_units:
        raise NotFound(f"There is no consolidation {run_id!r} here.")
    waiting = [unit for unit in run_units if unit.id not in undone]
    if not waiting:
        raise Conflict(f"{run_id} was undone already.")
    back = [
        context.store.write(context.tenant, partial(_undo_unit, context, unit, source))
        for unit in sorted(waiting, key=lambda unit: (unit.at, unit.id), reverse=True)
    ]
    return Undone(
        run=run_id,
        memories=tuple(dict.fromkeys(memory for part in back for memory in part.memories)),
        edges=sum(part.edges for part in back),
        signals=sum(part.signals for part in back),
        left=tuple(sentence for part in back for sentence in part.left),
        links=sum(part.links for part in back),
    )


def _undo_unit(context: BankContext, unit: Consolidation, source: str, writer: Writer) -> Undone:
    _, undone = units_of(writer)
    leftovers: list[str] = []
    memory_ids: list[str] = []
    if unit.id in undone:
        return Undone(run=unit.run, memories=(), edges=0, signals=0, left=())
    # The merged ones first: what stands for them is judged anew when they are back.
    revisions: dict[str, Sequence[int]] = unit.changes.get("touched", {})
    signals = _remove(writer, Signal, list(unit.changes.get("signals", {})))
    edges = _removed_edges(writer, unit, leftovers)
    links = _restore_links(context, writer, unit, leftovers)
    for memory_id, (before, after) in sorted(revisions.items(), key=lambda entry: entry[1][1] - entry[1][0]):
        if _put_back(context, writer, memory_id, before, after, leftovers):
            memory_ids.append(memory_id)
    refold(writer, memory_ids)
    writer.add(
        Consolidation(
            id=context.ids.new("con"),
            tenant=context.tenant,
            run=unit.run,
            kind=ConsolidationKind.UNDO,
            namespace=unit.namespace,
            changes={"undone": unit.id, "memories": memory_ids, "left": leftovers},
            source=source,
            at=context.clock(),
        )
    )
    return Undone(
        run=unit.run, memories=tuple(memory_ids), edges=edges, signals=signals, left=tuple(leftovers), links=links
    )


def _remove(writer: Writer, kind: type[Signal], ids: Sequence[str]) -> int:
    there = writer.get(kind, ids) if ids else {}
    for record_id in there:
        writer.remove(kind, record_id)
    return len(there)


def _removed_edges(writer: Writer, unit: Consolidation, leftovers: list[str]) -> int:
    ids = unit.changes.get("edges", [])
    there = writer.get(Edge, ids) if ids else {}
    count = 0
    for edge in there.values():
        if edge.created_at > unit.at:
            leftovers.append(f"the edge {edge.id} was made anew since and stays")
            continue
        writer.remove(Edge, edge.id)
        count += 1
    return count


def _restore_links(context: BankContext, writer: Writer, unit: Consolidation, leftovers: list[str]) -> int:
    """Puts links back as they were before a unit, and returns how many."""
    spans: Mapping[str, tuple[int, int]] = unit.changes.get("reweighed", {})
    successes = [_weigh_back(writer, edge_id, span, leftovers) for edge_id, span in spans.items()]
    unlinkings = (act for act in unit.changes.get("acts", ()) if act["act"] == "unlink")
    return sum(successes) + sum([_link_again(context, writer, act, leftovers) for act in unlinkings])


def _weigh_back(writer: Writer, edge_id: str, span: tuple[int, int], leftovers: list[str]) -> bool:
    before, after = span
    now = writer.get(Edge, [edge_id]).get(edge_id)
    old = {edge.revision: edge for edge in writer.revisions(Edge, edge_id)}.get(before)
    if now is None or old is None or now.revision != after:
        leftovers.append(f"the edge {edge_id} was changed or removed since")
        return False
    writer.revise(replace(old, revision=now.revision + 1))
    return True


def _link_again(context: BankContext, writer: Writer, act: Mapping[str, Any], leftovers: list[str]) -> bool:
    where = {"source_id": act["source"], "target_id": act["target"], "kind": act["kind"]}
    if len(writer.get(Memory, [act["source"], act["target"]])) < 2 or writer.select(Edge, where, limit=1):
        leftovers.append(f"the edge {act['edge']} is not put back: one of its ends is gone, or they are linked again")
        return False
    writer.add(
        Edge(
            id=context.ids.new("edg"),
            tenant=context.tenant,
            source_id=act["source"],
            target_id=act["target"],
            kind=EdgeKind(act["kind"]),
            text=sentence_of(act["way"], act["counts"]),
            weight=act["weight"],
            tags=(DISCOVERED, FROM_USE),
            evidence=f"tasks {', '.join(act['tasks'])}",
            created_at=context.clock(),
            origin=AGENT,
        )
    )
    return True


def _put_back(
    context: BankContext, writer: Writer, memory_id: str, before: int, after: int, leftovers: list[str]
) -> bool:
    now = writer.get(Memory, [memory_id]).get(memory_id)
    if now is None:
        leftovers.append(f"{memory_id} was erased since")
        return False
    versions = {version.revision: version for version in (*writer.revisions(Memory, memory_id), now)}
    if before not in versions or after not in versions:
        leftovers.append(f"{memory_id} has lost the revision that it had before")
        return False
    old, ours = versions[before], versions[after]
    changes: dict[str, Any] = {}
    for name in _FIELDS:
        was, became, is_now = getattr(old, name), getattr(ours, name), getattr(now, name)
        if was == became:
            continue
        if is_now == became:
            changes[name] = was
        elif is_now != was:
            leftovers.append(f"the {name} of {memory_id} was changed since and stays")
    if changes.get("state") in LIVE_STATES and _key_is_taken(writer, now):
        leftovers.append(f"{memory_id} stays {now.state}: another memory has its key {now.key!r} now")
        del changes["state"]
    if changes:
        memory = put(context, writer, now, **changes)
        if changes.get("state") is State.ACTIVE and memory.state is not State.ACTIVE:
            leftovers.append(f"{memory_id} is {memory.state}: its origin is not believed any more")
    return bool(changes)


def _key_is_taken(reader: Reader, memory: Memory) -> bool:
    if memory.key is None:
        return False
    where = {"namespace": memory.namespace, "key": memory.key, "state": LIVE_STATES}
    return any(other.id != memory.id for other in reader.select(Memory, where))


def history(reader: Reader) -> list[ConsolidationRun]:
    """Runs of consolidation, newest first."""
    units, undone = units_of(reader)
    runs: dict[str, list[Consolidation]] = {}
    for unit in units:
        runs.setdefault(unit.run, []).append(unit)
    entries = [
        ConsolidationRun(
            id=run_id,
            kind=parts[0].kind,
            namespace=parts[0].namespace,
            at=parts[0].at,
            source=parts[0].source,
            counts=_counts(parts),
            undone=all(part.id in undone for part in parts),
            units=tuple(parts),
        )
        for run_id, parts in runs.items()
    ]
    return sorted(entries, key=lambda run: (run.at, run.id), reverse=True)


def _counts(parts: Sequence[Consolidation]) -> dict[str, int]:
    counts = dict.fromkeys(_COUNTED.values(), 0)
    for part in parts:
        for act in part.changes.get("acts", ()):
            counts[_COUNTED[act["act"]]] += len(act.get("merged", (1,)))
    return counts
