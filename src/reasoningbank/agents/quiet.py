"""Parses the off file. Imports nothing, since every hook asks this first."""

from __future__ import annotations

_CLOCKS_DIFFER_S = 60.0


def is_off(words: list[str], now: float) -> bool:
    """`FROM UNTIL` in seconds since 1970; without them, for good. A clock that was set back ends a pause."""
    try:
        begun, until = float(words[0]), float(words[1])
    except (IndexError, ValueError):
        return True
    return begun - _CLOCKS_DIFFER_S <= now < until
