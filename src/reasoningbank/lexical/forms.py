"""Likeness of a query and a memory in wording, order kept and parameters set aside.

The forms of a title and a description are packed into a row, and many rows are compared at once: the longest common
subsequence by bits, a machine word for each text. What the likeness is worth is decided elsewhere.
"""

from __future__ import annotations

from array import array
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.digest import blake2b
from reasoningbank.core.template import SENTENCE_ENDS, SLOT, pieces, word_of
from reasoningbank.core.text import LONGEST_TERM

WORDS = 32
"""Words of a text that are compared; tasks and titles are shorter."""
TEXTS = 2
"""Title and description."""
PACKED = np.dtype(f"V{2 * WORDS * TEXTS}")

_NOTHING, _SLOT = 0, 1
_END = -1
_MOST_REMEMBERED = 1 << 16
_PADDING = array("H", [_NOTHING]) * WORDS
_ALL = np.uint32(0xFFFFFFFF)
_codes_by_piece: dict[str, tuple[int, int]] = {}
_plain_words: dict[str, int] = {}
"""The codes of those pieces that are words wherever they stand."""

Codes = NDArray[np.uint16]


def pack(texts: list[tuple[str, str]]) -> NDArray[np.void]:
    """The column for titles and descriptions."""
    codes = array("H")
    for pair in texts:
        for text in pair:
            words = _codes(text)
            codes.extend(words)
            codes.extend(_PADDING[len(words) :])
    return np.frombuffer(codes, PACKED)


def likeness(query: str, rows: NDArray[np.void]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """For each row the better of its two texts: twice the words in common over the words of both, from 0 to 1, and
    whether both that text and the query have parameters. Two texts that share nothing but parameters are not alike.
    """
    query_codes = np.array(_codes(query), np.uint16)
    row_codes = rows.view(np.uint16).reshape(-1, WORDS)
    if not len(query_codes) or not len(row_codes):
        return np.zeros(len(rows), np.float32), np.zeros(len(rows), np.bool_)
    common = _in_common(query_codes, row_codes)
    lengths = np.maximum(np.bitwise_count(_bits(row_codes != _NOTHING)), 1)
    first, second = (2.0 * common / (len(query_codes) + lengths)).astype(np.float32).reshape(-1, TEXTS).T
    better = np.maximum(first, second)
    if not bool((query_codes == _SLOT).any()):
        return better, np.zeros(len(rows), np.bool_)
    open_first, open_second = (row_codes == _SLOT).any(axis=1).reshape(-1, TEXTS).T
    return better, np.where(second > first, open_second, open_first)


def _bits(flags: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """One machine word for the flags of each text."""
    return np.packbits(flags, axis=-1, bitorder="little").view(np.uint32)[..., 0]


def _in_common(query: Codes, rows: Codes) -> NDArray[np.uint8]:
    """The length of the longest common subsequence with each text, after Hyyrö (2004): one addition for a word.

    0 where only parameters are in common.
    """
    matches = _bits(rows[None] == query[:, None, None])
    has_word = matches[query != _SLOT].any(axis=0)
    free = np.full(len(rows), _ALL)
    used, rest = np.empty_like(free), np.empty_like(free)
    for row in matches:
        np.bitwise_and(free, row, out=used)
        np.subtract(free, used, out=rest)
        free += used
        free |= rest
    common: NDArray[np.uint8] = np.bitwise_count(~free) * has_word
    return common


def _codes(text: str) -> list[int]:
    codes: list[int] = []
    first = True
    read = pieces(text)
    # Plain words in a row need no step of our own; most texts are nothing else behind their first word.
    plain = list(map(_plain_words.get, read[1 : WORDS + 1], repeat(_NOTHING)))
    if read and _NOTHING not in plain and (code := _known_piece(read[0])[True]) > _SLOT:
        return [code, *plain][:WORDS]
    for piece in read:
        code = _known_piece(piece)[first]
        first = code == _END
        if code > _SLOT or (code == _SLOT and (not codes or codes[-1] != _SLOT)):
            codes.append(code)
    return codes[:WORDS]


def _known_piece(piece: str) -> tuple[int, int]:
    """The code of a piece within a sentence, and at its beginning."""
    return _codes_by_piece.get(piece) or _pack_piece(piece[:LONGEST_TERM])


def _pack_piece(piece: str) -> tuple[int, int]:
    if piece in SENTENCE_ENDS:
        codes = _END, _END
    else:
        inside = _code(word_of(piece, first=False))
        # Only a capital means something else at the beginning of a sentence.
        codes = inside, inside if piece.islower() else _code(word_of(piece, first=True))
    if len(_codes_by_piece) >= _MOST_REMEMBERED:
        _codes_by_piece.clear()
        _plain_words.clear()
    _codes_by_piece[piece] = codes
    if codes[0] == codes[1] > _SLOT:
        _plain_words[piece] = codes[0]
    return codes


def _code(word: str) -> int:
    if word == SLOT:
        return _SLOT
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=2).digest()
    return max(int.from_bytes(digest, "little"), _SLOT + 1)
