"""Finds rules that the user sets, and corrections of what the agent did: kept in the user's own words.

A rule about how to talk or to work with this person, and not about what is worked on, is marked as theirs (`about`),
so that it can be kept where all their work finds it. Which sentences are rules is `rule_sentences`; of somebody whose
case is dealt with by calls of a service ("I prefer the grey one") only what is said to last, or how to talk, is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import (
    ANSWER,
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    Episode,
    EpisodeStep,
    Lesson,
)
from reasoningbank.core.origins import HOOK, kind_of
from reasoningbank.core.types import Outcome
from reasoningbank.learn.offline.edits import edits_in
from reasoningbank.learn.offline.lookups import is_lookup
from reasoningbank.learn.offline.rule_sentences import MANNER
from reasoningbank.learn.offline.spelling import plain_steps
from reasoningbank.learn.offline.user_sentences import rules_in
from reasoningbank.learn.offline.words import called_tool, clip_line, digest

PREFERENCE = "preference"
LONGEST_MESSAGE_CHARS = 20_000
MOST_WISHES = 12
"""Wishes kept of one task: whoever hands over a whole handbook has a file for it."""
_LASTS = re.compile(
    r"\b(?:always|never|whenever|every time|each time|from (?:now|today) on|going forward|as a rule"
    r"|in (?:the )?future)\b"
    rf"|^(?:please,?\s+)?(?:{MANNER}|be|keep)\b.*\b(?:brief|briefly|concise|short|polite|formal|plain"
    r"|in [A-Z][a-z]+)\b|^(?:please,?\s+)?(?:call|address) me\b",
    re.IGNORECASE,
)


def wishes_in(episode: Episode) -> list[Lesson]:
    """The rules of a session in the order in which they were said; the same one once. None of one that hooks heard."""
    if kind_of(episode.origin) == HOOK:
        return []
    is_case = _is_served(episode.steps)
    by_key = {
        _key(wish): (wish, corrects)
        for wish, corrects in _user_texts(episode.messages)
        if not is_case or _LASTS.search(wish)
    }
    return [_lesson(wish, key, corrects=corrects) for key, (wish, corrects) in list(by_key.items())[:MOST_WISHES]]


def _is_served(steps: Sequence[EpisodeStep]) -> bool:
    """True if somebody's case is dealt with: all that was done were calls of a service, and none of them at a desk
    with files and a shell.
    """
    deeds = [step for step in plain_steps(steps) if step.action.strip() and not step.action.startswith(ANSWER)]
    return bool(deeds) and all(
        called_tool(step.action) and not is_lookup(step.action) and not edits_in(step) for step in deeds
    )


def _user_texts(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    is_reply = False
    for entry in messages[:400]:
        text = entry.get("content")
        if entry.get("role") == "assistant":
            is_reply = True
        if entry.get("role") == "user" and isinstance(text, str) and len(text) <= LONGEST_MESSAGE_CHARS:
            yield from rules_in(text, is_reply=is_reply)


def _lesson(wish: str, key: str, *, corrects: bool) -> Lesson:
    # Somebody's session: a role in it says who is to have spoken, and not who did.
    what = "corrects the agent" if corrects else "asks for it"
    return Lesson(
        title=clip_line(wish, LONGEST_LESSON_TITLE_CHARS),
        description=clip_line(
            f"A message of the session in the role of the user {what}.", LONGEST_LESSON_DESCRIPTION_CHARS
        ),
        content=wish,
        outcome=Outcome.SUCCESS,
        tags=(PREFERENCE,),
        evidence=wish,
        kind=PREFERENCE,
        key=key,
    )


def _key(wish: str) -> str:
    words = " ".join(re.findall(r"\w+", wish.casefold()))
    return f"preference {digest(words)}"
