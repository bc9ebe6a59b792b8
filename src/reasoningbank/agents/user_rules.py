"""The rules of the user that hold now: the newest first, and of two that contradict each other only the newer one."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.patterns import pattern
from reasoningbank.core.stem import stem
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Remembered
from reasoningbank.learn.offline.wish_words import ANY_WORD, FRAME, LANGUAGES, NEGATIONS, WITHDRAWN

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


def rules_in_force(rules: Sequence[Remembered]) -> list[Remembered]:
    """The newest first, as many as there is room for."""
    kept: list[Remembered] = []
    spent = 0
    # A rule that is said again is revised.
    for rule in sorted(rules, key=lambda rule: rule.memory.updated_at, reverse=True):
        cost = count_tokens(rule.content) + 3
        if spent + cost <= MOST_TOKENS and not any(replaces(newer.content, rule.content) for newer in kept):
            kept.append(rule)
            spent += cost
    return kept


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
