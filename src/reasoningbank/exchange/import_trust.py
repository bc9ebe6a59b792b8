"""Trust of imported records: a file may say nothing that raises it.

Anyone can write a file, so its word that a memory came from the user is worth nothing. Without the user's own
`restore`, a file's memories, sessions and evidence come in under the name of the import, or under a lesser name that
the file gives them (`guard.speakers`). Its rulings are left out, and it may add to nothing that is believed more than a
file. What our own hooks saw is seen in this bank alone: not even a restore brings that. Nor does one bring a rule in
force: it comes in as proposed, since no file can show that the user said it.
"""

from __future__ import annotations

from typing import Any

from reasoningbank.core.drafts import LONGEST_RULE_CHARS, required_text
from reasoningbank.core.errors import Conflict
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.learning import OF_A_SESSION
from reasoningbank.core.origins import HOOK, Trust, kind_of, level_of
from reasoningbank.core.types import (
    Consolidation,
    Edge,
    Exposure,
    KeptVector,
    Membership,
    Memory,
    Node,
    Record,
    Rule,
    RuleState,
    Ruling,
    SideRecord,
    Signal,
    Trajectory,
)
from reasoningbank.guard.admission import admit, examine, put_back, readmit
from reasoningbank.guard.speakers import origin_of_session, source_in_file, speaker_in_file, without_witness
from reasoningbank.guard.trust import check_may_revise, trust_in
from reasoningbank.ports import Reader, Writer

DEFAULT_NAMES = {"reasoningbank-jsonl": "jsonl", "memories-json": "json"}
"""The name of an import by its layout; foreign layouts name themselves."""
ORIGIN = "origin"
"""In the metadata of a session from before its origin was kept beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTrust:
    """Rules for the origins in a file that is imported."""

    layout: str
    restore: bool = False
    """The user says that the file is an export of the user's own bank: everything in it is believed."""
    name: str | None = None
    """The import's name; None leaves the one that the layout gives."""


def stamp(claims: ImportTrust, origin: str) -> str:
    """The origin under which a memory comes in that claims this one."""
    return speaker_in_file(origin, _own_name(claims), is_named=claims.name is not None)


def _own_name(claims: ImportTrust) -> str:
    return f"import:{claims.name or DEFAULT_NAMES.get(claims.layout, claims.layout)}"


def receive(claims: ImportTrust, item: Record | SideRecord) -> Record | SideRecord:
    """A record of a file, believed as far as a file is."""
    if isinstance(item, Rule):
        text = required_text(item.text, "A rule", LONGEST_RULE_CHARS)
        return replace(item, text=text, state=RuleState.PROPOSED, heard_in=_own_name(claims))
    match item:
        case Memory() | Node() | Edge() | Trajectory() if claims.restore:
            origin = without_witness(item.origin)
        case Memory() | Node() | Edge():
            origin = stamp(claims, item.origin)
        case Trajectory():
            # What is learned from a session of a file comes from the file.
            origin = stamp(claims, origin_of_session(item))
        case Signal() if claims.restore:
            return replace(item, source=OF_A_SESSION) if item.source == HOOK else item
        case Signal():
            return replace(item, source=source_in_file(item.source, _own_name(claims)))
        case _:
            return item
    return item if origin == item.origin else replace(item, origin=origin)


def settle(claims: ImportTrust, there: Record, coming: Record) -> Record:
    """A record that comes in again, with what was decided about it when it first came in."""
    if isinstance(there, Rule) or (claims.restore and there == _as_witnessed(there, coming)):
        # It is here as the user or our own hooks left it: then a file says no more than they did.
        return there
    match there, coming:
        case _ if claims.restore:
            pass
        case Trajectory(), Trajectory():
            metadata = {name: value for name, value in coming.metadata.items() if name != ORIGIN}
            if ORIGIN in there.metadata:
                metadata[ORIGIN] = there.metadata[ORIGIN]
            coming = replace(coming, origin=there.origin, metadata=metadata)
        case ((Node() | Edge()), (Node() | Edge())):
            coming = replace(coming, origin=there.origin)
        case Signal(), Signal():
            coming = replace(coming, source=there.source)
        case Memory(), Memory():
            coming = _settle_memory(there, coming)
    return coming


def _as_witnessed(there: Record, coming: Record) -> Record:
    match there, coming:
        case ((Memory() | Trajectory()), (Memory() | Trajectory())) if kind_of(there.origin) == HOOK:
            return replace(coming, origin=there.origin)
        case Signal(), Signal():
            return replace(coming, source=there.source)
        case _:
            return coming


def _settle_memory(there: Memory, coming: Memory) -> Memory:
    coming = replace(coming, origin=there.origin, parents=there.parents)
    if coming.revision == there.revision:
        for same in (coming, examine(coming)):
            if replace(same, state=there.state) == there:
                return there
    return coming


def add(claims: ImportTrust, writer: Writer, record: Record) -> Memory | None:
    """Keep a record that is not here yet; a memory that came in untrusted is handed back as it was kept."""
    if not isinstance(record, Memory):
        writer.add(record)
        return None
    if claims.restore:
        put_back(writer, record)
        return None
    admission = admit(writer, record)
    return admission.memory if admission.trust is Trust.UNTRUSTED else None


def revise(claims: ImportTrust, writer: Writer, there: Record, record: Record) -> None:
    if isinstance(there, Memory) and isinstance(record, Memory) and not claims.restore:
        readmit(writer, there, record, stamp(claims, there.origin))
        return
    if isinstance(there, Node) and not claims.restore:
        check_may_revise(there, level_of(there.origin), stamp(claims, there.origin))
    if isinstance(there, Trajectory) and not claims.restore and is_believed_session(there):
        raise Conflict(f"{there.id} is believed more than a file: only a restore may change it")
    writer.revise(record)


def add_earlier(claims: ImportTrust, writer: Writer, current: Record, revision: Record) -> None:
    """Keep an earlier revision of what is here, as far as a file may say what was said before."""
    if isinstance(current, Memory) and isinstance(revision, Memory) and not claims.restore:
        check_may_revise(current, trust_in(writer, current), stamp(claims, current.origin))
        revision = replace(revision, origin=current.origin)
    elif not claims.restore and _origin(current) != _origin(revision):
        raise Conflict(f"{current.id} is not the file's own: only a restore may add to it")
    writer.add_earlier(revision)


def _origin(record: Record) -> Any:
    if isinstance(record, (Node, Edge)):
        return record.origin
    return origin_of_session(record) if isinstance(record, Trajectory) else None


def reason_against(claims: ImportTrust, reader: Reader, item: Record | SideRecord) -> str | None:
    """Why a file may not bring this, if it may not."""
    if isinstance(item, Rule) and reader.count(Rule, {"namespace": item.namespace, "text": item.text}):
        return "the same rule is here already"
    if claims.restore:
        return None
    match item:
        case Ruling() | Consolidation() | Membership():
            return "a file's rulings, teams and consolidations count only in a restore of the user's own export"
        case Edge() if all(_is_believed(reader, end) for end in (item.source_id, item.target_id)):
            # Its sentence would be read to a model as theirs.
            return f"{item.source_id} and {item.target_id} are believed more than a file: only a restore may join them"
        case Signal() | KeptVector() | Exposure() if _is_believed(reader, item.memory_id):
            return f"{item.memory_id} is believed more than a file: only a restore may add to it"
        case _:
            return None


def _is_believed(reader: Reader, record_id: str) -> bool:
    memory = reader.get(Memory, [record_id]).get(record_id)
    if memory is not None:
        return trust_in(reader, memory) > Trust.UNTRUSTED
    node = reader.get(Node, [record_id]).get(record_id)
    return node is not None and level_of(node.origin) > Trust.UNTRUSTED


def is_believed_session(session: Trajectory) -> bool:
    """True if a session is believed more than a file, which may then add nothing to it."""
    return level_of(origin_of_session(session)) > Trust.UNTRUSTED
