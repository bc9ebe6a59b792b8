"""Spreading activation over small graphs told as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from reasoningbank.graph.activation import Bounds, Spread, spread, trails
from reasoningbank.graph.strongest_path import find_path
from reasoningbank.ports import Tie

Drawn = Sequence[tuple[str, str, float]]


def adjacency(edges: Drawn) -> dict[str, list[Tie]]:
    ties: dict[str, list[Tie]] = {}
    for number, (source, target, weight) in enumerate(edges):
        ties.setdefault(source, []).append(Tie(f"e{number}", target, weight, True, "relates", "[]"))
        ties.setdefault(target, []).append(Tie(f"e{number}", source, weight, False, "relates", "[]"))
    return ties


def walked(edges: Drawn, seeds: Mapping[str, float], hidden: Collection[str] = (), **bounds: float) -> Spread:
    ties = adjacency(edges)
    return spread(
        seeds,
        lambda ids: {one: ties.get(one, []) for one in ids},
        lambda ids: set(ids).difference(hidden),
        Bounds(**bounds),  # type: ignore[arg-type]
    )


def test_activation_is_the_match_times_weight_over_the_root_of_the_degree_at_each_hop() -> None:
    found = walked([("a", "b", 0.9), ("b", "c", 0.8), ("b", "d", 0.5), ("b", "e", 0.4)], {"a": 0.5}, depth=2)
    assert found.reached["b"].activation == pytest.approx(0.5 * 0.9)
    assert found.reached["c"].activation == pytest.approx(0.5 * 0.9 * 0.8 / 2)


def test_a_chain_is_walked_to_its_end_since_the_match_is_scored_once() -> None:
    chain = [(f"n{i}", f"n{i + 1}", 0.9) for i in range(8)]
    found = walked(chain, {"n0": 0.3}, depth=5)
    assert list(found.reached) == [f"n{i}" for i in range(6)]
    assert found.cut_off == {"depth": 1}


def test_a_circle_is_walked_once_around() -> None:
    found = walked([("a", "b", 0.9), ("b", "c", 0.9), ("c", "a", 0.9)], {"a": 1.0}, depth=9)
    assert set(found.reached) == {"a", "b", "c"}
    assert found.met == []


def test_only_the_strongest_branches_are_followed_and_the_rest_is_counted() -> None:
    star = [("hub", f"n{i}", (i + 1) / 10) for i in range(8)]
    found = walked(star, {"hub": 1.0}, branching=3)
    assert set(found.reached) == {"hub", "n7", "n6", "n5"}
    assert found.cut_off["branching"] == 5


def test_ties_are_broken_by_id_whatever_the_order_of_the_edges() -> None:
    star = [("hub", f"n{i}", 0.5) for i in range(8)]
    first, second = (list(walked(edges, {"hub": 1.0}).reached) for edges in (star, star[::-1]))
    assert first == second == ["hub", "n0", "n1", "n2"]


def test_what_may_not_be_visited_makes_room_for_the_next_and_is_not_gone_through() -> None:
    edges = [("a", "x", 0.9), ("x", "y", 0.9), ("a", "b", 0.5), ("a", "c", 0.4)]
    found = walked(edges, {"a": 1.0}, hidden={"x"}, branching=2)
    assert set(found.reached) == {"a", "b", "c"}
    assert found.cut_off["hidden"] == 1


def test_what_two_ways_lead_to_at_once_gets_what_both_bring() -> None:
    found = walked([("a", "b", 0.9), ("a", "c", 0.8), ("b", "d", 0.9), ("c", "d", 0.9)], {"a": 1.0})
    alone = walked([("a", "b", 0.9), ("a", "c", 0.8), ("b", "d", 0.9), ("c", "x", 0.9)], {"a": 1.0})
    assert found.reached["d"].ways == 2
    assert found.reached["d"].activation > alone.reached["d"].activation


def test_two_seeds_that_meet_are_told_as_one_way_between_them() -> None:
    found = walked([("a", "m", 0.9), ("m", "b", 0.9), ("a", "b", 0.3)], {"a": 0.9, "b": 0.8})
    assert [(one.seed, one.id) for one in found.met] == [("a", "b")]


def test_the_width_of_a_level_is_bounded_for_all_seeds_together() -> None:
    edges = [(f"s{i}", f"s{i}-{j}", 0.9) for i in range(10) for j in range(3)]
    found = walked(edges, {f"s{i}": 1.0 - i / 100 for i in range(10)}, width=6)
    assert len(found.reached) == 16
    assert found.cut_off["width"] == 24


def test_what_is_too_faint_is_not_followed() -> None:
    found = walked([("a", "b", 0.9), ("b", "c", 0.001)], {"a": 1.0}, faintest=0.01)
    assert set(found.reached) == {"a", "b"}
    assert found.cut_off == {"faint": 1}


def test_the_first_trail_brings_most_and_no_trail_counts_twice_what_another_brought() -> None:
    found = walked([("a", "b", 0.9), ("b", "c", 0.9), ("b", "d", 0.3), ("a", "e", 0.2)], {"a": 1.0})
    told = trails(found)
    assert [[step.id for step in trail.steps] for trail in told] == [["a", "b", "c"], ["a", "e"], ["a", "b", "d"]]
    whole = sum(one.activation for one in found.reached.values() if one.tie)
    assert sum(trail.gain for trail in told) == pytest.approx(whole)
    assert [trail.new_from for trail in told] == [1, 1, 2]


ROADS = [("a", "b", 0.3), ("a", "c", 0.9), ("c", "d", 0.9), ("d", "b", 0.9), ("b", "z", 0.9), ("x", "y", 1.0)]


@pytest.mark.parametrize(
    ("by", "target", "depth", "path"),
    [
        ("strongest", "b", 8, "acdb"),
        ("shortest", "b", 8, "ab"),
        ("strongest", "b", 2, "ab"),
        ("strongest", "z", 8, "acdbz"),
        ("strongest", "y", 8, ""),
        ("strongest", "a", 8, "a"),
    ],
)
def test_the_path_between_two(by: str, target: str, depth: int, path: str) -> None:
    ties = adjacency(ROADS)
    found = find_path("a", target, lambda ids: {one: ties[one] for one in ids}, set, by, depth)
    assert "".join(step.id for step in found.steps) == path
