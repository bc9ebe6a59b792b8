"""Reads GraphML as NetworkX, Gephi, yEd, Neo4j and we write it, as a stream.

A document type is refused: no graph needs one, and entities that multiply or fetch files hide in it. Keys that are used
but not declared, values that are not of their type and what is no graph of nodes and edges are told with their line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NoReturn
from xml.parsers import expat

from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.graph_files.entries import FileEdge, FileNode
from reasoningbank.files import open_plain

_PIECE_BYTES = 1 << 16
_MOST_VALUE_CHARS = 2_000_000
_DEEPEST = 64
_NUMBERS = {"int": int, "long": int, "float": float, "double": float}
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphmlKey:
    element: str
    name: str
    type: str
    default: str | None = None


@dataclass(slots=True)
class _Element:
    """A node or an edge while it is being read."""

    tag: str
    line: int
    attributes: dict[str, str]
    values: dict[str, Any] = field(default_factory=dict)


def read_graphml(path: Path) -> Iterator[FileNode | FileEdge]:
    try:
        with open_plain(path) as file:
            yield from GraphmlReader().read(file)
    except OSError as error:
        raise ImportRejected(f"{path} cannot be read ({error.strerror}). Check its permissions.") from error


class GraphmlReader:
    def __init__(self) -> None:
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.EntityDeclHandler = self._refuse_doctype
        self._keys: dict[str, GraphmlKey] = {}
        self._path: list[str] = []
        self._element: _Element | None = None
        self._key = ""
        self._chars: list[str] = []
        self._size = 0
        self._done: list[FileNode | FileEdge] = []

    def read(self, file: BinaryIO) -> Iterator[FileNode | FileEdge]:
        try:
            while piece := file.read(_PIECE_BYTES):
                self._parser.Parse(piece, False)
                yield from self._done
                self._done.clear()
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise ImportRejected(
                f"line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})."
            ) from None
        yield from self._done

    def _refuse(self, why: str) -> NoReturn:
        raise ImportRejected(f"line {self._parser.CurrentLineNumber}: {why}")

    def _refuse_doctype(self, *_: Any) -> None:
        self._refuse("a document type with its entities is not read; a graph needs none: remove that declaration.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if not self._path and tag != "graphml":
            self._refuse(f"the document is <{tag}>, not <graphml>.")
        if len(self._path) >= _DEEPEST:
            self._refuse("nested too deeply.")
        self._path.append(tag)
        if tag == "key":
            self._declare(attributes)
        elif tag in ("node", "edge"):
            if self._element is not None:
                self._refuse("a graph within a node is not read: flatten it first.")
            self._element = _Element(tag, self._parser.CurrentLineNumber, attributes)
        elif tag == "hyperedge":
            self._refuse("a hyperedge joins more than two nodes; only edges are read.")
        elif tag in ("data", "default") and self._path[-2] in ("node", "edge", "key"):
            self._key = attributes.get("key", self._key)
            self._chars.clear()
            self._size = 0

    def _declare(self, attributes: dict[str, str]) -> None:
        key_id = self._key = attributes.get("id", "")
        if not key_id:
            self._refuse("a key without an id.")
        self._keys[key_id] = GraphmlKey(
            element=attributes.get("for", "all"),
            name=attributes.get("attr.name", key_id),
            type=attributes.get("attr.type", "string"),
        )

    def _text(self, text: str) -> None:
        if self._path[-1] in ("data", "default"):
            self._size += len(text)
            if self._size > _MOST_VALUE_CHARS:
                self._refuse(f"a value of more than {_MOST_VALUE_CHARS:,} characters.")
            self._chars.append(text)

    def _end(self, name: str) -> None:
        tag = self._path.pop()
        if tag == "default" and self._path[-1] == "key":
            key = self._keys[self._key]
            self._keys[self._key] = GraphmlKey(
                element=key.element, name=key.name, type=key.type, default="".join(self._chars)
            )
        elif tag == "data" and self._element is not None and self._path[-1] == self._element.tag:
            self._take_value("".join(self._chars))
        elif self._element is not None and tag == self._element.tag:
            self._finish(self._element)
            self._element = None
        del name

    def _take_value(self, text: str) -> None:
        key = self._keys.get(self._key)
        if key is None:
            self._refuse(f"data for the key {self._key!r}, which is not declared.")
        assert self._element is not None
        self._element.values[key.name] = self._value(key, text)

    def _value(self, key: GraphmlKey, text: str) -> Any:
        if key.type == "boolean":
            if text.strip().lower() not in _FLAGS:
                self._refuse(f"{key.name} must be true or false, not {text[:60]!r}.")
            return _FLAGS[text.strip().lower()]
        if key.type in _NUMBERS:
            try:
                return _NUMBERS[key.type](text)
            except ValueError:
                self._refuse(f"{key.name} must be a number ({key.type}), not {text[:60]!r}.")
        return text

    def _finish(self, element: _Element) -> None:
        values = element.values
        for key in self._keys.values():
            if key.default is not None and key.element in (element.tag, "all"):
                values.setdefault(key.name, self._value(key, key.default))
        where = f"line {element.line}"
        ref = element.attributes.get("id", "")
        if element.tag == "node":
            if not ref:
                self._refuse("a node without an id.")
            # Neo4j writes ":Event" or ":Person:Admin".
            text = str(values.pop("labels", "") or element.attributes.get("labels", ""))
            labels = tuple(label for label in text.split(":") if label)
            self._done.append(FileNode(where=where, ref=ref, labels=labels, properties=values))
            return
        for end in ("source", "target"):
            if not element.attributes.get(end):
                self._refuse(f"an edge without a {end}.")
        self._done.append(
            FileEdge(
                where=where,
                # NetworkX numbers parallel edges from 0 for each pair: those are no names.
                ref="" if ref.isdigit() else ref,
                type=str(values.pop("label", "") or element.attributes.get("label", "")),
                source=element.attributes["source"],
                target=element.attributes["target"],
                properties=values,
            )
        )
