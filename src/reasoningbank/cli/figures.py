"""Formats numbers and times the way people read them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from reasoningbank.core.types import Confidence
from reasoningbank.core.wording import counted, size

__all__ = ["ago", "bar", "confidence", "counted", "short", "size", "sparkline"]

_STEPS = "▁▂▃▄▅▆▇█"
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_ASCII_STEPS = "_.-=+*%#"
_UNITS = ((60.0, 1.0, "s"), (3600.0, 60.0, "min"), (86_400.0, 3600.0, "h"), (30 * 86_400.0, 86_400.0, "d"))


def ago(at: float | None, now: float) -> str:
    if at is None:
        return "never"
    seconds = now - at
    if -60.0 < seconds < 1.0:
        return "just now"
    for below, unit, name in _UNITS:
        if 0 <= seconds < below:
            return f"{int(seconds // unit)} {name} ago"
    try:
        return time.strftime("%Y-%m-%d", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return "at no known time"


def confidence(value: Confidence) -> str:
    """The mean with its interval; a policy without one has a point."""
    if value.low == value.high:
        return f"{value.mean:.2f}"
    return f"{value.mean:.2f} ({value.low:.2f}–{value.high:.2f})"


def short(value: float) -> str:
    """Two decimals at most: 1, 0.5, 0.61."""
    if not math.isfinite(value):
        return str(value)
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def sparkline(values: Sequence[float], most: int, *, unicode: bool) -> str:
    """Values from 0 to 1 as one row of steps, the newest last; a long row is thinned, its ends stay."""
    steps = _STEPS if unicode else _ASCII_STEPS
    if len(values) > most:
        last = len(values) - 1
        values = [values[round(i * last / (most - 1))] for i in range(most)]
    return "".join(steps[min(len(steps) - 1, max(0, int(value * len(steps))))] for value in values)


def bar(share: float, columns: int, *, unicode: bool) -> str:
    """A share from 0 to 1 as a bar of so many columns; whatever is more than nothing can be seen."""
    if not unicode:
        return "#" * max(round(share * columns), share > 0)
    eighths = max(round(share * columns * 8), share > 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]


def difference(value: float) -> str:
    """A difference with its sign; what rounds to none has none."""
    text = f"{value:+.2f}"
    return text if text.strip("+-") != "0.00" else "0.00"
