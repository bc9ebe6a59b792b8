"""Identifiers: a kind, a time and chance, in 26 letters that sort by time.

Takes the time and the random bits as arguments; `IdSource` only makes sure that ids of the same millisecond rise too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from reasoningbank.core.digest import blake2b
from reasoningbank.core.record_kinds import ID_PREFIXES

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_LETTERS = frozenset(_ALPHABET)
ID_CHARS = 30
LEAST_TYPED = 5
"""Letters of an id that must be typed: fewer would often be somebody's key with a slip in it."""
SHOWN_LETTERS = 8
_RANDOM_BITS = 80
_RANDOM_MASK = (1 << _RANDOM_BITS) - 1
_HALF_MASK = (1 << 40) - 1


_TIME_SHIFTS = range(120, _RANDOM_BITS - 1, -10)
_HIGH_SHIFTS = range(40, -1, -10)
"""Shifts for the 48 bits above the random ones of a derived id."""


def _letters(number: int, shifts: range = range(120, -1, -10)) -> str:
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in shifts])


def _random_letters(number: int) -> str:
    """The letters of 80 bits, unrolled: every id is made here, and most numbers of 40 bits need no long arithmetic."""
    pairs, high, low = _PAIRS, number >> 40, number & _HALF_MASK
    return (
        f"{pairs[high >> 30]}{pairs[high >> 20 & 1023]}{pairs[high >> 10 & 1023]}{pairs[high & 1023]}"
        f"{pairs[low >> 30]}{pairs[low >> 20 & 1023]}{pairs[low >> 10 & 1023]}{pairs[low & 1023]}"
    )


class IdSource:
    """Rising ids for one process. `random_bits(n)` gives n random bits, as `random.getrandbits` does."""

    def __init__(self, clock: Callable[[], float], random_bits: Callable[[int], int]) -> None:
        self._clock = clock
        self._random_bits = random_bits
        self.begin_anew()

    def begin_anew(self) -> None:
        """As in a forked child, which must not go on from where its parent was."""
        self._lock = threading.Lock()
        self._last_ms = -1
        self._last_time = ""
        self._last_random = 0

    def new(self, prefix: str) -> str:
        now_ms = max(0, int(self._clock() * 1000)) & ((1 << 48) - 1)
        with self._lock:
            if now_ms == self._last_ms:
                self._last_random = (self._last_random + 1 + self._random_bits(32)) & _RANDOM_MASK
            else:
                self._last_ms = now_ms
                self._last_time = _letters(now_ms << _RANDOM_BITS, _TIME_SHIFTS)
                self._last_random = self._random_bits(_RANDOM_BITS)
            time, chance = self._last_time, self._last_random
        return f"{prefix}_{time}{_random_letters(chance)}"


def is_own(text: str) -> bool:
    """True if a text has the form of our ids, in which nothing else can be written: no name and no secret."""
    return len(text) == ID_CHARS and text[3] == "_" and text[:3] in ID_PREFIXES and _LETTERS.issuperset(text[4:])


def id_part(text: str, prefix: str) -> str | None:
    """A beginning or an ending of an id as the ids are written, from one that was typed; None when it is too short.

    `mem_01m7fr2x`, `01m7fr2x` and `…w2amrn` are all taken: capital letters, the kind and the dots need not be typed.
    """
    if not isinstance(text, str):
        return None
    letters = text.strip().lstrip("…").lstrip(".")
    has_prefix = letters.lower().startswith(f"{prefix}_")
    letters = (letters[len(prefix) + 1 :] if has_prefix else letters).upper()
    if not LEAST_TYPED <= len(letters) <= ID_CHARS - len(prefix) - 1 or not _LETTERS.issuperset(letters):
        return None
    return f"{prefix}_{letters}" if has_prefix else letters


def ending(record_id: str) -> str:
    """The last letters of an id: what people are shown of it. Chance made them, so that a few tell ids apart."""
    return record_id[-SHOWN_LETTERS:]


def derived_id(prefix: str, identity: str) -> str:
    """The same id for the same thing, whenever and wherever it is made."""
    digest = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    high, low = int.from_bytes(digest[:6], "big"), int.from_bytes(digest[6:], "big")
    return f"{prefix}_{_letters(high, _HIGH_SHIFTS)}{_random_letters(low)}"
