"""What a file may say about trust: nothing that raises it.

Anyone can write a file, so its word that a memory came from the user is worth nothing. Without the user's own
`restore`, a file's memories come in under the name of the import (or under a lesser name that the file gives them), its
rulings are left out, and it may add to nothing that is believed more than a file.
"""

from __future__ import annotations

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.origins import Trust, clean_origin, level_of
from reasoningbank.core.types import (
    Consolidation,
    Exposure,
    KeptVector,
    Membership,
    Memory,
    Record,
    Ruling,
    Sidecar,
    Signal,
)
from reasoningbank.core.values import dataclass, replace
from reasoningbank.guard.admission import admit, examined, put_back, readmit
from reasoningbank.guard.trust import check_may_revise, trust_in
from reasoningbank.ports import Reader, Writer

DEFAULT_NAMES = {"reasoningbank-jsonl": "jsonl", "memories-json": "json"}
"""The name of an import by its layout; foreign layouts name themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """How the origins in a file are taken."""

    layout: str
    restore: bool = False
    """The user says that the file is an export of the user's own bank: everything in it is believed."""
    name: str | None = None
    """The import's name; None leaves the one that the layout gives."""


def stamp(claims: Claims, claimed: str) -> str:
    """The origin under which a memory comes in that claims this one."""
    own = f"import:{claims.name or DEFAULT_NAMES.get(claims.layout, claims.layout)}"
    if claims.name is not None or level_of(claimed) is not Trust.UNTRUSTED:
        return clean_origin(own)
    try:
        return clean_origin(claimed)
    except InvalidInput:
        return clean_origin(own)


def received(claims: Claims, item: Record | Sidecar) -> Record | Sidecar:
    """What a file gives, as far as a file is believed."""
    if claims.restore or not isinstance(item, Memory):
        return item
    origin = stamp(claims, item.origin)
    return item if origin == item.origin else replace(item, origin=origin)


def settled(claims: Claims, there: Record, coming: Record) -> Record:
    """What comes in again, with what was decided about it when it first came in."""
    if claims.restore or not isinstance(there, Memory) or not isinstance(coming, Memory):
        return coming
    coming = replace(coming, origin=there.origin, parents=there.parents)
    if coming.revision == there.revision:
        for same in (coming, examined(coming)):
            if replace(same, state=there.state) == there:
                return there
    return coming


def add(claims: Claims, writer: Writer, record: Record) -> Memory | None:
    """Keep a record that is not here yet; a memory that came in untrusted is handed back as it was kept."""
    if not isinstance(record, Memory):
        writer.add(record)
        return None
    if claims.restore:
        put_back(writer, record)
        return None
    admitted = admit(writer, record)
    return admitted.memory if admitted.trust is Trust.UNTRUSTED else None


def revise(claims: Claims, writer: Writer, there: Record, record: Record) -> None:
    if isinstance(there, Memory) and isinstance(record, Memory) and not claims.restore:
        readmit(writer, there, record, stamp(claims, there.origin))
    else:
        writer.revise(record)


def add_earlier(claims: Claims, writer: Writer, current: Memory, revision: Memory) -> None:
    if not claims.restore:
        check_may_revise(current, trust_in(writer, current), stamp(claims, current.origin))
        revision = replace(revision, origin=current.origin)
    writer.add_earlier(revision)


def reason_against(claims: Claims, reader: Reader, item: Record | Sidecar) -> str | None:
    """Why a file may not bring this, if it may not."""
    if claims.restore:
        return None
    match item:
        case Ruling() | Consolidation() | Membership():
            return "a file's rulings, teams and consolidations count only in a restore of the user's own export"
        case Signal() | KeptVector() | Exposure() if _is_believed(reader, item.memory_id):
            return f"{item.memory_id} is believed more than a file: only a restore may add to it"
        case _:
            return None


def _is_believed(reader: Reader, memory_id: str) -> bool:
    memory = reader.get(Memory, [memory_id]).get(memory_id)
    return memory is not None and trust_in(reader, memory) > Trust.UNTRUSTED
