"""ISO dates and times of the memory graph: read, written and made into a window of seconds.

A time without a zone is UTC. A date alone stands for the whole day.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import NamedTuple

from reasoningbank.core.drafts import clean_time
from reasoningbank.core.errors import InvalidInput

_DAY_S = 86_400.0


class Instant(NamedTuple):
    """A date or a time as it is kept, with its first and its last second."""

    text: str
    first: float
    last: float


def parse_moment(value: object, name: str) -> Instant:
    """From ISO 8601 (`2025-07-01`, `2025-07-01T09:30:00Z`), from a date or datetime of Python, or from seconds."""
    if isinstance(value, str):
        value = _parse_iso(value.strip(), name)
    if isinstance(value, datetime):
        try:
            seconds = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        except (OverflowError, ValueError):
            raise InvalidInput(f"{name}: {value.isoformat()} cannot be told in UTC.") from None
        return Instant(iso_time(seconds), seconds, seconds)
    if isinstance(value, date):
        midnight = datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
        # A day is over a millisecond before midnight.
        return Instant(value.isoformat(), midnight, midnight + _DAY_S - 0.001)
    seconds = _seconds(value, name)
    return Instant(iso_time(seconds), seconds, seconds)


def _parse_iso(text: str, name: str) -> date:
    try:
        return datetime.fromisoformat(text) if len(text) > len("2025-07-01") else date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{name}: {text[:60]!r} is no ISO date, such as 2025-07-01 or 2025-07-01T09:30:00Z."
        ) from None


def _seconds(value: object, name: str) -> float:
    try:
        return clean_time(value, name)
    except InvalidInput:
        raise InvalidInput(f"{name} must be an ISO date or time, not {value!r}.") from None


def iso_time(seconds: float) -> str:
    """A time in UTC, as 2025-07-01T09:30:00Z; beyond the years that have a number, the seconds as they are."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return repr(seconds)
    whole = "seconds" if moment.microsecond == 0 else "microseconds"
    return moment.isoformat(timespec=whole).replace("+00:00", "Z")
