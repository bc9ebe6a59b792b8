"""Writes a graph as GraphML, a line for each node and edge, for NetworkX, Gephi and yEd.

XML cannot hold most control characters. A text with one stands there twice: readable with U+FFFD in its place, and as
JSON from which it comes back as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from reasoningbank.exchange.graph_files.fields import (
    AS_JSON,
    EDGE_FIELDS,
    LIST_FIELDS,
    NODE_FIELDS,
    NUMBER_FIELDS,
    Entry,
    compact_json,
    fields_there,
)

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_UNUSABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = _IN_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def graphml_lines(nodes: Iterable[Entry], edges: Iterable[Entry]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<graphml xmlns="{NAMESPACE}">'
    yield from _keys("node", NODE_FIELDS)
    yield from _keys("edge", EDGE_FIELDS)
    yield '<graph id="memory" edgedefault="directed">'
    for node in nodes:
        yield f'<node id="{_attribute(node["id"])}">{_data("node", node, NODE_FIELDS)}</node>'
    for edge in edges:
        ends = "".join(f' {name}="{_attribute(edge[name])}"' for name in ("id", "source", "target"))
        yield f"<edge{ends}>{_data('edge', edge, EDGE_FIELDS)}</edge>"
    yield "</graph>"
    yield "</graphml>"


def _keys(element: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        kind = "double" if name in NUMBER_FIELDS else "string"
        yield f'<key id="{element}.{name}" for="{element}" attr.name="{name}" attr.type="{kind}"/>'
        if name not in NUMBER_FIELDS:
            exact = f"{name}{AS_JSON}"
            yield f'<key id="{element}.{exact}" for="{element}" attr.name="{exact}" attr.type="string"/>'


def _data(element: str, entry: Entry, names: tuple[str, ...]) -> str:
    parts = []
    for name, value in fields_there(entry, names):
        plain, exact = _forms(name, value)
        parts.append(f'<data key="{element}.{name}">{_escape(plain, _IN_TEXT)}</data>' if plain is not None else "")
        parts.append(f'<data key="{element}.{name}{AS_JSON}">{_escape(exact, _IN_TEXT)}</data>' if exact else "")
    return "".join(parts)


def _forms(name: str, value: Any) -> tuple[str | None, str]:
    """Text for a reader of XML, and the JSON of what that text would lose."""
    if isinstance(value, str):
        return value, json.dumps(value) if _UNUSABLE.search(value) else ""
    if name in LIST_FIELDS:
        text = compact_json(value)
        return text, json.dumps(value) if _UNUSABLE.search(text) else ""
    return (repr(value), "") if name in NUMBER_FIELDS else (None, json.dumps(value))


def _attribute(value: str) -> str:
    return _escape(value, _IN_ATTRIBUTE)


def _escape(text: str, table: dict[int, str]) -> str:
    return _UNUSABLE.sub("\ufffd", text).translate(table)
