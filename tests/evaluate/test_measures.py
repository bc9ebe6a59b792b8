"""The arithmetic, against figures worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reasoningbank_eval.measures import acceptance, area_difference, difference, hit, mean, ndcg, recall, roc_area


def test_ndcg_takes_the_grades_as_gains():
    gains = {1: 2.0, 2: 1.0}
    assert ndcg([1, 2], gains) == pytest.approx(1.0)
    best = 2.0 + 1.0 / math.log2(3)
    assert ndcg([2, 9, 1], gains) == pytest.approx((1.0 + 2.0 / 2.0) / best)
    assert ndcg([9, 8], gains) == 0.0
    assert ndcg([*range(10, 20), 1], gains) == 0.0


def test_recall_counts_the_share_of_what_is_relevant():
    assert recall([3, 1, 4], {1: 1.0, 5: 1.0}) == 0.5
    assert hit([3, 1], {1: 1.0}, 1) == 0.0
    assert hit([3, 1], {1: 1.0}, 2) == 1.0


def test_the_area_is_the_share_of_pairs_in_order_with_equals_as_half():
    inside, outside = np.array([0.9, 0.5, 0.5]), np.array([0.5, 0.1])
    assert roc_area(inside, outside, 0).value == pytest.approx((2 + 1.5 + 1.5) / 6)
    assert roc_area(inside, np.array([0.0]), 0).value == 1.0
    assert roc_area(outside, outside, 0).value == pytest.approx(0.5)


def test_a_large_area_is_counted_in_blocks_to_the_same_figure():
    rng = np.random.default_rng(5)
    inside, outside = rng.normal(1, 1, 1300), rng.normal(0, 1, 40)
    by_hand = np.mean([(a > b) + 0.5 * (a == b) for a in inside for b in outside])
    assert roc_area(inside, outside, 0).value == pytest.approx(by_hand, abs=1e-6)


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        estimate = mean((rng.random(80) < 0.7).astype(float), 3)
        covered += estimate.low <= 0.7 <= estimate.high
    assert 180 <= covered <= 200


def test_the_same_seed_gives_the_same_interval():
    values = np.sqrt(np.arange(30))
    assert mean(values, 1) == mean(values, 1)
    assert mean(values, 1) != mean(values, 2)


def test_a_paired_difference_is_tighter_than_the_figures_themselves():
    rng = np.random.default_rng(1)
    one = (rng.random(400) < 0.5).astype(float)
    other = one.copy()
    other[:8] = 1.0
    apart = difference(other, one, 0)
    assert 0 < apart.low <= apart.value <= apart.high < 0.03
    alone = mean(one, 0)
    assert apart.high - apart.low < (alone.high - alone.low) / 3


def test_a_method_is_not_ahead_of_itself():
    parts = (np.array([0.2, 0.8]), np.array([0.1, 0.5]))
    apart = area_difference(parts, parts, 0)
    assert (apart.value, apart.low, apart.high) == (0.0, 0.0, 0.0)


def test_acceptance_counts_what_is_let_in():
    found = acceptance(np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.0]), 0)
    assert found["precision"].value == pytest.approx(3 / 4)
    assert found["accepted"].value == pytest.approx(3 / 4)
    assert found["F1"].value == pytest.approx(3 / 4)
    assert acceptance(np.array([0.0]), np.array([0.0]), 0)["F1"].value == 0.0


def test_nothing_to_count_is_no_number():
    assert math.isnan(mean(np.array([]), 0).value)
    assert math.isnan(roc_area(np.array([1.0]), np.array([]), 0).value)
