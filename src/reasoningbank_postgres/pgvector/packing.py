"""Packs what the tables keep as bytes: postings as 64-bit numbers, terms of a row, halves of precision.

posting   row number (40 bits) | length of the row (16) | weight of the term (8)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.lexical.entries import ENTRY
from reasoningbank.ports import WordRow

PIECE_ROWS = 8192
"""Rows to a piece of a term's postings: what is rewritten when one of them changes."""
LONGEST = 0xFFFF
Floats = NDArray[np.float32]
_ROW, _LENGTH, _WEIGHT = np.uint64(24), np.uint64(8), np.uint64(255)
_HEADER = struct.Struct(">HH")


class PostingList:
    """Which rows have a term, how much it weighs there and how long they are."""

    def __init__(self, entries: NDArray[np.uint64]) -> None:
        self.nums = (entries >> _ROW).astype(np.int64)
        self.lengths = ((entries >> _LENGTH) & np.uint64(LONGEST)).astype(np.float32)
        self.weights = (entries & _WEIGHT).astype(np.float32)


def unpack_postings(pieces: Sequence[bytes]) -> PostingList:
    return PostingList(np.frombuffer(b"".join(pieces), "<u8"))


def without_rows(entries: bytes, nums: NDArray[np.uint64]) -> bytes:
    postings = np.frombuffer(entries, "<u8")
    return postings[~np.isin(postings >> _ROW, nums)].tobytes()


def pack_terms(row: WordRow) -> bytes:
    entries = np.empty(len(row.terms), ENTRY)
    entries["term"], entries["weight"] = list(row.terms.keys()), list(row.terms.values())
    return entries.tobytes()


TERM_ENTRY_BYTES = ENTRY.itemsize


def unpack_terms(terms: bytes) -> NDArray[Any]:
    return np.frombuffer(terms, ENTRY)


def number_list(nums: Iterable[int]) -> str:
    """As PostgreSQL reads an array: to pack a list number by number takes a hundred times as long."""
    return f"{{{','.join(map(str, nums))}}}"


def vector_text(vector: Floats) -> str:
    """As pgvector reads it."""
    return f"[{','.join(map(str, np.asarray(vector, np.float16).tolist()))}]"


def read_halfvec(raw: bytes) -> Floats:
    """As pgvector sends it in binary: the dimension, nothing, and big-endian numbers of 16 bits."""
    return np.frombuffer(raw, ">f2", offset=_HEADER.size).astype(np.float32)


class VectorList:
    """Vectors that are sent to the server as one array of halfvec, in binary."""

    def __init__(self, vectors: Sequence[Floats]) -> None:
        lengths = [float(np.linalg.norm(vector)) for vector in vectors]
        self.rows = [(vector / length).astype(">f2") for vector, length in zip(vectors, lengths, strict=True)]

    def binary(self, element_oid: int) -> bytes:
        head = struct.pack(">iiIii", 1, 0, element_oid, len(self.rows), 1)
        sizes = [struct.pack(">i", _HEADER.size + 2 * len(row)) + _HEADER.pack(len(row), 0) for row in self.rows]
        return head + b"".join([size + row.tobytes() for size, row in zip(sizes, self.rows, strict=True)])
