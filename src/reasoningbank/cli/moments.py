"""Parses moments and lengths of time as people name them: so long ago, a date, 30d."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from reasoningbank.core.errors import InvalidInput

_UNIT_S = {"h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}
_LENGTH_UNITS_S = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_LONGEST_S = 100 * _LENGTH_UNITS_S["y"]


def moment(text: str, now: float) -> float:
    ago = re.fullmatch(r"(\d{1,6})([hdw])", text.strip())
    if ago:
        return now - int(ago[1]) * _UNIT_S[ago[2]]
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(f"--since takes 12h, 7d, 4w or a date like 2026-05-31, not {text!r}.") from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def lifetime_s(text: str) -> float | None:
    """Seconds of a length such as "30d" or "12h"; None for "never"."""
    if text == "never":
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhdwy])", text)
    seconds = int(match[1]) * _LENGTH_UNITS_S[match[2]] if match else 0
    if not 0 < seconds <= _LONGEST_S:
        raise InvalidInput(f"{text!r} is no length of time: say for example 12h, 30d, 1y or never.")
    return float(seconds)
