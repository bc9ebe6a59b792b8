"""Edits TOML files of other programs as text: comments, order and spacing of the rest stay.

For whole tables with a header of their own and single keys in them; whatever is written in another way (dotted keys,
inline tables) is refused rather than guessed at. Every change is checked by parsing what came of it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from reasoningbank.core.errors import InvalidInput

_HEADER = re.compile(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?$")
_LONG_STRINGS = ('"""', "'''")
_CANNOT = "it is laid out in a way that cannot be changed safely"


def parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"it is not valid TOML: {error}") from error


def with_table(text: str, name: Sequence[str], values: Mapping[str, object]) -> str:
    """The table `name` holding exactly `values` besides tables of its own, at the end when it is new."""
    target = deepcopy(parse(text))
    holder = target
    for part in name[:-1]:
        holder = holder.setdefault(part, {})
    table = holder.get(name[-1])
    is_new = table is None
    holder[name[-1]] = {**{key: value for key, value in (table or {}).items() if isinstance(value, dict)}, **values}
    line = _newline(text)
    block = line.join([f"[{'.'.join(name)}]", *(f"{key} = {_format(value)}" for key, value in values.items())])
    if is_new:
        # An empty line stands before another table.
        before = f"{text}{'' if text.endswith(chr(10)) else line}{line}" if text else ""
        new_text = f"{before}{block}{line}"
    else:
        start, end = _span(text, name)
        new_text = f"{text[:start]}{block}{line}{text[end:]}"
    return _validate(new_text, target)


def without_table(text: str, name: Sequence[str]) -> str:
    target = deepcopy(parse(text))
    holder = target
    for part in name[:-1]:
        holder = holder[part]
    del holder[name[-1]]
    start, end = _span(text, name)
    # The empty line before the last table came with it.
    before = text[:start] if text[end:].strip() else re.sub(r"(\r?\n)\r?\n\Z", r"\1", text[:start])
    new_text = before + text[end:]
    remaining = parse(new_text)
    if name[0] not in remaining and not target.get(name[0], True):
        del target[name[0]]
    return _validate(new_text, target)


def with_key(text: str, table: str, key: str, value: object) -> str:
    """One key of a top-level table, at the end of the table when it is new."""
    there = parse(text).get(table)
    if there is None:
        return with_table(text, [table], {key: value})
    target = deepcopy(parse(text))
    if not isinstance(target[table], dict):
        raise InvalidInput(f"{table} is not a table")
    target[table][key] = value
    start, end = _span(text, [table])
    body = text[start:end]
    assignment = f"{key} = {_format(value)}"
    if key in there:
        body = re.sub(
            rf"(?m)^(\s*){re.escape(key)}\s*=\s*[^\r\n#]*?(?=[ \t]*(?:#|\r?$))", rf"\g<1>{assignment}", body, count=1
        )
    else:
        head = body.rstrip()
        body = f"{head}{_newline(text)}{assignment}{body[len(head) :] or _newline(text)}"
    return _validate(text[:start] + body + text[end:], target)


def _span(text: str, name: Sequence[str]) -> tuple[int, int]:
    """From the header of a table to the next header, or the comment lines right above that."""
    start: int | None = None
    position = 0
    open_string: str | None = None
    loose = 0
    """Where the blank and comment lines begin that stand right before the next header."""
    for line in text.splitlines(keepends=True):
        inside = open_string is not None
        open_string = _still_open(line, open_string)
        header = None if inside else _HEADER.match(line)
        if header is not None:
            if start is not None:
                return start, loose
            if _parts(header[1]) == list(name):
                start = position
        position += len(line)
        if inside or (line.strip() and not line.lstrip().startswith("#")):
            loose = position
    if start is None:
        raise InvalidInput(_CANNOT)
    return start, position


def _still_open(line: str, open_string: str | None) -> str | None:
    if open_string is not None:
        return None if open_string in line else open_string
    for quotes in _LONG_STRINGS:
        if line.count(quotes) % 2:
            return quotes
    return None


def _parts(header: str) -> list[str]:
    return [part.strip().strip("\"'") for part in header.split(".")]


def _format(value: object) -> str:
    # What JSON says of a string, a number, a boolean and a list of them is TOML too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _validate(new_text: str, target: Mapping[str, Any]) -> str:
    try:
        same = tomllib.loads(new_text) == target
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise InvalidInput(_CANNOT)
    return new_text


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
