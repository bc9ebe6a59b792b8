"""Finds dated happenings in sentences: incidents, releases, meetings, campaigns, changes of figures.

A question or a request about a time is no event, nor is a date without anything that happens on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.graph.dates import DayWindow, KnownDays, whole_dates_in, windows_in
from reasoningbank.learn.graph.speech import sentences_in
from reasoningbank.learn.graph.word_tables import WordTable, any_word, first_named

LONGEST_EVENT_CHARS = 400
CALENDAR = "Calendar"
_SORTS: WordTable = (
    (
        "System Incident",
        any_word(
            r"""
            outages? incidents? crash(?:ed|es)? downtime went_down was_down were_down spik(?:e|es|ed) bots?
            breach(?:es|ed)? failed failures? broke broken corrupt\w* data_loss duplicat\w+ misconfigur\w+ bugs?
            rolled_back rollback timed_out degraded attack\w* leak\w* glitch\w* tracking_(?:broke|stopped|gap)
            """
        ),
    ),
    (
        "Release",
        any_word(
            r"""
            launch(?:ed|es)? releas(?:e|ed|es) deploy(?:ed|ment|s)? shipped rolled_out rollout migrat(?:ed|ion|es)
            upgrad(?:ed|e) went_live go[-_]live cutover merged published
            """
        ),
    ),
    (
        CALENDAR,
        any_word(
            r"""
            meetings? qbr review workshop call deadline conference offsite kick-?off holiday vacation interview demo
            standup presentation presented board summit hearing audit appointment due scheduled
            """
        ),
    ),
    (
        "Campaign",
        any_word(
            r"""
            campaigns? promotions? promo sale discounts? black_friday cyber_monday prime_day flights? ad_set
            sponsor\w*
            """
        ),
    ),
    (
        "Business Change",
        any_word(
            r"""
            changed increased decreased dropped fell rose grew declined doubled halved cut raised lowered paused
            resumed stopped started ended began begins starts ends switched acquired acquisition merger signed hired
            left joined opened closed cancell?ed delayed moved announced ordered delivered received arrived happened
            occurred recalled shortage strike supply
            """
        ),
    ),
)
_ASKS = pattern(
    r"\?\W*$|^(?:please|can|could|would|will you|show|give|list|compare|summari[sz]e|analy[sz]e|create|build|make"
    r"|write|find|get|tell"
    r"|explain|calculate|compute|check|pull|run|why|what|how|which|who|when did|let['’]s|i (?:want|need|would like)"
    r"|i['’]d like)\b",
    re.IGNORECASE,
)
_SUPPOSED = pattern(r"\b(?:if|should|might|maybe|perhaps|unless|suppose|assuming|e\.g\.|for example)\b", re.IGNORECASE)

_DENIES = pattern(
    r"\b(?:never|not|nor|cannot)\b|n['’]t\b"
    r"|(?:^|\bthere (?:was|were|is|are|has been|have been)\b)\W*(?:no|none|nobody|nothing|neither)\b",
    re.IGNORECASE,
)
_CLAUSE_ENDS = pattern(
    r"[;:]\s|,\s(?!(?:19|20)\d\d)|\s[–—-]\s|\b(?:and|but|because|which|while|when|although|though|so)\b", re.IGNORECASE
)
_SPANS = pattern(
    r"\bfrom\b.*\b(?:to|until|till|through)\b|\bbetween\b.*\band\b"
    r"|\b(?:began|begins|started|starts|opened|opens)\b.*\b(?:ended|ends|stopped|stops|closed|closes|until|lasted)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedEvent:
    text: str
    window: DayWindow
    source_type: str


def events_in(text: str, days: KnownDays) -> Iterator[DatedEvent]:
    """The sentences of a text in which something happens on a date that is told."""
    days = replace(days, around=(whole_dates_in(text), *days.around))
    for sentence in sentences_in(text):
        if len(sentence) > LONGEST_EVENT_CHARS or _ASKS.search(sentence) or _SUPPOSED.search(sentence):
            continue
        # Without the clauses that say that something did not happen.
        statement = sentence
        if _DENIES.search(sentence):
            statement = "\n".join(clause for clause in _CLAUSE_ENDS.split(sentence) if not _DENIES.search(clause))
        window = _time_of(
            sentence, [candidate for candidate in windows_in(sentence, days) if candidate.text in statement]
        )
        sort = source_type_of(statement) if window else ""
        # The Q3 review is the name of a meeting, and not one that takes a quarter.
        if window and sort and not (sort == CALENDAR and (window.last - window.first).days > 14):
            # The halves that tell of what happened; all of the sentence where they cannot be told apart.
            halves = [half.strip() for half in sentence.split(";")]
            text = "; ".join(half for half in halves if not _DENIES.search(half)) or sentence
            yield DatedEvent(text=text, window=window, source_type=sort)


def _time_of(sentence: str, windows: Sequence[DayWindow]) -> DayWindow | None:
    """From one date to the other where a sentence says so, else the narrowest: the day, where it names its quarter."""
    days = [
        window for window in windows if not any(window is not other and window.contains(other) for other in windows)
    ]
    if len(days) == 2 and days[0].last < days[1].first and _SPANS.search(sentence):
        return DayWindow(first=days[0].first, last=days[1].last, text=f"{days[0].text} to {days[1].text}")
    return min(windows, key=lambda window: window.last - window.first, default=None)


def source_type_of(text: str) -> str:
    """The sort of source that generated an event, by its words; "" where nothing happens."""
    return first_named(_SORTS, text)
