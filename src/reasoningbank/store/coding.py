"""How each kind of record becomes a row of its table and a row becomes a record, with the hash of its contents.

One descriptor per kind serves writing, reading, hashing and verifying. Independent of back ends and transactions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import fields
from reasoningbank.core.record_kinds import RECORDS, RecordKind
from reasoningbank.core.types import Record
from reasoningbank.store.tables import table_named

R = TypeVar("R", bound=Record)

_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def _one_encoder() -> Callable[[Sequence[Any]], str]:
    """The encoder of `json` for lists, made once: it makes one for each call, which takes as long as the encoding."""
    plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    text: Any = getattr(json.encoder, "encode_basestring", None)
    if make is None or text is None:
        return plain.encode
    encode = make(None, plain.default, text, None, ":", ",", False, False, True)
    return lambda values: "".join(encode(values, 0))


_hash_json = _one_encoder()


_FEW_WORDS = 64


# The same few tags and parents come again and again.
@lru_cache(maxsize=1024)
def _words_to_json(words: tuple[str, ...]) -> str:
    return _to_json(words)


def _tuple_from_json(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text != "[]" else ()


def _mapping_from_json(text: str) -> dict[str, Any]:
    return json.loads(text) if text != "{}" else {}


_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "tags": lambda tags: (_words_to_json if len(tags) <= _FEW_WORDS else _to_json)(tags) if tags else "[]",
    "parents": lambda parents: _to_json(parents) if parents else "[]",
    "results": lambda results: _to_json(results) if results else "[]",
    "metadata": lambda metadata: _to_json(dict(metadata)) if metadata else "{}",
    "fields": lambda fields: _to_json(dict(fields)),
    "memories": lambda memories: _to_json(dict(memories)),
    "changes": lambda changes: _to_json(dict(changes)),
    "positive": int,
    "used": int,
    # SQLite keeps −0.0 as 0.0, so it must be hashed as that too.
    **dict.fromkeys(("initial_confidence", "created_at", "updated_at", "weight", "at", "started_at"), (0.0).__add__),
    **dict.fromkeys(("ended_at", "start_at", "end_at"), lambda at: None if at is None else at + 0.0),
}
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "tags": _tuple_from_json,
    "parents": _tuple_from_json,
    "results": _tuple_from_json,
    "metadata": _mapping_from_json,
    "fields": _mapping_from_json,
    "memories": _mapping_from_json,
    "changes": _mapping_from_json,
    "positive": bool,
    "used": bool,
}


def _content_hash(values: Sequence[Any]) -> bytes:
    return blake2b(_hash_json(values).encode(), digest_size=16).digest()


class RecordTable(Generic[R]):
    """`kind` is the record's class, `noun` its name in the feed and in exports, `table` where it lies.

    Columns that were added to a table in use are left out of the hash while they have the value of rows from before, so
    that the hashes of such rows stay true.
    """

    def __init__(self, entry: RecordKind) -> None:
        kind: Any = entry.record_type
        self.kind: type[R] = kind
        self.noun = entry.noun
        self.table = table_named(entry.table)
        self.earlier = table_named(entry.table_of_earlier) if entry.table_of_earlier else None
        """Table of earlier revisions, if it has any."""
        self.columns = tuple(f.name for f in fields(kind))
        self.row = (*self.columns, "hash")
        """The columns of a row, in their order."""
        decoders: dict[str, Callable[[Any], Any]] = {**_DECODERS, **entry.enums}
        self._setters = tuple(getattr(kind, column).__set__ for column in self.columns)
        self._values: Callable[[R], tuple[Any, ...]] = attrgetter(*self.columns)
        self._encoders = [(i, _ENCODERS[c]) for i, c in enumerate(self.columns) if c in _ENCODERS]
        self._decoders = [(i, decoders[c]) for i, c in enumerate(self.columns) if c in decoders]
        self._later = tuple(entry.later.values())
        self._first_later = len(self.columns) - len(self._later)

    def encode(self, record: R) -> tuple[Any, ...]:
        """The column values, the content hash last."""
        values = list(self._values(record))
        for position, encoder in self._encoders:
            values[position] = encoder(values[position])
        try:
            values.append(self._hash(values))
        except UnicodeEncodeError as error:
            raise InvalidInput(f"Half a surrogate pair is no text: {error}.") from error
        return tuple(values)

    def _hash(self, values: Sequence[Any]) -> bytes:
        end = len(values)
        while end > self._first_later and values[end - 1] == self._later[end - 1 - self._first_later]:
            end -= 1
        return _content_hash(values[:end])

    def decode(self, row: Sequence[Any]) -> R:
        values = list(row[:-1])
        for position, decoder in self._decoders:
            values[position] = decoder(values[position])
        # Straight into the slots: every field is there and in order, so there is nothing for `__init__` to find out.
        record = self.kind.__new__(self.kind)
        for put, value in zip(self._setters, values, strict=True):
            put(record, value)
        return record

    def intact(self, row: Sequence[Any]) -> bool:
        # A flipped bit can make text undecodable for JSON; that too is damage, not a crash.
        try:
            return bool(self._hash(row[:-1]) == row[-1])
        except (TypeError, ValueError):
            return False


@lru_cache(maxsize=1)
def record_tables() -> dict[type[Record], RecordTable[Any]]:
    return {table.kind: table for table in map(RecordTable[Any], RECORDS)}


def table_of(kind: type[R]) -> RecordTable[R]:
    return cast("RecordTable[R]", record_tables()[cast("type[Record]", kind)])
