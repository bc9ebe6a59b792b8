"""Memories, links and trajectories from a claude-flow SQLite file (.swarm/memory.db and its many cousins).

Which tables such a file may hold, and the order in which they are read. What a row means is told by
`claude_flow_fields`, how the file is opened by `claude_flow_tables`. Vectors are counted and dropped: the column that
names their model is not to be trusted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.wording import clip_title
from reasoningbank.exchange.claude_flow_fields import (
    Reading,
    Unreadable,
    edge_between,
    read_link,
    read_memory,
    shape_of,
)
from reasoningbank.exchange.claude_flow_steps import is_step_table, trajectory_of, trajectory_of_steps
from reasoningbank.exchange.claude_flow_tables import VECTOR_COLUMNS, Database, Row, open_database
from reasoningbank.exchange.coerce import identity_of, text_of
from reasoningbank.exchange.items import IncomingMemory, Item, SkippedItem

_MEMORY_TABLES = ("patterns", "memory_entries")
_EMBEDDINGS = "pattern_embeddings"
_LINKS = "pattern_links"
_TRAJECTORIES = "task_trajectories"
_BOOKKEEPING = {
    "matts_runs": "a log of test-time scaling runs; what they taught is in the memories",
    "consolidation_runs": "a log of past consolidations; it teaches nothing",
    "metrics_log": "timings of the other program",
    "performance_metrics": "timings of the other program",
    "storage_stats": "counters of the other program",
}

_Slot = tuple[str | None, str]


@dataclass(slots=True)
class _Known:
    """The memories handed over so far, for the links and trajectories that mention them."""

    identities: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)


def layouts(path: Path) -> tuple[str, ...]:
    """The claude-flow layouts found in the file; empty for an SQLite file of another kind."""
    with open_database(path) as database:
        return tuple(_shapes(database).values())


def read_claude_flow(path: Path, *, now: float | None = None) -> Iterator[Item]:
    # A reader is called with a path alone, so the clock is read here unless a caller brings the time.
    moment = time.time() if now is None else now
    with open_database(path) as database:
        shapes = _shapes(database)
        if not shapes:
            raise ImportRejected(
                f"{path} is an SQLite file without claude-flow's tables (patterns, memory_entries). "
                "If it is a ReasoningBank bank, run 'reasoningbank export' on it and import the result."
            )
        if database.missed is not None:
            yield database.missed
        newest = _newest(database, shapes, moment)
        index = _Known()
        for table, shape in shapes.items():
            yield from _memories(database, table, shape, moment, newest, index)
        yield from _links(database, index)
        yield from _trajectories(database, index)
        yield from _left_behind(database, shapes)


def _shapes(database: Database) -> dict[str, str]:
    shapes = ((table, shape_of(table, database.columns(table))) for table in _MEMORY_TABLES)
    return {table: shape for table, shape in shapes if shape is not None}


def _newest(database: Database, shapes: Mapping[str, str], now: float) -> dict[_Slot, tuple[float, int, int]]:
    """The row that stands for each key: the last changed, the last written among equals, over all tables."""
    best: dict[_Slot, tuple[float, int, int]] = {}
    for table, shape in shapes.items():
        for row in database.rows(table):
            reading = None if isinstance(row, SkippedItem) else read_memory(row, shape, now)
            if isinstance(row, SkippedItem) or not isinstance(reading, Reading) or reading.draft.key is None:
                continue
            slot = (reading.draft.namespace, reading.draft.key)
            rank = (reading.changed_at, _MEMORY_TABLES.index(table), int(row[""]))
            best[slot] = max(rank, best.get(slot, rank))
    return best


def _memories(
    database: Database,
    table: str,
    shape: str,
    now: float,
    newest: Mapping[_Slot, tuple[float, int, int]],
    index: _Known,
) -> Iterator[Item]:
    for row in database.rows(table):
        if isinstance(row, SkippedItem):
            yield row
            continue
        reading = read_memory(row, shape, now)
        if isinstance(reading, Unreadable):
            yield SkippedItem(what=f"{table} {reading.own_id}", why=reading.why)
            continue
        draft = reading.draft
        if draft.key is not None and not _stands(row, table, reading, newest):
            yield SkippedItem(what=f"{table} {reading.own_id}", why=f"older duplicate of key '{clip_title(draft.key)}'")
            continue
        identity = identity_of(f"claude-flow:{table}", reading.own_id, draft.title, draft.content)
        if table == "patterns":
            index.identities[reading.own_id] = identity
            for name in {reading.own_id, text_of(row.get("memory_id"))} - {""}:
                index.titles[name] = draft.title
        yield IncomingMemory(identity=identity, draft=draft, used_at=reading.used_at)


def _stands(row: Row, table: str, reading: Reading, newest: Mapping[_Slot, tuple[float, int, int]]) -> bool:
    assert reading.draft.key is not None
    changed_at, place, number = newest[(reading.draft.namespace, reading.draft.key)]
    return number == row[""] and changed_at == reading.changed_at and _MEMORY_TABLES[place] == table


def _links(database: Database, index: _Known) -> Iterator[Item]:
    if _LINKS not in database.tables:
        return
    for row in database.rows(_LINKS):
        if isinstance(row, SkippedItem):
            yield row
            continue
        source, target, word = read_link(row)
        what = f"{_LINKS} row {row['']} ({source or '?'} → {target or '?'})"
        missing = [end or "?" for end in (source, target) if end not in index.identities]
        if missing:
            yield SkippedItem(what=what, why=f"no imported memory has the id {' or '.join(missing)}")
        elif source == target:
            yield SkippedItem(what=what, why="it joins a memory to itself")
        else:
            yield edge_between(index.identities[source], index.identities[target], word, row)


def _trajectories(database: Database, index: _Known) -> Iterator[Item]:
    if _TRAJECTORIES not in database.tables:
        return
    if is_step_table(database.columns(_TRAJECTORIES)):
        yield from _trajectories_by_step(database, index)
        return
    for row in database.rows(_TRAJECTORIES):
        if isinstance(row, SkippedItem):
            yield row
            continue
        trajectory = trajectory_of(row, index.titles)
        if trajectory is None:
            yield SkippedItem(what=f"{_TRAJECTORIES} row {row['']}", why="it names neither a task nor a step")
        else:
            yield trajectory


def _trajectories_by_step(database: Database, index: _Known) -> Iterator[Item]:
    def pattern(row: Row | SkippedItem) -> str:
        return "" if isinstance(row, SkippedItem) else text_of(row.get("pattern_id"))

    for memory, group in groupby(database.rows(_TRAJECTORIES, order=("pattern_id", "step_number")), key=pattern):
        rows: list[Mapping[str, Any]] = []
        for row in group:
            if isinstance(row, SkippedItem):
                yield row
            else:
                rows.append(row)
        trajectory = trajectory_of_steps(memory, rows, index.titles)
        if trajectory.steps:
            yield trajectory
        elif rows:
            yield SkippedItem(what=f"{_TRAJECTORIES} of pattern {memory}", why="none of its rows names an action")


def _left_behind(database: Database, shapes: Mapping[str, str]) -> Iterator[Item]:
    vectors = database.count(_EMBEDDINGS) if _EMBEDDINGS in database.tables else 0
    for table in shapes:
        vectors += sum(database.count(table, column) for column in database.columns(table) & VECTOR_COLUMNS)
    if vectors:
        yield SkippedItem(
            what=f"{vectors} vector{'s' if vectors > 1 else ''}",
            why="made by another model; memories are embedded anew",
        )
    for table, why in _BOOKKEEPING.items():
        rows = database.count(table) if table in database.tables else 0
        if rows:
            yield SkippedItem(what=f"{rows} row{'s' if rows > 1 else ''} of {table}", why=why)
    for table in _MEMORY_TABLES:
        rows = database.count(table) if table in database.tables and table not in shapes else 0
        if rows:
            yield SkippedItem(
                what=f"{rows} row{'s' if rows > 1 else ''} of {table}",
                why="its columns belong to no claude-flow layout we know",
            )
