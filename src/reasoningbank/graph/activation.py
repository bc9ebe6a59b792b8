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
"""Returns those of the given vertices that may be visited."""


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
"""Factor for the last step of a way between two seeds: it brings an edge to light, and no vertex."""


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
    """Number of ties by which it was reached at once."""


@dataclass(frozen=True, slots=True)
class Spread:
    reached: Mapping[str, Reached]
    """Reached vertices by id, in the order in which they were reached."""
    met: Sequence[Reached]
    """Where one seed was reached from another: ends that are not gone on from."""
    cut_off: Mapping[str, int]
    """Why it went no further, and how often: depth, branching, width, faint, seen, hidden."""


def spread(seeds: Mapping[str, float], find_ties: FindTies, find_visible: FindVisible, bounds: Bounds) -> Spread:
    """Activation from seeds, given how well each matches the question."""
    arrivals = {
        seed: Reached(seed, match, seed, 0, "", None)
        for seed, match in sorted(seeds.items(), key=lambda pair: (-pair[1], pair[0]))
    }
    cut_off: Counter[str] = Counter()
    meetings: dict[frozenset[str], Reached] = {}
    faintest = bounds.faintest * max(seeds.values(), default=0.0)
    frontier = list(arrivals.values())
    for depth in range(1, bounds.depth + 1):
        if not frontier:
            break
        ties = {
            near: _strongest_first(group) for near, group in find_ties([arrival.id for arrival in frontier]).items()
        }
        hidden: set[str] = set()
        while True:
            cuts: Counter[str] = Counter()
            offers: list[Reached] = []
            for arrival in frontier:
                _add_offers(
                    offers, arrival, ties.get(arrival.id, ()), arrivals, hidden, bounds.branching, faintest, cuts
                )
            best_offers = _merge_offers([offer for offer in offers if offer.id not in arrivals])
            cuts["width"] += max(0, len(best_offers) - bounds.width)
            # What may not be visited makes room for the next one.
            ids = [offer.id for offer in best_offers[: bounds.width]]
            unseen = set(ids).difference(find_visible(ids)) if ids else set()
            if not unseen:
                break
            hidden |= unseen
        cut_off.update(cuts)
        for offer in offers:
            if offer.id in arrivals and arrivals[offer.id].seed != offer.seed:
                meeting = offer._replace(activation=NO_VERTEX * offer.activation)
                meetings.setdefault(frozenset((offer.seed, offer.id)), meeting)
        frontier = best_offers[: bounds.width]
        arrivals.update((arrival.id, arrival) for arrival in frontier)
        if depth == bounds.depth:
            cut_off["depth"] += len(frontier)
    return Spread(arrivals, list(meetings.values()), +cut_off)


def _strongest_first(ties: Sequence[Tie]) -> list[Tie]:
    """Ties by descending weight, and among equals by the far end and then by the edge."""
    return sorted(sorted(ties, key=_BY_ID), key=_BY_WEIGHT, reverse=True)


_BY_ID, _BY_WEIGHT = attrgetter("far", "edge_id"), attrgetter("weight")


def _add_offers(
    offers: list[Reached],
    near: Reached,
    ties: Sequence[Tie],
    arrivals: Mapping[str, Reached],
    hidden: Collection[str],
    branching: int,
    faintest: float,
    cuts: Counter[str],
) -> None:
    passed_on = near.activation / sqrt(max(1, len(ties)))
    branches: set[str] = set()
    for place, tie in enumerate(ties):
        far = tie.far
        if far in branches or far in (near.before, near.id):
            continue
        if passed_on * tie.weight < faintest:
            cuts["faint"] += len(ties) - place
            return
        if len(branches) == branching:
            cuts["branching"] += len(ties) - place
            return
        earlier = arrivals.get(far)
        if far in hidden:
            cuts["hidden"] += 1
        elif earlier is not None and earlier.depth:
            cuts["seen"] += 1
        else:
            if earlier is None:
                branches.add(far)
            offers.append(Reached(far, passed_on * tie.weight, near.seed, near.depth + 1, near.id, tie))


def _merge_offers(offers: Iterable[Reached]) -> list[Reached]:
    """One of all that came to the same vertex at once: by the strongest way, with what all bring. In order."""
    by_id: dict[str, list[Reached]] = {}
    for offer in offers:
        by_id.setdefault(offer.id, []).append(offer)
    winners = []
    for same in by_id.values():
        best = min(same, key=_place)
        remainder = 1.0
        for offer in same:
            remainder *= 1.0 - min(1.0, offer.activation)
        winners.append(best if len(same) == 1 else best._replace(activation=1.0 - remainder, ways=len(same)))
    return sorted(winners, key=_place)


def _place(arrival: Reached) -> tuple[float, str, str]:
    return (-arrival.activation, arrival.id, arrival.tie.edge_id if arrival.tie else "")


# ---------------------------------------------------------------- paths


class Trail(NamedTuple):
    """A way from a seed, and what it brings that no better one has brought already."""

    steps: tuple[Reached, ...]
    """The seed first."""
    new_from: int
    """The first step that no better trail goes through."""
    gain: float
    """The activation of the steps from there on."""


def trails(result: Spread) -> list[Trail]:
    """Ways from the seeds to where activation ended, those that bring most to light first.

    Each vertex is first shown by the trail on which most follows it, so that the first few say the most.
    """
    after: dict[str, list[Reached]] = {}
    for arrival in (*result.reached.values(), *result.met):
        if arrival.tie is not None:
            after.setdefault(arrival.before, []).append(arrival)
    worth: dict[str, float] = {}
    onward: dict[str, Reached] = {}
    meetings = {id(arrival) for arrival in result.met}

    def whole(arrival: Reached) -> float:
        return arrival.activation + (0.0 if id(arrival) in meetings else worth.get(arrival.id, 0.0))

    for arrival in sorted(result.reached.values(), key=lambda arrival: -arrival.depth):
        if nexts := after.get(arrival.id):
            onward[arrival.id] = best = min(nexts, key=lambda step: (-whole(step), step.id))
            worth[arrival.id] = whole(best)
    ways = []
    for arrival in (*result.reached.values(), *result.met):
        # A trail begins at a seed, and where a better one has gone another way.
        if arrival.tie is not None and (
            result.reached[arrival.before].tie is None or onward[arrival.before] is not arrival
        ):
            before = _steps_to(result, arrival.before)
            ways.append(Trail((*before, arrival, *_steps_on(arrival, onward, meetings)), len(before), whole(arrival)))
    return sorted(ways, key=lambda trail: (-trail.gain, trail.steps[-1].id))


def _steps_to(result: Spread, vertex: str) -> list[Reached]:
    steps = [result.reached[vertex]]
    while steps[0].tie is not None:
        steps.insert(0, result.reached[steps[0].before])
    return steps


def _steps_on(arrival: Reached, onward: Mapping[str, Reached], meetings: Collection[int]) -> list[Reached]:
    steps: list[Reached] = []
    while id(arrival) not in meetings and arrival.id in onward:
        arrival = onward[arrival.id]
        steps.append(arrival)
    return steps
