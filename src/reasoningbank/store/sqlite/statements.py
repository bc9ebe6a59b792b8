"""SQLite's statements for tables and selections, each text made once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from reasoningbank.store.selection import Join, Selection
from reasoningbank.store.sqlite.batched_inserts import Insert
from reasoningbank.store.tables import Condition, IfTaken, Table

Statement = tuple[str, list[Any]]
Shape = tuple[str, str, Any]
"""A condition without its value; with it where it is spelt out."""
_LIST = "(SELECT value FROM json_each(?))"
_BOUND = object()
_WIDE = frozenset({"memories", "trajectories"})
"""Tables of wide rows: the ids alone come from an index, which has them in order or has to be sorted; then the rows
of one page.
"""
_GREATEST = "\U0010ffff"
_TEXTS: dict[tuple[Any, ...], str] = {}
_INSERTS: dict[tuple[Table, IfTaken], Insert] = {}


def select(selection: Selection, tenant: str | None) -> Statement:
    table, columns, where, joins, order, descending, after, limit, latest, latest_by, without, by_index = selection
    values: list[Any] = []
    shapes = tuple([_shape(condition, values) for condition in where])
    if tenant is not None:
        if table.has_tenant:
            # Of the latest of each, the values that are asked for come first.
            values.insert(1 if latest else 0, tenant)
        if joins:
            values += [tenant for join in joins if join.table.has_tenant]
    if after is not None:
        values += after
    if limit is not None:
        values.append(limit)
    scope = (tenant is not None, after is not None, limit is not None)
    key = (table, columns, shapes, joins, order, descending, (latest, latest_by), (without, by_index), scope)
    text = _TEXTS.get(key)
    if text is None:
        if len(_TEXTS) >= 1_024:
            _TEXTS.clear()
        text = _TEXTS[key] = _select(*key)
    return text, values


def select_each(selections: Sequence[Selection], tenant: str | None) -> Statement:
    """One statement for several: each row begins with the place of the selection that it answers."""
    statements = [select(selection, tenant) for selection in selections]
    sql = " UNION ALL ".join(f"SELECT {place}, * FROM ({sql})" for place, (sql, _) in enumerate(statements))
    return sql, [value for _, values in statements for value in values]


def _select(  # noqa: PLR0913, PLR0917 - all that the text depends on
    table: Table,
    names: tuple[str, ...],
    shapes: tuple[Shape, ...],
    joins: tuple[Join, ...],
    ordered_by: tuple[str, ...],
    descending: bool,
    each: tuple[int, str],
    hints: tuple[Join | None, str],
    scope: tuple[bool, bool, bool],
) -> str:
    (latest, latest_by), (without, index), (is_scoped, goes_on, is_limited) = each, hints, scope
    if latest and names == (shapes[0][0], "count") and len(shapes) == 1 and not joins:
        return _count_of_each(table, shapes[0][0], latest, is_scoped=is_scoped)
    plain = [_column(column, table, joins) for column in names if not _aggregate(column, table, joins)]
    columns = [_aggregate(column, table, joins) or _column(column, table, joins) for column in names]
    source, conditions = table.name, [condition_of(shape, table, joins) for shape in shapes[1 if latest else 0 :]]
    if latest:
        source, conditions = _latest(table, shapes[0][0], conditions, (latest, latest_by), is_scoped=is_scoped), []
    if index:
        source += f" INDEXED BY {index}"
    if is_scoped and table.has_tenant and not latest:
        # The plus keeps SQLite from walking all rows of the tenant, which it takes for the shorter way.
        looked_up = _looked_up(table)
        plus = "+" if any(column in looked_up and test in ("in", "starts") for column, test, _ in shapes) else ""
        conditions.insert(0, f"{plus}{_column('tenant', table, joins)} = ?")
    for join in joins:
        same = " AND ".join(f"{join.table.name}.{theirs} = {_column(ours, table, joins)}" for ours, theirs in join.on)
        source += f" CROSS JOIN {join.table.name} ON {same}"
        if is_scoped and join.table.has_tenant:
            conditions.append(f"+{join.table.name}.tenant = ?")
    conditions += _none_in(without, table)
    order = [_column(column, table, joins) for column in ordered_by]
    if goes_on:
        conditions.append(f"({', '.join(order)}) {'<' if descending else '>'} ({', '.join('?' * len(order))})")
    way = " DESC" if descending else ""
    order_by = f" ORDER BY {', '.join(f'{column}{way}' for column in order)}" if order else ""
    clauses = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if plain and len(plain) < len(columns):
        clauses += f" GROUP BY {', '.join(plain)}"
    clauses += order_by + (" LIMIT ?" if is_limited else "")
    if is_limited and "hash" in names and table.name in _WIDE and all(shape[0] != "namespace" for shape in shapes):
        clauses = f" WHERE id IN (SELECT id FROM {table.name}{clauses}){order_by}"
    return f"SELECT {', '.join(columns)} FROM {source}{clauses}"


def _looked_up(table: Table) -> set[str]:
    """Columns by which rows are found without their tenant."""
    whole = [index.columns for index in table.indexes if not index.where]
    return {columns[0] for columns in (table.key, table.unique, *whole) if columns} - {"tenant"}


def _none_in(without: Join | None, table: Table) -> list[str]:
    if without is None:
        return []
    other = without.table.name
    same = " AND ".join(f"{other}.{theirs} = {table.name}.{ours}" for ours, theirs in without.on)
    return [f"NOT EXISTS (SELECT 1 FROM {other} WHERE {same})"]


def _latest(table: Table, column: str, conditions: Sequence[str], each: tuple[int, str], *, is_scoped: bool) -> str:
    """The rows with the greatest last key, or the greatest of another column, for each value that is asked for."""
    latest, by = each
    name, number = table.name, table.number if by else table.key[-1]
    order = f"m.{by} DESC, m.{number} DESC" if by else f"m.{number} DESC"
    own = "m.tenant = ? AND " if is_scoped and table.has_tenant else ""
    fits = "".join(f" AND {condition}" for condition in conditions)
    among = f"SELECT m.{number} FROM {name} m WHERE {own}m.{column} = asked{fits} ORDER BY {order} LIMIT {latest}"
    return (
        f"(SELECT value AS asked FROM json_each(?)) CROSS JOIN {name} "
        f"ON {name}.{column} = asked AND {name}.{number} IN ({among})"
    )


def _count_of_each(table: Table, column: str, most: int, *, is_scoped: bool) -> str:
    """Number of rows for each value that is asked for, counted up to a bound and in the index alone; 0 is told too."""
    own = "tenant = ? AND " if is_scoped and table.has_tenant else ""
    rows = f"SELECT 1 FROM {table.name} WHERE {own}{column} = asked LIMIT {most}"
    prefix = "WITH named (asked) AS (SELECT value FROM json_each(?))"
    return f"{prefix} SELECT asked, (SELECT count(*) FROM ({rows})) FROM named"


def _column(column: str, table: Table, joins: tuple[Join, ...]) -> str:
    return column if not joins or "." in column else f"{table.name}.{column}"


def _aggregate(column: str, table: Table, joins: tuple[Join, ...]) -> str:
    """SQL of a column that several rows amount to; empty for a column of each row."""
    if column == "count":
        return "count(*)"
    how, colon, what = column.partition(":")
    return f"{how}({_column(what, table, joins)})" if colon else ""


def _shape(condition: Condition, values: list[Any]) -> Shape:
    """The fixed part of a condition; what varies goes to `values`.

    Spelt out are truths and words of ours, because only then does SQLite see that an index of some rows covers the
    question.
    """
    column, test, value = condition
    if value.__class__ is str and test == "is":
        values.append(value)
        return column, test, _BOUND
    if value is None or isinstance(value, (bool, StrEnum)):
        return column, test, None if value is None else literal(value)
    if test in ("in", "not in"):
        if value and all(isinstance(item, StrEnum) for item in value):
            return column, test, f"({', '.join(literal(item) for item in sorted(value))})"
        values.append(json.dumps(list(value)))
    elif test == "starts":
        values += (value, f"{value}{_GREATEST}")
    elif test == "ends":
        values += (-len(value), value)
    else:
        values.append(value)
    return column, test, _BOUND


def literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(int(value))


def condition_of(  # noqa: PLR0911 - one case for each test
    shape: Shape, table: Table, joins: tuple[Join, ...]
) -> str:
    name, test, value = shape
    column = _column(name, table, joins)
    match test:
        case "is" | "not":
            if value is None:
                return f"{column} IS {'NOT ' if test == 'not' else ''}NULL"
            return f"{column} {'=' if test == 'is' else '!='} {'?' if value is _BOUND else value}"
        case "in" | "not in":
            return f"{column} {test.upper()} {_LIST if value is _BOUND else value}"
        case "has":
            return f"EXISTS (SELECT 1 FROM json_each({table.name}.{name}) WHERE value = ?)"
        case "holds":
            return f"instr({column}, ?) > 0"
        case "starts":
            # The greatest character ends the range of what begins so.
            return f"{column} >= ? AND {column} < ?"
        case "ends":
            return f"substr({column}, ?) = ?"
    return f"{column} {test} ?"


def update(table: Table, columns: Sequence[str], conditions: Sequence[Condition], tenant: str | None) -> Statement:
    values: list[Any] = []
    shapes = tuple([_shape(condition, values) for condition in conditions])
    if tenant is not None and table.has_tenant:
        values.append(tenant)
    return _change(table, tuple(columns), shapes, tenant is not None), values


def delete(table: Table, conditions: Sequence[Condition], tenant: str | None) -> Statement:
    return update(table, (), conditions, tenant)


@lru_cache(maxsize=512)
def _change(table: Table, columns: tuple[str, ...], shapes: tuple[Shape, ...], is_scoped: bool) -> str:
    """Text of an update of these columns; without any, of a deletion."""
    parts = [condition_of(shape, table, ()) for shape in shapes]
    if is_scoped and table.has_tenant:
        parts.append("tenant = ?")
    where = f" WHERE {' AND '.join(parts)}" if parts else ""
    if not columns:
        return f"DELETE FROM {table.name}{where}"
    return f"UPDATE {table.name} SET {', '.join(f'{column} = ?' for column in columns)}{where}"


def insert(table: Table, if_taken: IfTaken) -> Insert:
    statement = _INSERTS.get((table, if_taken))
    if statement is None:
        statement = _INSERTS[table, if_taken] = _insert(table, if_taken)
    return statement


def _insert(table: Table, if_taken: IfTaken) -> Insert:
    columns, key = table.written, ", ".join(table.key)
    tail = ""
    if if_taken is IfTaken.KEEP:
        tail = f" ON CONFLICT ({key}) DO NOTHING"
    elif if_taken is IfTaken.REPLACE:
        updates = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in table.key)
        tail = f" ON CONFLICT ({key}) DO UPDATE SET {updates}"
    return Insert(f"INSERT INTO {table.name} ({', '.join(columns)})", len(columns), tail)
