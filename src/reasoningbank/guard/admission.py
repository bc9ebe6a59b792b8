"""Admits a memory into the records, new or changed: parents, trust, hidden text, quarantine.

    what it repeats or was shown → parents → trust → hidden text, suspicion → state → kept

Nothing is refused here and nothing is lost: a text that may not act is kept as untrusted or in quarantine, with the
reasons as `warnings` in its metadata. A memory of the user without parents takes the short way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.origins import IMPORT, PEER, USER, Trust, kind_of, level_of
from reasoningbank.core.types import Memory, Ruling, RulingKind, State
from reasoningbank.guard.hidden import hidden, visible
from reasoningbank.guard.trust import (
    BORROWED,
    DISGUISED,
    RISKY,
    WARNINGS,
    check_may_revise,
    least,
    peer_trust,
    refold,
    revoked_origins,
    trust_in,
    warnings_of,
)
from reasoningbank.ports import Reader, Writer

_TEXTS = ("title", "description", "content")
_OUT = (State.QUARANTINED, State.FORGOTTEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    memory: Memory
    trust: Trust


def is_admitted_at_once(memory: Memory) -> bool:
    """True if no record has a say in how far a new memory is believed: it is the user's own, made of no other."""
    return kind_of(memory.origin) == USER and not memory.parents


def admit(writer: Writer, memory: Memory, own: str | None = None, borrowings: Sequence[str] = ()) -> Admitted:
    """Keep a new memory, as trusted as it deserves.

    `own` are the words in it that are its maker's, where that is known: only those can repeat a stranger's.
    `borrowings` are what the session that taught it had from an output.
    """
    if is_admitted_at_once(memory):
        memory = flag(memory, ())
        writer.add(memory)
        return Admitted(memory=memory, trust=Trust.TRUSTED)
    memory = _with_parents(writer, memory, own)
    ways = (*doubts_of(memory), *(f"{BORROWED}: {kind}" for kind in borrowings))
    level = Trust.UNTRUSTED if ways else least(writer, memory.origin, memory.parents)
    memory = _examine_at(writer, memory, level, ways)
    writer.add(memory)
    writer.keep_trust(memory, level, known_again_by(memory, level))
    return Admitted(memory=memory, trust=level)


def readmit(writer: Writer, before: Memory, after: Memory, editor: str, borrowings: Sequence[str] = ()) -> Admitted:
    """Keep a new revision by `editor`. Origin and parents stay; what the new text repeats is added to the parents."""
    level = trust_in(writer, before)
    if all(getattr(before, name) == getattr(after, name) for name in (*_TEXTS, "state", "metadata", "parents")):
        check_may_revise(before, level, editor)
        writer.revise(after)
        return Admitted(memory=after, trust=level)
    check_may_revise(before, level, editor)
    if after.state is State.ACTIVE and before.state is not State.ACTIVE and is_held(writer, before):
        after = replace(after, state=State.QUARANTINED)
    if kind_of(editor) == USER:
        # The user's own words: the memory stays what it is, and is only looked over again.
        after = flag(after, doubts_of(after, before))
    else:
        after = _with_parents(writer, after)
        ways = (*doubts_of(after, before), *(f"{BORROWED}: {kind}" for kind in borrowings))
        level = Trust.UNTRUSTED if ways else min(level, least(writer, editor, after.parents))
        after = _examine_at(writer, after, level, ways)
    writer.revise(after)
    if level is not Trust.TRUSTED or after.parents or before.parents:
        writer.keep_trust(after, level, known_again_by(after, level))
    return Admitted(memory=after, trust=level)


def is_held(reader: Reader, memory: Memory) -> bool:
    """True if a memory that comes back to life belongs into quarantine: it was there last, or its origin is revoked."""
    if kind_of(memory.origin) == USER and not memory.parents:
        return False
    alive = [
        r.state for r in (*reader.revisions(Memory, memory.id), memory) if r.state in (State.ACTIVE, State.QUARANTINED)
    ]
    if alive and alive[-1] is State.QUARANTINED:
        return True
    return not revoked_origins(reader).isdisjoint(_origins_above(reader, memory))


def _origins_above(reader: Reader, memory: Memory) -> set[str]:
    origins, ids, frontier = {memory.origin}, {memory.id}, set(memory.parents)
    while frontier := frontier - ids:
        ids |= frontier
        above = reader.get(Memory, sorted(frontier))
        origins.update(parent.origin for parent in above.values())
        frontier = {parent for ancestor in above.values() for parent in ancestor.parents}
    return origins


def _with_parents(reader: Reader, memory: Memory, own: str | None = None) -> Memory:
    """With what it repeats, and with what was shown to whoever learned it and cannot be believed."""
    # A file that the user chose is a source of its own, and has no more to lose.
    sources: list[str] = []
    if kind_of(memory.origin) != IMPORT:
        from reasoningbank.guard.winnowing import repeated_ids

        sources = repeated_ids(reader, memory, own)
    if not sources and memory.source is None and not memory.parents:
        return memory
    if memory.source is not None:
        memory_ids = list(reader.shown_in(memory.source))
        levels = reader.trust_levels(memory_ids) if memory_ids else {}
        sources += [i for i in memory_ids if i != memory.id and levels.get(i) == Trust.UNTRUSTED]
    parents = tuple(dict.fromkeys((*memory.parents, *sources)))
    return memory if parents == memory.parents else replace(memory, parents=parents)


# What knows a text again is loaded with the first stranger's: a search, and a store of the user's own, need none of it.
def known_again_by(memory: Memory, level: Trust) -> Sequence[int]:
    """Marks that an untrusted memory is known again by; the others need none."""
    if level is not Trust.UNTRUSTED:
        return ()
    from reasoningbank.guard.winnowing import marks_of

    return marks_of(memory)


def doubts_of(memory: Memory, before: Memory | None = None) -> tuple[str, ...]:
    """Why only the user can vouch for a memory that is not the user's, as warnings.

    It advises what is dangerous, it is written so that nobody knows its words again (a file that the user chose has no
    more to lose by that), or what it was `before` has been borrowed from an output.
    """
    if kind_of(memory.origin) == USER:
        return ()
    from reasoningbank.guard.homoglyphs import disguises
    from reasoningbank.guard.risky import risks_of_memory
    from reasoningbank.guard.winnowing import text_of

    ways = {} if kind_of(memory.origin) == IMPORT else disguises(text_of(memory))
    return (
        *(f"{DISGUISED}: {way} ×{count}" for way, count in ways.items()),
        *(f"{RISKY}: {kind}" for kind in risks_of_memory(memory)),
        *(warning for warning in (warnings_of(before) if before is not None else ()) if warning.startswith(BORROWED)),
    )


def examine(memory: Memory, ways: Sequence[str] = ()) -> Memory:
    """An untrusted memory with its warnings and without its hidden text; quarantined when the advice is against it."""
    from reasoningbank.guard.injection_score import suspicion
    from reasoningbank.guard.winnowing import text_of

    advice = suspicion(text_of(memory))
    memory = flag(memory, (*ways, *advice.sentences))
    blank = False
    if WARNINGS in memory.metadata:
        title, description, content = (visible(getattr(memory, name)) for name in _TEXTS)
        # A text of nothing but hidden characters has nothing to show: it keeps its own and is quarantined for it.
        blank = not title.strip() or not content.strip()
        memory = memory if blank else replace(memory, title=title, description=description, content=content)
    if memory.state is State.ACTIVE and (advice.is_suspicious or blank):
        memory = replace(memory, state=State.QUARANTINED)
    return memory


def _examine_at(reader: Reader, memory: Memory, level: Trust, ways: Sequence[str]) -> Memory:
    memory = examine(memory, ways) if level is Trust.UNTRUSTED else flag(memory, ())
    if memory.state is State.ACTIVE and _belongs_out(reader, memory, level):
        memory = replace(memory, state=State.QUARANTINED)
    return memory


def put_back(writer: Writer, memory: Memory) -> None:
    """Keep a memory of the user's own export as it was; `refold_among` brings the levels up to date afterwards."""
    writer.add(memory)
    if memory.parents or kind_of(memory.origin) != USER:
        level = level_of(memory.origin)
        writer.keep_trust(memory, level, known_again_by(memory, level))


def refold_among(writer: Writer, memories: Collection[str]) -> int:
    """The levels of these memories and of all that was made from them, and of all that anybody vouches for, anew from
    origins, parents and rulings; says how many changed.
    """
    vouched_for = {i for ruling in writer.select(Ruling, {"kind": RulingKind.APPROVE.value}) for i in ruling.memories}
    return refold(writer, sorted(vouched_for.union(memories)))


def _belongs_out(reader: Reader, memory: Memory, level: Trust) -> bool:
    # Asked once in a unit: every question makes the rows that wait be written one by one.
    origins = _revocations.get(reader)
    if origins is None:
        origins = _revocations[reader] = revoked_origins(reader)
    # Nothing of a peer that nobody has spoken of is found.
    is_quarantined = kind_of(memory.origin) == PEER and memory.origin not in peer_trust(reader)
    if memory.origin in origins or is_quarantined:
        return True
    parents = reader.get(Memory, memory.parents) if memory.parents else {}
    out = [parent for parent in parents.values() if parent.state in _OUT]
    if level is Trust.UNTRUSTED:
        return any(level_of(parent.origin) < Trust.TRUSTED for parent in out)
    return any(parent.origin in origins for parent in out)


_revocations: WeakKeyDictionary[Reader, frozenset[str]] = WeakKeyDictionary()


def flag(memory: Memory, advice: Sequence[str]) -> Memory:
    """With its warnings in the metadata, and with none that somebody else put there."""
    ways: dict[str, int] = {}
    for name in _TEXTS:
        for way, count in hidden(getattr(memory, name)).items():
            ways[way] = ways.get(way, 0) + count
    warnings = [*(f"hidden text: {way} ×{count}" for way, count in sorted(ways.items())), *advice]
    if not warnings and WARNINGS not in memory.metadata:
        return memory
    metadata: Mapping[str, Any] = {name: value for name, value in memory.metadata.items() if name != WARNINGS}
    return replace(memory, metadata={**metadata, WARNINGS: warnings} if warnings else metadata)
