"""The statements that make SQLite's tables and indexes, from `store.tables`."""

from __future__ import annotations

from reasoningbank.store.sqlite.statements import condition_of, literal
from reasoningbank.store.tables import NUM, Condition, Table, TableIndex


def create(table: Table) -> list[str]:
    """Statements that make a table and its indexes."""
    lines = [_definition(table, column, kind) for column, kind in table.columns.items()]
    number = f"{table.number} INTEGER PRIMARY KEY"
    if table.number == NUM:
        lines.insert(0, number)
    elif table.number:
        lines[0] = number
    elif len(table.key) > 1:
        lines.append(f"PRIMARY KEY ({', '.join(table.key)})")
    uniques = (table.key if table.number and len(table.key) > 1 else (), table.unique)
    lines += [f"UNIQUE ({', '.join(unique)})" for unique in uniques if unique]
    by_key = " WITHOUT ROWID" if table.key and not table.number else ""
    return [
        f"CREATE TABLE {table.name} ({', '.join(lines)}){by_key}",
        *(_index(table, index) for index in table.indexes),
    ]


def _definition(table: Table, column: str, kind: str) -> str:
    kind, _, default = kind.partition("=")
    is_key = table.key == (column,)
    if is_key and not table.number:
        return f"{column} {kind} PRIMARY KEY"
    text = f"{column} {kind.removesuffix('?')}"
    if not kind.endswith("?"):
        text += " NOT NULL"
    return text + (" UNIQUE" if is_key else "") + (f" DEFAULT {default}" if default else "")


def _index(table: Table, index: TableIndex) -> str:
    conditions = " AND ".join(_spelt_out(table, condition) for condition in index.where)
    return (
        f"CREATE {'UNIQUE ' if index.unique else ''}INDEX {index.name} ON {table.name} ({', '.join(index.columns)})"
        + (f" WHERE {conditions}" if conditions else "")
    )


def _spelt_out(table: Table, condition: Condition) -> str:
    column, test, value = condition
    if test == "in":
        value = f"({', '.join(literal(item) for item in value)})"
    elif value is not None:
        value = literal(value)
    return condition_of((column, test, value), table, ())
