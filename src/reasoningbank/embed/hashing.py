"""The n-gram hash embedder: the vectors of claude-flow's `generateHashEmbedding`, to the last bit.

Reproduces the vectors of a JavaScript program: which characters are words and spaces there, the 31-polynomial over
UTF-16 code units in 32 bits, the three seeds and their weights. Loads nothing heavier than numpy.

One departure: for a text without words the original hashes the empty string; here it is the zero row, which
is similar to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import EmbedderIdentity

WEIGHTS: Final = {1: 1.0, 2: 0.5, 3: 0.25}
"""Seed of the hash → what it adds to its bucket."""

_LONGEST_NGRAM: Final = 3
_BASE: Final = 31
_INVERSE: Final = pow(_BASE, -1, 1 << 32)
_SPACE: Final = ord(" ")
_NEWLINE: Final = ord("\n")
_UNDERSCORE: Final = ord("_")

# JavaScript's \s beyond ASCII. Python's own str.split would also cut at U+001C..U+001F and U+0085.
_WIDE_SPACES: Final = pattern("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]")
_NEITHER_WORD_NOR_SPACE: Final = bytes(
    code for code in range(128) if not (chr(code).isalnum() or chr(code) in "_ \t\n\v\f\r")
)

# What is summed at once: small enough for the buckets of a chunk to stay in the processor's cache.
_CHUNK_BUCKETS: Final = 1 << 17
_CHUNK_BYTES: Final = 1 << 16


def _powers(base: int, count: int) -> NDArray[np.uint32]:
    factors = np.full(count, base, dtype=np.uint32)
    factors[0] = 1
    return np.multiply.accumulate(factors, dtype=np.uint32)


def words_of(text: str) -> list[bytes]:
    """The words left by JavaScript's toLowerCase, its removal of non-word characters and its split: all ASCII."""
    lower = text.lower()
    if not lower.isascii():
        lower = _WIDE_SPACES.sub(" ", lower)
    return lower.encode("ascii", "ignore").translate(None, _NEITHER_WORD_NOR_SPACE).split()


class HashEmbedder:
    """Lexical vectors: no model, no network, the same on every machine."""

    costly = False

    def __init__(self, dimension: int = 1024) -> None:
        if dimension < 1:
            raise InvalidInput(f"The dimension of the hash embedder must be at least 1, not {dimension}.")
        self.identity = EmbedderIdentity(name="hash", model="ngram-1-2-3", dimension=dimension, revision="1")
        self._powers = _powers(_BASE, _CHUNK_BYTES * 2)
        self._inverses = _powers(_INVERSE, _CHUNK_BYTES * 2)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        for first, lines in self._chunks(texts):
            self._fill(rows[first : first + len(lines)], lines)
        return rows

    def _chunks(self, texts: Sequence[str]) -> Iterator[tuple[int, list[bytes]]]:
        most_rows = max(1, _CHUNK_BUCKETS // self.identity.dimension)
        first, lines, size = 0, list[bytes](), 0
        for number, text in enumerate(texts):
            line = b" ".join(words_of(text))
            if lines and (len(lines) == most_rows or size + len(line) > _CHUNK_BYTES):
                yield first, lines
                first, lines, size = number, [], 0
            lines.append(line)
            size += len(line) + 1
        if lines:
            yield first, lines

    def _fill(self, rows: NDArray[np.float32], lines: list[bytes]) -> None:
        text = b"\n".join(lines) + b"\n"
        if len(text) == len(lines):
            return
        dimension = self.identity.dimension
        buckets, weights = self._features(np.frombuffer(text, dtype=np.uint8))
        sums = np.bincount(buckets, weights, len(lines) * dimension).reshape(len(lines), dimension)
        norms = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        norms[norms == 0.0] = 1.0
        np.divide(sums, norms[:, None], out=rows, casting="same_kind")

    def _features(self, codes: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The bucket in the flattened rows, and the weight, of each n-gram under each seed.

        An n-gram joined by "_" is a stretch of the text with its spaces read as "_". 31 is odd, so it has an
        inverse modulo 2**32, and the polynomial of any stretch is a difference of two prefix sums.
        """
        powers, inverses = self._tables(len(codes) + 1)
        at_newline = codes == _NEWLINE
        ends = np.flatnonzero(at_newline | (codes == _SPACE))
        starts = np.empty_like(ends)
        starts[0] = 0
        starts[1:] = ends[:-1] + 1
        row_of_word = np.cumsum(at_newline)[starts] - at_newline[starts]

        letters = np.where(codes == _SPACE, np.uint8(_UNDERSCORE), codes)
        prefix = np.zeros(len(codes) + 1, dtype=np.uint32)
        np.cumsum(letters * inverses[: len(codes)], dtype=np.uint32, out=prefix[1:])

        # A line without words is one empty word, which has no n-grams.
        mask = ends > starts
        starts, ends, row_of_word = starts[mask], ends[mask], row_of_word[mask]
        polynomials, lengths, owners = [], [], []
        for size in range(1, min(_LONGEST_NGRAM, len(starts)) + 1):
            first, last = starts[: len(starts) - size + 1], ends[size - 1 :]
            owner = row_of_word[: len(first)]
            if size > 1:
                whole = owner == row_of_word[size - 1 :]
                first, last, owner = first[whole], last[whole], owner[whole]
            polynomials.append((prefix[last] - prefix[first]) * powers[last - 1])
            lengths.append(last - first)
            owners.append(owner)
        polynomial = np.concatenate(polynomials)
        power = powers[np.concatenate(lengths)]
        offset = np.concatenate(owners) * self.identity.dimension

        count = len(polynomial)
        buckets = np.empty(count * len(WEIGHTS), dtype=np.int64)
        weights = np.empty(count * len(WEIGHTS), dtype=np.float64)
        for place, (seed, weight) in enumerate(WEIGHTS.items()):
            part = slice(place * count, (place + 1) * count)
            hashes = polynomial + power * np.uint32(seed)
            # |x| of a signed 32-bit number, as unsigned: JavaScript's Math.abs(-2**31) is 2**31.
            np.minimum(hashes, -hashes, out=hashes)
            np.add(hashes % self.identity.dimension, offset, out=buckets[part])
            weights[part] = weight
        return buckets, weights

    def _tables(self, count: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        if count <= len(self._powers):
            return self._powers, self._inverses
        # One text longer than a chunk: its tables are not kept.
        return _powers(_BASE, count), _powers(_INVERSE, count)
