"""Windows in time that a question names: "in July", "last week", "Q3", "2025-07", "between 3 and 9 July", "since May".

English words for days, weeks, months, quarters and years. A month without a year may be one of several: the latest is
meant first. What time it is now is an argument. All in UTC; a window ends before its last moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from reasoningbank.core.patterns import pattern

EARLIER_YEARS = 10
"""Number of years that a month without a year may lie back."""


class TimeWindow(NamedTuple):
    since: float
    until: float
    """The first moment after it."""


class Named(NamedTuple):
    """Time windows that a question names."""

    words: str
    windows: tuple[TimeWindow, ...]
    """Windows that may be meant, the likeliest first."""


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=1
    )
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}

_OTHER_WORDS = frozenset({"may", "march", "mar", "sep", "dec", "jan"})
"""Months that are words or names of their own: alone they say nothing about time."""
_MONTH = f"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_MONTH_ALONE = f"(?:{'|'.join(sorted(_MONTHS.keys() - _OTHER_WORDS, key=len, reverse=True))})"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_YEAR_SAID = rf"(?:,?\s+(?:of\s+)?({_YEAR}))"
_OF_YEAR = f"{_YEAR_SAID}?"
_TO = r"\s*(?:-|–|—|to|and|until|till|through)\s*"
_IN = r"(?:in|during|since|until|till|before|after|last|next|around|throughout)"
_UNIT = r"(day|week|month|quarter|year)"
_COUNT = r"(\d{1,3}|a couple of|couple of|a few|few|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"


class _Calendar:
    """Windows around a moment."""

    def __init__(self, now: float) -> None:
        self.now = datetime.fromtimestamp(now, UTC)
        self.today = self.now.replace(hour=0, minute=0, second=0, microsecond=0)

    def days(self, first: datetime, count: float = 1) -> tuple[TimeWindow, ...]:
        return (_window(first, first + timedelta(days=count)),)

    def months(self, month: int, year: str | None, count: int = 1) -> tuple[TimeWindow, ...]:
        """Months from one on: in the year that is said, else in this one or those before it, the latest first."""
        if year is not None:
            return (_window(*_span_of_months(int(year), month, count)),)
        spans = (_span_of_months(self.now.year - back, month, count) for back in range(EARLIER_YEARS + 1))
        return tuple(_window(*span) for span in spans if span[0] <= self.now)

    def date(self, day: str, month: str, year: str | None, last_day: str | None = None) -> tuple[TimeWindow, ...]:
        first, last = _number(day), _number(last_day or day)
        years = [int(year)] if year is not None else [self.now.year - back for back in range(EARLIER_YEARS + 1)]
        windows = []
        for calendar_year in years:
            begin, end = _day(calendar_year, _month(month), first), _day(calendar_year, _month(month), last)
            if begin is not None and end is not None and begin <= end and (year is not None or begin <= self.now):
                windows.append(_window(begin, end + timedelta(days=1)))
        return tuple(windows)

    def unit(self, name: str, back: int) -> tuple[TimeWindow, ...]:
        """The day, week, month, quarter or year that now lies in, or one so many before it."""
        year, month = self.now.year, self.now.month
        match name:
            case "day":
                return self.days(self.today - timedelta(days=back))
            case "week":
                return self.days(self.today - timedelta(days=self.today.weekday() + 7 * back), 7)
            case "month":
                return (_window(*_span_of_months(year, month - back, 1)),)
            case "quarter":
                return (_window(*_span_of_months(year, (month - 1) // 3 * 3 + 1 - 3 * back, 3)),)
        return (_window(*_span_of_months(year - back, 1, 12)),)

    def up_to_now(self, count: int, name: str) -> tuple[TimeWindow, ...]:
        return (TimeWindow((self.now - timedelta(days=count * _DAYS[name])).timestamp(), self.now.timestamp()),)


_DAYS = {"day": 1, "week": 7, "month": 30.44, "quarter": 91.31, "year": 365.25}
Read = Callable[[_Calendar, re.Match[str]], tuple[TimeWindow, ...]]


def _iso_day(calendar: _Calendar, match: re.Match[str]) -> tuple[TimeWindow, ...]:
    day = _day(int(match[1]), int(match[2]), int(match[3]))
    return calendar.days(day) if day is not None else ()


def _months_between(calendar: _Calendar, match: re.Match[str]) -> tuple[TimeWindow, ...]:
    first, last = _month(match[1]), _month(match[2])
    return calendar.months(first, match[3], (last - first) % 12 + 1)


def _part_of_year(months: int) -> Read:
    def read(calendar: _Calendar, match: re.Match[str]) -> tuple[TimeWindow, ...]:
        number = _ORDINALS.get(match[1].lower()) or int(match[1][-1])
        return calendar.months((number - 1) * months + 1, match[2], months)

    return read


_FORMS: tuple[tuple[re.Pattern[str], Read], ...] = tuple(
    (pattern(rf"\b{words}\b", re.IGNORECASE), read)
    for words, read in (
        (r"((?:19|20)\d\d)-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", _iso_day),
        (r"((?:19|20)\d\d)-(0[1-9]|1[0-2])", lambda c, m: c.months(int(m[2]), m[1])),
        (rf"({_DAY}){_TO}({_DAY})\s+(?:of\s+)?({_MONTH}){_OF_YEAR}", lambda c, m: c.date(m[1], m[3], m[4], m[2])),
        (rf"({_MONTH})\s+({_DAY}){_TO}({_DAY}){_OF_YEAR}", lambda c, m: c.date(m[2], m[1], m[4], m[3])),
        (rf"({_DAY})\s+(?:of\s+)?({_MONTH}){_OF_YEAR}", lambda c, m: c.date(m[1], m[2], m[3])),
        (rf"({_MONTH})\s+({_DAY})(?!\d){_OF_YEAR}", lambda c, m: c.date(m[2], m[1], m[3])),
        (rf"(?:between|from)\s+({_MONTH}){_TO}({_MONTH}){_OF_YEAR}", _months_between),
        (rf"({_MONTH}){_YEAR_SAID}", lambda c, m: c.months(_month(m[1]), m[2])),
        (rf"(Q[1-4]){_OF_YEAR}", _part_of_year(3)),
        (rf"(first|second|third|fourth|1st|2nd|3rd|4th)\s+quarter{_OF_YEAR}", _part_of_year(3)),
        (rf"(H[12]){_OF_YEAR}", _part_of_year(6)),
        (rf"(first|second)\s+half{_OF_YEAR}", _part_of_year(6)),
        (rf"{_IN}\s+({_MONTH})", lambda c, m: c.months(_month(m[1]), None)),
        (f"({_MONTH_ALONE})", lambda c, m: c.months(_month(m[1]), None)),
        (rf"{_IN}\s+({_YEAR})", lambda c, m: c.months(1, m[1], 12)),
        (
            rf"(?:the\s+)?(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}s",
            lambda c, m: c.up_to_now(_number(m[1]), m[2].lower()),
        ),
        (rf"{_COUNT}\s+{_UNIT}s?\s+ago", lambda c, m: c.unit(m[2].lower(), _number(m[1]))),
        (rf"(?:last|past|previous)\s+{_UNIT}", lambda c, m: c.unit(m[1].lower(), 1)),
        (rf"(?:this|current)\s+{_UNIT}", lambda c, m: c.unit(m[1].lower(), 0)),
        (r"today", lambda c, _: c.unit("day", 0)),
        (r"yesterday", lambda c, _: c.unit("day", 1)),
    )
)
_AFTER = pattern(r"\bafter\s+(?:the\s+)?$", re.IGNORECASE)
_SINCE = pattern(r"\b(?:since|starting(?:\s+(?:in|from))?)\s+(?:the\s+)?$", re.IGNORECASE)
_UNTIL = pattern(r"\b(?:until|till|before|up\s+to|by)\s+(?:the\s+)?$", re.IGNORECASE)


def find_time_words(text: str, now: float) -> Named | None:
    """The first window in time that a text names; None where it names none."""
    calendar = _Calendar(now)
    earliest = min(_find_forms(text, calendar), key=lambda entry: entry[:2], default=None)
    return None if earliest is None else earliest[2]


def _find_forms(text: str, calendar: _Calendar) -> Iterator[tuple[int, int, Named]]:
    for number, (form, read) in enumerate(_FORMS):
        for match in form.finditer(text):
            windows = read(calendar, match)
            if windows:
                # Where the date itself begins, whichever form has a preposition before it.
                start = match.start(1) if match.re.groups else match.start()
                yield start, number, Named(match[0], tuple(_apply_bounds(text[:start], windows, calendar)))


def _apply_bounds(before: str, windows: tuple[TimeWindow, ...], calendar: _Calendar) -> Iterator[TimeWindow]:
    """Windows that begin or end where the words say: since July is up to now."""
    for window in windows:
        if _AFTER.search(before):
            yield TimeWindow(window.until, max(window.until, calendar.now.timestamp()))
        elif _SINCE.search(before):
            yield TimeWindow(window.since, max(window.until, calendar.now.timestamp()))
        elif _UNTIL.search(before):
            yield TimeWindow(float("-inf"), window.since)
        else:
            yield window


def _month(name: str) -> int:
    return _MONTHS[name.lower()]


def _number(words: str) -> int:
    digits = words.rstrip("stndrh") if words[:1].isdigit() else ""
    return int(digits) if digits else _NUMBERS[words.lower()]


def _day(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _span_of_months(year: int, month: int, count: int) -> tuple[datetime, datetime]:
    first, last = year * 12 + month - 1, year * 12 + month - 1 + count
    return datetime(first // 12, first % 12 + 1, 1, tzinfo=UTC), datetime(last // 12, last % 12 + 1, 1, tzinfo=UTC)


def _window(first: datetime, end: datetime) -> TimeWindow:
    return TimeWindow(first.timestamp(), end.timestamp())
