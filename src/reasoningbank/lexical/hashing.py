"""Hashes names to numbers: 64-bit keys for equality filters, 32-bit keys for terms.

Remembers what it hashed, within bounds. Independent of where keys are kept.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

from reasoningbank.core.digest import blake2b
from reasoningbank.core.stem import stem
from reasoningbank.core.text import LONGEST_TERM, forms

ABSENT = 0
TERM_BYTES = 4
MOST_EXACT_CHARS = 2_000
"""Two texts that begin alike for so long are taken for the same."""
_MOST_REMEMBERED = 1 << 16


def _digest_bytes(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _digest(text: str, size: int) -> int:
    return int.from_bytes(_digest_bytes(text, size), "little")


@lru_cache(maxsize=4096)
def name_key(*parts: str | None) -> int:
    """A key for a name, or for names one inside the other; `ABSENT` for None."""
    if None in parts:
        return ABSENT
    return _digest("\0".join(f"{len(part or '')}:{part}" for part in parts), 8) or 1


def text_key(*parts: str) -> int:
    return _digest("\0".join(f"{len(part)}:{part}" for part in parts), 8)


@lru_cache(maxsize=4096)
def tag_term(tag: str) -> int:
    return _digest("\0tag\0" + tag, 4)


def id_term(memory_id: str) -> int:
    return _digest("\0id\0" + memory_id, 4)


def exact_term(text: str) -> int:
    """For a whole text, however it is spaced and capitalised."""
    return _digest("\0exact\0" + " ".join(text.casefold().split())[:MOST_EXACT_CHARS], 4)


class _Known(dict[str, bytes]):
    """The packed keys of tokens met before: four bytes for each term."""

    def __missing__(self, token: str) -> bytes:
        keys = b"".join([_digest_bytes(term, TERM_BYTES) for term in forms(token, stem=stem)])
        if len(token) <= LONGEST_TERM:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[token] = keys
        return keys


_keys_by_token = _Known()


def packed_term_keys(tokens: Iterable[str]) -> bytes:
    """The keys of the terms of tokens, in order, as bytes. Tokens come from `core.text.tokens`."""
    # Without a loop or a number of our own for tokens met before: indexing spends most of its time here.
    return b"".join(map(_keys_by_token.__getitem__, tokens))


def term_keys(tokens: Iterable[str]) -> list[int]:
    keys = packed_term_keys(tokens)
    return list(struct.unpack(f"<{len(keys) // TERM_BYTES}I", keys))
