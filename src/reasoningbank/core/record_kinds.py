"""The registry of record kinds: type, table, id prefix, noun in exports, text fields, references, order.

Adding a kind is its class in `core.types`, one entry here and one migration. Whoever needs a list of kinds reads it
here: ids, lists, exports, imports, scrubbing, removal and the tables of a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import (
    Consolidation,
    ConsolidationKind,
    Edge,
    EdgeKind,
    Exposure,
    Job,
    JobState,
    KeptVector,
    Membership,
    Memory,
    Node,
    NodeLabel,
    Outcome,
    Record,
    Rule,
    RuleState,
    Ruling,
    RulingKind,
    Scope,
    SideRecord,
    Signal,
    SignalKind,
    Spending,
    State,
    Step,
    Tombstone,
    Trajectory,
)

_NONE: Mapping[str, Any] = MappingProxyType({})


class Keeping(StrEnum):
    """Changes that a record of a kind may undergo after it was written, besides its removal."""

    APPENDED = "appended"
    """Nothing: what it says stays said."""
    REVISED = "revised"
    """A later revision of it is current; the earlier ones stay readable."""
    STATE = "state"
    """It is updated in place: only what it says now is of use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind:
    """One kind of record, or of what is kept beside the records."""

    record_type: type[Record | SideRecord]
    table: str
    noun: str
    """Its name in the feed and in exports."""
    keeping: Keeping
    texts: tuple[str, ...]
    """Every field that a text can be written into by somebody: lists and JSON too. They are scrubbed."""
    prefix: str = ""
    """Prefix of its ids; none for what is kept beside the records."""
    made_at: str = ""
    """The field that says when it was made; lists are ordered by it and then by id. Without one, by id."""
    changed_at: str = ""
    """The field that says when a revision of it was made, if any."""
    refers: Mapping[str, tuple[type[Record], ...]] = _NONE
    """Fields that hold ids of other records, with the kinds that may be meant."""
    needs: tuple[str, ...] = ()
    """Fields among `refers` without which it cannot be: it goes when the record that is named there goes."""
    enums: Mapping[str, type[StrEnum]] = _NONE
    optional: tuple[str, ...] = ()
    """Fields that may be None."""
    later: Mapping[str, Any] = _NONE
    """Fields that were added to a table in use, always as the last ones, with the value of rows from before."""
    noun_of_earlier: str = ""
    """Noun of an earlier revision in exports."""
    table_of_earlier: str = ""
    """Where earlier revisions lie."""
    words: tuple[str, ...] = ()
    """Singular and plural that people use, where that is not the noun with an s."""
    exported: bool = True

    @property
    def ids(self) -> tuple[str, ...]:
        """The fields that hold one id each. An id is never rewritten."""
        own, advice = ("id",) if self.prefix else (), (_ADVICE,) if _ADVICE in self.later else ()
        return (*own, *(name for name in self.refers if name not in _LISTS), *advice)


_ADVICE = "advice_id"
_ADVICE_SINCE = MappingProxyType({_ADVICE: ""})
_REVISION_SINCE = MappingProxyType({"revision": 1})
_LISTS = frozenset({"parents"})

KINDS: tuple[RecordKind, ...] = (
    RecordKind(
        record_type=Memory,
        table="memories",
        noun="memory",
        noun_of_earlier="revision",
        table_of_earlier="revisions",
        words=("memory", "memories"),
        keeping=Keeping.REVISED,
        prefix="mem",
        made_at="created_at",
        changed_at="updated_at",
        texts=(
            "namespace", "title", "description", "content", "key", "tags", "agent", "task_type", "cognitive_pattern",
            "origin", "parents", "source", "metadata",
        ),
        refers={"parents": (Memory,)},
        enums={"scope": Scope, "outcome": Outcome, "state": State},
        optional=("key", "agent", "task_type", "cognitive_pattern", "source"),
        later=_ADVICE_SINCE,
    ),
    RecordKind(
        record_type=Signal,
        table="signals",
        noun="signal",
        keeping=Keeping.APPENDED,
        prefix="sig",
        made_at="at",
        texts=("source", "trajectory_id", "comment"),
        refers={"memory_id": (Memory,), "trajectory_id": (Trajectory,)},
        needs=("memory_id",),
        enums={"kind": SignalKind},
        optional=("trajectory_id",),
        later=_ADVICE_SINCE,
    ),
    RecordKind(
        record_type=Trajectory,
        table="trajectories",
        noun="trajectory",
        noun_of_earlier="trajectory_revision",
        table_of_earlier="trajectory_revisions",
        words=("session", "sessions"),
        keeping=Keeping.REVISED,
        prefix="trj",
        made_at="started_at",
        changed_at="ended_at",
        texts=("namespace", "task", "agent", "outcome", "metadata", "origin"),
        optional=("agent", "outcome", "ended_at"),
        later={**_REVISION_SINCE, "origin": ""},
    ),
    RecordKind(
        record_type=Step,
        table="steps",
        noun="step",
        keeping=Keeping.APPENDED,
        prefix="stp",
        made_at="at",
        texts=("trajectory_id", "action", "result", "metadata"),
        refers={"trajectory_id": (Trajectory, Memory)},
        needs=("trajectory_id",),
    ),
    RecordKind(
        record_type=Node,
        table="nodes",
        noun="node",
        noun_of_earlier="node_revision",
        table_of_earlier="node_revisions",
        keeping=Keeping.REVISED,
        prefix="nod",
        made_at="created_at",
        changed_at="updated_at",
        texts=("namespace", "name", "conv_id", "text", "tags", "fields", "origin", "source"),
        enums={"label": NodeLabel},
        optional=("start_at", "end_at", "source"),
    ),
    RecordKind(
        record_type=Edge,
        table="edges",
        noun="edge",
        noun_of_earlier="edge_revision",
        table_of_earlier="edge_revisions",
        keeping=Keeping.REVISED,
        prefix="edg",
        made_at="created_at",
        texts=("text", "tags", "evidence", "name", "origin"),
        refers={"source_id": (Memory, Node), "target_id": (Memory, Node)},
        needs=("source_id", "target_id"),
        enums={"kind": EdgeKind},
        later={**_REVISION_SINCE, "name": "", "origin": ""},
    ),
    RecordKind(
        record_type=KeptVector,
        table="vectors",
        noun="vector",
        keeping=Keeping.APPENDED,
        texts=("identity", "facet"),
        refers={"memory_id": (Memory,)},
        needs=("memory_id",),
    ),
    RecordKind(
        record_type=Exposure,
        table="exposures",
        noun="shown",
        words=("showing", "showings"),
        keeping=Keeping.APPENDED,
        made_at="at",
        texts=("trajectory_id", "query_hash"),
        refers={"memory_id": (Memory,), "trajectory_id": (Trajectory,)},
        needs=("memory_id",),
        optional=("trajectory_id",),
        later={"withheld": False, "holdout": 0.0, **_ADVICE_SINCE},
    ),
    RecordKind(
        record_type=Membership,
        table="memberships",
        noun="membership",
        keeping=Keeping.APPENDED,
        prefix="mbr",
        made_at="at",
        texts=("namespace", "team", "source"),
        optional=("team",),
    ),
    RecordKind(
        record_type=Ruling,
        table="rulings",
        noun="ruling",
        keeping=Keeping.APPENDED,
        prefix="rul",
        made_at="at",
        texts=("target", "memories", "source", "comment"),
        enums={"kind": RulingKind},
    ),
    RecordKind(
        record_type=Consolidation,
        table="consolidations",
        noun="consolidation",
        keeping=Keeping.APPENDED,
        prefix="con",
        made_at="at",
        texts=("run", "namespace", "changes", "source"),
        enums={"kind": ConsolidationKind},
    ),
    RecordKind(
        record_type=Rule,
        table="rules",
        noun="rule",
        keeping=Keeping.STATE,
        prefix="rle",
        made_at="created_at",
        changed_at="updated_at",
        texts=("namespace", "text", "heard_in"),
        enums={"state": RuleState},
    ),
    RecordKind(
        record_type=Job,
        table="jobs",
        noun="job",
        keeping=Keeping.STATE,
        prefix="job",
        made_at="created_at",
        texts=("namespace", "kind", "subject", "error", "results", "metadata"),
        enums={"state": JobState},
        optional=("ended_at",),
        exported=False,
    ),
    RecordKind(
        record_type=Spending,
        table="spending",
        noun="spending",
        keeping=Keeping.STATE,
        prefix="spd",
        texts=("day", "model", "purpose"),
        exported=False,
    ),
    RecordKind(
        record_type=Tombstone,
        table="tombstones",
        noun="erased",
        keeping=Keeping.APPENDED,
        made_at="at",
        texts=("kind",),
        refers={
            "id": (
                Memory, Signal, Trajectory, Step, Node, Edge, Membership, Ruling, Consolidation, Rule, Job, Spending,
            ),
        },
    ),
)  # fmt: skip
"""In the order of an export: what others refer to comes first."""

OTHER_TABLES: Mapping[str, str] = MappingProxyType(
    {
        "feed": "log",
        "gaps": "log",
        "kin": "view",
        "marks": "view",
        "tasks": "view",
        "trust": "view",
        "leases": "state",
        "replies": "state",
        "settings": "state",
        "stamp": "state",
        "tokens": "state",
        **{kind.table_of_earlier: "earlier revisions" for kind in KINDS if kind.table_of_earlier},
    }
)
"""Tables of a store that hold no records: a log can be lost, a view be folded again, state is only of use as it is."""

_BY_TYPE: dict[type, RecordKind] = {kind.record_type: kind for kind in KINDS}
BY_NOUN: Mapping[str, RecordKind] = MappingProxyType(
    {noun: kind for kind in KINDS for noun in (kind.noun, kind.noun_of_earlier) if noun}
)
RECORDS = tuple(kind for kind in KINDS if kind.prefix)
"""The truth: hashed, numbered in the feed."""
SIDE_RECORDS = tuple(kind for kind in KINDS if not kind.prefix)
"""Kept beside the records, without hash or feed number."""
ID_PREFIXES = frozenset({"adv", *(kind.prefix for kind in RECORDS)})


def kind_of(of: type) -> RecordKind:
    """The entry of a record's class."""
    return _BY_TYPE[of]


def find_kind(of: type) -> RecordKind | None:
    """The entry of a class; None for what is no record."""
    return _BY_TYPE.get(of)


def dependents_of(kind: RecordKind) -> list[tuple[RecordKind, str]]:
    """Kinds that cannot be without a record of this kind, with the field that names it: theirs go when that goes."""
    return [(other, name) for other in KINDS for name in other.needs if kind.record_type in other.refers[name]]


def words_for(noun: str) -> tuple[str, ...]:
    """Singular and plural of the records with this noun; one word alone gets an s."""
    kind = BY_NOUN.get(noun)
    return kind.words if kind is not None and kind.noun == noun and kind.words else (noun,)
