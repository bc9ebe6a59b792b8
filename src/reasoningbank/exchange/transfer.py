"""Out of a bank and into one.

Knows what is already here and what may come in: nothing that exists is overwritten by an older one, nothing that was
erased comes back, and importing the same file twice adds nothing. Every refusal is reported with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from reasoningbank.core.confidence import INITIAL_RAW
from reasoningbank.core.drafts import memory_from, one_of
from reasoningbank.core.errors import BankError
from reasoningbank.core.ids import derived_id
from reasoningbank.core.types import (
    Draft,
    Edge,
    EdgeKind,
    Exposure,
    KeptVector,
    Memory,
    Record,
    Sidecar,
    Signal,
    SignalKind,
    Step,
    Tombstone,
    Trajectory,
)
from reasoningbank.desk import LIVE_STATES, Desk
from reasoningbank.exchange.items import IncomingEdge, IncomingMemory, IncomingTrajectory, Item, Skipped
from reasoningbank.exchange.jsonl import Line, header_line, record_line
from reasoningbank.ports import Reader, Writer

ITEMS_PER_UNIT = 500
ROWS_PER_PAGE = 1_000
R = TypeVar("R", bound=Record)


@dataclass(slots=True, kw_only=True)
class Imported:
    """The tally of an import; the only value here that changes, while it is being counted."""

    layout: str
    added: Counter[str] = field(default_factory=Counter)
    revised: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def seen(self) -> int:
        return self.added.total() + self.revised + self.unchanged + len(self.skipped)


# ---------------------------------------------------------------- out


def export_lines(desk: Desk, namespace: str | None = None) -> Iterator[str]:
    """Every record of the tenant (or of one namespace) as lines, what others refer to first."""
    yield header_line(desk.tenant, desk.clock())
    where = {} if namespace is None else {"namespace": namespace}
    with desk.store.read(desk.tenant) as reader:
        kept: set[str] = set()
        for memory in _pages(reader, Memory, where):
            kept.add(memory.id)
            yield record_line("memory", memory)
            for revision in reader.revisions(memory.id) if memory.revision > 1 else ():
                yield record_line("revision", revision)
        for signal in _pages(reader, Signal, {}):
            if signal.memory_id in kept:
                yield record_line("signal", signal)
        trajectories: set[str] = set()
        for trajectory in _pages(reader, Trajectory, where):
            trajectories.add(trajectory.id)
            yield record_line("trajectory", trajectory)
        for step in _pages(reader, Step, {}):
            if step.trajectory_id in trajectories:
                yield record_line("step", step)
        for edge in _pages(reader, Edge, {}):
            if edge.source_id in kept and edge.target_id in kept:
                yield record_line("edge", edge)
        for vector in reader.beside(KeptVector):
            if vector.memory_id in kept:
                yield record_line("vector", vector)
        for exposure in reader.beside(Exposure):
            if exposure.memory_id in kept:
                yield record_line("shown", exposure)
        if namespace is None:
            for tombstone in reader.beside(Tombstone):
                yield record_line("erased", tombstone)


def _pages(reader: Reader, kind: type[R], where: dict[str, str]) -> Iterator[R]:
    after: str | None = None
    while page := reader.select(kind, where, after=after, limit=ROWS_PER_PAGE):
        yield from page
        after = page[-1].id


# ---------------------------------------------------------------- in


def take_in(
    desk: Desk,
    items: Iterable[Line | Item],
    layout: str,
    progress: Callable[[int], None] | None = None,
    *,
    dry_run: bool = False,
) -> Imported:
    """Write items down in units of a few hundred; a unit is all or nothing, a refused item does not spoil it."""
    tally = Imported(layout=layout)
    chunks = _chunks(items)
    if dry_run:
        try:
            desk.store.write(desk.tenant, lambda writer: _rehearse(desk, writer, chunks, tally, progress))
        except _Rehearsed:
            return tally
    for chunk in chunks:
        _count(tally, desk.store.write(desk.tenant, partial(_take_chunk, desk, chunk)), progress)
    return tally


class _Rehearsed(Exception):
    """Takes a dry run back; never seen by a caller."""


def _rehearse(
    desk: Desk,
    writer: Writer,
    chunks: Iterable[list[Line | Item]],
    tally: Imported,
    progress: Callable[[int], None] | None,
) -> None:
    for chunk in chunks:
        _count(tally, _take_chunk(desk, chunk, writer), progress)
    raise _Rehearsed


def _chunks(items: Iterable[Line | Item]) -> Iterator[list[Line | Item]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, ITEMS_PER_UNIT)):
        yield chunk


def _count(tally: Imported, counted: Imported, progress: Callable[[int], None] | None) -> None:
    tally.added += counted.added
    tally.revised += counted.revised
    tally.unchanged += counted.unchanged
    tally.skipped += counted.skipped
    if progress is not None:
        progress(tally.seen)


def _take_chunk(desk: Desk, chunk: list[Line | Item], writer: Writer) -> Imported:
    tally = Imported(layout="")
    for item in chunk:
        try:
            _take(desk, writer, item, tally)
        except BankError as error:
            tally.skipped.append(Skipped(what=_name(item), why=str(error)))
    return tally


def _name(item: Line | Item) -> str:
    match item:
        case Line():
            return f"line {item.number} ({item.noun})"
        case IncomingMemory():
            return f"memory {item.draft.title!r}"
        case IncomingTrajectory():
            return f"trajectory {item.task[:60]!r}"
        case IncomingEdge():
            return f"link {item.source_identity} → {item.target_identity}"
        case Skipped():
            return item.what


def _take(desk: Desk, writer: Writer, item: Line | Item, tally: Imported) -> None:
    match item:
        case Skipped():
            tally.skipped.append(item)
        case Line():
            _take_line(desk, writer, item, tally)
        case IncomingMemory():
            _take_memory(desk, writer, item, tally)
        case IncomingEdge():
            _take_edge(desk, writer, item, tally)
        case IncomingTrajectory():
            _take_trajectory(desk, writer, item, tally)


def _take_line(desk: Desk, writer: Writer, line: Line, tally: Imported) -> None:
    record = replace(line.record, tenant=desk.tenant)
    if isinstance(record, (Exposure, KeptVector, Tombstone)):
        _take_beside(writer, record, line, tally)
        return
    if isinstance(record, Memory) and line.noun == "revision":
        if record.id not in writer.get(Memory, [record.id]):
            tally.skipped.append(Skipped(what=_name(line), why="its memory is not here"))
        elif any(earlier.revision == record.revision for earlier in writer.revisions(record.id)):
            tally.unchanged += 1
        else:
            writer.add_earlier(record)
            tally.added["revision"] += 1
        return
    there = writer.get(type(record), [record.id]).get(record.id)
    if there is not None:
        _take_again(writer, there, record, line, tally)
        return
    reason = _reason_against(writer, record)
    if reason is not None:
        tally.skipped.append(Skipped(what=_name(line), why=reason))
    else:
        writer.add(record)
        tally.added[line.noun] += 1


def _take_again(writer: Writer, there: Record, record: Record, line: Line, tally: Imported) -> None:
    if there == record:
        tally.unchanged += 1
    elif isinstance(there, Memory) and isinstance(record, Memory) and record.revision > there.revision:
        writer.revise(record)
        tally.revised += 1
    else:
        tally.skipped.append(Skipped(what=_name(line), why=f"{record.id} is here already, with other contents"))


def _take_beside(writer: Writer, item: Sidecar, line: Line, tally: Imported) -> None:
    if not isinstance(item, Tombstone) and item.memory_id not in writer.get(Memory, [item.memory_id]):
        tally.skipped.append(Skipped(what=_name(line), why="its memory is not here"))
    elif writer.add_beside([item]):
        tally.added[line.noun] += 1
    else:
        tally.unchanged += 1


def _reason_against(writer: Writer, record: Record) -> str | None:
    if writer.is_erased(record.id):
        return f"{record.id} was erased here"
    match record:
        case Memory():
            if record.key is not None and record.state in LIVE_STATES and _key_taken(writer, record):
                return f"the key {record.key!r} belongs to another memory in namespace {record.namespace!r}"
        case Signal():
            if record.memory_id not in writer.get(Memory, [record.memory_id]):
                return "its memory is not here"
        case Step():
            if record.trajectory_id not in writer.get(Trajectory, [record.trajectory_id]):
                return "its trajectory is not here"
        case Edge():
            if len(writer.get(Memory, [record.source_id, record.target_id])) < 2:
                return "one of its ends is not here"
        case Trajectory():
            pass
    return None


def _key_taken(writer: Writer, memory: Memory) -> bool:
    where = {"namespace": memory.namespace, "key": memory.key, "state": LIVE_STATES}
    return bool(writer.select(Memory, where, limit=1))


# ---------------------------------------------------------------- what other systems wrote


def _take_memory(desk: Desk, writer: Writer, item: IncomingMemory, tally: Imported) -> None:
    memory_id = derived_id("mem", f"{desk.tenant}\x1f{item.identity}")
    if memory_id in writer.get(Memory, [memory_id]):
        tally.unchanged += 1
        return
    memory = memory_from(
        item.draft,
        memory_id=memory_id,
        tenant=desk.tenant,
        namespace=desk.namespace,
        initial_confidence=INITIAL_RAW,
        now=desk.clock(),
    )
    reason = _reason_against(writer, memory)
    if reason is not None:
        tally.skipped.append(Skipped(what=_name(item), why=reason))
        return
    writer.add(memory)
    tally.added["memory"] += 1
    at = item.used_at if item.used_at is not None else memory.created_at
    for positive, times in ((True, item.successes), (False, item.failures)):
        for number in range(times):
            writer.add(_imported_signal(desk, memory, item.draft, positive=positive, number=number, at=at))
            tally.added["signal"] += 1


def _imported_signal(desk: Desk, memory: Memory, draft: Draft, *, positive: bool, number: int, at: float) -> Signal:
    return Signal(
        id=derived_id("sig", f"{memory.id}\x1f{positive}\x1f{number}"),
        tenant=desk.tenant,
        memory_id=memory.id,
        kind=SignalKind.COMPLETION,
        positive=positive,
        weight=1.0,
        used=True,
        source=draft.origin,
        trajectory_id=None,
        comment="",
        at=at,
    )


def _take_edge(desk: Desk, writer: Writer, item: IncomingEdge, tally: Imported) -> None:
    ends = [derived_id("mem", f"{desk.tenant}\x1f{i}") for i in (item.source_identity, item.target_identity)]
    edge = Edge(
        id=derived_id("edg", f"{ends[0]}\x1f{ends[1]}\x1f{item.kind}"),
        tenant=desk.tenant,
        source_id=ends[0],
        target_id=ends[1],
        kind=one_of(EdgeKind, item.kind, "kind"),
        text=item.text,
        weight=min(max(float(item.weight), 0.0), 1.0),
        tags=(),
        evidence=item.evidence,
        created_at=desk.clock() if item.created_at is None else item.created_at,
    )
    _add_once(writer, edge, "edge", _name(item), tally)


def _take_trajectory(desk: Desk, writer: Writer, item: IncomingTrajectory, tally: Imported) -> None:
    now = desk.clock()
    started = now if item.started_at is None else item.started_at
    trajectory = Trajectory(
        id=derived_id("trj", f"{desk.tenant}\x1f{item.identity}"),
        tenant=desk.tenant,
        namespace=item.namespace or desk.namespace,
        task=item.task,
        agent=item.agent,
        outcome=item.outcome or "unknown",
        metadata=dict(item.metadata),
        started_at=started,
        ended_at=started if item.ended_at is None else item.ended_at,
    )
    if not _add_once(writer, trajectory, "trajectory", _name(item), tally):
        return
    for number, step in enumerate(item.steps, start=1):
        made = Step(
            id=derived_id("stp", f"{trajectory.id}\x1f{number}"),
            tenant=desk.tenant,
            trajectory_id=trajectory.id,
            number=number,
            action=step.action,
            result=step.result,
            metadata=dict(step.metadata),
            at=started if step.at is None else step.at,
        )
        _add_once(writer, made, "step", _name(item), tally)


def _add_once(writer: Writer, record: Record, noun: str, name: str, tally: Imported) -> bool:
    if record.id in writer.get(type(record), [record.id]):
        tally.unchanged += 1
        return False
    reason = _reason_against(writer, record)
    if reason is not None:
        tally.skipped.append(Skipped(what=name, why=reason))
        return False
    writer.add(record)
    tally.added[noun] += 1
    return True
