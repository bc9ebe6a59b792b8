"""Finds dates in sentences: ISO dates, "July 4, 2025", "4–9 July", "Q3 2025", "in July", "last week", and ranges.

A date without a year is the one nearest to the dates that are told with theirs: in the same text, else around it. Where
none is told it is the latest that is not after the day of the conversation, or, of what is still to come, the next; and
none at all where that day is not known. A month or a quarter is the whole of it. Numbers that might be dates of either
order (03/04/2025) are not guessed at.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_NUMBER = {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
_MONTH = "(?:" + "|".join(f"{name[:3].title()}(?:{name[3:]})?" for name in _MONTHS) + r"|Sept)\.?"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_TO = r"\s*(?:-|–|—|to|until|till|through|and)\s*"
_DATE = pattern(
    rf"\b(?P<iso>{_YEAR}-\d\d-\d\d)(?:[T ]\d\d:\d\d[\d:.Z+]*)?(?:{_TO}(?P<iso_end>{_YEAR}-\d\d-\d\d))?"
    rf"|\b(?P<month>{_MONTH})\s+(?P<day>{_DAY})(?!\d|:\d)(?:{_TO}(?:(?P<month2>{_MONTH})\s+)?(?P<day2>{_DAY})(?![\d:]))?"
    rf"(?:,?\s+(?P<year>{_YEAR}))?"
    rf"|\b(?P<dday>{_DAY})(?:{_TO}(?P<dday2>{_DAY}))?\.?\s+(?:of\s+)?(?P<dmonth>{_MONTH})(?:,?\s+(?P<dyear>{_YEAR}))?\b"
    rf"|\b(?P<mmonth>{_MONTH})\s+(?P<myear>{_YEAR})\b"
    rf"|\b(?:in|during|since|of|for|by|until|last|this|early|mid|late|throughout|over|(?P<pair>{_MONTH}){_TO})[\s-]+"
    rf"(?P<bare>{_MONTH})(?![\w-]|\s+\d)"
    rf"|\bQ(?P<quarter>[1-4])(?:[\s/-]*(?:FY)?['’]?(?P<qyear>{_YEAR}|\d\d))?\b"
    rf"|\b(?:in|during|since|throughout)\s+(?P<only>{_YEAR})\b"
    r"|\b(?P<relative>yesterday|today|tomorrow|(?:last|this|next) (?:week|month|quarter|year)"
    r"|(?:\d{1,2}|two|three|four|five|six) (?:day|week|month)s ago)\b"
)  # fmt: skip
_TO_COME = pattern(
    r"\b(?:will|won['’]t|upcoming|next|scheduled|planned|plans? to|due|deadline|going to|(?:is|are|stays?|remains?)"
    r" (?:on|set)|postponed|(?:moved|delayed|pushed) to)\b",
    re.IGNORECASE,
)
_DAYS_OF_A_YEAR, _HALF_A_YEAR = 364, 6
_SMALL = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class DayWindow:
    first: date
    last: date
    text: str
    """As it was said."""

    def overlaps(self, other: DayWindow) -> bool:
        return self.first <= other.last and other.first <= self.last

    def contains(self, other: DayWindow) -> bool:
        return self.first <= other.first and other.last <= self.last

    def __str__(self) -> str:
        return self.first.isoformat() if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDays:
    """Clues to the year of a date that comes without it."""

    today: date
    """Day of the conversation; where nobody says when that was, the day on which it is read."""
    is_known: bool = True
    """True if `today` is the day of the conversation."""
    around: tuple[tuple[DayWindow, ...], ...] = ()
    """Dates with their years, told elsewhere: in the same message, then in the conversation."""


def windows_in(text: str, days: KnownDays) -> Iterator[DayWindow]:
    """The dates of a text in order, as windows of days; what is no day of any calendar is passed over."""
    years = _Years(days, whole_dates_in(text), ahead=_TO_COME.search(text) is not None)
    for match in _DATE.finditer(text):
        window = _window_of(match, years)
        if window is not None:
            yield window


def whole_dates_in(text: str) -> tuple[DayWindow, ...]:
    """The dates of a text that are told with their years."""
    unknown = _Years(KnownDays(today=date.min, is_known=False), (), ahead=False)
    windows = (_window_of(match, unknown) for match in _DATE.finditer(text) if not match["relative"])
    return tuple(window for window in windows if window is not None)


def _window_of(match: re.Match[str], years: _Years) -> DayWindow | None:
    try:
        first, last = _days_of(match, years)
    except (ValueError, OverflowError):
        return None
    return DayWindow(first=first, last=last, text=match[0].strip()) if first <= last else None


def parse_day(text: str) -> date | None:
    """An ISO date or moment; None for anything else."""
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None


def _days_of(match: re.Match[str], years: _Years) -> tuple[date, date]:  # noqa: PLR0911 - one for each form
    part = match.groupdict()
    if part["iso"]:
        first = date.fromisoformat(part["iso"])
        return first, date.fromisoformat(part["iso_end"]) if part["iso_end"] else first
    if part["month"]:
        month, last_month = _month(part["month"]), _month(part["month2"] or part["month"])
        day, last_day = _day(part["day"]), _day(part["day2"] or part["day"])
        return _between(years.of(part["year"], (month, day)), (month, day), (last_month, last_day))
    if part["dday"]:
        month, day = _month(part["dmonth"]), _day(part["dday"])
        return _between(
            years.of(part["dyear"], (month, day)), (month, day), (month, _day(part["dday2"] or part["dday"]))
        )
    if part["mmonth"]:
        return _months(int(part["myear"]), _month(part["mmonth"]), 1)
    if part["bare"]:
        month = _month(part["bare"])
        opening = _month(part["pair"]) if part["pair"] else month
        year = years.of(None, (month, 1)) - (opening > month)
        return _months(year, opening, 1)[0], _months(year + (opening > month), month, 1)[1]
    if part["quarter"]:
        month = 3 * int(part["quarter"]) - 2
        year_text = str(int(part["qyear"]) % 100 + 2000) if part["qyear"] else None
        return _months(years.of(year_text, (month, 1)), month, 3)
    if part["only"]:
        return date(int(part["only"]), 1, 1), date(int(part["only"]), 12, 31)
    return _relative(part["relative"], years.today)


def _relative(phrase: str, today: date) -> tuple[date, date]:
    near = {"yesterday": -1, "today": 0, "tomorrow": 1}
    if phrase in near:
        day = today + timedelta(days=near[phrase])
        return day, day
    head, _, unit = phrase.partition(" ")
    if unit.endswith("ago"):
        count = _SMALL.get(head) or int(head)
        day = today - timedelta(days=count * {"d": 1, "w": 7, "m": 30}[unit[0]])
        return day, day
    back = {"last": 1, "this": 0, "next": -1}[head]
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=6)
    if unit == "year":
        return date(today.year - back, 1, 1), date(today.year - back, 12, 31)
    length = 3 if unit == "quarter" else 1
    index = (today.year * 12 + today.month - 1) // length * length - length * back
    return _months(index // 12, index % 12 + 1, length)


class _Years:
    """The years of dates that come without one."""

    def __init__(self, days: KnownDays, own: tuple[DayWindow, ...], *, ahead: bool) -> None:
        self._levels: Sequence[tuple[DayWindow, ...]] = [dates for dates in (own, *days.around) if dates]
        self._is_known, self._ahead = days.is_known, ahead
        self.today = days.today

    def of(self, year_text: str | None, opening: tuple[int, int]) -> int:
        """The year of a date: as it is told, or as the nearest dates with a year say; ValueError where these
        disagree or nobody says.
        """
        if year_text:
            return int(year_text)
        if self._levels:
            (year,) = {year for window in self._levels[0] for year in _nearest_years(window, opening[0])}
            return year
        if not self._is_known:
            raise ValueError("no year is told")
        if self._ahead:
            return self.today.year + (opening < (self.today.month, 1))
        return self.today.year - (opening > (self.today.month, self.today.day))


def _nearest_years(window: DayWindow, month: int) -> set[int]:
    """Years in which a month is nearest to a time: January to December 2024 is that of 2025."""
    if (window.last - window.first).days >= _DAYS_OF_A_YEAR:
        return {window.first.year, window.last.year}
    ahead = month - window.first.month
    return {window.first.year + (ahead < -_HALF_A_YEAR) - (ahead > _HALF_A_YEAR)}


def _between(year: int, opening: tuple[int, int], closing: tuple[int, int]) -> tuple[date, date]:
    return date(year, *opening), date(year + (closing < opening), *closing)


def _months(year: int, month: int, count: int) -> tuple[date, date]:
    last = month + count - 1
    return date(year, month, 1), date(year, last, monthrange(year, last)[1])


def _month(text: str) -> int:
    return _NUMBER[text[:3].casefold()]


def _day(text: str) -> int:
    return int(re.sub(r"\D", "", text))
