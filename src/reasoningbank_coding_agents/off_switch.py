"""Off switch of the hooks: a small file that every hook looks at before anything else.

`FROM UNTIL` in seconds since 1970; nothing for good. Every hook asks this first, so that it loads nothing by itself.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False  # as `typing` has it
if TYPE_CHECKING:
    from pathlib import Path

OFF_FILE = "hooks-off"
LONGEST_PAUSE_S = 366 * 86_400.0
FOR_GOOD = math.inf
_CLOCKS_DIFFER_S = 60.0
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def is_off(words: list[str], now: float) -> bool:
    """True if the words of the file keep hooks silent. A clock that was set back ends a pause."""
    start, until = _pause(words)
    return start - _CLOCKS_DIFFER_S <= now < until


def _pause(words: list[str]) -> tuple[float, float]:
    try:
        return float(words[0]), float(words[1])
    except (IndexError, ValueError):
        return -FOR_GOOD, FOR_GOOD


def parse_length(text: str) -> float:
    """The seconds of `90s`, `30m`, `1h`, `2d`, `1w`."""
    import re

    from reasoningbank.core.errors import InvalidInput

    match = re.fullmatch(r"(\d{1,6})\s*([smhdw])[a-z]*", text.strip(), re.IGNORECASE)
    length_s = float(match[1]) * _UNITS_S[match[2].lower()] if match else 0.0
    if not 0.0 < length_s <= LONGEST_PAUSE_S:
        raise InvalidInput(f"{text!r} is no length of time up to a year: say 30m, 1h or 2d.")
    return length_s


def switch_off(home: Path, *, now: float, for_s: float = FOR_GOOD) -> float:
    """Silence hooks; says until when."""
    from reasoningbank_coding_agents.state_dir import write_whole

    until = now + for_s
    write_whole(home / OFF_FILE, "" if until == FOR_GOOD else f"{now:.0f} {until:.0f}\n")
    return until


def switch_on(home: Path) -> bool:
    """False when they were on."""
    path = home / OFF_FILE
    there = path.exists()
    path.unlink(missing_ok=True)
    return there


def silent_until(home: Path, now: float) -> float | None:
    """The moment when hooks speak again, `FOR_GOOD` if never by themselves; None when they speak."""
    try:
        words = (home / OFF_FILE).read_text("ascii", errors="replace").split()
    except OSError:
        return None
    return _pause(words)[1] if is_off(words, now) else None
