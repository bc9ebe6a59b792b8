"""The rules by which a conversation is drawn, told as tables of what people say."""

from __future__ import annotations

from datetime import date

import pytest

from reasoningbank.learn.graph.analysis import analysis_types_in, metrics_in
from reasoningbank.learn.graph.dates import KnownDays, windows_in
from reasoningbank.learn.graph.entities import entities_in
from reasoningbank.learn.graph.events import events_in
from reasoningbank.learn.graph.preferences import preference_type_of, preferences_in
from reasoningbank.learn.graph.sources import sources_in, sources_of_call
from reasoningbank.learn.graph.speech import why_no_answer, why_no_request

TODAY = KnownDays(today=date(2025, 9, 12))


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("a spike on July 4, 2025", "2025-07-04"),
        ("from July 4 to July 9", "2025-07-04 to 2025-07-09"),
        ("the spike of July 4–9, 2025", "2025-07-04 to 2025-07-09"),
        ("4–9 July 2025", "2025-07-04 to 2025-07-09"),
        ("down 2025-07-04 to 2025-07-09", "2025-07-04 to 2025-07-09"),
        ("it rose in July", "2025-07-01 to 2025-07-31"),
        ("between May and July", "2025-05-01 to 2025-07-31"),
        ("Q3 2025 was weak", "2025-07-01 to 2025-09-30"),
        ("it broke in Q4", "2024-10-01 to 2024-12-31"),
        ("the QBR is on October 14", "2025-10-14"),
        ("we will launch in November", "2025-11-01 to 2025-11-30"),
        ("since yesterday", "2025-09-11"),
        ("last week", "2025-09-01 to 2025-09-07"),
        ("Dec 28 to Jan 3", "2024-12-28 to 2025-01-03"),
        ("in 2024", "2024-01-01 to 2024-12-31"),
    ],
)
def test_a_date_in_a_sentence_is_a_window_of_days(said: str, days: str) -> None:
    assert [str(window) for window in windows_in(said, TODAY)] == [days]


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("In May 2024 the outage began on May 5 and ended on May 7.", "2024-05-05 to 2024-05-07"),
        ("Churn rose from 2.1% in February to 4.9% in March 2025.", "2025-02-01 to 2025-03-31"),
        ("The price rose on 3 March 2025. On April 9 the price was cut.", "2025-04-09"),
        ("In December 2024 the launch was moved to January 8.", "2025-01-08"),
        ("The outage began in November and ended in February 2025.", "2024-11-01 to 2025-02-28"),
    ],
)
def test_the_year_of_an_event_is_that_of_the_dates_around_it(said: str, days: str) -> None:
    unknown = KnownDays(today=date(2026, 11, 16), is_known=False)
    assert str(list(events_in(said, unknown))[-1].window) == days


@pytest.mark.parametrize(
    "said", ["The server crashed on April 9.", "Sales of 2023-07-01 and 2025-07-01. The server crashed on April 9."]
)
def test_where_nobody_says_the_year_or_they_disagree_there_is_no_event(said: str) -> None:
    unknown = KnownDays(today=date(2026, 11, 16), is_known=False)
    assert not any("April" in event.text for event in events_in(said, unknown))


@pytest.mark.parametrize(
    "said", ["you may 3 times", "2025-02-31", "03/04/2025", "march on", "version 2025.1", "at 10:30"]
)
def test_what_is_no_date_gives_no_window(said: str) -> None:
    assert list(windows_in(said, TODAY)) == []


@pytest.mark.parametrize(
    "said",
    [
        "Why did metrics change in July?",
        "I don't have the order ID, but I want to change the size.",
        "Yes, and also cancel the charger from order #W9373487.",
        "Please summarise the deck.",
        "Compare March with April",
        "No, I meant the other file",
        "great, and a hotel near the venue please",
    ],
)
def test_what_asks_for_something_is_a_request(said: str) -> None:
    assert why_no_request(said, asked_back=True, first=False) is None


@pytest.mark.parametrize(
    "said",
    ["thanks", "ok", "Great, thank you so much!", "Yes, that's correct.", "Yes, please go ahead!", "No, that's all. Thanks!",
     "###STOP###", "Yusuf Rossi, 19122.", "My zip code is 19122.", "hello", "Okay, my name is Ann.", "ann@example.com",
     "Great, that's exactly what I needed to know, thanks!"],
)  # fmt: skip
def test_courtesy_consent_and_replies_are_no_requests(said: str) -> None:
    assert why_no_request(said, asked_back=True, first=False)


def test_whatever_opens_a_conversation_is_a_request_unless_it_only_greets() -> None:
    assert why_no_request("Ann Lee, 19122", asked_back=False, first=True) is None
    assert why_no_request("Hello there!", asked_back=False, first=True) == "a greeting"


@pytest.mark.parametrize(
    ("said", "acted"),
    [
        ("The CPA rose to 329.66 because of bots. Would you like a chart?", True),
        ("You have two pending orders: #W1 and #W2, each with one lamp. Which one do you mean?", True),
        ("Use a hash index here, since the lookups are by key and never by range.", False),
    ],
)
def test_a_conclusion_is_an_answer(said: str, acted: bool) -> None:
    assert why_no_answer(said, has_acted=acted) is None


@pytest.mark.parametrize(
    "said",
    [
        "You're welcome! Have a great day!",
        "I'll check that for you.",
        "Sure! Could you please provide your email address?",
        "To confirm, you want to return the lamp. Is this correct? Please reply yes.",
    ],
)
def test_courtesy_promises_questions_and_proposals_are_no_answers(said: str) -> None:
    assert why_no_answer(said, has_acted=False)


@pytest.mark.parametrize(
    ("said", "stated", "sort"),
    [
        ("I prefer tables over pie charts.", "I prefer tables over pie charts.", "report_style"),
        ("From now on, round to one decimal.", "From now on, round to one decimal.", "granularity"),
        ("Never commit to main directly.", "Never commit to main directly.", "workflow"),
        (
            "The VP Digital prefers tables, not pie charts.",
            "The VP Digital prefers tables, not pie charts.",
            "report_style",
        ),
        ("Note that our CFO prefers weekly figures.", "our CFO prefers weekly figures.", "granularity"),
        ("I'd prefer PayPal if possible.", "I'd prefer PayPal if possible.", "general"),
        ("Always answer in German.", "Always answer in German.", "language"),
    ],
)
def test_a_stated_preference_is_kept_in_its_own_words(said: str, stated: str, sort: str) -> None:
    assert list(preferences_in(said, is_reply=False)) == [stated]
    assert preference_type_of(stated) == sort


@pytest.mark.parametrize(
    "said",
    ["I'd like to get the woody one.", "I would prefer not to reveal it", "Use report.csv and look at slide 4.",
     "I want to return the lamp.", "I would prefer the second option.", "Does she prefer tables?"],
)  # fmt: skip
def test_a_wish_about_one_thing_is_no_preference(said: str) -> None:
    assert list(preferences_in(said, is_reply=True)) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Look at slide 4 of Q3_review.pptx", [("Q3_review.pptx", "pptx", ("slide 4",))]),
        ("See https://wiki.example.com/roi?x=1.", [("https://wiki.example.com/roi?x=1", "url", ())]),
        ("the sales_q3 table and the Predictive PBI dashboard", [("sales_q3", "table", ()), ("Predictive PBI dashboard", "dashboard", ())]),
        ('open "Q3 Sales Data.csv"', [("Q3 Sales Data.csv", "csv", ())]),
        ("shop/cart.py lines 10-20", [("shop/cart.py", "py", ("lines 10-20",))]),
    ],
)  # fmt: skip
def test_sources_are_found_where_they_are_named(said: str, found: list[tuple[str, str, tuple[str, ...]]]) -> None:
    assert [(one.pointer, one.source_type, one.parts) for one in sources_in(said)] == found


@pytest.mark.parametrize(
    "said", ["Show me the dashboard", "e.g. this", "I paid 3.50 for it", "Weekly report please", "node.js is fine"]
)
def test_common_words_are_no_sources(said: str) -> None:
    assert [one.pointer for one in sources_in(said) if one.pointer != "node.js"] == []


def test_the_tables_of_a_query_are_its_sources() -> None:
    query = "SELECT a FROM sales_q3 s JOIN crm.leads USING (id) WHERE x = 'from nowhere'"
    assert [one.pointer for one in sources_of_call(query, None)][:2] == ["sales_q3", "crm.leads"]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("order #W2890441 of yusuf_rossi_9620", {"#W2890441": True, "yusuf_rossi_9620": True}),
        ("the EV9 and the F-150 in Q3 2025", {"EV9": False, "F-150": True}),
        ("ticket PROJ-1234, commit 9fceb02d0ae598e95", {"PROJ-1234": True, "9fceb02d0ae598e95": True}),
        ("use utf-8, sha256, python3, 128GB, 10-inch, v2.3.1, H1, FY25 and 15%", {}),
        ("nothing rare here", {}),
        ("booking X7K2PQ in umsatz_2025.csv", {"X7K2PQ": True}),
    ],
)
def test_rare_names_are_told_from_codes_that_everybody_uses(said: str, found: dict[str, bool]) -> None:
    assert entities_in(said) == found


def test_an_event_is_a_happening_with_a_date_and_not_a_question_about_one() -> None:
    told = "Show me July 2025. What happened in June? The tracking broke on July 4, 2025. If it fails in May, call me."
    [event] = events_in(told, TODAY)
    assert (event.text, str(event.window), event.source_type) == (
        "The tracking broke on July 4, 2025.", "2025-07-04", "System Incident",
    )  # fmt: skip


def test_the_name_of_a_meeting_is_not_its_date() -> None:
    told = "Subject: Q3 review. We had the Q3 review on September 5, 2025. The launch stays on November 4."
    assert [str(event.window) for event in events_in(told, TODAY)] == ["2025-09-05", "2025-11-04"]


def test_an_answer_names_its_metrics_and_kinds_of_analysis() -> None:
    said = "Compared to Q2 the conversion rate and ROI fell; the forecast for revenue is lower."
    assert metrics_in(said) == ("cvr", "roi", "revenue")
    assert analysis_types_in(said) == ("forecasting", "comparison")
