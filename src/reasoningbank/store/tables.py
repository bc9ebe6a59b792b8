"""Every table of a bank as data: columns, keys, indexes.

What a back end needs to make the tables and to write statements for them is generated from here. Independent of any
dialect, and of what a row means.

A type is `TEXT`, `INTEGER`, `REAL` or `BLOB`, with a question mark where there may be nothing, and `= …` for what rows
from before the column have in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

NUM = "num"
"""A number that a back end gives each row of some tables, in the order in which they were written."""


Condition = tuple[str, str, Any]
"""A column, how it is compared, and the value.

`is` and `not` know None; `in` and `not in` take several values; `has` asks a list in JSON, `holds` bytes within bytes;
`starts` and `ends` ask texts; `<`, `<=`, `>`, `>=`.
"""


class IfTaken(StrEnum):
    """Rule for a row whose key is taken."""

    REFUSE = "refuse"
    """Raise `Conflict`."""
    KEEP = "keep"
    """Leave the row that is there."""
    REPLACE = "replace"
    """Give the row that is there the new values."""


class TableIndex(NamedTuple):
    name: str
    columns: tuple[str, ...]
    where: tuple[Condition, ...] = ()
    unique: bool = False


class Table:
    """`key` names one row; `unique` are further columns that no two rows share."""

    def __init__(
        self,
        name: str,
        columns: Mapping[str, str],
        *,
        key: tuple[str, ...] = (),
        unique: tuple[str, ...] = (),
        number: str = "",
        indexes: tuple[TableIndex, ...] = (),
        written: tuple[str, ...] = (),
        by_number_of: Mapping[str, Table] | None = None,
    ) -> None:
        self.name = name
        self.columns = columns
        self.key = key
        self.unique = unique
        self.number = number
        """The column that the back end fills, if any."""
        self.indexes = indexes
        self.written = written or tuple(columns)
        """The columns of a row that is put, in their order."""
        self.by_number_of = by_number_of or {}
        """Columns that hold the number of another table's row; a row that is put names it by its key."""
        self.has_tenant = "tenant" in columns

    def __repr__(self) -> str:
        return f"<table {self.name}>"


def _record_table(
    name: str,
    columns: Mapping[str, str],
    *indexes: TableIndex,
    unique: tuple[str, ...] = (),
    later: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """A table of records: each has an id, a tenant and the hash of its contents. `later` columns came later."""
    return Table(
        name,
        {"id": "TEXT", "tenant": "TEXT", **columns, "hash": "BLOB", **later},
        key=("id",),
        unique=unique,
        number=NUM,
        indexes=indexes,
        written=("id", "tenant", *columns, *later, "hash"),
    )


def _index(name: str, columns: str, *where: Condition, unique: bool = False) -> TableIndex:
    return TableIndex(name, tuple(columns.split()), where, unique)


_ADVICE = {"advice_id": "TEXT=''"}
_REVISION = {"revision": "INTEGER=1"}
_MEMORY = {
    "namespace": "TEXT",
    "scope": "TEXT",
    "title": "TEXT",
    "description": "TEXT",
    "content": "TEXT",
    "outcome": "TEXT",
    "key": "TEXT?",
    "tags": "TEXT",
    "agent": "TEXT?",
    "task_type": "TEXT?",
    "cognitive_pattern": "TEXT?",
    "origin": "TEXT",
    "parents": "TEXT",
    "source": "TEXT?",
    "metadata": "TEXT",
    "initial_confidence": "REAL",
    "created_at": "REAL",
    "updated_at": "REAL",
    "revision": "INTEGER",
    "state": "TEXT",
}

# ---------------------------------------------------------------- records

MEMORIES = _record_table(
    "memories",
    _MEMORY,
    # The state is in it so that counting and listing by state need not read the memories themselves.
    _index("memories_by_namespace", "tenant namespace id state"),
    _index(
        "memories_by_key",
        "tenant namespace key",
        ("key", "not", None),
        ("state", "in", ("active", "quarantined")),
        unique=True,
    ),
    _index("memories_by_source", "tenant source", ("source", "not", None)),
    _index(
        "memories_shared",
        "tenant scope state",
        ("scope", "in", ("org", "team")),
        ("state", "in", ("active",)),
    ),
    _index("memories_by_moment", "tenant namespace created_at id state"),
    _index("memories_of_all_by_moment", "tenant created_at id state"),
    later=_ADVICE,
)
SIGNALS = _record_table(
    "signals",
    {
        "memory_id": "TEXT",
        "kind": "TEXT",
        "positive": "INTEGER",
        "weight": "REAL",
        "used": "INTEGER",
        "source": "TEXT",
        "trajectory_id": "TEXT?",
        "comment": "TEXT",
        "at": "REAL",
    },
    _index("signals_by_memory", "memory_id"),
    _index("signals_by_trajectory", "tenant trajectory_id", ("trajectory_id", "not", None)),
    _index(
        "signals_against",
        "memory_id source at",
        ("kind", "is", "feedback"),
        ("positive", "is", False),
    ),
    _index("signals_by_moment", "tenant at id"),
    later=_ADVICE,
)
TRAJECTORIES = _record_table(
    "trajectories",
    {
        "namespace": "TEXT",
        "task": "TEXT",
        "agent": "TEXT?",
        "outcome": "TEXT?",
        "metadata": "TEXT",
        "started_at": "REAL",
        "ended_at": "REAL?",
    },
    _index("trajectories_by_moment", "tenant namespace started_at id"),
    later={**_REVISION, "origin": "TEXT=''"},
)
STEPS = _record_table(
    "steps",
    {
        "trajectory_id": "TEXT",
        "number": "INTEGER",
        "action": "TEXT",
        "result": "TEXT",
        "metadata": "TEXT",
        "at": "REAL",
    },
    unique=("trajectory_id", "number"),
)
NODES = _record_table(
    "nodes",
    {
        "namespace": "TEXT",
        "label": "TEXT",
        "name": "TEXT",
        "conv_id": "TEXT",
        "text": "TEXT",
        "tags": "TEXT",
        "fields": "TEXT",
        "start_at": "REAL?",
        "end_at": "REAL?",
        "origin": "TEXT",
        "source": "TEXT?",
        "created_at": "REAL",
        "updated_at": "REAL",
        "revision": "INTEGER",
    },
    _index("nodes_by_conversation", "tenant conv_id created_at id"),
    _index("nodes_by_label", "tenant label created_at id"),
    _index("nodes_by_moment", "tenant namespace created_at id"),
    _index("nodes_by_window", "tenant start_at end_at", ("start_at", "not", None)),
    unique=("tenant", "namespace", "name"),
)
EDGES = _record_table(
    "edges",
    {
        "source_id": "TEXT",
        "target_id": "TEXT",
        "kind": "TEXT",
        "text": "TEXT",
        "weight": "REAL",
        "tags": "TEXT",
        "evidence": "TEXT",
        "created_at": "REAL",
    },
    # The strongest edges of a vertex lie together, so that a walk reads a few even where there are a million.
    _index("edges_from", "tenant source_id weight"),
    _index("edges_to", "tenant target_id weight"),
    _index("edges_by_name", "tenant name"),
    unique=("tenant", "source_id", "target_id", "kind", "name"),
    later={**_REVISION, "name": "TEXT=''", "origin": "TEXT=''"},
)
RULINGS = _record_table(
    "rulings",
    {"kind": "TEXT", "target": "TEXT", "memories": "TEXT", "source": "TEXT", "comment": "TEXT", "at": "REAL"},
    _index("rulings_by_target", "tenant target"),
)
JOBS = _record_table(
    "jobs",
    {
        "namespace": "TEXT",
        "kind": "TEXT",
        "subject": "TEXT",
        "state": "TEXT",
        "attempts": "INTEGER",
        "error": "TEXT",
        "results": "TEXT",
        "metadata": "TEXT",
        "created_at": "REAL",
        "ended_at": "REAL?",
    },
    _index("jobs_by_state", "tenant state id"),
    _index("jobs_by_subject", "subject"),
    _index("jobs_by_moment", "tenant created_at id state"),
)
SPENDING = _record_table(
    "spending",
    {
        "day": "TEXT",
        "model": "TEXT",
        "purpose": "TEXT",
        "calls": "INTEGER",
        "tokens_in": "INTEGER",
        "tokens_out": "INTEGER",
        "reserved": "INTEGER",
    },
    _index("spending_by_day", "tenant day"),
)
CONSOLIDATIONS = _record_table(
    "consolidations",
    {"run": "TEXT", "kind": "TEXT", "namespace": "TEXT", "changes": "TEXT", "source": "TEXT", "at": "REAL"},
    _index("consolidations_by_run", "tenant run"),
)
MEMBERSHIPS = _record_table(
    "memberships",
    {"namespace": "TEXT", "team": "TEXT?", "source": "TEXT", "at": "REAL"},
    _index("memberships_by_namespace", "tenant namespace"),
)
RULES = _record_table(
    "rules",
    {
        "namespace": "TEXT",
        "text": "TEXT",
        "state": "TEXT",
        "heard_in": "TEXT",
        "created_at": "REAL",
        "updated_at": "REAL",
        "revision": "INTEGER",
    },
    _index("rules_by_state", "tenant state namespace"),
)
RECORD_TABLES = (
    MEMORIES, SIGNALS, TRAJECTORIES, STEPS, NODES, EDGES, RULINGS, JOBS, SPENDING, CONSOLIDATIONS, MEMBERSHIPS, RULES,
)  # fmt: skip
EARLIER_TABLES = tuple(
    Table(name, table.columns, key=("id", "revision"), number=NUM, written=table.written)
    for name, table in (
        ("revisions", MEMORIES),
        ("trajectory_revisions", TRAJECTORIES),
        ("node_revisions", NODES),
        ("edge_revisions", EDGES),
    )
)
"""Tables of what records said before they were revised."""
FEED = Table(
    "feed",
    {"seq": "INTEGER", "kind": "TEXT", "op": "TEXT", "id": "TEXT", "tenant": "TEXT", "at": "REAL"},
    number="seq",
    written=("kind", "op", "id", "tenant", "at"),
)

# ---------------------------------------------------------------- beside the records

VECTORS = Table(
    "vectors",
    {"memory_id": "TEXT", "tenant": "TEXT", "identity": "TEXT", "facet": "TEXT", "vector": "BLOB"},
    key=("memory_id", "identity", "facet"),
    number=NUM,
)
EXPOSURES = Table(
    "exposures",
    {
        "tenant": "TEXT",
        "memory_id": "TEXT",
        "trajectory_id": "TEXT?",
        "query_hash": "TEXT",
        "rank": "INTEGER",
        "at": "REAL",
        "withheld": "INTEGER=0",
        "holdout": "REAL=0",
        **_ADVICE,
    },
    number=NUM,
    written=("memory_id", "tenant", "trajectory_id", "query_hash", "rank", "at", "withheld", "holdout", *_ADVICE),
    indexes=(
        _index("exposures_by_memory", "memory_id"),
        _index("exposures_by_trajectory", "trajectory_id", ("trajectory_id", "not", None)),
    ),
)
TOMBSTONES = Table("tombstones", {"id": "TEXT", "tenant": "TEXT", "kind": "TEXT", "at": "REAL"}, key=("id",))

# ---------------------------------------------------------------- views, folded in the transaction that changes them

TRUST = Table("trust", {"tenant": "TEXT", "memory_id": "TEXT", "level": "INTEGER"}, key=("tenant", "memory_id"))
"""Trust levels, folded from origins, parents and rulings. A memory of the user without parents has no row: it is
trusted.
"""
KIN = Table(
    "kin",
    {"tenant": "TEXT", "parent_id": "TEXT", "memory_id": "TEXT"},
    key=("tenant", "parent_id", "memory_id"),
    # A memory that loses a parent again is found under it no more.
    indexes=(_index("kin_by_memory", "tenant memory_id"),),
)
MARKS = Table(
    "marks", {"mark": "INTEGER", "memory": "INTEGER"}, key=("mark", "memory"), by_number_of={"memory": MEMORIES}
)
TASKS = Table(
    "tasks",
    {
        "trajectory_id": "TEXT",
        "tenant": "TEXT",
        "namespace": "TEXT",
        "kind": "TEXT",
        "succeeded": "INTEGER",
        "ended_at": "REAL",
    },
    key=("trajectory_id",),
    indexes=(
        _index("tasks_by_kind", "tenant namespace kind ended_at succeeded"),
        _index("tasks_by_namespace", "tenant namespace ended_at succeeded"),
        _index("tasks_by_tenant", "tenant ended_at succeeded"),
    ),
)
"""Finished sessions by the kind of their task."""

# ---------------------------------------------------------------- state and logs

LEASES = Table(
    "leases",
    {
        "job_id": "TEXT",
        "tenant": "TEXT",
        "owner": "TEXT?",
        "beat": "INTEGER",
        "attempts": "INTEGER",
        "ready_at": "REAL",
        "error": "TEXT",
        "lost": "INTEGER=0",
    },
    key=("job_id",),
    indexes=(
        _index("leases_free", "tenant ready_at", ("owner", "is", None)),
        _index("leases_held", "tenant job_id", ("owner", "not", None)),
    ),
)
GAPS = Table(
    "gaps",
    {
        "id": "TEXT",
        "tenant": "TEXT",
        "namespace": "TEXT",
        "question": "TEXT",
        "times": "INTEGER",
        "first_at": "REAL",
        "last_at": "REAL",
    },
    key=("id",),
    indexes=(_index("gaps_by_tenant", "tenant last_at"),),
)
SETTINGS = Table("settings", {"name": "TEXT", "value": "TEXT"}, key=("name",))
TOKENS = Table(
    "tokens",
    {
        "id": "TEXT",
        "tenant": "TEXT",
        "name": "TEXT",
        "scopes": "TEXT",
        "origin": "TEXT",
        "digest": "BLOB",
        "created_at": "REAL",
        "expires_at": "REAL?",
        "revoked_at": "REAL?",
        "hash": "BLOB?",
    },
    key=("id",),
)
REPLIES = Table(
    "replies",
    {
        "tenant": "TEXT",
        "caller": "TEXT",
        "key": "TEXT",
        "request": "BLOB",
        "status": "INTEGER",
        "etag": "TEXT",
        "body": "BLOB",
        "at": "REAL",
    },
    unique=("tenant", "caller", "key"),
    indexes=(_index("replies_by_age", "at"),),
)
TABLES = (
    *RECORD_TABLES, *EARLIER_TABLES, FEED, VECTORS, EXPOSURES, TOMBSTONES, TRUST, KIN, MARKS, TASKS, LEASES, GAPS,
    SETTINGS, TOKENS, REPLIES,
)  # fmt: skip
_BY_NAME = {table.name: table for table in TABLES}


def table_named(name: str) -> Table:
    return _BY_NAME[name]
