"""Parses moments as people name them: so long ago, or a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from reasoningbank.core.errors import InvalidInput

_UNIT_S = {"h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}


def moment(text: str, now: float) -> float:
    ago = re.fullmatch(r"(\d{1,6})([hdw])", text.strip())
    if ago:
        return now - int(ago[1]) * _UNIT_S[ago[2]]
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(f"--since takes 12h, 7d, 4w or a date like 2026-05-31, not {text!r}.") from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
