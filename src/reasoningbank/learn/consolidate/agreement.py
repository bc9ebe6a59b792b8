"""What two wordings amount to: the same advice, opposite advice, two values for one setting, or nothing of the kind.

Pure, and slow to say yes: a merge of two texts that differ in one number, one negation or one name would lose the
difference for good, while two memories that could have been one only take up room.
"""

from __future__ import annotations

from difflib import SequenceMatcher

from reasoningbank.core.stem import stem
from reasoningbank.core.values import dataclass
from reasoningbank.learn.consolidate.vocabulary import OPPOSITES, ORDERED
from reasoningbank.learn.consolidate.wording import Wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How much must agree. Shares are of the words that carry the advice."""

    same_share: float = 0.80
    """Of all words of either: a longer text may say this much more than a shorter one."""
    conflict_share: float = 0.40
    conflict_of_shorter: float = 0.75
    fewest_terms: int = 2
    typo_likeness: float = 0.88
    typo_chars: int = 6
    """Of the stem. Where a letter is a word, as in Chinese, there are no typos."""


RULES = Rules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    kind: str
    """opposite, verdict or value."""
    why: str


def says_the_same(one: Wording, other: Wording, rules: Rules = RULES) -> float | None:
    """The share of words that two texts have in common, where they give the same advice; else None."""
    if one.is_failure != other.is_failure:
        return None
    if one.whole == other.whole:
        return 1.0
    if one.is_cut or other.is_cut or _exactly(one) != _exactly(other):
        return None
    if opposed(one, other) or _reordered(one, other):
        return None
    return _shared(one.words, other.words, rules)


def _exactly(wording: Wording) -> tuple[object, ...]:
    """What must be the same to the letter."""
    return wording.literals, wording.qualifiers, wording.against, wording.denials


def contradiction(one: Wording, other: Wording, rules: Rules = RULES) -> Contradiction | None:
    """Why two texts cannot both be followed, if they cannot. Order matters not."""
    flipped = (one.denials % 2 != other.denials % 2) != (len(opposed(one, other)) % 2 == 1)
    if (one.avoids != other.avoids) != flipped:
        return _opposite(one, other, rules)
    if one.avoids == other.avoids and not flipped:
        return _two_values(one, other, rules)
    return None


_OPPOSED = tuple((one, other, stem(one), stem(other)) for one, other in OPPOSITES)


def opposed(one: Wording, other: Wording) -> list[tuple[str, str]]:
    """Pairs of opposites of which each text has one and not the other."""
    left, right = one.words - other.words, other.words - one.words
    if not left or not right:
        return []
    return [(a, b) for a, b, x, y in _OPPOSED if (x in left and y in right) or (y in left and x in right)]


def _shared(one: frozenset[str], other: frozenset[str], rules: Rules) -> float | None:
    left, right = one - other, other - one
    if left and right:
        # A word in place of another is another subject, unless it is the same word misspelt.
        left, right = _without_typos(left, right, rules)
        if left and right:
            return None
    common = len(one & other) + min(len(one - other) - len(left), len(other - one) - len(right))
    total = common + len(left) + len(right)
    share = common / total if total else 0.0
    return share if share >= rules.same_share else None


def _without_typos(left: frozenset[str], right: frozenset[str], rules: Rules) -> tuple[frozenset[str], frozenset[str]]:
    if len(left) > 4 or len(right) > 4:
        return left, right
    for a in sorted(left):
        for b in sorted(right):
            long_enough = min(len(a), len(b)) >= rules.typo_chars and a.isascii() and b.isascii()
            if long_enough and SequenceMatcher(None, a, b).ratio() >= rules.typo_likeness:
                left, right = left - {a}, right - {b}
                break
    return left, right


def _reordered(one: Wording, other: Wording) -> bool:
    if not (one.words & ORDERED or other.words & ORDERED):
        return False
    common = set(one.order) & set(other.order)
    return [t for t in one.order if t in common] != [t for t in other.order if t in common]


def _opposite(one: Wording, other: Wording, rules: Rules) -> Contradiction | None:
    another_thing = one.literals - other.literals and other.literals - one.literals
    if another_thing or one.qualifiers != other.qualifiers or _reordered(one, other):
        return None
    left, right = one.terms, other.terms
    pairs = opposed(one, other)
    for a, b in pairs:
        left, right = left - {stem(a), stem(b)}, right - {stem(a), stem(b)}
    common, shorter = len(left & right), min(len(left), len(right))
    fewest = 1 if pairs else rules.fewest_terms
    if common < max(fewest, rules.conflict_of_shorter * shorter, rules.conflict_share * len(left | right)):
        return None
    if one.is_failure != other.is_failure and one.against == other.against and not pairs:
        return Contradiction(kind="verdict", why="the same advice is held to have worked and to have failed")
    if pairs:
        words = " and ".join(f"“{a}” against “{b}”" for a, b in pairs)
        return Contradiction(kind="opposite", why=f"they say opposite things of the same subject ({words})")
    return Contradiction(kind="opposite", why="one advises what the other advises against")


def _two_values(one: Wording, other: Wording, rules: Rules) -> Contradiction | None:
    left, right = one.literals - other.literals, other.literals - one.literals
    if len(left) != 1 or len(right) != 1 or one.qualifiers != other.qualifiers:
        return None
    if (one.against, one.denials) != (other.against, other.denials):
        return None
    if _shared(one.words, other.words, rules) is None:
        return None
    mine, theirs = dict(one.values - other.values), dict(other.values - one.values)
    for setting in sorted(mine.keys() & theirs.keys()):
        if mine[setting] != theirs[setting]:
            return Contradiction(
                kind="value", why=f"they give {setting} two values, {mine[setting]} and {theirs[setting]}"
            )
    return None
