"""Parses lists in a tool's result: names, with what stands beside each.

Reads lists and objects (JSON, or as Python prints them), lines, tables and definitions, by their shape alone: whether a
list is of things that exist or of values that were asked for is decided by whoever knows the action.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.learn.offline.words import LONGEST_NAME_CHARS, is_name, is_prose, one_line

LONGEST_RESULT_CHARS = 60_000
MOST_NAMES = 200
FEWEST_SHARE = 0.8
"""Share of the entries of a list that must look like names before it is taken for a list of names."""


_ROWS = ("[(", "[[", "[{", "((")
_NEVER_LAST = (".", ":", ";", "!", "?", ",")
"""No name ends so; a sentence does, and so does the heading of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    names: tuple[str, ...]
    width: int = 1
    """How many things stand in a row; more than one when the names are described."""
    fields: bool = False
    """The names are those of an object's own fields."""
    details: Mapping[str, str]
    """A short value beside a name, where there is one."""
    of: str | None = None
    """The thing that the names belong to, when the result itself says so."""


def listings_of(result: str) -> list[Listing]:
    """Listings in a result, several where it defines several things; empty when it lists nothing."""
    text = result.strip()
    if not text or len(text) > LONGEST_RESULT_CHARS:
        return []
    if text[0] in "[({":
        value = _literal(text)
        return [] if value is None else _defined_in(value) or _of_value(value)
    definitions = _definitions(text)
    if definitions:
        return definitions
    for reader in _LINE_READERS:
        listings = reader(text.splitlines())
        if listings:
            return listings
    return []


def gives_rows(result: str) -> bool:
    """True if a result is data, as a query gets it back, and no words about one."""
    text = result.strip()
    if not text or len(text) > LONGEST_RESULT_CHARS:
        return False
    if text[0] in "[({":
        # A driver prints some values (dates, decimals) in words that only it can read.
        return bool(_literal(text)) or text.startswith(_ROWS)
    return not any(map(is_prose, text.splitlines()[:5]))


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


# ---------------------------------------------------------------- lists and objects


def _of_value(value: Any) -> list[Listing]:
    if isinstance(value, dict):
        return _of_object(value)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not value:
        return []
    if all(isinstance(row, dict) for row in value):
        return _of_object(value[0])
    if all(isinstance(row, str) for row in value):
        return _parse_named_rows([(row,) for row in value])
    if all(isinstance(row, Sequence) and not isinstance(row, str | bytes) and row for row in value):
        return _parse_named_rows([tuple(row) for row in value])
    return []


def _defined_in(value: Any) -> list[Listing]:
    """Definitions in the cells of a few rows, where a definition is what was asked for."""
    if not isinstance(value, list | tuple) or len(value) > MOST_NAMES:
        return []
    cells = [cell for row in value for cell in (row if isinstance(row, list | tuple) else (row,))]
    return [listing for cell in cells if isinstance(cell, str) and "(" in cell for listing in _definitions(cell)]


def _of_object(value: Mapping[Any, Any]) -> list[Listing]:
    names = [
        key
        for key in value
        if isinstance(key, str)
        and 0 < len(key) <= LONGEST_NAME_CHARS
        and key.isprintable()
        # What a list of names is written with.
        and "," not in key
        and ": " not in key
    ][:MOST_NAMES]
    if not names:
        return []
    details = {name: _short(value[name]) for name in names if not isinstance(value[name], dict | list)}
    return [Listing(names=tuple(names), fields=True, details={n: d for n, d in details.items() if d})]


def _parse_named_rows(rows: Sequence[tuple[Any, ...]]) -> list[Listing]:
    """Rows of equal width that begin with different names, after a number of the row or what all have in common; or
    rows of things and their parts.
    """
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        return []
    rows = _without_row_numbers(rows)
    if len(rows) > 1 and len(rows[0]) > 1 and len({_plain(row[0]) for row in rows}) == 1 and _plain(rows[0][0]):
        rows = [row[1:] for row in rows]
    firsts = [_plain(row[0]) for row in rows]
    if sum(is_name(first) and not first.endswith(_NEVER_LAST) for first in firsts) < FEWEST_SHARE * len(firsts):
        return []
    if len(set(firsts)) < len(firsts):
        return _parse_grouped_rows(rows)
    details = {first: _short(row[1]) for first, row in zip(firsts, rows, strict=True) if len(row) > 1}
    return [Listing(names=tuple(firsts[:MOST_NAMES]), width=width, details={n: d for n, d in details.items() if d})]


def _without_row_numbers(rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """Rows without a first column that only counts them, from 0 or 1 on."""
    numbers = [str(row[0]) for row in rows]
    for first in (0, 1):
        if len(rows[0]) > 1 and numbers == [str(number) for number in range(first, first + len(rows))]:
            return [row[1:] for row in rows]
    return rows


def _parse_grouped_rows(rows: Sequence[tuple[Any, ...]]) -> list[Listing]:
    """`(thing, part, …)`: the rows of each thing stand together, and its parts are different names."""
    groups: dict[str, list[str]] = {}
    last = None
    for row in rows:
        thing, part = _plain(row[0]), _plain(row[1]) if len(row) > 1 else ""
        if not is_name(part) or (thing in groups and thing != last) or part in groups.get(thing, ()):
            return []
        groups.setdefault(thing, []).append(part)
        last = thing
    return [
        Listing(names=tuple(parts[:MOST_NAMES]), width=len(rows[0]), details={}, of=thing)
        for thing, parts in groups.items()
    ]


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _short(value: Any) -> str:
    text = one_line(_plain(value) if isinstance(value, str | bytes) else str(value))
    return text if len(text) <= 40 and value is not None else ""


# ---------------------------------------------------------------- definitions: NAME ( part type, part type … )

_DEFINITION = re.compile(r"(?m)^\s*(?:[A-Za-z]+\s+){1,6}[`\"\[]?([\w.]+)[`\"\]]?\s*\(\s*\n?((?:[^()]|\([^()]*\))+)\)")
_PART = re.compile(r"\s*[`\"\[]?([A-Za-z_]\w*)[`\"\]]?\s+[A-Za-z]")


def _definitions(text: str) -> list[Listing]:
    """`CREATE TABLE t (a int, b text)` and what else is written that way; a part that begins in capitals and is
    followed by another such word (PRIMARY KEY, FOREIGN KEY) is a rule, not a name.
    """
    listings = []
    for match in _DEFINITION.finditer(text) if "(" in text else ():
        parts = [_PART.match(part) for part in re.split(r",(?![^(]*\))", match.group(2))]
        rule = re.compile(r"\s*[A-Z]+ (KEY|INDEX)\b|\s*(CONSTRAINT|UNIQUE|CHECK|KEY)\b")
        part_names = dict.fromkeys(m.group(1) for m in parts if m is not None and not rule.match(m.string))
        names = list(part_names)[:MOST_NAMES]
        if len(names) >= 2:
            listings.append(
                Listing(names=tuple(names), width=2, details={}, of=match.group(1).rsplit(".", maxsplit=1)[-1])
            )
    return listings


# ---------------------------------------------------------------- lines

_FLAG = re.compile(r"\s{0,12}(-{1,2}[A-Za-z][\w-]*)(?:[, ]+(--[A-Za-z][\w-]*))?(?:[ =,]|$)")
_PAIR = re.compile(r"\s{0,4}([A-Za-z][\w .-]{0,40}?)\s*[:=]\s+(\S.*)")
_LONG_LISTING = re.compile(
    r"[-dlbcps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+[\d,.]+[KMGT]?\s+\S+\s+\S+\s+\S+\s+(\S.*)"
)
_RULER = re.compile(r"[\s|+=\-:]{3,}")
_GAP = re.compile(r"\s{2,}")
_FEWEST_CELLS = 3
_IDENTIFIER = re.compile(r"[_/\d~]|\w\.\w|[a-z][A-Z]|^\.\w")
FEWEST_IDENTIFIERS = 0.5
"""Share of the words of a line that must be written as no sentence writes them before the line is a list."""


def _flags(lines: Sequence[str]) -> list[Listing]:
    flags: dict[str, str] = {}
    for line in lines:
        match = _FLAG.match(line)
        if match:
            flags[match.group(2) or match.group(1)] = ""
    return [Listing(names=tuple(flags)[:MOST_NAMES], width=2, details={})] if len(flags) >= 3 else []


def _long_listing(lines: Sequence[str]) -> list[Listing]:
    matches = [_LONG_LISTING.fullmatch(line.rstrip()) for line in lines]
    names = [m.group(1).split(" -> ")[0] for m in matches if m]
    names = [name for name in names if name not in (".", "..")]
    return [Listing(names=tuple(names[:MOST_NAMES]), details={})] if names and len(names) >= len(lines) - 3 else []


def _table(lines: Sequence[str]) -> list[Listing]:
    """A drawn table: cells between bars or under a ruler; its first column names the rows. Around it may stand a title
    and how many rows there are.
    """
    text_lines = [line for line in lines if line.strip()]
    rulers = [number for number, line in enumerate(text_lines) if _RULER.fullmatch(line)]
    if not rulers or len(text_lines) < 3:
        return []
    rows = [line for number, line in enumerate(text_lines) if number not in rulers]
    if sum("|" in row for row in rows) < len(rows) - 2:
        return []
    cells = [[cell.strip() for cell in row.strip().removeprefix("|").split("|")] for row in rows if "|" in row]
    if len(cells) < 2:
        return []
    width = len(cells[0])
    body = [tuple(row[:width]) for row in cells[1:] if len(row) >= width]
    return _parse_named_rows(body) if body else []


def _parse_separated_rows(lines: Sequence[str]) -> list[Listing]:
    """Cells between bars or tabs, without a drawing around them: at least three in a row, as many in each."""
    rows = [line.rstrip() for line in lines if line.strip()]
    for mark in "|\t":
        if rows[0].count(mark) + 1 < _FEWEST_CELLS:
            continue
        cells = [tuple(cell.strip() for cell in row.split(mark)) for row in rows]
        if all(len(row) == len(cells[0]) for row in cells):
            return _parse_named_rows(cells)
    return []


def _pairs(lines: Sequence[str]) -> list[Listing]:
    matches = [_PAIR.fullmatch(line.rstrip()) for line in lines if line.strip()]
    details = {m.group(1).strip(): _short(m.group(2)) for m in matches if m}
    if min(len(details), sum(map(bool, details.values()))) < max(3, FEWEST_SHARE * len(matches)):
        # Too few, or what stands beside the names is told at length: prose with headings.
        return []
    return [Listing(names=tuple(details)[:MOST_NAMES], fields=True, details={n: d for n, d in details.items() if d})]


def _plain_names(lines: Sequence[str]) -> list[Listing]:
    rows = [line.strip() for line in lines if line.strip()]
    if len(rows) == 1:
        rows = _names_in_line(rows[0])
    elif any(_GAP.search(row) for row in rows):
        # Names in columns, as programs print them on a terminal.
        rows = [cell for row in rows for cell in _GAP.split(row)]
    if len(rows) < 2:
        return []
    return _parse_named_rows([(row,) for row in dict.fromkeys(rows)])


def _names_in_line(line: str) -> list[str]:
    """Names in a single line: between wide gaps, between commas, or between spaces where most are written as no word
    of a sentence is. Nothing when it reads as a sentence, or when it might.
    """
    if line.endswith((".", "!", "?", ":")):
        return []
    if _GAP.search(line):
        cells = _GAP.split(line)
    elif "," in line:
        cells = [cell.strip() for cell in line.split(",") if cell.strip()]
        if len(cells) < _FEWEST_CELLS and not all(map(_is_identifier, cells)):
            return []
    else:
        cells = line.split()
        if sum(map(_is_identifier, cells)) < FEWEST_IDENTIFIERS * len(cells):
            return []
    return cells if len(set(cells)) == len(cells) and all(map(is_name, cells)) else []


def _is_identifier(text: str) -> bool:
    """True if it is written as names are and words are not: joined, numbered, with a path, an ending or a hump."""
    return is_name(text) and _IDENTIFIER.search(text) is not None


def _columns(lines: Sequence[str]) -> list[Listing]:
    """Columns that stand under a heading in capitals, as many tools print them."""
    heading = next((line for line in lines if line.strip()), "")
    if not heading.isupper():
        return []
    rows = [re.split(r"\s{2,}|\t", line.strip()) for line in lines if line.strip()]
    if len(rows) < 2 or len(rows[0]) < 2:
        return []
    width = len(rows[0])
    return (
        _parse_named_rows([tuple(row[:width]) for row in rows[1:] if len(row) >= width])
        if len(rows[1]) >= width
        else []
    )


_LINE_READERS: Iterable[Callable[[Sequence[str]], list[Listing]]] = (
    _long_listing,
    _flags,
    _table,
    _columns,
    _parse_separated_rows,
    _pairs,
    _plain_names,
)
