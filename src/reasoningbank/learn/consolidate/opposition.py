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
"""Share of the words of either claim that both must have: a prohibition is often shorter than what it prohibits."""
FEWEST_TERMS = 2
"""Number of words that two claims must have in common, unless they have nothing else."""


def opposed(claims: Sequence[Claim], other_claims: Sequence[Claim]) -> Contradiction | None:
    """Why two lessons cannot both be followed, by the first two claims that exclude each other."""
    for claim in claims:
        for other in other_claims:
            contradiction = (
                _opposite_advice(claim, other)
                or _other_value(claim, other)
                or _other_choice(claim, other)
                or _opposite_order(claim, other)
            )
            if contradiction is not None:
                return contradiction
    return None


def agreed(claims: Sequence[Claim], other_claims: Sequence[Claim]) -> bool:
    """True if two lessons make the same claim, in which they cannot contradict each other."""
    return any(
        _is_denied(claim, other) == _is_denied(other, claim)
        and not any(_differences(claim, other))
        and len((claim.terms & other.terms) - vocabulary.LIGHT) >= FEWEST_TERMS
        and claim.numbers == other.numbers
        and not _is_reversed(claim, other)
        for claim in claims
        for other in other_claims
    )


def marks_of(claim: Claim) -> Iterator[str]:
    """Names under which claims about one subject meet: two of its words, its only word, a kind of choice."""
    words = sorted(claim.terms - vocabulary.LIGHT)
    yield from (f"{word} {other}" for word, other in combinations(words, 2))
    if len(words) == 1:
        yield words[0]
    yield from (f"choice {vocabulary.CHOICES[word]}" for word in words if word in vocabulary.CHOICES)


def _opposite_advice(claim: Claim, other: Claim) -> Contradiction | None:
    if _is_denied(claim, other) == _is_denied(other, claim) or not _same_numbers(claim, other):
        return None
    prohibition, advice = (claim, other) if _is_denied(claim, other) else (other, claim)
    mine, theirs = _differences(prohibition, advice)
    common = (prohibition.terms & advice.terms) - vocabulary.LIGHT
    if mine or not _enough(common, mine, theirs) or _is_reversed(claim, other):
        return None
    # To split what is to be avoided is not to do it.
    if advice.verb in theirs:
        return None
    # What is done in tests and not otherwise is an exception, unless it is never to be done.
    if theirs & vocabulary.PLACES and not prohibition.universal:
        return None
    return Contradiction(kind="opposite", why="one advises what the other advises against")


def _is_denied(claim: Claim, beside: Claim) -> bool:
    """True if a claim is against what both are about. An opposite of which the other says nothing turns nothing."""
    return claim.denied != (len(claim.turned & beside.terms) % 2 == 1)


def _other_value(claim: Claim, other: Claim) -> Contradiction | None:
    if _is_denied(claim, other) != _is_denied(other, claim) or any(_differences(claim, other)):
        return None
    mine, theirs = {what: n for n, what in claim.numbers}, {what: n for n, what in other.numbers}
    if "" in mine or "" in theirs or not mine or mine.keys() != theirs.keys():
        return None
    apart = [what for what in mine if mine[what] != theirs[what]]
    common = (claim.terms & other.terms) - vocabulary.LIGHT
    if len(apart) != 1 or not common:
        return None
    return Contradiction(
        kind="value", why=f"they say two numbers for the same thing, {mine[apart[0]]} and {theirs[apart[0]]}"
    )


def _other_choice(claim: Claim, other: Claim) -> Contradiction | None:
    if claim.denied or other.denied or (claim.terms | other.terms) & vocabulary.ADDING:
        return None
    my_words, their_words = _differences(claim, other)
    if len(my_words) != 1 or len(their_words) != 1:
        return None
    (mine,), (theirs,) = my_words, their_words
    if vocabulary.CHOICES.get(mine) is None or vocabulary.CHOICES.get(mine) != vocabulary.CHOICES.get(theirs):
        return None
    return Contradiction(kind="choice", why=f"of {mine} and {theirs} only one can be chosen for the same purpose")


def _opposite_order(claim: Claim, other: Claim) -> Contradiction | None:
    mine, theirs = _differences(claim, other)
    if claim.denied or other.denied or (mine and theirs) or not _is_reversed(claim, other):
        return None
    return Contradiction(kind="opposite", why="they give two steps in opposite order")


def _is_reversed(claim: Claim, other: Claim) -> bool:
    if claim.order is None or other.order is None:
        return False
    (first, then), (others_first, others_then) = claim.order, other.order
    # What both do first is what is done, to two things in turn: "weigh the water before the flour".
    mine, theirs = first - others_first, others_first - first
    return bool(mine & others_then and then & theirs)


def _differences(claim: Claim, other: Claim) -> tuple[frozenset[str], frozenset[str]]:
    return claim.terms - other.terms - vocabulary.LIGHT, other.terms - claim.terms - vocabulary.LIGHT


def _enough(common: frozenset[str], mine: frozenset[str], theirs: frozenset[str]) -> bool:
    if not mine and not theirs:
        return bool(common)
    return len(common) >= max(FEWEST_TERMS, LEAST_SHARE * (len(common) + len(mine) + len(theirs)))


def _same_numbers(claim: Claim, other: Claim) -> bool:
    mine, theirs = {n for n, _ in claim.numbers}, {n for n, _ in other.numbers}
    return not mine or not theirs or mine <= theirs or theirs <= mine
