"""Takes imported records into a bank, in chunks, each in one transaction.

Nothing that exists is overwritten by an older one, nothing that was erased comes back, and importing the same file
twice adds nothing. Every refusal is reported with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice
from typing import Any, TypeVar, cast

from reasoningbank.context import LIVE_STATES, BankContext
from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.core.frozen import replace
from reasoningbank.core.ids import is_own
from reasoningbank.core.origins import Trust
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import Edge, Memory, Node, Record, SideRecord, State, Step, Tombstone, Trajectory
from reasoningbank.exchange.existing import Existing
from reasoningbank.exchange.foreign import records_of
from reasoningbank.exchange.import_trust import (
    ImportTrust,
    add_earlier,
    is_believed_session,
    reason_against,
    receive,
    settle,
)
from reasoningbank.exchange.items import IncomingEdge, IncomingMemory, IncomingTrajectory, Item, SkippedItem
from reasoningbank.exchange.jsonl import ExportLine
from reasoningbank.exchange.link_nodes import link_edges
from reasoningbank.guard.admission import refold_among
from reasoningbank.guard.trust import trust_in
from reasoningbank.ports import Reader, Writer

ITEMS_PER_UNIT = 1_000
"""Few enough that others who write wait a moment only; many, because each commit writes every page that it touched."""

R = TypeVar("R", bound=Record | SideRecord)


@dataclass(slots=True, kw_only=True)
class Imported:
    """The tally of an import; the only value here that changes, while it is being counts."""

    layout: str
    added: Counter[str] = field(default_factory=Counter)
    revised: int = 0
    unchanged: int = 0
    skipped: list[SkippedItem] = field(default_factory=list)
    scrubbed: Counter[str] = field(default_factory=Counter)
    """How many secrets of which kind were taken out of what was added or revised."""
    untrusted: int = 0
    """New memories that nobody vouches for."""
    quarantined: int = 0
    """New memories that are not found until somebody vouches for them."""
    origins: Counter[str] = field(default_factory=Counter)
    """The origins of those that nobody vouches for, to approve or revoke them by."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Fields of the file that could not be kept, by name."""
    elsewhere: int = 0
    """Memories of the file that carry a namespace of their own, other than the bank's."""
    doubtful: set[str] = field(default_factory=set, repr=False)
    """Memories whose trust must be folded anew once everything that a restore brings is there."""

    def note(self, memory: Memory | None) -> None:
        """Count a memory that came in untrusted, as it was kept; None is one that did not, or no memory."""
        if memory is not None:
            self.untrusted += 1
            self.quarantined += memory.state is State.QUARANTINED
            self.origins[memory.origin] += 1

    @property
    def seen(self) -> int:
        return self.added.total() + self.revised + self.unchanged + len(self.skipped)


def take_in(
    context: BankContext,
    items: Iterable[ExportLine | Item],
    claims: ImportTrust,
    progress: Callable[[int], None] | None = None,
    *,
    dry_run: bool = False,
) -> Imported:
    """Write items down in units of a thousand; a unit is all or nothing, a refused item does not spoil it."""
    tally = Imported(layout=claims.layout)
    chunks = _chunks(items)
    if dry_run:
        try:
            rehearsal = partial(_rehearse, context, claims, chunks, tally, progress)
            context.store.write(context.tenant, rehearsal, alone=True)
        except _Rehearsed:
            return tally
    for chunk in chunks:
        # Read, checked and scrubbed before the transaction: nobody who writes meanwhile waits for that.
        coming, counts = _all_coming(context, claims, chunk)
        _count(tally, counts, None)
        _count(tally, context.store.write(context.tenant, partial(_take_chunk, context, claims, coming)), progress)
    if claims.restore:
        context.store.write(context.tenant, partial(refold_among, memories=tally.doubtful))
    return tally


class _Rehearsed(Exception):
    """Takes a dry run back; never seen by a caller."""


def _rehearse(
    context: BankContext,
    claims: ImportTrust,
    chunks: Iterable[list[ExportLine | Item]],
    tally: Imported,
    progress: Callable[[int], None] | None,
    writer: Writer,
) -> None:
    for chunk in chunks:
        coming, counts = _all_coming(context, claims, chunk)
        _count(tally, counts, None)
        _count(tally, _take_chunk(context, claims, coming, writer), progress)
    raise _Rehearsed


def _chunks(items: Iterable[ExportLine | Item]) -> Iterator[list[ExportLine | Item]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, ITEMS_PER_UNIT)):
        yield chunk


def _count(tally: Imported, counts: Imported, progress: Callable[[int], None] | None) -> None:
    tally.added += counts.added
    tally.revised += counts.revised
    tally.unchanged += counts.unchanged
    tally.skipped += counts.skipped
    tally.scrubbed += counts.scrubbed
    tally.untrusted += counts.untrusted
    tally.quarantined += counts.quarantined
    tally.origins += counts.origins
    tally.left_out += counts.left_out
    tally.elsewhere += counts.elsewhere
    tally.doubtful |= counts.doubtful
    if progress is not None:
        progress(tally.seen)


Coming = tuple[ExportLine | Item, Sequence[Record | SideRecord]]


def _all_coming(
    context: BankContext, claims: ImportTrust, chunk: list[ExportLine | Item]
) -> tuple[list[Coming], Imported]:
    """Items with the records that they would become, and what was counted on the way."""
    counts = Imported(layout="")
    return [_coming(context, claims, item, counts) for item in chunk], counts


def _take_chunk(context: BankContext, claims: ImportTrust, coming: Sequence[Coming], writer: Writer) -> Imported:
    tally = Imported(layout="")
    here = Existing(writer, claims, (record for _, records in coming for record in records))
    for item, records in coming:
        try:
            _take(here, item, records, tally)
        except BankError as error:
            tally.skipped.append(SkippedItem(what=_name(item), why=str(error)))
    for noun, (additions, there) in here.write_side_records().items():
        tally.added += Counter({noun: additions})
        tally.unchanged += there
    tally.skipped = [context.scrub_for_output(entry) for entry in tally.skipped]
    tally.doubtful = here.doubtful()
    return tally


def _coming(context: BankContext, claims: ImportTrust, item: ExportLine | Item, tally: Imported) -> Coming:
    """An item with the records that it would become, believed as far as a file is and without secrets, or the reason
    why it becomes none.
    """
    if isinstance(item, SkippedItem):
        return item, ()
    try:
        if isinstance(item, ExportLine):
            same = item.record.tenant == context.tenant
            records: Sequence[Record | SideRecord] = (
                item.record if same else replace(item.record, tenant=context.tenant),
            )
        else:
            records = records_of(context, item)
        tally.elsewhere += sum(
            isinstance(record, Memory) and record.namespace != context.namespace for record in records
        )
        return item, [_clean(context, receive(claims, record), tally) for record in records]
    except BankError as error:
        return SkippedItem(what=_name(item), why=str(error)), ()


def _clean(context: BankContext, record: R, tally: Imported) -> R:
    """Without secrets. An id is never rewritten, so a record with a secret for its id is refused."""
    for name in _id_fields(cast("Any", type(record))):
        value = getattr(record, name)
        if value and not is_own(value) and context.scrubber.scrub(value).found:
            raise InvalidInput(f"its {name} holds a secret")
    clean, secrets = context.clean(record)
    if secrets:
        tally.scrubbed.update(secrets)
    return clean


# Asked for every record, and put together anew by each question.
@cache
def _id_fields(kind: Any) -> tuple[str, ...]:
    return kind_of(kind).ids


def _name(item: ExportLine | Item) -> str:
    match item:
        case ExportLine():
            return f"line {item.number} ({item.noun})"
        case IncomingMemory():
            return f"memory {item.draft.title!r}"
        case IncomingTrajectory():
            return f"trajectory {item.task[:60]!r}"
        case IncomingEdge():
            return f"link {item.source_identity} → {item.target_identity}"
        case SkippedItem():
            return item.what


def _take(here: Existing, item: ExportLine | Item, records: Sequence[Record | SideRecord], tally: Imported) -> None:
    match item:
        case SkippedItem():
            tally.skipped.append(item)
        case ExportLine():
            _take_line(here, item, records[0], tally)
        case _:
            first, *rest = cast("Sequence[Record]", records)
            if _add_once(here, first, item, tally):
                if isinstance(item, IncomingMemory) and item.left_out:
                    tally.left_out.update(item.left_out)
                for edge in link_edges(here.writer, first):
                    _add_once(here, edge, item, tally)
                for record in rest:
                    # The file's own evidence about what it brings: it counts for confidence, never for trust.
                    _add_once(here, record, item, tally)


def _take_line(here: Existing, line: ExportLine, record: Record | SideRecord, tally: Imported) -> None:
    if isinstance(record, SideRecord):
        _take_side_record(here, record, line, tally)
        return
    there = here.get(type(record), record.id)
    if line.noun == kind_of(type(record)).noun_of_earlier:
        _take_earlier(here, line, record, there, tally)
        return
    if there is not None:
        _take_again(here, there, settle(here.claims, there, record), line, tally)
        return
    reason = _reason_against(here, record) or reason_against(here.claims, here.writer, record)
    if reason is not None:
        tally.skipped.append(SkippedItem(what=_name(line), why=reason))
    else:
        tally.note(here.add(record))
        tally.added[line.noun] += 1


def _take_earlier(here: Existing, line: ExportLine, record: Any, current: Any, tally: Imported) -> None:
    """An earlier revision of a memory, a session or an edge that is here."""
    if current is None:
        why = f"its {kind_of(type(record)).noun} is not here"
        tally.skipped.append(SkippedItem(what=_name(line), why=why))
    elif any(
        earlier.revision == record.revision for earlier in (*here.writer.revisions(type(record), record.id), current)
    ):
        tally.unchanged += 1
    else:
        add_earlier(here.claims, here.writer, current, record)
        tally.added[line.noun] += 1


def _take_again(here: Existing, there: Record, record: Record, line: ExportLine, tally: Imported) -> None:
    if there == record:
        tally.unchanged += 1
    elif _is_later(there, record, restore=here.claims.restore):
        here.revise(there, record)
        tally.revised += 1
    else:
        tally.skipped.append(SkippedItem(what=_name(line), why=f"{record.id} is here already, with other contents"))


def _is_later(there: Record, record: Record, *, restore: bool) -> bool:
    match there, record:
        case ((Memory() | Node()), (Memory() | Node())):
            return record.revision > there.revision
        case Trajectory(), Trajectory():
            ends = there.ended_at is None and record.ended_at is not None
            return ends or (restore and record.revision > there.revision)
        case Edge(), Edge():
            return restore and record.revision > there.revision
        case _:
            return False


def _take_side_record(here: Existing, item: SideRecord, line: ExportLine, tally: Imported) -> None:
    if not isinstance(item, Tombstone) and here.get(Memory, item.memory_id) is None:
        tally.skipped.append(SkippedItem(what=_name(line), why="its memory is not here"))
    elif (reason := reason_against(here.claims, here.writer, item)) is not None:
        _refuse(here.writer, item, line, reason, tally)
    else:
        here.add_side_record(item)


def _refuse(reader: Reader, item: SideRecord, line: ExportLine, reason: str, tally: Imported) -> None:
    if item in reader.side_records(type(item)):
        tally.unchanged += 1
    else:
        tally.skipped.append(SkippedItem(what=_name(line), why=reason))


def _reason_against(here: Existing, record: Record) -> str | None:
    if here.is_erased(record.id):
        return f"{record.id} was erased here"
    entry = kind_of(type(record))
    for name in entry.needs:
        if all(here.get(kind, getattr(record, name)) is None for kind in entry.refers[name]):
            if len(entry.needs) > 1:
                return "one of its ends is not here"
            return f"its {kind_of(entry.refers[name][0]).noun} is not here"
    if isinstance(record, Memory) and record.key is not None and record.state in LIVE_STATES:
        where = {"namespace": record.namespace, "key": record.key, "state": LIVE_STATES}
        if here.writer.select(Memory, where, limit=1):
            return f"the key {record.key!r} belongs to another memory in namespace {record.namespace!r}"
    namesake = {"namespace": record.namespace, "name": record.name} if isinstance(record, Node) else None
    if namesake and here.writer.select(Node, namesake, limit=1):
        return f"the name {namesake['name']!r} belongs to another node in namespace {namesake['namespace']!r}"
    return _reason_against_track(here, record) if isinstance(record, Step) else None


def _reason_against_track(here: Existing, step: Step) -> str | None:
    """A step belongs to a session, or was taken under a memory."""
    if here.claims.restore:
        return None
    memory, session = here.get(Memory, step.trajectory_id), here.get(Trajectory, step.trajectory_id)
    is_believed = memory is not None and trust_in(here.writer, memory) is not Trust.UNTRUSTED
    if not is_believed and (session is None or not is_believed_session(session)):
        return None
    return f"{step.trajectory_id} is believed more than a file: only a restore may add to it"


def _add_once(here: Existing, record: Record, item: Item, tally: Imported) -> bool:
    if here.get(type(record), record.id) is not None:
        tally.unchanged += 1
        return False
    reason = _reason_against(here, record)
    if reason is not None:
        tally.skipped.append(SkippedItem(what=_name(item), why=reason))
        return False
    tally.note(here.add(record))
    tally.added[kind_of(type(record)).noun] += 1
    return True
