"""Compares two wordings: the same advice, opposite advice, two values for one setting, or nothing of the kind.

Pure, and slow to say yes: a merge of two texts that differ in one number, one negation or one name would lose the
difference for good, while two memories that could have been one only take up room.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher
from functools import lru_cache

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.stem import stem
from reasoningbank.learn.consolidate.opposition import Contradiction, agreed, opposed
from reasoningbank.learn.consolidate.vocabulary import OPPOSITES, SETTINGS
from reasoningbank.learn.consolidate.wording import Wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Thresholds of agreement. Shares are of the words that carry the advice."""

    same_share: float = 0.80
    """Of all words of either: a longer text may say this much more than a shorter one."""
    conflict_share: float = 0.40
    """The same, for what contradicts it: a warning is often shorter than what it warns of."""
    fewest_terms: int = 2
    typo_likeness: float = 0.88
    typo_chars: int = 6
    """Of the stem. Where a letter is a word, as in Chinese, there are no typos."""
    most_typos: int = 2


RULES = Rules()


def says_the_same(one: Wording, other: Wording, rules: Rules = RULES) -> float | None:
    """The share of words that two texts have in common, where they give the same advice; else None."""
    if one.is_failure != other.is_failure:
        return None
    if one.whole == other.whole:
        return 1.0
    if one.is_cut or other.is_cut or _exactly(one) != _exactly(other):
        return None
    if opposites_between(one, other) or opposed(one.claims, other.claims):
        return None
    return _overlap(one, other, rules)


def _exactly(wording: Wording) -> tuple[object, ...]:
    """What must be the same to the letter."""
    return wording.literals, wording.qualifiers, wording.against, wording.denials, wording.turns


def contradiction(one: Wording, other: Wording, rules: Rules = RULES) -> Contradiction | None:
    """Why two lessons cannot both be followed, if they cannot. It matters not which comes first.

    By the texts as a whole, else by single claims: each may have its own reasons beside what it claims.
    """
    by_claim = opposed(one.claims, other.claims)
    if by_claim is None and one.is_failure == other.is_failure and agreed(one.claims, other.claims):
        return None
    return _between_texts(one, other, rules) or by_claim


def _between_texts(one: Wording, other: Wording, rules: Rules) -> Contradiction | None:
    if min(len(one.words - other.words), len(other.words - one.words)) > _MOST_OPPOSED:
        return None
    flipped = (one.denies != other.denies) != (len(opposites_between(one, other)) % 2 == 1)
    if (one.avoids != other.avoids) != flipped:
        return _opposite(one, other, rules)
    if one.avoids == other.avoids and not flipped:
        return _two_values(one, other, rules)
    return None


_MOST_OPPOSED = 3
"""Words in place of others, beyond which two texts are about two things."""
_OPPOSED = tuple((one, other, stem(one), stem(other)) for one, other in OPPOSITES)


def opposites_between(one: Wording, other: Wording) -> list[tuple[str, str]]:
    """Pairs of opposites of which each text has one and not the other."""
    left, right = one.words - other.words, other.words - one.words
    if not left or not right:
        return []
    return [(a, b) for a, b, x, y in _OPPOSED if (x in left and y in right) or (y in left and x in right)]


def _overlap(one: Wording, other: Wording, rules: Rules) -> float | None:
    rest = _differences(one, other, rules)
    if rest is None:
        return None
    left, right = rest
    # Words that differ in a typo alone are the same.
    common = len(one.words) - len(left)
    share = common / max(1, common + len(left) + len(right))
    return share if share >= rules.same_share else None


def _differences(one: Wording, other: Wording, rules: Rules) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words that only one of them has; None where a word stands in place of another, which is another subject."""
    left, right = one.words - other.words, other.words - one.words
    if left and right:
        left, right = _without_typos(left, right, rules)
    if left and right:
        return None
    # The cache in place of the queue, in a text that speaks of the cache already.
    if (left and _says_more(other, one)) or (right and _says_more(one, other)):
        return None
    return left, right


def _says_more(one: Wording, other: Wording) -> bool:
    """Whether a word of both occurs more often in the first."""
    return any(count > other.counts.get(word, count) for word, count in one.counts.items())


def _without_typos(left: frozenset[str], right: frozenset[str], rules: Rules) -> tuple[frozenset[str], frozenset[str]]:
    if max(len(left), len(right)) > rules.most_typos:
        return left, right
    for a in sorted(left):
        for b in sorted(right):
            if min(len(a), len(b)) >= rules.typo_chars and _likeness(a, b) >= rules.typo_likeness:
                left, right = left - {a}, right - {b}
                break
    return left, right


@lru_cache(maxsize=1 << 14)
def _likeness(one: str, other: str) -> float:
    if one[0] != other[0] or abs(len(one) - len(other)) > 1 or not (one.isascii() and other.isascii()):
        return 0.0
    return SequenceMatcher(None, one, other).ratio()


def _opposite(one: Wording, other: Wording, rules: Rules) -> Contradiction | None:
    another_thing = one.literals - other.literals and other.literals - one.literals
    pairs = opposites_between(one, other)
    # The same negations in another place: a reason that was moved to a sentence of its own turns nothing around.
    only_moved = not pairs and _negations(one) == _negations(other)
    if another_thing or only_moved or one.qualifiers != other.qualifiers:
        return None
    opposites = {stem(word) for pair in pairs for word in pair}
    left, right = one.terms - other.terms - opposites, other.terms - one.terms - opposites
    if left and right:
        left, right = _without_typos(left, right, rules)
    if (left and right) or _is_turned(one, other, opposites):
        return None
    common = len((one.terms & other.terms) - opposites)
    if common < max(1 if pairs else rules.fewest_terms, rules.conflict_share * (common + len(left) + len(right))):
        return None
    if one.is_failure != other.is_failure and one.against == other.against and not pairs:
        return Contradiction(kind="verdict", why="the same advice is held to have worked and to have failed")
    if pairs:
        words = " and ".join(f"“{a}” against “{b}”" for a, b in pairs)
        return Contradiction(kind="opposite", why=f"they say opposite things of the same subject ({words})")
    return Contradiction(kind="opposite", why="one advises what the other advises against")


def _negations(wording: Wording) -> tuple[bool, int, int]:
    return wording.is_failure, wording.against, wording.denials


def _is_turned(one: Wording, other: Wording, opposites: AbstractSet[str]) -> bool:
    """Whether a word of both that makes the order matter is followed by different things."""
    both = {turn for turn, _ in one.turns} & {turn for turn, _ in other.turns} - opposites
    return any(turn in both for turn, _ in one.turns ^ other.turns)


def _two_values(one: Wording, other: Wording, rules: Rules) -> Contradiction | None:
    left, right = one.literals - other.literals, other.literals - one.literals
    if len(left) != 1 or len(right) != 1 or one.qualifiers != other.qualifiers:
        return None
    if (one.against, one.denials) != (other.against, other.denials) or _overlap(one, other, rules) is None:
        return None
    mine, theirs = dict(one.values - other.values), dict(other.values - one.values)
    for setting in sorted(mine.keys() & theirs.keys()):
        if mine[setting] != theirs[setting]:
            name = SETTINGS.get(setting, setting)
            return Contradiction(
                kind="value", why=f"they give {name} two values, {mine[setting]} and {theirs[setting]}"
            )
    return None
