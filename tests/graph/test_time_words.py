"""Words about time in a question, and the window that they mean, asked on 16 November 2026."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from reasoningbank.graph.time_words import find_time_words

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()


def day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("what happened in July?", "2026-07-01", "2026-08-01"),
        ("What happened in december", "2025-12-01", "2026-01-01"),
        ("why did metrics change in July 2025?", "2025-07-01", "2025-08-01"),
        ("the June numbers", "2026-06-01", "2026-07-01"),
        ("what was asked last week", "2026-11-09", "2026-11-16"),
        ("this month", "2026-11-01", "2026-12-01"),
        ("what did we decide last quarter?", "2026-07-01", "2026-10-01"),
        ("Q3", "2026-07-01", "2026-10-01"),
        ("Q4 2024 results", "2024-10-01", "2025-01-01"),
        ("the third quarter of 2025", "2025-07-01", "2025-10-01"),
        ("first half of 2026", "2026-01-01", "2026-07-01"),
        ("incidents in 2025-07", "2025-07-01", "2025-08-01"),
        ("incidents on 2025-07-03", "2025-07-03", "2025-07-04"),
        ("between 3 and 9 July", "2026-07-03", "2026-07-10"),
        ("3-9 July 2025", "2025-07-03", "2025-07-10"),
        ("July 3rd to 9th, 2025", "2025-07-03", "2025-07-10"),
        ("the 2nd of July", "2026-07-02", "2026-07-03"),
        ("from March to May 2025", "2025-03-01", "2025-06-01"),
        ("between December and February", "2025-12-01", "2026-03-01"),
        ("during 2024", "2024-01-01", "2025-01-01"),
        ("two weeks ago", "2026-11-02", "2026-11-09"),
        ("3 months ago", "2026-08-01", "2026-09-01"),
        ("in the past 7 days", "2026-11-09", "2026-11-16"),
        ("yesterday", "2026-11-15", "2026-11-16"),
        ("since May 2025", "2025-05-01", "2026-11-16"),
        ("after Q2", "2026-07-01", "2026-11-16"),
    ],
)
def test_the_window_that_is_meant(question: str, since: str, until: str) -> None:
    named = find_time_words(question, NOW)
    assert named is not None
    assert (day(named.windows[0].since), day(named.windows[0].until)) == (since, until)


def test_before_a_day_is_everything_until_it_begins() -> None:
    named = find_time_words("orders before 2025-07-03", NOW)
    assert named is not None
    assert named.windows[0].since == float("-inf")
    assert day(named.windows[0].until) == "2025-07-03"


def test_a_month_without_a_year_may_be_that_of_an_earlier_one() -> None:
    named = find_time_words("what happened in July?", NOW)
    assert named is not None
    assert [day(window.since)[:4] for window in named.windows[:3]] == ["2026", "2025", "2024"]


@pytest.mark.parametrize(
    "question",
    [
        "you may march on",
        "it may be wrong",
        "order #W2025 has 10 items",
        "why did the second attempt fail?",
        "the last item of the list",
        "step 3 of 9",
    ],
)
def test_what_names_no_time(question: str) -> None:
    assert find_time_words(question, NOW) is None
