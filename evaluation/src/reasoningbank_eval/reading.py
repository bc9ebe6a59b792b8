"""Files to rows, with an error that names the file and the line when one is broken.

JSON, JSON Lines and separated values, whatever the rows mean.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reasoningbank import InvalidInput

LARGEST_FIELD_CHARS = 10_000_000


class _Tabs(csv.excel_tab):
    # Between tabs a quotation mark is a character like any other.
    quoting = csv.QUOTE_NONE


def json_of(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise broken(path, f"not JSON: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object)."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise broken(path, f"not JSON: {error}", number) from error
                if not isinstance(value, dict):
                    raise broken(path, "not an object", number)
                yield number, value
    except UnicodeDecodeError as error:
        raise broken(path, f"not UTF-8: {error}") from error


def table(path: Path, *, tabs: bool = False) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, fields by the names of the first row, lower case)."""
    csv.field_size_limit(LARGEST_FIELD_CHARS)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, dialect=_Tabs if tabs else csv.excel)
            names = [name.strip().lower() for name in next(reader, [])]
            for row in reader:
                if not row:
                    continue
                if len(row) < len(names):
                    raise broken(path, f"{len(row)} fields where {len(names)} are named", reader.line_num)
                yield reader.line_num, dict(zip(names, row, strict=False))
    except UnicodeDecodeError as error:
        raise broken(path, f"not UTF-8: {error}") from error
    except csv.Error as error:
        raise broken(path, str(error)) from error


def columns(path: Path) -> list[str]:
    """The names in the first row of a table, lower case."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [name.strip().lower() for name in next(csv.reader(file), [])]
    except (UnicodeDecodeError, csv.Error) as error:
        raise broken(path, str(error)) from error


def text_in(row: dict[str, Any], name: str, path: Path, line: int | None = None) -> str:
    value = row.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise broken(path, f"{name!r} must be a text, not {value!r:.60}", line)
    return value


def broken(path: Path, problem: str, line: int | None = None) -> InvalidInput:
    where = str(path) if line is None else f"{path}, line {line:,}"
    return InvalidInput(f"{where}: {problem}. Repair the file, or take it out of the data folder.")
