"""What the user said that holds beyond this session: lasting rules, and corrections of what the agent did.

Only words that speak of always, never, or of one way instead of another count: a wish about today's order does not
teach anything for tomorrow's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from reasoningbank.core.learning import (
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    Lesson,
)
from reasoningbank.core.types import Outcome
from reasoningbank.learn.offline.words import clipped, one_line

PREFERENCE = "preference"
LONGEST_WISH_CHARS = 300
MOST_MESSAGES = 400
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
_LASTING = re.compile(
    r"\b(?:from now on|going forward|in (?:the )?future|(?:always|never) (?!been|had|mind|got|the less)\w+"
    r"|by default,? (?:use|we)|every time you|whenever you|remember (?:to|that) (?:always|never|we|I|you|use|run)"
    r"|(?:do not|don't|please don't) ever|make sure (?:you|to) (?:always|never)"
    r"|(?:we|I) (?:always|never|only) (?:use|want|write|run|commit|need|deploy|test))\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:use|run|call|write|put|prefer|import|try)\b[^.!?\n]{1,120}\b(?:instead of|rather than|,? not)\b[^.!?\n]{2,}",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"^\W{0,3}(?:no\b|nope\b|wrong\b|that(?:'s| is) (?:wrong|not)|stop\b|don't\b|do not\b|please don't|i said|i told you"
    r"|actually,? (?:use|run|we|the|it))",
    re.IGNORECASE,
)
_ABOUT_TODAY = re.compile(r"#?\b[A-Z]{0,3}\d{4,}\b|\bmy (?:order|account|card|address|refund)\b", re.IGNORECASE)


def wishes(messages: Sequence[Mapping[str, Any]]) -> list[Lesson]:
    """In the order in which they were said; the same wish once."""
    found = {_key(wish): (wish, corrects) for wish, corrects in _said(messages)}
    return [_lesson(wish, key, corrects=corrects) for key, (wish, corrects) in found.items()]


def _said(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    answered = False
    for entry in messages[:MOST_MESSAGES]:
        text = entry.get("content")
        if entry.get("role") == "assistant":
            answered = True
        if entry.get("role") != "user" or not isinstance(text, str) or len(text) > 20_000:
            continue
        corrects = answered and _CORRECTS.match(text) is not None
        for sentence in map(one_line, _SENTENCE.findall(text)):
            if not 8 <= len(sentence) <= LONGEST_WISH_CHARS or _ABOUT_TODAY.search(sentence):
                continue
            if _LASTING.search(sentence):
                yield sentence, False
            elif answered and _INSTEAD.search(sentence):
                yield sentence, True
            elif corrects and _CORRECTS.match(sentence) and len(sentence.split()) >= 4:
                yield sentence, True


def _lesson(wish: str, key: str, *, corrects: bool) -> Lesson:
    what = "corrected the agent" if corrects else "set a rule"
    return Lesson(
        title=clipped(wish, LONGEST_LESSON_TITLE_CHARS),
        description=clipped(f"The user {what}; it holds for work like this.", LONGEST_LESSON_DESCRIPTION_CHARS),
        content=wish,
        outcome=Outcome.SUCCESS,
        tags=(PREFERENCE,),
        evidence=wish,
        kind=PREFERENCE,
        key=key,
    )


def _key(wish: str) -> str:
    words = " ".join(re.findall(r"\w+", wish.casefold()))
    return f"preference {blake2b(words.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"
