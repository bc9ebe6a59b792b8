"""Finds preferences that users state, for themselves or for somebody they work for, and of what kind each is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoningbank.core.patterns import pattern
from reasoningbank.learn.graph.sources import sources_in
from reasoningbank.learn.graph.speech import sentences_in
from reasoningbank.learn.graph.word_tables import WordTable, any_word, first_named
from reasoningbank.learn.offline.user_sentences import LONGEST_RULE_CHARS, rules_in
from reasoningbank.learn.offline.wishes import LONGEST_MESSAGE_CHARS

_OF_ANOTHER = pattern(
    r"(?:^|\b(?i:that|since|because|and|but|remember|note)\b[,:]?\s+(?:that\s+)?)(?P<rule>(?:(?:[Tt]he|[Oo]ur|[Mm]y)\s+)?"
    r"(?!(?:I|We|You|They|It|He|She|If|When|What|Who|Why|How|Note|Remember|Since|Because|And|But)\b)(?:[A-Z][\w&.'’-]*|boss|manager|team|board|client|customer|director|lead|stakeholders?|office)(?:\s+[\w&.'’-]+){0,4}?\s+"
    r"(?:always |generally |usually |really )?(?:prefers?|dislikes?|hates?|insists? on|likes? to (?:see|have|get)"
    r"|only reads?)"
    r"\s+\S.*)$"
)
_OWN = pattern(
    r"\bi(?:['’]d| would) (?:really |actually |generally |always |much )?prefer\s+"
    r"(?!(?:an?|the|this|that|these|those|it|one|not|to|if|you|my|any|another)\b)\S+",
    re.IGNORECASE,
)
_OF_THIS_CASE = pattern(r"\b(?:this|that|these|those|it|them)\b|^i(?:['’]d| would) like\b", re.IGNORECASE)
_LASTS = pattern(
    r"\b(?:always|never|prefer\w*|remember|from now on|going forward|in future|every|whenever|each|usually)\b",
    re.IGNORECASE,
)
_TYPES: WordTable = (
    (
        "language",
        any_word(
            r"""
            in use write speak)\s+(?:\w+\s+)?(?:english german french spanish italian portuguese dutch chinese
            japanese korean russian polish deutsch
            """
        ),
    ),
    (
        "granularity",
        any_word(
            r"""
            daily weekly monthly quarterly hourly yearly granular\w* break(?:s|ing)?_(?:it_)?(?:down|out) breakdowns?
            per_(?:channel|region|day|week|month|team) by_(?:channel|region|day|week|month|segment) totals?
            aggregat\w+ decimals? rounded
            """
        ),
    ),
    (
        "report_style",
        any_word(
            r"""
            tables? charts? graphs? pie bars? bullets? bullet_points? slides? decks? reports summar\w+ headings?
            format\w* markdown emojis? one[-_]pagers? visuals? plots? colou?rs? templates? paragraphs?
            screenshots? emails?
            """
        ),
    ),
    (
        "units",
        any_word(
            r"""
            euros? dollars? usd eur gbp currency metric imperial celsius fahrenheit kilomet\w+ miles utc time_?zones?
            percent\w* units? iso_dates? 24-hour
            """
        ),
    ),
    (
        "workflow",
        any_word(
            r"""
            ask confirm check review approv\w* commit\w* push\w* deploy\w* merge\w* test\w* run branch\w* before after
            first backup\w* pull_requests? prs? tickets? release\w* delete\w* install\w*
            """
        ),
    ),
    (
        "tone",
        any_word(
            r"""
            brief\w* concise\w* short shorter terse verbose polite\w* formal\w* informal\w* casual friendly direct\w*
            tone call_me address_me detailed to_the_point apologi[sz]\w* explain\w* answers? repl(?:y|ies) jargon
            plain
            """
        ),
    ),
    (
        "tooling",
        any_word(
            r"""
            use using instead_of rather_than library framework tool python sql excel tableau power_?bi pandas polars
            pytest docker npm pnpm yarn git
            """
        ),
    ),
    (
        "schedule",
        any_word(
            r"""
            mondays? tuesdays? wednesdays? thursdays? fridays? weekends? mornings? afternoons? evenings? deadline
            """
        ),
    ),
)


def preferences_in(text: str, *, is_reply: bool) -> Iterator[str]:
    """Each preference in the user's own words. `is_reply` says that the agent has spoken before."""
    if len(text) > LONGEST_MESSAGE_CHARS:
        return
    rules = [rule for rule, _ in rules_in(text, is_reply=is_reply) if _LASTS.search(rule) or not _is_of_this_case(rule)]
    for sentence in sentences_in(text):
        if len(sentence) <= LONGEST_RULE_CHARS and "?" not in sentence:
            match = _OF_ANOTHER.search(sentence)
            preference = match["rule"] if match else sentence if _OWN.search(sentence) else None
            if preference and not any(preference in rule or rule in preference for rule in rules):
                rules.append(preference)
    yield from rules


def _is_of_this_case(rule: str) -> bool:
    """True if it points at one thing, or at a file that is to be used now."""
    return _OF_THIS_CASE.search(rule) is not None or next(sources_in(rule), None) is not None


def preference_type_of(preference: str) -> str:
    return first_named(_TYPES, preference) or "general"
