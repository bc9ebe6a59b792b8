"""Switches hooks off, on, or off for a while: a small file that every hook looks at before anything else.

Knows what is in the file (`FROM UNTIL` in seconds since 1970; nothing for good). The hook itself reads it in
`cli.hooking`, which may not load this.
"""

from __future__ import annotations

import re
from pathlib import Path

from reasoningbank.agents.state_dir import write_whole
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern

OFF_FILE = "hooks-off"
LONGEST_PAUSE_S = 366 * 86_400.0
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_LENGTH = pattern(r"(\d{1,6})\s*([smhdw])[a-z]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    until: float | None
    """None is until they are switched on again."""


def seconds_in(text: str) -> float:
    """`90s`, `30m`, `1h`, `2d`, `1w`."""
    match = _LENGTH.fullmatch(text.strip())
    length_s = float(match[1]) * _UNITS_S[match[2].lower()] if match else 0.0
    if not 0.0 < length_s <= LONGEST_PAUSE_S:
        raise InvalidInput(f"{text!r} is no length of time up to a year: say 30m, 1h or 2d.")
    return length_s


def switch_off(home: Path, *, now: float, for_s: float | None = None) -> Silence:
    silence = Silence(until=None if for_s is None else now + for_s)
    write_whole(home / OFF_FILE, "" if silence.until is None else f"{now:.0f} {silence.until:.0f}\n")
    return silence


def switch_on(home: Path) -> bool:
    """False when they were on."""
    path = home / OFF_FILE
    there = path.exists()
    path.unlink(missing_ok=True)
    return there


def silence(home: Path, now: float) -> Silence | None:
    """None when hooks speak."""
    from reasoningbank.agents.quiet import is_off

    try:
        words = (home / OFF_FILE).read_text("ascii", errors="replace").split()
    except OSError:
        return None
    if not is_off(words, now):
        return None
    return Silence(until=float(words[1]) if len(words) > 1 else None)
