"""BERT's uncased WordPiece tokenizer, id for id what the reference implementation gives.

Where Unicode grew after version 8, the reference's tables did not; there the interpreter's own are followed
(some five hundred marks and signs of rare scripts, none of them in the vocabulary).

Cleans, folds and cuts a text as BERT does, then searches a vocabulary greedily. Independent of the model that reads the
ids.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Final

LONGEST_WORD: Final = 100
"""In characters; a longer word is one unknown token, as in the reference."""

_PIECE: Final = re.compile(r"[^ \t\n\r]+")
_SPECIAL: Final = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+|[^a-z0-9 ]")
_ASCII_CONTROLS: Final = dict.fromkeys([*range(32), 127])

# A piece is cut before it is folded: a file pasted without a space costs no more than its beginning.
_LONGEST_PIECE: Final = 1 << 16
_LONGEST_REMEMBERED: Final = 64
_MOST_REMEMBERED: Final = 1 << 16

_IDEOGRAPHS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # the reference's own gap: the block begins at 0x2B820
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _Cleaning(dict[int, str | None]):
    """A table for str.translate, filled as characters are met: drop controls, set ideographs apart."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        output: str | None = char
        if code == 0xFFFD or unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs"}:
            output = None
        elif char.isspace():
            output = " "
        elif any(low <= code <= high for low, high in _IDEOGRAPHS):
            output = f" {char} "
        self[code] = output
        return output


class _Folding(dict[int, str | None]):
    """A table for str.translate after decomposition: drop accents, lower the case, set punctuation apart."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        output: str | None = char.lower()
        if unicodedata.category(char) == "Mn":
            output = None
        elif unicodedata.category(char).startswith("P") or (code < 128 and not char.isalnum() and code != 32):
            output = f" {char} "
        self[code] = output
        return output


_CLEANING: Final = _Cleaning()
_FOLDING: Final = _Folding()


def words_of(piece: str) -> list[str]:
    """The folded words and single punctuation marks of a piece of text."""
    if piece.isascii():
        return _ASCII_WORD.findall(piece.translate(_ASCII_CONTROLS).lower())
    return unicodedata.normalize("NFD", piece.translate(_CLEANING)).translate(_FOLDING).split()


def read_vocabulary(path: Path) -> dict[str, int]:
    """One token a line; its id is its line number."""
    tokens = path.read_bytes().decode().removesuffix("\n").split("\n")
    return dict(zip(tokens, range(len(tokens)), strict=True))


class WordPiece:
    """Safe to share between threads: what it remembers is only ever added to, by single assignments."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._longest_token = max(map(len, vocabulary))
        self._unknown = vocabulary["[UNK]"]
        self._begin = vocabulary["[CLS]"]
        self._end = vocabulary["[SEP]"]
        self._remembered: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, limit: int = 256) -> list[int]:
        """Ids between [CLS] and [SEP], at most `limit` in all; a text with no tokens gives only these two."""
        ids = [self._begin]
        for match in _PIECE.finditer(text):
            piece = match.group()
            entry = self._remembered.get(piece)
            ids.extend(self._tokenize(piece) if entry is None else entry)
            if len(ids) >= limit:
                del ids[limit - 1 :]
                break
        ids.append(self._end)
        return ids

    def _tokenize(self, piece: str) -> tuple[int, ...]:
        ids: list[int] = []
        for part in _SPECIAL.split(piece[:_LONGEST_PIECE]):
            if part and _SPECIAL.fullmatch(part):
                ids.append(self._vocabulary[part])
                continue
            for word in words_of(part):
                ids.extend(self._match(word))
        piece_ids = tuple(ids)
        if len(piece) <= _LONGEST_REMEMBERED:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered = {}
            self._remembered[piece] = piece_ids
        return piece_ids

    def _match(self, word: str) -> list[int]:
        whole = self._vocabulary.get(word)
        if whole is not None:
            return [whole]
        if len(word) > LONGEST_WORD:
            return [self._unknown]
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._longest_token), start, -1):
                token = self._vocabulary.get(prefix + word[start:end])
                if token is not None:
                    ids.append(token)
                    start = end
                    break
            else:
                return [self._unknown]
        return ids
