"""Tables and columns that a SQL query names: what a query that worked has proved to be there.

Reads `SELECT` alone, and of it what cannot be mistaken: the tables after `FROM` and `JOIN`, columns with the name or
alias of their table before them, and bare ones where there is no other table that they could belong to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

LONGEST_QUERY_CHARS = 4_000
_SIGNS = frozenset("(),*=<>!+-/%|&.")
_QUERY = re.compile(r"\s*SELECT\b", re.IGNORECASE)
_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|(?P<value>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|\d+(?:\.\d+)?)"
    r"|(?P<name>(?:`[^`]+`|[A-Za-z_]\w*)(?:\s*\.\s*(?:`[^`]+`|[A-Za-z_]\w*|\*))*)|(?P<sign>[^\s\w])",
    re.DOTALL,
)
_RESERVED = frozenset({
    "all", "and", "any", "as", "asc", "between", "binary", "both", "by", "case", "collate", "cross", "current_date",
    "current_time", "current_timestamp", "desc", "distinct", "div", "else", "end", "escape", "except", "exists",
    "false", "fetch", "first", "following", "for", "from", "full", "group", "having", "ilike", "in", "inner",
    "intersect", "interval", "into", "is", "join", "last", "leading", "left", "like", "limit", "minus", "mod",
    "natural", "next", "not", "null", "nulls", "offset", "on", "only", "or", "order", "outer", "over", "partition",
    "preceding", "range", "regexp", "right", "rlike", "row", "rows", "select", "separator", "similar", "some",
    "straight_join", "then", "to", "top", "trailing", "true", "unbounded", "union", "unknown", "using", "when",
    "where", "window", "with", "xor",
})  # fmt: skip
_SET_OPERATORS = frozenset({"union", "intersect", "except", "minus"})
_ENDS_TABLES = frozenset({"where", "group", "having", "order", "limit", "window", "fetch", "for", "offset", "into"})
_UNITS = frozenset({
    "microsecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "epoch", "dow", "doy",
})  # fmt: skip
_CATALOGUES = frozenset({"information_schema", "pg_catalog", "performance_schema", "mysql", "sys"})
_CATALOGUE_TABLE = re.compile(r"(?:pg|sqlite|pragma)_\w+|(?:all|user|dba)_(?:tables|tab_columns|objects)|dual")


@dataclass(slots=True)
class _Scope:
    """One `SELECT` with the tables that it is about."""

    within: _Scope | None
    tables: dict[str, str | None] = field(default_factory=dict)
    """Tables by alias and by name; None where a query stands in the place of one."""
    columns: list[tuple[str, str]] = field(default_factory=list)
    """Columns, each after the table or alias before its dot, or ""."""
    latest: str | None = None
    """The table that an alias would be for."""
    made: set[str] = field(default_factory=set)
    """Names that the query itself gives."""
    part: str = "columns"
    awaits: bool = False
    """A table must come next."""


def names_in_query(action: str) -> dict[str, tuple[str, ...]]:
    """Tables, each with those of its columns that the query uses; nothing for what is no single `SELECT`."""
    query = action.strip().rstrip(";").rstrip()
    if not _QUERY.match(query) or ";" in query or len(query) > LONGEST_QUERY_CHARS:
        return {}
    tokens = list(_tokens(query))
    if _rambles(tokens):
        return {}
    scopes = _scopes(tokens)
    tables: dict[str, dict[str, str]] = {}
    for scope in scopes:
        for table in filter(None, scope.tables.values()):
            tables.setdefault(table, {})
    for scope in scopes:
        for before, column in scope.columns:
            owner = _owner(scope, before)
            if owner and (before or column.casefold() not in scope.made):
                tables[owner].setdefault(column.casefold(), column)
    return {table: tuple(columns.values()) for table, columns in tables.items()}


def _tokens(query: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(query):
        if match.lastgroup:
            yield match.lastgroup, match.group()


def _rambles(tokens: Sequence[tuple[str, str]]) -> bool:
    """True if words stand in it that are no query: three names in a row, or signs that a query has no use for."""
    run = 0
    for kind, text in tokens:
        run = run + 1 if kind == "name" and text.casefold() not in _RESERVED else 0
        if run > 2 or (kind == "sign" and text not in _SIGNS):
            return True
    return False


def _scopes(tokens: Sequence[tuple[str, str]]) -> list[_Scope]:
    """Every `SELECT` in it, with what it names."""
    scopes: list[_Scope] = []
    around: list[_Scope | None] = []
    """The scope that each open bracket stands in, if a query begins there; else None."""
    now = _Scope(within=None)
    last = ("", "")
    for at, (kind, text) in enumerate(tokens):
        after = tokens[at + 1] if at + 1 < len(tokens) else ("", "")
        if text == "(":
            begins = after[1].casefold() == "select"
            around.append(now if begins else None)
            if begins:
                if now.awaits:
                    now.awaits, now.part = False, "derived"
                now = _Scope(within=now)
        elif text == ")" and around:
            outer = around.pop()
            if outer is not None:
                scopes.append(now)
                now = outer
        elif kind == "name" and text.casefold() in _SET_OPERATORS:
            scopes.append(now)
            now = _Scope(within=now.within)
        elif kind == "name":
            _take(now, text, last, after, is_inside=bool(around) and around[-1] is None)
        elif text == "," and now.part == "tables" and not (around and around[-1] is None):
            now.awaits = True
        last = (kind, text)
    return [*scopes, now]


def _take(scope: _Scope, text: str, last: tuple[str, str], after: tuple[str, str], *, is_inside: bool) -> None:
    """A name of a query: a word of the language, a table, an alias or a column."""
    word, before = text.casefold(), last[1].casefold()
    if word in _RESERVED:
        if word in ("from", "join", "straight_join") and not is_inside:
            scope.part, scope.awaits = "tables", True
        elif word in _ENDS_TABLES and not is_inside:
            scope.part, scope.awaits = "columns", False
        return
    parts = [part.strip().strip("`") for part in text.split(".")]
    is_alias = before in ("as", ")") or (last[0] in ("name", "value") and before not in _RESERVED)
    if scope.awaits:
        scope.awaits = False
        is_catalogue = parts[0].casefold() in _CATALOGUES or _CATALOGUE_TABLE.fullmatch(parts[-1].casefold())
        scope.latest = None if is_catalogue or after[1] == "(" else parts[-1]
        scope.tables[parts[-1].casefold()] = scope.latest
    elif is_alias and scope.part != "columns":
        scope.tables[word] = scope.latest if scope.part == "tables" else None
        scope.part = "tables"
    elif is_alias:
        scope.made.add(word)
    elif after[1] != "(" and after[0] != "value" and parts[-1] != "*":
        # What a function counts in is no column: `EXTRACT(YEAR FROM …)`, `TIMESTAMPDIFF(DAY, …)`.
        is_unit = word in _UNITS and before == "(" and after[1].casefold() in ("from", ",")
        if is_unit or before == "using":
            return
        scope.columns.append((parts[-2].casefold() if len(parts) > 1 else "", parts[-1]))


def _owner(scope: _Scope, before: str) -> str | None:
    """The table that a column belongs to, as far as the query tells."""
    if before:
        around: _Scope | None = scope
        while around is not None:
            if before in around.tables:
                return around.tables[before]
            around = around.within
        return None
    tables = list(dict.fromkeys(scope.tables.values()))
    return tables[0] if scope.within is None and len(tables) == 1 else None
