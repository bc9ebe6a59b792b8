"""Cuts what a user says into sentences, with the rules in each: `rule_sentences` tells which are rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reasoningbank.core.patterns import pattern
from reasoningbank.learn.offline.rule_sentences import MANNER, rules_of

LONGEST_RULE_CHARS = 300
_PASTED = pattern(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*$|^(?: {4,}|\t)\S[^\n]*$", re.DOTALL | re.MULTILINE)
_SENTENCE = pattern(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]*")
BULLET = pattern(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
HEADS_RULES = pattern(
    r"\b(?:rules?|conventions?|guidelines?|preferences|remember|from now on|going forward|always|never"
    r"|please don['’]t|do not)\b[^:\n]{0,40}:\s*$",
    re.IGNORECASE,
)
_OPENING = pattern(
    r"(?:(?:no|nope|wrong|also|and|but|ok|okay|good|great|thanks|thank you|well|oh|hey|hi|actually|one more thing|btw"
    r"|by the way)\b\s*[,.;:!–-]+\s*|(?:and|but|also|actually)\s+)+",
    re.IGNORECASE,
)
_ABOUT_TODAY = pattern(
    r"#[A-Z]{0,3}\d{4,}\b|\b[A-Z]?\d{6,}\b|\bmy (?:order|account|card|address|refund)\b",
    re.IGNORECASE,
)
_OF_A_PERSON = pattern(
    rf"\b(?:I|I'm|I'd|me|my|mine|myself|{MANNER}|brief|concise|verbose|terse|polite|emojis?|bullet points?)\b"
    r"|\bin (?:english|german|french|spanish|italian|portuguese|dutch|chinese|japanese|korean|russian)\b",
    re.IGNORECASE,
)
_OF_THE_WORK = pattern(
    r"`|[\w-]+[/\\][\w.-]+|\b\w+_\w+\b|\b\w+\.(?:[a-z]{1,2}|tsx|java|cpp|toml|ya?ml|json|sql|css|html)\b"
    r"|\b(?:we|our|us|here)\b|\b(?:this|the) (?:repo|project|codebase|package|service|app|file|folder|module|branch)",
    re.IGNORECASE,
)


class UserSentence(NamedTuple):
    """A sentence of a user, without the "no" or "also" that opens it."""

    text: str
    rules: tuple[str, ...]
    corrects: bool


def sentences_in(text: str, *, is_reply: bool = False) -> Iterator[UserSentence]:
    """Sentences with the rules in each: none, one, or two where each says for itself what is always or never done.

    `is_reply` says that the agent has spoken before.
    """
    is_listed = False
    for line in text.splitlines():
        bullet, heads_list = BULLET.match(line), HEADS_RULES.search(line) is not None
        is_listed = is_listed and (bullet is not None or not line.strip())
        for words in _SENTENCE.findall(line[bullet.end() :] if bullet else line):
            sentence = " ".join(words.split())
            opening = _OPENING.match(sentence)
            plain = sentence[opening.end() :] if opening else sentence
            corrects = is_reply or opening is not None
            is_read = 8 <= len(plain) <= LONGEST_RULE_CHARS and not _ABOUT_TODAY.search(plain)
            rules: tuple[str, ...] = ()
            if is_read and not heads_list:
                rules = (plain,) if is_listed else rules_of(plain, corrects=corrects)
            if plain:
                yield UserSentence(plain, rules, corrects and rules != (sentence,))
        is_listed = is_listed or heads_list


def rules_in(text: str, *, is_reply: bool) -> Iterator[tuple[str, bool]]:
    """Rules in the user's words, each with True if it corrects what was done; not from what is plainly pasted."""
    for sentence in sentences_in(_PASTED.sub("", text), is_reply=is_reply):
        yield from ((rule, sentence.corrects) for rule in sentence.rules)


def is_about_the_user(rule: str) -> bool:
    """True if it says how this person wants to be worked with, whatever the work is; in doubt it is about the work."""
    return _OF_A_PERSON.search(rule) is not None and _OF_THE_WORK.search(rule) is None
