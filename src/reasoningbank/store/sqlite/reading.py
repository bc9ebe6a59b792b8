"""Reading records over one SQLite connection, always within one tenant.

The tenant is bound when a reader is made and stands in every statement, so no query can forget it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import apsw

from reasoningbank.core.errors import BankDamaged, NotFound
from reasoningbank.core.frozen import fields
from reasoningbank.core.recency import ListPosition, parse_position
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import EmbedderIdentity, Lease, Memory, Record, Scope, SideRecord, State, Trajectory
from reasoningbank.ports import FEWEST_WORDS_ALIKE
from reasoningbank.store.sqlite import leases, task_rows
from reasoningbank.store.sqlite.error_mapping import remedy
from reasoningbank.store.sqlite.tables import SIDE_TABLES, Table, decode_side_record, table_of

if TYPE_CHECKING:
    from reasoningbank.core.task_confidence import Evidenced
    from reasoningbank.core.uplift import KindRate, Tally, Trial

R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=SideRecord)
_MOST_ROWS = 1 << 62
_MOST_WITH_A_WORD = 24
"""Of the memories with a word in them that is nobody's own, the newest are looked at."""
_BY_NAMESPACE = (Memory, Trajectory)


class SqliteReader:
    def __init__(self, connection: apsw.Connection, tenant: str, location: str) -> None:
        self._connection = connection
        self._tenant = tenant
        self._location = location

    def _decode(self, table: Table[R], row: Sequence[Any]) -> R:
        if not table.intact(row):
            raise BankDamaged(
                f"The {table.noun} {row[0]!r} in {self._location} does not match its checksum. "
                f"'reasoningbank verify' has the whole list. {remedy(self._location)}"
            )
        return table.decode(row)

    def get(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        table = table_of(kind)
        if len(ids) == 1:
            rows = self._connection.execute(
                f"SELECT {table.listed} FROM {table.name} WHERE id = ? AND tenant = ?", (ids[0], self._tenant)
            )
        else:
            # The plus keeps SQLite from walking all ids of the tenant, which it takes for the shorter way.
            rows = self._connection.execute(
                f"SELECT {table.listed} FROM {table.name} WHERE id IN (SELECT value FROM json_each(?)) AND +tenant = ?",
                (json.dumps(list(ids)), self._tenant),
            )
        return {row[0]: self._decode(table, row) for row in rows}

    def select(
        self,
        kind: type[R],
        where: Mapping[str, Any],
        *,
        newest_first: bool = False,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[R]:
        table = table_of(kind)
        condition, values = self._condition(table, where)
        made_at = kind_of(kind).made_at if newest_first else ""
        if after is not None:
            following, place = self._following(table, made_at, after, newest_first=newest_first)
            condition += f" AND {following}"
            values += place
        values.append(_MOST_ROWS if limit is None else limit)
        way = "DESC" if newest_first else "ASC"
        order = f"ORDER BY {made_at} {way}, id {way}" if made_at else f"ORDER BY id {way}"
        chosen = f"WHERE {condition} {order} LIMIT ?"
        if limit is not None and kind in _BY_NAMESPACE and "namespace" not in where:
            # The ids alone come from an index, which has them in order or has to be sorted; then the rows of one page.
            chosen = f"WHERE id IN (SELECT id FROM {table.name} {chosen}) {order}"
        rows = self._connection.execute(f"SELECT {table.listed} FROM {table.name} {chosen}", values)
        return [self._decode(table, row) for row in rows]

    def _following(self, table: Table[Any], made_at: str, after: str, *, newest_first: bool) -> tuple[str, list[Any]]:
        """What comes after a place in the list, as a condition and its values."""
        place = parse_position(after) if newest_first else ListPosition(id=after, at=None)
        if not made_at:
            return f"id {'<' if newest_first else '>'} ?", [place.id]
        at = place.at
        if at is None:
            rows = self._connection.execute(
                f"SELECT {made_at} FROM {table.name} WHERE id = ? AND tenant = ?", (place.id, self._tenant)
            )
            found = next(rows, None)
            if found is None:
                raise NotFound(f"There is no {table.noun} {place.id!r} to go on from: begin the list anew.")
            at = float(found[0])
        return f"({made_at}, id) < (?, ?)", [at, place.id]

    def matching_ids(self, kind: type[R], part: str, limit: int) -> list[str]:
        table = table_of(kind)
        values: tuple[int | str, str]
        if "_" in part:
            # The greatest character ends the range of what begins with `part`.
            fits, values = "id >= ? AND id < ?", (part, f"{part}\U0010ffff")
        else:
            fits, values = "substr(id, ?) = ?", (-len(part), part)
        # The plus leaves the tenant out of choosing an index, so that a beginning is found by the id's own.
        own = "+tenant" if "_" in part else "tenant"
        rows = self._connection.execute(
            f"SELECT id FROM {table.name} WHERE {own} = ? AND {fits} ORDER BY id LIMIT ?",
            (self._tenant, *values, limit),
        )
        return [record_id for (record_id,) in rows]

    def count(self, kind: type[R], where: Mapping[str, Any]) -> int:
        table = table_of(kind)
        condition, values = self._condition(table, where)
        rows = self._connection.execute(f"SELECT count(*) FROM {table.name} WHERE {condition}", values)
        return int(next(rows)[0])

    def tally(self, kind: type[R], by: str, where: Mapping[str, Any] = MappingProxyType({})) -> dict[str, int]:
        table = table_of(kind)
        if by not in table.columns:
            raise KeyError(f"{table.noun} has no field {by!r}")
        condition, values = self._condition(table, where)
        return dict(
            self._connection.execute(f"SELECT {by}, count(*) FROM {table.name} WHERE {condition} GROUP BY {by}", values)
        )

    def _condition(self, table: Table[Any], where: Mapping[str, Any]) -> tuple[str, list[Any]]:
        parts, values = ["tenant = ?"], [self._tenant]
        for column, wanted in where.items():
            if column not in table.columns:
                raise KeyError(f"{table.noun} has no field {column!r}")
            if column == "tags":
                for tag in (wanted,) if isinstance(wanted, str) else wanted:
                    parts.append(f"EXISTS (SELECT 1 FROM json_each({table.name}.tags) WHERE value = ?)")
                    values.append(tag)
            elif wanted is None:
                parts.append(f"{column} IS NULL")
            elif isinstance(wanted, tuple) and all(isinstance(value, (State, Scope)) for value in wanted):
                # Spelt out, because only then does SQLite see that an index of some rows covers the question.
                listed = ", ".join(f"'{value.value}'" for value in sorted(wanted))
                parts.append(f"{column} IN ({listed})")
            elif isinstance(wanted, (list, tuple, set, frozenset)):
                parts.append(f"{column} IN (SELECT value FROM json_each(?))")
                values.append(json.dumps(sorted(wanted)))
            else:
                parts.append(f"{column} = ?")
                values.append(wanted)
        return " AND ".join(parts), values

    def revisions(self, memory_id: str) -> list[Memory]:
        table = table_of(Memory)
        rows = self._connection.execute(
            f"SELECT {table.listed} FROM revisions WHERE id = ? AND tenant = ? ORDER BY revision",
            (memory_id, self._tenant),
        )
        return [self._decode(table, row) for row in rows]

    def vectors(self, identity: EmbedderIdentity, ids: Sequence[str]) -> dict[str, dict[str, bytes]]:
        found: dict[str, dict[str, bytes]] = {}
        for memory_id, facet, vector in self._connection.execute(
            "SELECT memory_id, facet, vector FROM vectors WHERE memory_id IN (SELECT value FROM json_each(?)) "
            "AND identity = ? AND tenant = ?",
            (json.dumps(list(ids)), str(identity), self._tenant),
        ):
            found.setdefault(memory_id, {})[facet] = vector
        return found

    def exposure_counts(self, ids: Sequence[str]) -> dict[str, int]:
        rows = self._connection.execute(
            "SELECT e.memory_id, count(*) FROM exposures e "
            "JOIN memories m ON m.id = e.memory_id AND m.advice_id = e.advice_id "
            "WHERE e.memory_id IN (SELECT value FROM json_each(?)) AND e.tenant = ? AND NOT e.withheld "
            "GROUP BY e.memory_id",
            (json.dumps(list(ids)), self._tenant),
        )
        return dict(rows)

    def shown_in(self, trajectory_id: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT memory_id FROM exposures WHERE trajectory_id = ? AND tenant = ? "
            "AND NOT withheld GROUP BY memory_id ORDER BY min(num)",
            (trajectory_id, self._tenant),
        )
        return [memory_id for (memory_id,) in rows]

    def ranks_in(self, trajectory_id: str) -> dict[str, int]:
        rows = self._connection.execute(
            "SELECT memory_id, min(rank) FROM exposures WHERE trajectory_id = ? AND tenant = ? "
            "AND NOT withheld GROUP BY memory_id ORDER BY min(num)",
            (trajectory_id, self._tenant),
        )
        return dict(rows)

    def advice_in(self, trajectory_id: str) -> dict[str, str]:
        rows = self._connection.execute(
            "SELECT memory_id, advice_id FROM exposures WHERE trajectory_id = ? AND tenant = ? "
            "AND NOT withheld ORDER BY num",
            (trajectory_id, self._tenant),
        )
        return dict(rows)

    def uses_by_namespace(self) -> dict[str, int]:
        return task_rows.uses_by_namespace(self._connection, self._tenant)

    def like_tasks(self, namespace: str | None, kind: str | None, limit: int) -> dict[str, bool]:
        return task_rows.like_tasks(self._connection, self._tenant, namespace, kind, limit)

    def evidence_in(self, trajectory_ids: Sequence[str]) -> list[Evidenced]:
        return task_rows.evidence_in(self._connection, self._tenant, trajectory_ids)

    def tallies(self, since: float) -> dict[str, Tally]:
        from reasoningbank.store.sqlite import worth_rows

        return worth_rows.tallies(self._connection, self._tenant, since)

    def trials(self, namespace: str | None, since: float) -> list[Trial]:
        from reasoningbank.store.sqlite import worth_rows

        return worth_rows.trials(self._connection, self._tenant, namespace, since)

    def kind_rates(self, namespace: str | None, since: float, limit: int) -> list[KindRate]:
        from reasoningbank.store.sqlite import worth_rows

        return worth_rows.kind_rates(self._connection, self._tenant, namespace, since, limit)

    def leases(self, job_ids: Sequence[str] | None = None) -> list[Lease]:
        return leases.leases(self._connection, self._tenant, job_ids)

    def erased(self, ids: Sequence[str]) -> set[str]:
        rows = self._connection.execute(
            "SELECT id FROM tombstones WHERE id IN (SELECT value FROM json_each(?)) AND tenant = ?",
            (json.dumps(list(ids)), self._tenant),
        )
        return {record_id for (record_id,) in rows}

    def trust_levels(self, ids: Sequence[str]) -> dict[str, int]:
        rows = self._connection.execute(
            "SELECT memory_id, level FROM trust WHERE tenant = ? AND memory_id IN (SELECT value FROM json_each(?))",
            (self._tenant, json.dumps(list(ids))),
        )
        return dict(rows)

    def derived_ids(self, ids: Sequence[str]) -> list[str]:
        rows = self._connection.execute(
            "SELECT DISTINCT memory_id FROM kin WHERE tenant = ? AND parent_id IN (SELECT value FROM json_each(?))",
            (self._tenant, json.dumps(list(ids))),
        )
        return [memory_id for (memory_id,) in rows]

    def matching_fingerprints(self, marks: Sequence[int], words: Sequence[int] = ()) -> dict[str, int]:
        rows = self._connection.execute(
            "SELECT memories.id, count(*) FROM ("
            "SELECT marks.memory AS num, 1 AS sure FROM (SELECT DISTINCT value FROM json_each(?)) AS asked "
            "CROSS JOIN marks ON marks.mark = asked.value UNION ALL "
            "SELECT marks.memory, 0 FROM json_each(?) AS asked CROSS JOIN marks ON marks.mark = asked.value "
            "AND marks.memory IN (SELECT memory FROM marks m WHERE m.mark = asked.value "
            f"ORDER BY memory DESC LIMIT {_MOST_WITH_A_WORD})"
            ") AS found CROSS JOIN memories ON memories.num = found.num "
            f"WHERE memories.tenant = ? GROUP BY memories.num HAVING max(sure) OR count(*) >= {FEWEST_WORDS_ALIKE}",
            (json.dumps(list(marks)), json.dumps(list(words)), self._tenant),
        )
        return dict(rows)

    def side_records(self, kind: type[S]) -> list[S]:
        name, order = SIDE_TABLES[cast("type[SideRecord]", kind)]
        columns = [f.name for f in fields(kind)]
        rows = self._connection.execute(
            f"SELECT {', '.join(columns)} FROM {name} WHERE tenant = ? ORDER BY {order}", (self._tenant,)
        )
        return [kind(**decode_side_record(dict(zip(columns, row, strict=True)))) for row in rows]
