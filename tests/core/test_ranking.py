"""Each profile against its formula worked out by hand, and the choice against what diversity promises."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.ranking import (
    Item,
    Parts,
    cosine_similarity,
    euclidean_distance,
    profile_named,
    profiles,
    rank,
)
from reasoningbank.core.types import Scope


def item(id: str, **fields: Any) -> Item:
    defaults: dict[str, Any] = {
        "relevance": 0.5,
        "cosine": 0.5,
        "confidence": 0.5,
        "age_days": 0.0,
        "used": 0,
        "scope": Scope.PROJECT,
    }
    return Item(id=id, **(defaults | fields))


def strangers(count: int) -> NDArray[np.float64]:
    return np.eye(count)


def must_not_be_called() -> NDArray[np.float64]:
    raise AssertionError("a profile that does not compare candidates asked for their similarities")


def ids(items: list[Item], ranked: list[tuple[int, Parts]]) -> list[str]:
    return [items[index].id for index, _ in ranked]


def only_score(candidate: Item, profile: str) -> float:
    ((_, parts),) = rank([candidate], must_not_be_called, profile_named(profile), 1)
    return parts.score


# ---------------------------------------------------------------- names


def test_the_four_profiles_are_found_by_name_and_the_default_comes_first() -> None:
    assert list(profiles()) == ["balanced", "four-factor", "semantic", "boosted"]
    assert all(profile_named(name).name == name for name in profiles())


def test_an_unknown_profile_is_refused_with_the_names_to_choose_from() -> None:
    with pytest.raises(InvalidInput, match=r"'best'.*balanced, four-factor, semantic, boosted"):
        profile_named("best")


# ---------------------------------------------------------------- formulas


def test_four_factor_is_the_published_sum() -> None:
    candidate = item("a", cosine=0.9, confidence=0.8, age_days=5.0)
    # 0.4·0.9 + 0.3·0.8 + 0.2·exp(−0.1·5) + 0.1·(1 − 0) = 0.36 + 0.24 + 0.2·0.60653066 + 0.1
    assert only_score(candidate, "four-factor") == pytest.approx(0.821306132, abs=1e-9)


def test_four_factor_takes_a_tenth_of_the_similarity_to_what_was_picked() -> None:
    items = [
        item("first", cosine=0.90, confidence=0.8),
        item("near", cosine=0.88, confidence=0.8),
        item("far", cosine=0.80, confidence=0.8),
    ]
    similar = np.array([[1.0, 0.95, 0.10], [0.95, 1.0, 0.20], [0.10, 0.20, 1.0]])
    ranked = rank(items, similar, profile_named("four-factor"), 3)
    assert ids(items, ranked) == ["first", "far", "near"]
    # Fresh: 0.4·cosine + 0.3·0.8 + 0.2·1 + 0.1·1 = 0.900, 0.892, 0.860.
    # far: 0.860 − 0.1·0.10 = 0.850 beats near: 0.892 − 0.1·0.95 = 0.797; then near, at max(0.95, 0.20).
    assert [parts.score for _, parts in ranked] == pytest.approx([0.900, 0.850, 0.797])
    assert [parts.diversity for _, parts in ranked] == pytest.approx([1.0, 0.90, 0.05])


def test_semantic_is_the_cosine_and_nothing_else() -> None:
    items = [
        item("old", cosine=0.92, confidence=0.1, age_days=900.0, relevance=0.0),
        item("new", cosine=0.87, confidence=1.0, used=500, relevance=1.0),
        item("opposed", cosine=-0.2),
        item("more opposed", cosine=-0.6, scope=Scope.ORG),
    ]
    ranked = rank(items, must_not_be_called, profile_named("semantic"), 4)
    assert ids(items, ranked) == ["old", "new", "opposed", "more opposed"]
    assert [parts.score for _, parts in ranked] == pytest.approx([0.92, 0.87, -0.2, -0.6])


def test_boosted_is_cosine_times_recency_times_usage_and_mmr_takes_seven_tenths_of_it() -> None:
    candidate = item("a", cosine=0.8, age_days=10.0, used=9)
    # recency exp(−1) = 0.36787944, factor 0.5 + 0.5·0.36787944 = 0.68393972
    # usage ln 10 / ln 101 = 0.49892222, factor 0.8 + 0.2·0.49892222 = 0.89978444
    # 0.7 · 0.8 · 0.68393972 · 0.89978444
    usage = math.log(10) / math.log(101)
    expected = 0.7 * 0.8 * (0.5 + 0.5 * math.exp(-1.0)) * (0.8 + 0.2 * usage)
    assert expected == pytest.approx(0.344622, abs=1e-5)
    assert only_score(candidate, "boosted") == pytest.approx(expected, abs=1e-12)


def test_boosted_prefers_the_newer_and_the_more_used() -> None:
    items = [
        item("plain", age_days=20.0),
        item("newer", age_days=2.0),
        item("popular", age_days=2.0, used=30),
    ]
    ranked = rank(items, strangers(3), profile_named("boosted"), 3)
    assert ids(items, ranked) == ["popular", "newer", "plain"]


def test_boosted_subtracts_three_tenths_of_the_redundancy() -> None:
    items = [item("a", cosine=0.9, used=100), item("b", cosine=0.8, used=100)]
    similar = np.array([[1.0, 0.6], [0.6, 1.0]])
    ranked = rank(items, similar, profile_named("boosted"), 2)
    # 0.7·0.9 − 0.3·0 and 0.7·0.8 − 0.3·0.6
    assert [parts.score for _, parts in ranked] == pytest.approx([0.63, 0.38])


def test_balanced_is_relevance_discounted_by_doubt_and_mildly_by_age() -> None:
    candidate = item("a", relevance=0.8, confidence=0.6, age_days=180.0)
    # 0.9 · 0.8 · (0.2 + 0.8·0.6) · (0.9 + 0.1·0.5) = 0.9 · 0.8 · 0.68 · 0.95
    assert only_score(candidate, "balanced") == pytest.approx(0.46512)


def test_in_balanced_a_clearly_more_relevant_memory_wins_over_a_newer_and_surer_one() -> None:
    items = [
        item("relevant", relevance=0.9, confidence=0.5, age_days=365.0),
        item("sure and new", relevance=0.5, confidence=0.9),
    ]
    ranked = rank(items, strangers(2), profile_named("balanced"), 2)
    assert ids(items, ranked) == ["relevant", "sure and new"]


def test_in_balanced_that_which_works_comes_first_among_answers_to_one_question() -> None:
    items = [item("nearer, and fails", relevance=0.8, confidence=0.4), item("works", relevance=0.6, confidence=0.9)]
    ranked = rank(items, strangers(2), profile_named("balanced"), 2)
    assert ids(items, ranked) == ["works", "nearer, and fails"]


@pytest.mark.parametrize("profile", profiles())
@pytest.mark.parametrize(("scope", "weight"), [(Scope.PROJECT, 1.0), (Scope.TEAM, 0.9), (Scope.ORG, 0.8)])
def test_every_profile_is_multiplied_by_the_weight_of_the_scope(profile: str, scope: Scope, weight: float) -> None:
    near, far = item("a", cosine=0.7, relevance=0.7), item("a", cosine=0.7, relevance=0.7, scope=scope)
    assert only_score(far, profile) == pytest.approx(weight * only_score(near, profile))


@pytest.mark.parametrize("profile", profiles())
def test_parts_are_true_whether_or_not_the_profile_reads_them(profile: str) -> None:
    candidate = item("a", relevance=0.4, cosine=0.68, confidence=0.7, age_days=3.0, used=100, scope=Scope.TEAM)
    weights = profile_named(profile)
    ((index, parts),) = rank([candidate], must_not_be_called, weights, 5)
    assert index == 0
    assert (parts.relevance, parts.cosine, parts.confidence, parts.usage) == (0.4, 0.68, 0.7, 1.0)
    assert (parts.diversity, parts.scope_weight) == (1.0, 0.9)
    assert parts.distance == pytest.approx(0.8)  # √(2 − 2·0.68) = √0.64
    assert parts.recency == pytest.approx(math.exp(-weights.recency_rate_per_day * 3.0))


# ---------------------------------------------------------------- the choice


@pytest.mark.parametrize("profile", ["balanced", "boosted"])
def test_a_duplicate_is_pushed_below_a_slightly_weaker_stranger(profile: str) -> None:
    items = [
        item("a", relevance=0.90, cosine=0.90),
        item("copy of a", relevance=0.90, cosine=0.90),
        item("other", relevance=0.80, cosine=0.80),
    ]
    similar = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    ranked = rank(items, similar, profile_named(profile), 3)
    assert ids(items, ranked) == ["a", "other", "copy of a"]
    assert ids(items, rank(items, similar, profile_named("semantic"), 3)) == ["a", "copy of a", "other"]


def test_opposites_are_no_more_diverse_than_strangers() -> None:
    items = [item("a", cosine=0.9), item("b")]
    opposed = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert rank(items, opposed, profile_named("boosted"), 2) == rank(items, strangers(2), profile_named("boosted"), 2)


@pytest.mark.parametrize("profile", profiles())
def test_equal_candidates_come_in_the_order_of_their_ids(profile: str) -> None:
    items = [item(name) for name in ("c", "a", "d", "b")]
    assert ids(items, rank(items, strangers(4), profile_named(profile), 4)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("profile", profiles())
def test_similarities_are_not_computed_for_a_single_pick(profile: str) -> None:
    items = [item("a"), item("b", relevance=0.9, cosine=0.9)]
    assert ids(items, rank(items, must_not_be_called, profile_named(profile), 1)) == ["b"]


def test_similarities_may_come_as_a_callable() -> None:
    items = [item("a"), item("b")]
    calls = []

    def similar() -> NDArray[np.float32]:
        calls.append(1)
        return np.eye(2, dtype=np.float32)

    assert len(rank(items, similar, profile_named("balanced"), 2)) == 2
    assert calls == [1]


@pytest.mark.parametrize("profile", profiles())
def test_no_items_or_no_room_give_nothing(profile: str) -> None:
    assert rank([], must_not_be_called, profile_named(profile), 5) == []
    assert rank([item("a")], must_not_be_called, profile_named(profile), 0) == []


def test_a_negative_limit_and_a_misfit_matrix_are_refused() -> None:
    with pytest.raises(InvalidInput, match="negative"):
        rank([item("a")], strangers(1), profile_named("balanced"), -1)
    with pytest.raises(InvalidInput, match=r"\(2, 2\) similarities, not \(3, 3\)"):
        rank([item("a"), item("b")], strangers(3), profile_named("balanced"), 2)


@pytest.mark.parametrize("profile", profiles())
def test_what_is_not_a_number_counts_as_nothing(profile: str) -> None:
    nothing = {"relevance": math.nan, "cosine": math.nan, "confidence": math.nan, "age_days": math.nan}
    items = [item("odd", **nothing), item("fine"), item("endless", age_days=math.inf, relevance=math.inf)]
    ranked = rank(items, np.full((3, 3), math.nan), profile_named(profile), 3)
    assert sorted(ids(items, ranked)) == ["endless", "fine", "odd"]
    for _, parts in ranked:
        figures = [getattr(parts, name) for name in Parts.__slots__]
        assert all(math.isfinite(figure) for figure in figures)
    odd = next(parts for index, parts in ranked if index == 0)
    assert (odd.relevance, odd.cosine, odd.confidence, odd.recency) == (0.0, 0.0, 0.0, 0.0)
    assert odd.distance == pytest.approx(math.sqrt(2.0))


numbers = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5, 1.0, math.nan]))
candidates = st.lists(
    st.builds(
        Item,
        id=st.text("abcdef", min_size=1, max_size=4),
        relevance=numbers,
        cosine=st.one_of(numbers, st.floats(-1.0, 1.0)),
        confidence=numbers,
        age_days=st.one_of(st.floats(-10.0, 1_000.0), st.just(math.nan)),
        used=st.integers(0, 200),
        scope=st.sampled_from(Scope),
    ),
    max_size=8,
    unique_by=lambda candidate: candidate.id,
)


@given(
    candidates,
    st.sampled_from(list(profiles().values())),
    st.integers(0, 10),
    st.integers(0, 2**32 - 1),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_input_does_not_matter(
    items: list[Item], weights: Any, limit: int, seed: int, chance: random.Random
) -> None:
    half = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(len(items), len(items)))
    similar = (half + half.T) / 2.0
    shuffle = chance.sample(range(len(items)), len(items))
    shuffled = [items[index] for index in shuffle]
    ranked = rank(items, similar, weights, limit)
    again = rank(shuffled, similar[np.ix_(shuffle, shuffle)], weights, limit)
    assert ids(items, ranked) == ids(shuffled, again)
    assert [parts for _, parts in ranked] == [parts for _, parts in again]
    scores = [parts.score for _, parts in ranked]
    assert scores == sorted(scores, reverse=True)
    assert len(set(ids(items, ranked))) == len(ranked) == min(limit, len(items))


def test_ten_of_fifty_are_picked_in_about_the_time_of_a_look_at_every_pair() -> None:
    chance = np.random.default_rng(7)
    vectors = chance.normal(size=(50, 384))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similar = vectors @ vectors.T
    items = [item(f"m{number}", relevance=float(value)) for number, value in enumerate(chance.random(50))]

    def seconds(work: Callable[[], object]) -> float:
        taken = []
        for _ in range(30):
            start = time.thread_time()
            work()
            taken.append(time.thread_time() - start)
        return min(taken)

    every_pair_once = seconds(lambda: [[max(a, b) for a, b in zip(row, row, strict=True)] for row in similar.tolist()])
    assert seconds(lambda: rank(items, similar, profile_named("balanced"), 10)) < 10 * every_pair_once


# ---------------------------------------------------------------- vectors


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1.0, 0.0], [1.0, 0.0], 1.0),
        ([1.0, 0.0], [0.0, 3.0], 0.0),
        ([1.0, 0.0], [-2.0, 0.0], -1.0),
        ([3.0, 4.0], [4.0, 3.0], 0.96),  # (12 + 12) / (5·5)
        ([0.0, 0.0], [1.0, 2.0], 0.0),
        ([1e300, 1e300], [1e300, 1e300], 1.0),
        ([1e-300, 0.0], [1e-300, 0.0], 1.0),
        ([math.nan, 1.0], [1.0, 1.0], 0.0),
        ([math.inf, 1.0], [1.0, 1.0], 0.0),
        ([], [], 0.0),
    ],
)
def test_cosine_similarity_is_the_angle_and_never_nan(a: list[float], b: list[float], expected: float) -> None:
    assert cosine_similarity(a, b) == pytest.approx(expected)
    assert cosine_similarity(np.array(b, dtype=np.float64), a) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([0.0, 0.0], [3.0, 4.0], 5.0),
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 0.0], [0.0, 1.0], math.sqrt(2.0)),
        ([math.nan], [1.0], math.inf),
    ],
)
def test_euclidean_distance_is_the_straight_line(a: list[float], b: list[float], expected: float) -> None:
    assert euclidean_distance(a, b) == pytest.approx(expected)


@pytest.mark.parametrize("compare", [cosine_similarity, euclidean_distance])
def test_vectors_of_different_lengths_are_refused(compare: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be compared"):
        compare([1.0, 2.0], [1.0, 2.0, 3.0])
