"""Finds preferences of the user: lasting rules, and corrections of what the agent did.

Only words that speak of always, never, or of one way instead of another count: a wish about today's order does not
teach anything for tomorrow's. A wish about how to talk or to work with this person, and not about what is worked on, is
marked as theirs (`about`), so that it can be kept where all their work finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import (
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    Lesson,
)
from reasoningbank.core.types import Outcome
from reasoningbank.learn.offline.words import clip_line, digest, one_line

PREFERENCE = "preference"
LONGEST_WISH_CHARS = 300
MOST_MESSAGES = 400
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
_CRAFT = (
    r"(?:use|run|call|write|put|prefer|import|add|mock|commit|push|edit|touch|change|create|delete|remove|install|rename"
    r"|format|skip|test|deploy|build|merge|rebase|log|print|name|keep|check|read|hard-?code|assume|guess|repeat|ask)"
)
_MANNER = (
    r"(?:answer|reply|respond|explain|summari[sz]e|apologi[sz]e|speak|talk|address|greet|thank|interrupt|confirm"
    r"|tell me|show me|remind me|ask me|call me|give me)"
)
_LASTING = re.compile(
    rf"\b(?:(?:always|never|(?:do not|don't) ever) {_MANNER}"
    rf"|from now on|going forward|in (?:the )?future,|(?:always|never) {_CRAFT}|by default,? (?:use|we)"
    rf"|(?:every time|whenever) you {_CRAFT}|remember (?:to|that) (?:always|never|we|you|{_CRAFT})"
    rf"|(?:do not|don't|please don't) ever {_CRAFT}|make sure (?:you |to )?(?:always|never)"
    rf"|we (?:always|never|only) {_CRAFT})\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:use|run|call|write|put|prefer|import|try)\b[^.!?\n]{1,120}"
    r"(?:\binstead of\b|\brather than\b|, not\b)[^.!?\n]{2,}",
    re.IGNORECASE,
)
_FORBIDS = re.compile(rf"(?:please )?(?:don't|do not|stop) {_CRAFT}", re.IGNORECASE)
_OF_A_PERSON = re.compile(
    rf"\b(?:I|I'm|I'd|me|my|mine|myself|{_MANNER}|brief|concise|verbose|terse|polite|emojis?|bullet points?)\b"
    r"|\bin (?:english|german|french|spanish|italian|portuguese|dutch|chinese|japanese|korean|russian)\b",
    re.IGNORECASE,
)
_OF_THE_WORK = re.compile(
    r"`|[\w-]+[/\\][\w.-]+|\b\w+_\w+\b|\b\w+\.(?:[a-z]{1,2}|tsx|java|cpp|toml|ya?ml|json|sql|css|html)\b"
    r"|\b(?:we|our|us|here)\b|\b(?:this|the) (?:repo|project|codebase|package|service|app|file|folder|module|branch)",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:no|nope|wrong|also|and|but|ok|okay|good|great|thanks|well)\b[\s,.;:!-]*)+", re.IGNORECASE
)
_ABOUT_TODAY = re.compile(r"#?\b[A-Z]{0,3}\d{4,}\b|\bmy (?:order|account|card|address|refund)\b", re.IGNORECASE)


def wishes(messages: Sequence[Mapping[str, Any]]) -> list[Lesson]:
    """In the order in which they were said; the same wish once."""
    found = {_key(wish): (wish, corrects) for wish, corrects in _user_texts(messages)}
    return [_lesson(wish, key, corrects=corrects) for key, (wish, corrects) in found.items()]


def _user_texts(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    answered = False
    for entry in messages[:MOST_MESSAGES]:
        text = entry.get("content")
        if entry.get("role") == "assistant":
            answered = True
        if entry.get("role") != "user" or not isinstance(text, str) or len(text) > 20_000:
            continue
        for sentence in map(_without_opening, _SENTENCE.findall(text)):
            if not 8 <= len(sentence) <= LONGEST_WISH_CHARS or _ABOUT_TODAY.search(sentence):
                continue
            if _LASTING.search(sentence):
                yield sentence, False
            elif answered and (_INSTEAD.search(sentence) or _FORBIDS.match(sentence)):
                yield sentence, True


def _without_opening(said: str) -> str:
    """Without the words that only join it to the talk."""
    sentence = _OPENING.sub("", one_line(said))
    return sentence[:1].upper() + sentence[1:]


def is_about_the_user(wish: str) -> bool:
    """Whether it says how this person wants to be worked with, whatever the work is; in doubt it is about the work."""
    return _OF_A_PERSON.search(wish) is not None and _OF_THE_WORK.search(wish) is None


def _lesson(wish: str, key: str, *, corrects: bool) -> Lesson:
    what = "corrected the agent" if corrects else "set a rule"
    return Lesson(
        title=clip_line(wish, LONGEST_LESSON_TITLE_CHARS),
        description=clip_line(f"The user {what}; it holds for work like this.", LONGEST_LESSON_DESCRIPTION_CHARS),
        content=wish,
        outcome=Outcome.SUCCESS,
        tags=(PREFERENCE,),
        evidence=wish,
        kind=PREFERENCE,
        key=key,
        metadata={"about": "user"} if is_about_the_user(wish) else {},
    )


def _key(wish: str) -> str:
    words = " ".join(re.findall(r"\w+", wish.casefold()))
    return f"preference {digest(words)}"
