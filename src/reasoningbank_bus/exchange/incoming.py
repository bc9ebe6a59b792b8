"""Entries as records of this bank, on their way in: checked, under ids of their own, with an origin that is the author.

What an author says of itself counts for nothing but its text: origin and trust are the receiver's, a memory starts with
no more confidence than what an agent learned, it has no key here (keys are names of one bank's own), and times lie no
later than the entry. What this node's own key signed, on this machine or another, is its own word and stays what it is.
"""

from __future__ import annotations

from reasoningbank.core.confidence import INITIAL_DISTILLED_SUCCESS
from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    MAX_TITLE_CHARS,
    clean_metadata,
    clean_name,
    clean_tags,
    clean_text,
    one_of,
    optional_name,
    required_text,
)
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ids import derived_id, is_own
from reasoningbank.core.learning import OF_A_SESSION
from reasoningbank.core.origins import AGENT, HOOK, PEER, clean_origin, kind_of
from reasoningbank.core.record_kinds import BY_NOUN
from reasoningbank.core.types import (
    Edge,
    EdgeKind,
    Memory,
    Node,
    NodeLabel,
    Outcome,
    Record,
    Scope,
    Signal,
    SignalKind,
    State,
)
from reasoningbank.graph.node_fields import valid_node
from reasoningbank.guard.trust import WARNINGS
from reasoningbank_bus.exchange.bodies import EdgeBody, MemoryBody, NodeBody, SignalBody, decode_body
from reasoningbank_bus.exchange.naming import SHARED_NOUNS, Version, local_id, origin_of_author, version_of
from reasoningbank_bus.wire.entry import Entry, RecordName
from reasoningbank_bus.wire.refusals import BusRefusal

KEY_THERE = "key_there"
"""In the metadata of a peer's memory: the key that it has at home."""
_NAME_CHARS = 150
"""Limit on a name at home, which stands here before an id or a fingerprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRecord:
    number: int
    """Number of the entry in the log."""
    entry: Entry
    id: str
    """In this bank."""
    record: Record
    authors: tuple[bytes, ...] = ()
    """Authors of what it was made from."""

    @property
    def version(self) -> Version:
        return version_of(self.entry)


class Arrivals:
    """Makes records of entries, for one tenant of the bank with the key `own`."""

    def __init__(self, own: bytes, tenant: str) -> None:
        self._own, self._tenant = own, tenant

    def read(self, number: int, entry: Entry) -> IncomingRecord:
        """Raises `BusRefusal` for what no record can be made of."""
        if entry.revision < 1:
            raise BusRefusal("malformed", "a record without a revision")
        body = decode_body(entry.kind, entry.body)
        name = local_id(entry.record, entry.kind, self._own)
        latest = (entry.at + 1) / 1000.0
        try:
            record: Record = getattr(self, f"_{entry.kind}")(entry, body, name, latest)
        except InvalidInput as error:
            raise BusRefusal("malformed", f"a {entry.kind}: {error}") from None
        authors = tuple(parent.author for parent in body.parents) if isinstance(body, MemoryBody) else ()
        return IncomingRecord(number=number, entry=entry, id=name, record=record, authors=authors)

    def is_own(self, entry: Entry) -> bool:
        return entry.author == self._own

    def _origin(self, entry: Entry, claim: str) -> str:
        if not self.is_own(entry):
            return origin_of_author(entry.author)
        # What comes back from others was not seen here, even where our own key signed it.
        return clean_origin(claim) if claim and kind_of(claim) not in (HOOK, PEER) else AGENT

    def _source(self, entry: Entry, claim: str) -> str:
        if not self.is_own(entry):
            return origin_of_author(entry.author)
        return OF_A_SESSION if claim == HOOK else clean_name(claim, "source")

    def _memory(self, entry: Entry, body: MemoryBody, name: str, latest: float) -> Memory:
        own = self.is_own(entry)
        metadata = clean_metadata(body.metadata) if body.metadata else {}
        metadata.pop(WARNINGS, None)
        key = None if body.key is None else required_text(body.key, "key", MAX_TITLE_CHARS)
        if key is not None and not own:
            metadata[KEY_THERE] = key
        updated_at = min(body.updated_at, latest)
        return Memory(
            id=name,
            tenant=self._tenant,
            namespace=entry.namespace,
            scope=one_of(Scope, entry.scope, "scope"),
            title=required_text(body.title, "title", MAX_TITLE_CHARS),
            description=clean_text(body.description, "description", MAX_DESCRIPTION_CHARS),
            content=required_text(body.content, "content", MAX_CONTENT_CHARS),
            outcome=one_of(Outcome, body.outcome, "outcome"),
            key=key if own else None,
            tags=clean_tags(body.tags) if body.tags else (),
            agent=optional_name(body.agent, "agent"),
            task_type=optional_name(body.task_type, "task_type"),
            cognitive_pattern=optional_name(body.cognitive_pattern, "cognitive_pattern"),
            origin=self._origin(entry, body.origin),
            parents=tuple([local_id(parent, "memory", self._own) for parent in body.parents]),
            source=None,
            metadata=metadata,
            initial_confidence=body.initial_confidence
            if own
            else min(body.initial_confidence, INITIAL_DISTILLED_SUCCESS),
            created_at=min(body.created_at, updated_at),
            updated_at=updated_at,
            revision=entry.revision,
            state=one_of(State, body.state, "state"),
            advice_id=_advice(body.advice_id),
        )

    def _node(self, entry: Entry, body: NodeBody, name: str, latest: float) -> Node:
        own, origin = self.is_own(entry), self._origin(entry, body.origin)
        updated_at = min(body.updated_at, latest)
        conversation = clean_name(body.conv_id, "conv_id")
        return valid_node(
            Node(
                id=name,
                tenant=self._tenant,
                namespace=entry.namespace,
                label=one_of(NodeLabel, body.label, "label"),
                name=_name_here(body.name, name, own=own),
                # Another bank's conversation is another one, whatever it is called.
                conv_id=conversation if own else f"{conversation[:_NAME_CHARS]} {origin.partition(':')[2]}",
                text=required_text(body.text, "text", MAX_CONTENT_CHARS),
                tags=clean_tags(body.tags) if body.tags else (),
                fields=clean_metadata(body.fields),
                start_at=body.start_at,
                end_at=body.end_at,
                origin=origin,
                source=None,
                created_at=min(body.created_at, updated_at),
                updated_at=updated_at,
                revision=entry.revision,
            )
        )

    def _edge(self, entry: Entry, body: EdgeBody, name: str, latest: float) -> Edge:
        own = self.is_own(entry)
        source, target = (local_id(end.name, end.noun, self._own) for end in (body.source, body.target))
        if source == target:
            raise BusRefusal("malformed", "an edge from a record to itself")
        return Edge(
            id=name,
            tenant=self._tenant,
            source_id=source,
            target_id=target,
            kind=one_of(EdgeKind, body.kind, "kind"),
            text=clean_text(body.text, "text", MAX_DESCRIPTION_CHARS),
            weight=body.weight,
            tags=clean_tags(body.tags) if body.tags else (),
            evidence=clean_text(body.evidence, "evidence", MAX_DESCRIPTION_CHARS),
            created_at=min(body.created_at, latest),
            revision=entry.revision,
            # Edges that two banks draw between the same ends stand side by side.
            name=body.name[:MAX_NAME_CHARS] if own else _name_here(body.name, name, own=False),
            origin=self._origin(entry, body.origin) if body.origin or not own else "",
        )

    def _signal(self, entry: Entry, body: SignalBody, name: str, latest: float) -> Signal:
        kind = one_of(SignalKind, body.kind, "kind")
        if kind is SignalKind.PEER:
            raise BusRefusal("no_right", "what others said is theirs to tell")
        return Signal(
            id=name,
            tenant=self._tenant,
            memory_id=local_id(body.memory, "memory", self._own),
            kind=kind,
            positive=body.positive,
            weight=body.weight,
            used=body.used,
            source=self._source(entry, body.source),
            trajectory_id=None,
            comment="",
            at=min(body.at, latest),
            advice_id=_advice(body.advice_id),
        )


def ids_of_erased(name: RecordName, own: bytes) -> dict[str, str]:
    """Ids that an erased record has here, by its noun; all that it may have, where its id at home does not tell the
    noun.
    """
    nouns = [noun for noun in SHARED_NOUNS if name.id.startswith(f"{BY_NOUN[noun].prefix}_")]
    return {noun: local_id(name, noun, own) for noun in nouns or SHARED_NOUNS}


def _name_here(name: str, record_id: str, *, own: bool) -> str:
    """The name of a node or an edge, of which one namespace or one pair of ends has only one."""
    if not name:
        return record_id
    clean = clean_name(name, "name")
    return clean if own else f"{clean[:_NAME_CHARS]} {record_id}"


def _advice(advice_id: str) -> str:
    """An id of an advice as it is, and of anything else an id: nothing can be written into it."""
    return advice_id if not advice_id or is_own(advice_id) else derived_id("adv", advice_id)
