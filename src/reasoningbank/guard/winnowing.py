"""Fingerprints of texts, to know one again when somebody else repeats it.

A text is known by marks: hashes of three words in a row, thinned so that any eight words in a row that two texts share
give them at least one mark in common (winnowing); and hashes of its longest words alone, read through disguise, by
which it is known when words were left out, put in, turned around or spelt otherwise. Fingerprints select candidates;
shared words confirm a copy. A true paraphrase is not recognised here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from zlib import crc32

from reasoningbank.core.origins import IMPORT, PEER, kind_of
from reasoningbank.core.types import Memory
from reasoningbank.guard.hidden import visible
from reasoningbank.guard.homoglyphs import plain_letters, skeleton
from reasoningbank.ports import Reader

WORDS_PER_SHINGLE = 3
WINDOW = 6
MOST_WORDS = 20_000
"""Words of a text that are marked; what comes later is not known again."""
MOST_LOOKED_AT = 16
FEWEST_SHARED = 4
"""Shingles: fewer than six words in a row are nobody's own."""
SHARE_OF_EITHER = 0.5
"""A copy with additions holds at least this much of the original, an excerpt gives at least this much of itself."""
LONGEST_WORDS = 12
"""Longest words of a text that are marks too: half of them are left of a text that lost every second word."""
FEWEST_LETTERS = 5
FURTHEST_APART = 3
"""Two words that stood side by side still do when no more than two others stand between them."""
FEWEST_PAIRS = 5
SHARE_OF_PAIRS = 0.6
MOST_SKELETON_WORDS = 2_000
_SEAM_CHARS = 120
"""Characters of the content that are marked together with the headline before it."""
_SPACED = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)
"""From ASCII to its letters and digits in lower case; everything else parts words."""
_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Scripts without spaces: each character counts as a word."""
_BETWEEN_CLAUSES = r"[:;.!?\n]+(?:\s|$)"
_WORD_OR_CHARACTER = rf"[{_ALONE}]|(?:(?![{_ALONE}])[^\W_])+"


def text_of(memory: Memory) -> str:
    return f"{memory.title}\n{memory.description}\n{memory.content}"


def shingles(text: str) -> list[int]:
    """Hashes of every three words in a row, in order; of all words when there are fewer."""
    words = _words(text)
    if not words:
        return []
    if len(words) < WORDS_PER_SHINGLE:
        return [crc32(b" ".join(words))]
    # The checksum of three words with spaces between them, each going on from that of the words before.
    heads = [word + b" " for word in words[:-1]]
    return list(map(crc32, words[2:], map(crc32, heads[1:], map(crc32, heads))))


def _words(text: str) -> list[bytes]:
    if text.isascii():
        # As the pattern would find them, in a fraction of the time.
        return text.encode("ascii").translate(_SPACED).split()[:MOST_WORDS]
    plain = unicodedata.normalize("NFKC", visible(text, markup=False)).casefold()
    return [word.encode() for word in _pattern(_WORD_OR_CHARACTER).findall(plain)[:MOST_WORDS]]


# Compiled when the first text of a stranger comes: most starts meet none.
@cache
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source)


def fingerprint(text: str) -> list[int]:
    return sorted(_winnow(shingles(text)))


def _winnow(hashes: Sequence[int]) -> set[int]:
    if len(hashes) <= WINDOW:
        return {min(hashes)} if hashes else set()
    least, at = _last_least(hashes, 0)
    minima = {least}
    for end in range(WINDOW, len(hashes)):
        if hashes[end] <= least:
            least, at = hashes[end], end
            minima.add(least)
        elif end - at >= WINDOW:
            least, at = _last_least(hashes, end - WINDOW + 1)
            minima.add(least)
    return minima


def _last_least(hashes: Sequence[int], start: int) -> tuple[int, int]:
    """The least of a window and the last place where it stands."""
    window = hashes[start : start + WINDOW]
    least = min(window)
    return least, start + WINDOW - 1 - window[::-1].index(least)


def marks_of(memory: Memory) -> Sequence[int]:
    """Marks that a memory is found by when somebody repeats it.

    A file that the user chose, and a peer that the user let in, are found by words in a row alone: either may bring a
    hundred thousand at once.
    """
    in_a_row = _marks_in_a_row(memory)
    if kind_of(memory.origin) not in (IMPORT, PEER):
        in_a_row.update(_marks_of_words(_skeleton_words(plain_letters(text_of(memory)))))
    return sorted(in_a_row)


def _marks_in_a_row(memory: Memory) -> set[int]:
    """Marks of the whole and of the content alone, so that another headline makes no other text of it."""
    head = f"{memory.title}\n{memory.description}\n"
    whole = shingles(f"{head}{memory.content[:_SEAM_CHARS]}")
    own = _own_part(whole, head, memory.content)
    return _winnow(shingles(memory.content) if own is None else own) | _winnow(whole)


def _own_part(whole: list[int], head: str, content: str) -> list[int] | None:
    """The shingles of a short plain content from those of the whole, at the end of which they stand: most are short."""
    if len(content) > _SEAM_CHARS or not content.isascii() or not head.isascii():
        return None
    own = whole[len(_words(head)) :]
    return own or None


def _skeleton_words(plain: str) -> list[str]:
    """The words of a text that was read through its disguise; for comparing only."""
    return _pattern(r"[^\W\d_]{2,}").findall(skeleton(plain))[:MOST_SKELETON_WORDS]


def _marks_of_words(bare: Sequence[str]) -> list[int]:
    longest = sorted(sorted({word for word in bare if len(word) >= FEWEST_LETTERS}), key=len)[-LONGEST_WORDS:]
    # Apart from those of words in a row.
    return [crc32(word.encode(), 1) for word in longest]


def repeated_ids(reader: Reader, memory: Memory, own: str | None = None) -> list[str]:
    """The ids of the marked memories that this one repeats, whole or in good part, in whatever spelling.

    `own` is what to compare instead of all its text, where its maker knows which words are its own.
    """
    text = text_of(memory) if own is None else own
    plain = plain_letters(text)
    bare = _skeleton_words(plain)
    in_a_row = _marks_in_a_row(memory) if own is None else _winnow(shingles(own))
    if plain != text:
        in_a_row |= _winnow(shingles(plain))
    matches = reader.matching_fingerprints(list(in_a_row), _marks_of_words(bare))
    matches.pop(memory.id, None)
    if not matches:
        return []
    likeliest = sorted(matches, key=lambda memory_id: (-matches[memory_id], memory_id))[:MOST_LOOKED_AT]
    candidates = reader.get(Memory, likeliest)
    hashes, content = {*shingles(text), *shingles(plain)}, memory.content if own is None else own
    # Another headline makes no other text of it, nor do words put before or behind it.
    plain_content = plain_letters(content)
    forms = (
        bare,
        _skeleton_words(plain_content),
        *map(_skeleton_words, _pattern(_BETWEEN_CLAUSES).split(plain_content)),
    )
    return [
        i
        for i in likeliest
        if i in candidates and (_repeats(hashes, content, candidates[i]) or _is_disguised_copy(forms, candidates[i]))
    ]


def _is_disguised_copy(forms: Iterable[Sequence[str]], earlier: Memory) -> bool:
    """True if the words of either text that stand side by side stand near each other in the other one."""
    original = _skeleton_words(plain_letters(text_of(earlier)))
    return any(_holds_pairs_of(bare, original) or _holds_pairs_of(original, bare) for bare in forms)


def _holds_pairs_of(words: Sequence[str], other: Sequence[str]) -> bool:
    if len(other) <= FEWEST_PAIRS:
        return False
    near: set[tuple[str, str]] = set()
    for gap in range(1, FURTHEST_APART + 1):
        near.update(zip(words, words[gap:], strict=False))
        near.update(zip(words[gap:], words, strict=False))
    pairs = set(pairwise(other))
    count = len(pairs & near)
    return count >= FEWEST_PAIRS and count >= SHARE_OF_PAIRS * len(pairs)


def _repeats(hashes: set[int], content: str, earlier: Memory) -> bool:
    original = set(shingles(text_of(earlier)))
    count = len(hashes & original)
    if count >= FEWEST_SHARED and count >= SHARE_OF_EITHER * min(len(hashes), len(original)):
        return True
    return _words(content) == _words(earlier.content)
