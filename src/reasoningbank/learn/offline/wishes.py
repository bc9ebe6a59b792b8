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
from reasoningbank.core.types import Outcome
from reasoningbank.learn.offline.edits import edits_in
from reasoningbank.learn.offline.lookups import is_lookup
from reasoningbank.learn.offline.rule_sentences import rule_in
from reasoningbank.learn.offline.spelling import plain_steps
from reasoningbank.learn.offline.words import called_tool, clip_line, digest, one_line

PREFERENCE = "preference"
PROMPTS_HEARD = "prompts_heard"
"""In the metadata of a session: its prompts went through the hooks, which hear rules by themselves."""
SHORTEST_WISH_CHARS, LONGEST_WISH_CHARS = 8, 300
MOST_MESSAGES = 400
LONGEST_MESSAGE_CHARS = 20_000
MOST_WISHES = 12
"""Of one task: whoever hands over a whole handbook has a file for it."""
_PASTED = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*$|^(?: {4,}|\t)\S[^\n]*$", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]*")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_LIST_OF_RULES = re.compile(
    r"(?i)\b(?:rules?|conventions?|guidelines?|preferences|remember|from now on|going forward|always|never"
    r"|please don['’]t|do not)\b[^:\n]{0,40}:\s*$"
)
_QUOTED = re.compile(r"“[^”\n]*”|\"[^\"\n]*\"|(?<!\w)'[^'\n]+'(?!\w)|«[^»\n]*»")
_MANNER = (
    r"(?:answer|reply|respond|explain|summari[sz]e|apologi[sz]e|speak|talk|address|greet|thank|interrupt|confirm"
    r"|tell me|show me|remind me|ask me|call me|give me)"
)
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
    r"^(?:(?:no|nope|wrong|also|and|but|ok|okay|good|great|thanks|thank you|well|oh|hey|hi|one more thing|btw"
    r"|by the way)\b"
    r"[\s]*[,.;:!–-]+\s*|(?:and|but|also)\s+)+",
    re.IGNORECASE,
)
_LASTS = re.compile(
    r"\b(?:always|never|whenever|every time|each time|from (?:now|today) on|going forward|as a rule"
    r"|in (?:the )?future)\b"
    rf"|^(?:please,?\s+)?(?:{_MANNER}|be|keep)\b.*\b(?:brief|briefly|concise|short|polite|formal|plain"
    r"|in [A-Z][a-z]+)\b"
    r"|^(?:please,?\s+)?(?:call|address) me\b",
    re.IGNORECASE,
)
_ABOUT_TODAY = re.compile(
    r"#[A-Z]{0,3}\d{4,}\b|\b[A-Z]?\d{6,}\b|\bmy (?:order|account|card|address|refund)\b", re.IGNORECASE
)


def wishes_in(episode: Episode) -> list[Lesson]:
    """The rules of a session in the order in which they were said; the same one once. None of one that hooks heard."""
    if episode.metadata.get(PROMPTS_HEARD):
        return []
    is_case = is_served(episode.steps)
    found = {
        _key(wish): (wish, corrects)
        for wish, corrects in _user_texts(episode.messages)
        if not is_case or _LASTS.search(wish)
    }
    return [_lesson(wish, key, corrects=corrects) for key, (wish, corrects) in list(found.items())[:MOST_WISHES]]


def is_served(steps: Sequence[EpisodeStep]) -> bool:
    """Whether somebody's case is dealt with: all that was done were calls of a service, and none of them at a desk with
    files and a shell.
    """
    acted = [step for step in plain_steps(steps) if step.action.strip() and not step.action.startswith(ANSWER)]
    return bool(acted) and all(
        called_tool(step.action) and not is_lookup(step.action) and not edits_in(step) for step in acted
    )


def _user_texts(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    answered = False
    for entry in messages[:MOST_MESSAGES]:
        text = entry.get("content")
        if entry.get("role") == "assistant":
            answered = True
        if entry.get("role") == "user" and isinstance(text, str) and len(text) <= LONGEST_MESSAGE_CHARS:
            yield from rules_in(text, answered=answered)


def rules_in(text: str, *, answered: bool) -> Iterator[tuple[str, bool]]:
    """Each rule in the user's words, and whether it corrects what was done."""
    listed = False
    for line in _PASTED.sub("", text).splitlines():
        bullet = _BULLET.match(line)
        listed = listed and (bullet is not None or not line.strip())
        for said in _SENTENCE.findall(line[bullet.end() :] if bullet else line):
            sentence = one_line(said)
            opening = _OPENING.match(sentence)
            plain = sentence[opening.end() :] if opening else sentence
            if not SHORTEST_WISH_CHARS <= len(plain) <= LONGEST_WISH_CHARS or _ABOUT_TODAY.search(plain):
                continue
            corrects = answered or opening is not None
            rule = plain if listed else rule_in(plain, _mask(plain), corrects=corrects)
            if rule:
                yield rule, corrects and rule != sentence
        listed = listed or _LIST_OF_RULES.search(line) is not None


def _mask(sentence: str) -> str:
    """What is quoted is not the user's own; the place of each letter stays the same."""
    return _QUOTED.sub(lambda quoted: f" {'Q' * (len(quoted[0]) - 2)} ", sentence)


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
    )


def _key(wish: str) -> str:
    words = " ".join(re.findall(r"\w+", wish.casefold()))
    return f"preference {digest(words)}"
