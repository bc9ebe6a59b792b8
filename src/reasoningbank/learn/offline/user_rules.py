"""The rules of the user that hold now: the newest first, and of two that contradict each other only the newer one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reasoningbank.core.patterns import pattern
from reasoningbank.core.stem import stem
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Rule
from reasoningbank.guard.hidden import visible
from reasoningbank.learn.offline.wish_words import ANY_WORD, FRAME, LANGUAGES, NEGATIONS, WITHDRAWN

USER_SAID = "The user said:"
MOST_TOKENS = 200
"""Of all rules that open a session: half of what is said there, so that lessons have room beside them."""
LEAST_SHARED = 0.5
_NUMBER = pattern(r"\d+(?:\.\d+)?")
_ALTERNATIVES = tuple(
    frozenset(map(stem, pair.split()))
    for pair in (
        "tab space", "single double", "short long", "brief detailed", "concise verbose", "squash merge", "merge rebase",
        "british american", "formal informal", "camelcase snakecase", "upper lower", "before after", "first last",
        "enable disable", "with without", "sync async", "explicit implicit", "relative absolute",
    )
)  # fmt: skip
"""Words of which a rule can have one or the other."""


class Sentence(Protocol):
    """A rule as a record, or as a hook's file has it."""

    @property
    def text(self) -> str: ...


def rules_to_tell(rules: Sequence[Rule], max_tokens: int = MOST_TOKENS) -> list[Rule]:
    """Of the rules in force, the latest word first, as many as there is room for; none that a later one replaces."""
    told: list[Rule] = []
    spent = 0
    for number, rule in enumerate(rules):
        cost = count_tokens(rule.text) + 3
        if spent + cost <= min(max_tokens, MOST_TOKENS) and stands(rules, number):
            told.append(rule)
            spent += cost
    return told


def stands(rules: Sequence[Sentence], number: int) -> bool:
    """True if no later word replaces that rule which stands itself; the latest word comes first."""
    return not any(replaces(rules[later].text, rules[number].text) and stands(rules, later) for later in range(number))


def rule_line(rule: Rule) -> str:
    return f"- {visible(rule.text, markup=False)}"


def replaces(newer: str, older: str) -> bool:
    """Whether two rules speak of one thing and cannot both be kept."""
    if newer == older:
        return False
    new, old = _subject(newer), _subject(older)
    shared, most = new & old, max(1, min(len(new), len(old)))
    if _denies(newer) != _denies(older):
        return len(shared) / most > LEAST_SHARED or (bool(shared) and len(new) <= 1 and len(old) <= 1)
    left, right = new - old, old - new
    if LANGUAGES & left and LANGUAGES & right:
        return len(shared) / most >= LEAST_SHARED or len(new) == len(old) == 1
    if _numbers(newer) != _numbers(older) and _numbers(newer) and _numbers(older):
        return left | right == _numbers(newer) ^ _numbers(older)
    apart = [pair for pair in _ALTERNATIVES if pair & left and pair & right]
    others = (left | right) - frozenset().union(*apart) if apart else left | right
    return bool(apart) and len(others) <= len(shared) + 1


def _subject(rule: str) -> frozenset[str]:
    """The words that say what a rule is about, without those in which rules are said."""
    words = [word.casefold() for word in ANY_WORD.findall(rule)]
    return frozenset(stem(word) for word in words if word not in FRAME and word not in NEGATIONS)


def _numbers(rule: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(rule))


def _denies(rule: str) -> bool:
    words = [word.casefold() for word in ANY_WORD.findall(rule)]
    return sum(word in NEGATIONS for word in words) % 2 == 1 or WITHDRAWN.search(rule) is not None
