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
    """Share of all words of either: a longer text may say this much more than a shorter one."""
    conflict_share: float = 0.40
    """The same, for what contradicts it: a warning is often shorter than what it warns of."""
    fewest_terms: int = 2
    typo_likeness: float = 0.88
    typo_chars: int = 6
    """Shortest stem that may hold a typo. Where a letter is a word, as in Chinese, there are no typos."""
    most_typos: int = 2


RULES = Rules()


def says_the_same(wording: Wording, other: Wording, rules: Rules = RULES) -> float | None:
    """The share of words that two texts have in common, where they give the same advice; else None."""
    if wording.is_failure != other.is_failure:
        return None
    if wording.whole == other.whole:
        return 1.0
    if wording.is_cut or other.is_cut or _exactly(wording) != _exactly(other):
        return None
    if _opposites_between(wording, other) or opposed(wording.claims, other.claims):
        return None
    return _overlap(wording, other, rules)


def _exactly(wording: Wording) -> tuple[object, ...]:
    """The parts that must be the same to the letter."""
    return wording.literals, wording.qualifiers, wording.against, wording.denials, wording.turns


def contradiction(wording: Wording, other: Wording, rules: Rules = RULES) -> Contradiction | None:
    """Why two lessons cannot both be followed, if they cannot. It matters not which comes first.

    By the texts as a whole, else by single claims: each may have its own reasons beside what it claims.
    """
    by_claim = opposed(wording.claims, other.claims)
    if by_claim is None and wording.is_failure == other.is_failure and agreed(wording.claims, other.claims):
        return None
    return _between_texts(wording, other, rules) or by_claim


def _between_texts(wording: Wording, other: Wording, rules: Rules) -> Contradiction | None:
    if min(len(wording.words - other.words), len(other.words - wording.words)) > _MOST_OPPOSED:
        return None
    is_flipped = (wording.denies != other.denies) != (len(_opposites_between(wording, other)) % 2 == 1)
    if (wording.avoids != other.avoids) != is_flipped:
        return _opposite(wording, other, rules)
    if wording.avoids == other.avoids and not is_flipped:
        return _two_values(wording, other, rules)
    return None


_MOST_OPPOSED = 3
"""Words in place of others, beyond which two texts are about two things."""
_OPPOSED = tuple((word, other, stem(word), stem(other)) for word, other in OPPOSITES)


def _opposites_between(wording: Wording, other: Wording) -> list[tuple[str, str]]:
    """Pairs of opposites of which each text has one and not the other."""
    mine, theirs = wording.words - other.words, other.words - wording.words
    if not mine or not theirs:
        return []
    return [(a, b) for a, b, x, y in _OPPOSED if (x in mine and y in theirs) or (y in mine and x in theirs)]


def _overlap(wording: Wording, other: Wording, rules: Rules) -> float | None:
    rest = _differences(wording, other, rules)
    if rest is None:
        return None
    mine, theirs = rest
    # Words that differ in a typo alone are the same.
    common = len(wording.words) - len(mine)
    share = common / max(1, common + len(mine) + len(theirs))
    return share if share >= rules.same_share else None


def _differences(wording: Wording, other: Wording, rules: Rules) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words that only one of them has; None where a word stands in place of another, which is another subject."""
    mine, theirs = wording.words - other.words, other.words - wording.words
    if mine and theirs:
        mine, theirs = _without_typos(mine, theirs, rules)
    if mine and theirs:
        return None
    # The cache in place of the queue, in a text that speaks of the cache already.
    if (mine and _says_more(other, wording)) or (theirs and _says_more(wording, other)):
        return None
    return mine, theirs


def _says_more(wording: Wording, other: Wording) -> bool:
    """True if a word of both occurs more often in the first."""
    return any(count > other.counts.get(word, count) for word, count in wording.counts.items())


def _without_typos(mine: frozenset[str], theirs: frozenset[str], rules: Rules) -> tuple[frozenset[str], frozenset[str]]:
    if max(len(mine), len(theirs)) > rules.most_typos:
        return mine, theirs
    for a in sorted(mine):
        for b in sorted(theirs):
            if min(len(a), len(b)) >= rules.typo_chars and _likeness(a, b) >= rules.typo_likeness:
                mine, theirs = mine - {a}, theirs - {b}
                break
    return mine, theirs


@lru_cache(maxsize=1 << 14)
def _likeness(word: str, other: str) -> float:
    if word[0] != other[0] or abs(len(word) - len(other)) > 1 or not (word.isascii() and other.isascii()):
        return 0.0
    return SequenceMatcher(None, word, other).ratio()


def _opposite(wording: Wording, other: Wording, rules: Rules) -> Contradiction | None:
    another_thing = wording.literals - other.literals and other.literals - wording.literals
    pairs = _opposites_between(wording, other)
    # The same negations in another place: a reason that was moved to a sentence of its own turns nothing around.
    only_moved = not pairs and _negations(wording) == _negations(other)
    if another_thing or only_moved or wording.qualifiers != other.qualifiers:
        return None
    opposites = {stem(word) for pair in pairs for word in pair}
    mine, theirs = wording.terms - other.terms - opposites, other.terms - wording.terms - opposites
    if mine and theirs:
        mine, theirs = _without_typos(mine, theirs, rules)
    if (mine and theirs) or _is_turned(wording, other, opposites):
        return None
    common = len((wording.terms & other.terms) - opposites)
    if common < max(1 if pairs else rules.fewest_terms, rules.conflict_share * (common + len(mine) + len(theirs))):
        return None
    if wording.is_failure != other.is_failure and wording.against == other.against and not pairs:
        return Contradiction(kind="verdict", why="the same advice is held to have worked and to have failed")
    if pairs:
        words = " and ".join(f"“{a}” against “{b}”" for a, b in pairs)
        return Contradiction(kind="opposite", why=f"they say opposite things of the same subject ({words})")
    return Contradiction(kind="opposite", why="one advises what the other advises against")


def _negations(wording: Wording) -> tuple[bool, int, int]:
    return wording.is_failure, wording.against, wording.denials


def _is_turned(wording: Wording, other: Wording, opposites: AbstractSet[str]) -> bool:
    """True if a word of both that makes the order matter is followed by different things."""
    both = {turn for turn, _ in wording.turns} & {turn for turn, _ in other.turns} - opposites
    return any(turn in both for turn, _ in wording.turns ^ other.turns)


def _two_values(wording: Wording, other: Wording, rules: Rules) -> Contradiction | None:
    own_literals, other_literals = wording.literals - other.literals, other.literals - wording.literals
    if len(own_literals) != 1 or len(other_literals) != 1 or wording.qualifiers != other.qualifiers:
        return None
    if (wording.against, wording.denials) != (other.against, other.denials) or _overlap(wording, other, rules) is None:
        return None
    mine, theirs = dict(wording.values - other.values), dict(other.values - wording.values)
    for setting in sorted(mine.keys() & theirs.keys()):
        if mine[setting] != theirs[setting]:
            name = SETTINGS.get(setting, setting)
            return Contradiction(
                kind="value", why=f"they give {name} two values, {mine[setting]} and {theirs[setting]}"
            )
    return None
