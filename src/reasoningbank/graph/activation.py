"""Spreading activation over a graph of which only the strongest edges of a few vertices are asked for at a time.

    T = A · w / √degree        A begins as the match of a seed to the question: scored once, and not again at each hop

Level by level from the seeds: what is reached by several ways at once adds up, nothing is visited twice, and depth,
branches, width and strength are bounded. Pure: what a vertex is joined to and which may be visited are arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import sqrt
from operator import attrgetter
from typing import NamedTuple

from reasoningbank.core.frozen import dataclass
from reasoningbank.ports import Tie

FindTies = Callable[[Sequence[str]], Mapping[str, Sequence[Tie]]]
"""The strongest ties of each vertex; how many there are is its degree, as far as it is counted."""
FindVisible = Callable[[Sequence[str]], Collection[str]]
"""Those of these vertices that may be visited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    depth: int = 5
    branching: int = 3
    """Ties that are followed from each vertex, the strongest first."""
    width: int = 36
    """Vertices that are gone on from at each level, all seeds together: three times the paths that are usually told."""
    faintest: float = 1e-4
    """Activation below which nothing is followed, as a share of the best seed's."""


DEFAULT_BOUNDS = Bounds()
NO_VERTEX = 0.5
"""What a way between two seeds counts for its last step: it brings an edge to light, and no vertex."""


class Reached(NamedTuple):
    """A vertex that activation came to, and the way by which most of it came."""

    id: str
    activation: float
    seed: str
    depth: int
    before: str
    """The vertex before it; "" for a seed."""
    tie: Tie | None
    ways: int = 1
    """By how many ties it was reached at once."""


@dataclass(frozen=True, slots=True)
class Spread:
    reached: Mapping[str, Reached]
    """By id, in the order in which they were reached."""
    met: Sequence[Reached]
    """Where one seed was reached from another: ends that are not gone on from."""
    cut_off: Mapping[str, int]
    """Why it went no further, and how often: depth, branching, width, faint, seen, hidden."""


def spread(seeds: Mapping[str, float], find_ties: FindTies, find_visible: FindVisible, bounds: Bounds) -> Spread:
    """Activation from seeds, given how well each matches the question."""
    reached = {
        seed: Reached(seed, match, seed, 0, "", None)
        for seed, match in sorted(seeds.items(), key=lambda pair: (-pair[1], pair[0]))
    }
    cut_off: Counter[str] = Counter()
    met: dict[frozenset[str], Reached] = {}
    faintest = bounds.faintest * max(seeds.values(), default=0.0)
    frontier = list(reached.values())
    for depth in range(1, bounds.depth + 1):
        if not frontier:
            break
        ties = {one: strongest_first(found) for one, found in find_ties([one.id for one in frontier]).items()}
        hidden: set[str] = set()
        while True:
            counted: Counter[str] = Counter()
            offers: list[Reached] = []
            for one in frontier:
                _add_offers(offers, one, ties.get(one.id, ()), reached, hidden, bounds.branching, faintest, counted)
            found = _merge_offers([offer for offer in offers if offer.id not in reached])
            counted["width"] += max(0, len(found) - bounds.width)
            # What may not be visited makes room for the next one.
            unseen = _hidden_among(found[: bounds.width], find_visible)
            if not unseen:
                break
            hidden |= unseen
        cut_off.update(counted)
        for offer in offers:
            if offer.id in reached and _is_new_meeting(offer, reached, met):
                met[frozenset((offer.seed, offer.id))] = offer._replace(activation=NO_VERTEX * offer.activation)
        frontier = found[: bounds.width]
        reached.update((one.id, one) for one in frontier)
        if depth == bounds.depth:
            cut_off["depth"] += len(frontier)
    return Spread(reached, list(met.values()), +cut_off)


def _hidden_among(found: Sequence[Reached], find_visible: FindVisible) -> set[str]:
    ids = [one.id for one in found]
    return set(ids).difference(find_visible(ids)) if ids else set()


def strongest_first(ties: Sequence[Tie]) -> list[Tie]:
    """By weight, and among equals by the far end and then by the edge."""
    return sorted(sorted(ties, key=_BY_ID), key=_BY_WEIGHT, reverse=True)


_BY_ID, _BY_WEIGHT = attrgetter("far", "edge_id"), attrgetter("weight")


def _add_offers(
    offers: list[Reached],
    one: Reached,
    ties: Sequence[Tie],
    reached: Mapping[str, Reached],
    hidden: Collection[str],
    branching: int,
    faintest: float,
    counted: Counter[str],
) -> None:
    passed_on = one.activation / sqrt(max(1, len(ties)))
    followed: set[str] = set()
    for place, tie in enumerate(ties):
        far = tie.far
        if far in followed or far in (one.before, one.id):
            continue
        if passed_on * tie.weight < faintest:
            counted["faint"] += len(ties) - place
            return
        if len(followed) == branching:
            counted["branching"] += len(ties) - place
            return
        known = reached.get(far)
        if far in hidden:
            counted["hidden"] += 1
        elif known is not None and known.depth:
            counted["seen"] += 1
        else:
            if known is None:
                followed.add(far)
            offers.append(Reached(far, passed_on * tie.weight, one.seed, one.depth + 1, one.id, tie))


def _merge_offers(offers: Iterable[Reached]) -> list[Reached]:
    """One of all that came to the same vertex at once: by the strongest way, with what all bring. In order."""
    by_id: dict[str, list[Reached]] = {}
    for offer in offers:
        by_id.setdefault(offer.id, []).append(offer)
    found = []
    for same in by_id.values():
        best = min(same, key=_place)
        left = 1.0
        for offer in same:
            left *= 1.0 - min(1.0, offer.activation)
        found.append(best if len(same) == 1 else best._replace(activation=1.0 - left, ways=len(same)))
    return sorted(found, key=_place)


def _place(one: Reached) -> tuple[float, str, str]:
    return (-one.activation, one.id, one.tie.edge_id if one.tie else "")


def _is_new_meeting(offer: Reached, reached: Mapping[str, Reached], met: Mapping[frozenset[str], Reached]) -> bool:
    return reached[offer.id].seed != offer.seed and frozenset((offer.seed, offer.id)) not in met


# ---------------------------------------------------------------- paths


class Trail(NamedTuple):
    """A way from a seed, and what it brings that no better one has brought already."""

    steps: tuple[Reached, ...]
    """The seed first."""
    new_from: int
    """The first step that no better trail goes through."""
    gain: float
    """The activation of the steps from there on."""


def trails(found: Spread) -> list[Trail]:
    """Ways from the seeds to where activation ended, those that bring most to light first.

    Each vertex is first shown by the trail on which most follows it, so that the first few say the most.
    """
    after: dict[str, list[Reached]] = {}
    for one in (*found.reached.values(), *found.met):
        if one.tie is not None:
            after.setdefault(one.before, []).append(one)
    worth: dict[str, float] = {}
    onward: dict[str, Reached] = {}
    met = {id(one) for one in found.met}

    def whole(one: Reached) -> float:
        return one.activation + (0.0 if id(one) in met else worth.get(one.id, 0.0))

    for one in sorted(found.reached.values(), key=lambda one: -one.depth):
        if nexts := after.get(one.id):
            onward[one.id] = best = min(nexts, key=lambda step: (-whole(step), step.id))
            worth[one.id] = whole(best)
    made = []
    for one in (*found.reached.values(), *found.met):
        # A trail begins at a seed, and where a better one has gone another way.
        if one.tie is not None and (found.reached[one.before].tie is None or onward[one.before] is not one):
            before = _steps_to(found, one.before)
            made.append(Trail((*before, one, *_steps_on(one, onward, met)), len(before), whole(one)))
    return sorted(made, key=lambda trail: (-trail.gain, trail.steps[-1].id))


def _steps_to(found: Spread, vertex: str) -> list[Reached]:
    steps = [found.reached[vertex]]
    while steps[0].tie is not None:
        steps.insert(0, found.reached[steps[0].before])
    return steps


def _steps_on(one: Reached, onward: Mapping[str, Reached], met: Collection[int]) -> list[Reached]:
    steps: list[Reached] = []
    while id(one) not in met and one.id in onward:
        one = onward[one.id]
        steps.append(one)
    return steps
