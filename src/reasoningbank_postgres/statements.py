"""PostgreSQL's statements for tables and selections, each text made once.

Every table lies in the schema of the bank, which is the connection's search path. Words of ours are spelt out, so that
an index of some rows is seen to cover a question; everything else is bound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from reasoningbank.store.selection import Join, Selection
from reasoningbank.store.tables import Condition, IfTaken, Table, table_named

Query = tuple[str, list[Any]]
TYPES = {"TEXT": "text", "INTEGER": "bigint", "REAL": "double precision", "BLOB": "bytea"}
_GREATEST = "\U0010ffff"
_to_json = json.JSONEncoder(ensure_ascii=False).encode


class _Shape(NamedTuple):
    """A condition without its value; `spelt` is the value where it is part of the text."""

    column: str
    test: str
    spelt: str | None = None


class _Question(NamedTuple):
    """All that the text of a selection depends on."""

    selection: Selection
    """The selection without any value that is bound."""
    shapes: tuple[_Shape, ...]
    is_scoped: bool
    goes_on: bool
    is_limited: bool


def _type_of(table: Table, column: str) -> str:
    other, _, name = column.rpartition(".")
    kind = (table_named(other) if other else table).columns.get(name, "INTEGER")
    return TYPES[kind.partition("=")[0].removesuffix("?")]


# ---------------------------------------------------------------- asking


def select(selection: Selection, tenant: str | None) -> Query:
    values: list[Any] = []
    shapes = tuple([_bind(condition, values) for condition in selection.where])
    if tenant is not None:
        own = [tenant] * selection.table.has_tenant
        # Of the latest of each value, those of the tenant are meant, so it is asked for right behind the values.
        place = 1 if selection.latest else len(values)
        values[place:place] = own
        values += [tenant for join in selection.joins if join.table.has_tenant]
    if selection.after is not None:
        values += selection.after
    if selection.limit is not None:
        values.append(selection.limit)
    bare = selection._replace(where=(), after=None, limit=None, by_index="")
    goes_on, is_limited = selection.after is not None, selection.limit is not None
    return _text_of(_Question(bare, shapes, tenant is not None, goes_on, is_limited)), values


@lru_cache(maxsize=1024)
def _text_of(question: _Question) -> str:
    selection, shapes = question.selection, list(question.shapes)
    table, joins = selection.table, selection.joins
    names = [_column_text(column, selection) for column in selection.columns]
    source = table.name
    if selection.latest:
        source = _latest_rows(selection, shapes, is_scoped=question.is_scoped)
        shapes = []
    conditions = [condition_text(shape, table, _column_text(shape.column, selection)) for shape in shapes]
    for join in joins:
        same = [f"{join.table.name}.{theirs} = {_column_text(ours, selection)}" for ours, theirs in join.on]
        source += f" JOIN {join.table.name} ON {' AND '.join(same)}"
    if question.is_scoped:
        tables = (*(() if selection.latest else (table,)), *(join.table for join in joins))
        conditions += [f"{each.name}.tenant = %s" for each in tables if each.has_tenant]
    if selection.without is not None:
        conditions.append(_none_in(selection.without, table))
    order = [_column_text(column, selection) for column in selection.order]
    if question.goes_on:
        beyond = "<" if selection.descending else ">"
        conditions.append(f"({', '.join(order)}) {beyond} ({', '.join(['%s'] * len(order))})")
    text = f"SELECT {', '.join(names)} FROM {source}"
    if conditions:
        text += f" WHERE {' AND '.join(conditions)}"
    columns = zip(names, selection.columns, strict=True)
    plain = [name for name, column in columns if column != "count" and ":" not in column]
    if 0 < len(plain) < len(names):
        text += f" GROUP BY {', '.join(plain)}"
    if order:
        text += f" ORDER BY {', '.join(f'{name} DESC' if selection.descending else name for name in order)}"
    return text + (" LIMIT %s" if question.is_limited else "")


def _latest_rows(selection: Selection, shapes: Sequence[_Shape], *, is_scoped: bool) -> str:
    """The tenant's rows with the greatest last key, or the newest by a column, for each value that is asked for."""
    table, by, column = selection.table, selection.latest_by, shapes[0].column
    fits = "".join(f" AND {condition_text(shape, table, f'every.{shape.column}')}" for shape in shapes[1:])
    order = ", ".join(f"every.{key} DESC" for key in ((by, table.number) if by else (table.key[-1],)))
    own = " AND every.tenant = %s" if is_scoped and table.has_tenant else ""
    return (
        f"unnest(%s::{_type_of(table, column)}[]) AS asked (value) CROSS JOIN LATERAL (SELECT * FROM {table.name} "
        f"AS every WHERE every.{column} = asked.value{own}{fits} ORDER BY {order} "
        f"LIMIT {selection.latest}) AS {table.name}"
    )


def _none_in(without: Join, table: Table) -> str:
    other = without.table.name
    same = [f"{other}.{theirs} = {table.name}.{ours}" for ours, theirs in without.on]
    return f"NOT EXISTS (SELECT 1 FROM {other} WHERE {' AND '.join(same)})"


def _column_text(column: str, selection: Selection) -> str:
    """A column as PostgreSQL knows it, or what several rows amount to."""
    if column == "count":
        return "count(*)"
    how, colon, what = column.partition(":")
    if colon:
        # A sum of whole numbers is of a type without bounds, which comes back as no number of ours.
        return f"{how}({_column_text(what, selection)})" + (
            f"::{_type_of(selection.table, what)}" if how == "sum" else ""
        )
    return column if "." in column else f"{selection.table.name}.{column}"


# ---------------------------------------------------------------- conditions


def _bind(condition: Condition, values: list[Any]) -> _Shape:
    """The fixed part of a condition; what varies goes to `values`."""
    column, test, value = condition
    if value is None:
        return _Shape(column, test, "NULL")
    if isinstance(value, (bool, StrEnum)):
        return _Shape(column, test, literal(value))
    if test in ("in", "not in"):
        if value and all(isinstance(item, StrEnum) for item in value):
            return _Shape(column, test, f"({', '.join(map(literal, sorted(value)))})")
        if all(isinstance(item, str) for item in value):
            # A list as the server reads it: psycopg takes ten times as long to write thousands of ids.
            words = (word.replace("\\", "\\\\").replace('"', '\\"') for word in value)
            values.append("{" + ",".join(f'"{word}"' for word in words) + "}")
        else:
            values.append(list(value))
    elif test == "starts":
        values += (value, f"{value}{_GREATEST}")
    elif test == "ends":
        values += (len(value), value)
    elif test == "has":
        # As the list was written: a quotation mark inside of a word is never bare there.
        values += (f"[{_to_json(value)}", f",{_to_json(value)}")
    else:
        values.append(value)
    return _Shape(column, test)


def spelt_out(condition: Condition) -> _Shape:
    """A condition whose value is part of the text, as that of an index must be."""
    column, test, value = condition
    if value is None:
        return _Shape(column, test, "NULL")
    return _Shape(column, test, f"({', '.join(map(literal, value))})" if test == "in" else literal(value))


def literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(int(value))


def condition_text(shape: _Shape, table: Table, name: str) -> str:
    _, test, spelt = shape
    operand = "%s" if spelt is None else spelt
    kind = _type_of(table, shape.column)
    if spelt == "NULL":
        return f"{name} IS {'NOT ' if test == 'not' else ''}NULL"
    if test in ("in", "not in") and spelt is not None:
        return f"{name} {test.upper()} {spelt}"
    return {
        "is": f"{name} = {operand}",
        "not": f"{name} <> {operand}",
        "in": f"{name} = ANY(%s::{kind}[])",
        "not in": f"{name} <> ALL(%s::{kind}[])",
        "has": f"(strpos({name}, %s) > 0 OR strpos({name}, %s) > 0)",
        "holds": f"position(%s::bytea IN {name}) > 0",
        # The greatest character ends the range of what begins so.
        "starts": f"({name} >= %s AND {name} < %s)",
        "ends": f"right({name}, %s::int) = %s",
    }.get(test) or f"{name} {test} {operand}"


# ---------------------------------------------------------------- changing


def update(table: Table, columns: Sequence[str], conditions: Sequence[Condition], tenant: str | None) -> Query:
    parameters: list[Any] = []
    shapes = tuple([_bind(condition, parameters) for condition in conditions])
    is_scoped = tenant is not None and table.has_tenant
    return _change_text(table, tuple(columns), shapes, is_scoped), [*parameters, tenant] if is_scoped else parameters


@lru_cache(maxsize=512)
def _change_text(table: Table, columns: tuple[str, ...], shapes: tuple[_Shape, ...], is_scoped: bool) -> str:
    """Text of an update of these columns; without any, of a deletion."""
    conditions = [condition_text(shape, table, shape.column) for shape in shapes]
    conditions += ["tenant = %s"] if is_scoped else []
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if columns:
        return f"UPDATE {table.name} SET {', '.join(f'{column} = %s' for column in columns)}{where}"
    return f"DELETE FROM {table.name}{where}"


@lru_cache(maxsize=1024)
def insert(table: Table, if_taken: IfTaken, count: int) -> str:
    """INSERT statement for `count` rows."""
    values = ", ".join([f"({', '.join(['%s'] * len(table.written))})"] * count)
    return f"INSERT INTO {table.name} ({', '.join(table.written)}) VALUES {values}{_if_taken(table, if_taken)}"


@lru_cache(maxsize=8)
def insert_numbered(table: Table) -> str:
    """INSERT of rows numbered behind the last one, for a lone writer of the bank: one list for each column."""
    columns = ", ".join(table.written)
    return (
        f"INSERT INTO {table.name} ({table.number}, {columns}) SELECT last + given.place, {columns} "
        f"FROM last_change() AS last, unnest({_lists(table, {})}) WITH ORDINALITY AS given ({columns}, place)"
    )


def _if_taken(table: Table, if_taken: IfTaken) -> str:
    if if_taken is IfTaken.REFUSE:
        return ""
    key = ", ".join(table.key)
    updates = ", ".join(f"{column} = excluded.{column}" for column in table.written if column not in table.key)
    return f" ON CONFLICT ({key}) DO " + (f"UPDATE SET {updates}" if if_taken is IfTaken.REPLACE else "NOTHING")


@lru_cache(maxsize=8)
def insert_by_number(table: Table) -> str:
    """INSERT of rows that name the row of another table by its key and keep its number: one list for each column."""
    ((by, other),) = table.by_number_of.items()
    values = ", ".join(
        f"{other.name}.{other.number}" if column == by else f"given.{column}" for column in table.written
    )
    return (
        f"INSERT INTO {table.name} ({', '.join(table.written)}) SELECT DISTINCT {values} "
        f"FROM unnest({_lists(table, {by: 'text'})}) AS given ({', '.join(table.written)}) "
        f"JOIN {other.name} ON {other.name}.{other.key[0]} = given.{by} ON CONFLICT DO NOTHING"
    )


def _lists(table: Table, types: Mapping[str, str]) -> str:
    return ", ".join(f"%s::{types.get(column) or _type_of(table, column)}[]" for column in table.written)
