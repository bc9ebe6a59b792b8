"""Edits JSON files of other programs as text: what is not ours keeps every byte, comments included.

A parser with positions: it finds where each value of a text begins and ends. Comments and trailing commas, which some
programs allow, are read and kept. Every change is checked against the same change made to the parsed value, so that no
slip here reaches a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any, NamedTuple

from reasoningbank.core.errors import InvalidInput

Path = Sequence[str | int]
_GAP = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?")
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?[ \t]*(?:\r?\n)?[ \t]*")
_LINE_BEGUN = re.compile(r"\r?\n[ \t]*\Z|[ \t]+\Z")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_PLAIN = re.compile(r"[^\s,\]}/]+")
_MOST_DEPTH = 200
_DEFAULT_UNIT = "  "


class JsonNode(NamedTuple):
    start: int
    end: int
    value: Any
    keys: tuple[str, ...] | None
    """Keys of an object, in order; None for everything else."""
    starts: tuple[int, ...]
    """Where each member (with its key) or item begins."""
    children: tuple[JsonNode, ...]


class _Broken(Exception):
    def __init__(self, at: int, problem: str) -> None:
        super().__init__(problem)
        self.at = at


def parse(text: str) -> Any:
    return _root(text).value


def with_member(text: str, path: Sequence[str], value: object) -> str:
    """The object member at `path` set to `value`; objects on the way are made where they are missing."""
    node, depth = _nearest(text, path)
    target = holder = deepcopy(parse(text))
    for name in path[:-1]:
        holder = holder.setdefault(name, {})
    holder[path[-1]] = value
    if depth == len(path):
        new_text = text[: node.start] + _format(value, _indent(text, node.start), text) + text[node.end :]
    else:
        for name in reversed(path[depth + 1 :]):
            value = {name: value}
        new_text = _insert(text, node, f"{json.dumps(path[depth], ensure_ascii=False)}: ", value)
    return _validate(new_text, target)


def with_item(text: str, path: Sequence[str], value: object) -> str:
    """One more item at the end of the array at `path`, which is made where it is missing."""
    node, depth = _nearest(text, path)
    if depth < len(path):
        return with_member(text, path, [value])
    if node.keys is not None or not isinstance(node.value, list):
        raise InvalidInput(f"{'.'.join(path)} is not a list")
    target = deepcopy(parse(text))
    _at(target, path).append(value)
    return _validate(_insert(text, node, "", value), target)


def without(text: str, path: Path) -> str:
    """The same text without the member or item at `path`."""
    target = deepcopy(parse(text))
    del _at(target, path[:-1])[path[-1]]
    parent = _found(_root(text), path[:-1])
    index = parent.keys.index(str(path[-1])) if parent.keys is not None else int(path[-1])
    return _validate(_cut(text, parent, index), target)


def without_if_bare(text: str, path: Path) -> str:
    """Without the object or array at `path`, unless something is in it, be it a comment."""
    try:
        node = _found(_root(text), path)
    except (ValueError, IndexError):
        return text
    holds = node.children or not isinstance(node.value, dict | list) or text[node.start + 1 : node.end - 1].strip()
    return text if holds else without(text, path)


# ---------------------------------------------------------------- reading


def _root(text: str) -> JsonNode:
    try:
        return _whole(text)
    except _Broken as error:
        line = text.count("\n", 0, error.at) + 1
        column = error.at - (text.rfind("\n", 0, error.at) + 1) + 1
        raise InvalidInput(f"it is not valid JSON: {error} at line {line}, column {column}") from error


@lru_cache(maxsize=4)
def _whole(text: str) -> JsonNode:
    """Read once for all that one change asks of it; nobody may change what it holds."""
    at = _past(text, 0)
    if at == len(text):
        raise _Broken(at, "there is nothing in it")
    node = _value(text, at, 0)
    end = _past(text, node.end)
    if end != len(text):
        raise _Broken(end, "something follows the end")
    return node


def _value(text: str, at: int, depth: int) -> JsonNode:
    if depth > _MOST_DEPTH:
        raise _Broken(at, "it is nested too deeply")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, depth)
    match = _STRING.match(text, at) if opening == '"' else _PLAIN.match(text, at)
    if match is None:
        raise _Broken(at, "a value is missing or cut off")
    try:
        return JsonNode(at, match.end(), json.loads(match[0], strict=False), None, (), ())
    except ValueError:
        raise _Broken(at, f"{match[0][:20]!r} is no value") from None


def _container(text: str, at: int, depth: int) -> JsonNode:
    is_object = text[at] == "{"
    closing = "}" if is_object else "]"
    keys: list[str] = []
    starts: list[int] = []
    children: list[JsonNode] = []
    position = at + 1
    while True:
        position = _past(text, position)
        if text[position : position + 1] == closing:
            break
        starts.append(position)
        if is_object:
            key, position = _key(text, position)
            keys.append(key)
        child = _value(text, position, depth + 1)
        children.append(child)
        position = _past(text, child.end)
        if text[position : position + 1] == ",":
            position += 1
        elif text[position : position + 1] != closing:
            raise _Broken(position, f"a comma or {closing!r} is missing")
    value: Any = [child.value for child in children]
    if is_object:
        value = dict(zip(keys, value, strict=True))
        if len(value) != len(keys):
            raise _Broken(at, "an object names a key twice")
    return JsonNode(at, position + 1, value, tuple(keys) if is_object else None, tuple(starts), tuple(children))


def _key(text: str, at: int) -> tuple[str, int]:
    match = _STRING.match(text, at)
    if match is None:
        raise _Broken(at, "a key is missing")
    colon = _past(text, match.end())
    if text[colon : colon + 1] != ":":
        raise _Broken(colon, "a colon is missing")
    return json.loads(match[0], strict=False), _past(text, colon + 1)


def _nearest(text: str, path: Sequence[str]) -> tuple[JsonNode, int]:
    """The deepest node on the way that is there, and how much of the way that is."""
    node = _root(text)
    for depth, name in enumerate(path):
        if node.keys is None:
            where = ".".join(path[:depth]) or "the whole of it"
            raise InvalidInput(f"{where} is not an object")
        if name not in node.keys:
            return node, depth
        node = node.children[node.keys.index(name)]
    return node, len(path)


def _found(node: JsonNode, path: Path) -> JsonNode:
    for name in path:
        node = node.children[node.keys.index(str(name)) if node.keys is not None else int(name)]
    return node


def _at(value: Any, path: Path) -> Any:
    for name in path:
        value = value[name]
    return value


def _validate(new_text: str, target: Any) -> str:
    if parse(new_text) != target:
        raise InvalidInput("it is laid out in a way that cannot be changed safely")
    return new_text


# ---------------------------------------------------------------- changing


def _insert(text: str, node: JsonNode, label: str, value: object) -> str:
    close = node.end - 1
    if not node.children:
        indent = _indent(text, node.start)
        entry = label + _format(value, indent + _unit(text), text)
        inside, line = text[node.start + 1 : close].rstrip(), _newline(text)
        return f"{text[: node.start + 1]}{inside}{line}{indent}{_unit(text)}{entry}{line}{indent}{text[close:]}"
    last = node.children[-1].end
    comma = _comma_at(text[last:close])
    missing = "," if comma is None else ""
    last += 0 if comma is None else comma + 1
    if "\n" not in text[node.start : node.end]:
        return f"{text[:last]}{missing} {label}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
    indent = _indent(text, node.starts[0])
    entry = label + _format(value, indent, text)
    # A comment behind the last value stays with it.
    rest = _end_of(_SAME_LINE, text, last)
    return f"{text[:last]}{missing}{text[last:rest]}{_newline(text)}{indent}{entry}{text[rest:]}"


def _cut(text: str, node: JsonNode, index: int) -> str:
    start, end, close = node.starts[index], node.children[index].end, node.end - 1
    last = index == len(node.children) - 1
    comma = _comma_at(text[end : close if last else node.starts[index + 1]])
    end += 0 if comma is None else comma + 1
    if len(node.children) == 1:
        around = text[node.start + 1 : start] + text[end:close]
        return text[: node.start + 1] + (around if around.strip() else "") + text[close:]
    if not last:
        return text[:start] + text[_end_of(_REST_OF_LINE, text, end) :]
    before = node.children[index - 1].end
    between = text[before:start]
    comma = _comma_at(between)
    gap = between if comma is None else between[:comma] + between[comma + 1 :]
    return text[:before] + _LINE_BEGUN.sub("", gap) + text[end:]


def _past(text: str, at: int) -> int:
    """Behind the white space and the comments that begin here."""
    return _end_of(_GAP, text, at)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _comma_at(gap: str) -> int | None:
    """Where the comma stands between two values, comments left aside."""
    position = _past(gap, 0)
    return position if gap[position : position + 1] == "," else None


def _format(value: object, indent: str, text: str) -> str:
    if "\n" not in text.strip() and len(text.strip()) > len("{}"):
        return json.dumps(value, ensure_ascii=False)
    dump = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return dump.replace("\n", f"{_newline(text)}{indent}")


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at + 1]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    match = re.search(r"\n([ \t]+)[\"{\[]", text)
    return match[1] if match else _DEFAULT_UNIT


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
