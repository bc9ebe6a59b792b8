"""Says whether two claims exclude each other: turned around, another value, another choice, the other order.

Pure, and slow to say yes: a claim that is narrower than the one it denies is an exception to it, and where one word
stands in place of another the two are about two things.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from reasoningbank.core.frozen import dataclass
from reasoningbank.learn.consolidate import vocabulary
from reasoningbank.learn.consolidate.claims import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    kind: str
    """opposite, verdict, value or choice."""
    why: str


LEAST_SHARE = 0.4
"""Of the words of either claim that both must have: a prohibition is often shorter than what it prohibits."""
FEWEST_TERMS = 2
"""That two claims must have in common, unless they have nothing else."""


def opposed(ones: Sequence[Claim], others: Sequence[Claim]) -> Contradiction | None:
    """Why two lessons cannot both be followed, by the first two claims that exclude each other."""
    for one in ones:
        for other in others:
            found = (
                _turned(one, other) or _other_value(one, other) or _other_choice(one, other) or _reversed(one, other)
            )
            if found is not None:
                return found
    return None


def agreed(ones: Sequence[Claim], others: Sequence[Claim]) -> bool:
    """Whether two lessons make the same claim, in which they cannot contradict each other."""
    return any(
        _is_denied(one, other) == _is_denied(other, one)
        and not any(_differences(one, other))
        and len((one.terms & other.terms) - vocabulary.LIGHT) >= FEWEST_TERMS
        and one.numbers == other.numbers
        and not _is_reversed(one, other)
        for one in ones
        for other in others
    )


def marks_of(claim: Claim) -> Iterator[str]:
    """Names under which claims about one subject meet: two of its words, its only word, a kind of choice."""
    words = sorted(claim.terms - vocabulary.LIGHT)
    yield from (f"{one} {other}" for one, other in combinations(words, 2))
    if len(words) == 1:
        yield words[0]
    yield from (f"choice {vocabulary.CHOICES[word]}" for word in words if word in vocabulary.CHOICES)


def _turned(one: Claim, other: Claim) -> Contradiction | None:
    if _is_denied(one, other) == _is_denied(other, one) or not _same_numbers(one, other):
        return None
    denied, advised = (one, other) if _is_denied(one, other) else (other, one)
    left, right = _differences(denied, advised)
    common = (denied.terms & advised.terms) - vocabulary.LIGHT
    if left or not _enough(common, left, right) or _is_reversed(one, other):
        return None
    # To split what is to be avoided is not to do it.
    if advised.verb in right:
        return None
    # What is done in tests and not otherwise is an exception, unless it is never to be done.
    if right & vocabulary.PLACES and not denied.universal:
        return None
    return Contradiction(kind="opposite", why="one advises what the other advises against")


def _is_denied(claim: Claim, beside: Claim) -> bool:
    """Whether a claim is against what both are about. An opposite of which the other says nothing turns nothing."""
    return claim.denied != (len(claim.turned & beside.terms) % 2 == 1)


def _other_value(one: Claim, other: Claim) -> Contradiction | None:
    if _is_denied(one, other) != _is_denied(other, one) or any(_differences(one, other)):
        return None
    mine, theirs = {what: n for n, what in one.numbers}, {what: n for n, what in other.numbers}
    if "" in mine or "" in theirs or not mine or mine.keys() != theirs.keys():
        return None
    apart = [what for what in mine if mine[what] != theirs[what]]
    common = (one.terms & other.terms) - vocabulary.LIGHT
    if len(apart) != 1 or not common:
        return None
    return Contradiction(
        kind="value", why=f"they say two numbers for the same thing, {mine[apart[0]]} and {theirs[apart[0]]}"
    )


def _other_choice(one: Claim, other: Claim) -> Contradiction | None:
    if one.denied or other.denied or (one.terms | other.terms) & vocabulary.ADDING:
        return None
    left, right = _differences(one, other)
    if len(left) != 1 or len(right) != 1:
        return None
    (mine,), (theirs,) = left, right
    if vocabulary.CHOICES.get(mine) is None or vocabulary.CHOICES.get(mine) != vocabulary.CHOICES.get(theirs):
        return None
    return Contradiction(kind="choice", why=f"of {mine} and {theirs} only one can be chosen for the same purpose")


def _reversed(one: Claim, other: Claim) -> Contradiction | None:
    left, right = _differences(one, other)
    if one.denied or other.denied or (left and right) or not _is_reversed(one, other):
        return None
    return Contradiction(kind="opposite", why="they give two steps in opposite order")


def _is_reversed(one: Claim, other: Claim) -> bool:
    if one.order is None or other.order is None:
        return False
    (first, then), (others_first, others_then) = one.order, other.order
    # What both do first is what is done, to two things in turn: "weigh the water before the flour".
    mine, theirs = first - others_first, others_first - first
    return bool(mine & others_then and then & theirs)


def _differences(one: Claim, other: Claim) -> tuple[frozenset[str], frozenset[str]]:
    return one.terms - other.terms - vocabulary.LIGHT, other.terms - one.terms - vocabulary.LIGHT


def _enough(common: frozenset[str], left: frozenset[str], right: frozenset[str]) -> bool:
    if not left and not right:
        return bool(common)
    return len(common) >= max(FEWEST_TERMS, LEAST_SHARE * (len(common) + len(left) + len(right)))


def _same_numbers(one: Claim, other: Claim) -> bool:
    mine, theirs = {n for n, _ in one.numbers}, {n for n, _ in other.numbers}
    return not mine or not theirs or mine <= theirs or theirs <= mine
