"""Rules that a user sets in a prompt, and how plainly each is the user's own word."""

from __future__ import annotations

from reasoningbank.core.frozen import dataclass
from reasoningbank.learn.offline.wishes import is_about_the_user, rules_in

LONGEST_PLAIN_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardRule:
    text: str
    is_plain: bool
    """It counts at once; otherwise it is proposed."""
    about_user: bool
    """It says how to work with this person, whatever the work is."""


def heard_rules(prompt: str, agent: str) -> list[HeardRule]:
    """Rules in a prompt. Plain are those of one short line in which nothing is quoted, marked up or fetched."""
    del agent
    is_plain = len(prompt) <= LONGEST_PLAIN_CHARS and not any(sign in prompt.strip() for sign in '\n<>|`":/')
    return [
        HeardRule(text=text, is_plain=is_plain, about_user=is_about_the_user(text))
        for text, _ in rules_in(prompt[:20_000], answered=False)
    ]
