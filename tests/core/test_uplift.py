"""What a memory is worth: a planted difference is found, and none is made up."""

from __future__ import annotations

from random import Random

import pytest

from reasoningbank.core.uplift import Trial, Uplift, uplift_by_comparison, uplift_by_holdout


def trial(sessions: int, succeeded: int, *, withheld: bool = False, holdout: float = 0.2) -> Trial:
    return Trial(memory_id="m", withheld=withheld, holdout=holdout, sessions=sessions, succeeded=succeeded)


def simulated(uplift: float, rng: Random, sessions: int = 300, holdout: float = 0.2) -> Uplift:
    counts = {True: [0, 0], False: [0, 0]}
    for _ in range(sessions):
        withheld = rng.random() < holdout
        counts[withheld][0] += 1
        counts[withheld][1] += rng.random() < (0.5 if withheld else 0.5 + uplift)
    found = uplift_by_holdout([trial(n, s, withheld=withheld, holdout=holdout) for withheld, (n, s) in counts.items()])
    assert found is not None
    return found


@pytest.mark.parametrize("planted", [-0.2, 0.0, 0.3])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(planted: float) -> None:
    rng = Random(3)
    found = [simulated(planted, rng) for _ in range(400)]
    covered = sum(one.low <= planted <= one.high for one in found) / len(found)
    assert 0.92 <= covered <= 0.98
    assert sum(one.value for one in found) / len(found) == pytest.approx(planted, abs=0.015)


def test_small_numbers_give_wide_intervals_and_not_certainty() -> None:
    found = uplift_by_holdout([trial(3, 3), trial(2, 0, withheld=True)])
    assert found is not None
    assert found.value == 1.0
    assert found.low < 0.3


def test_a_change_of_the_chance_does_not_pass_for_an_effect() -> None:
    # Early, when tasks went badly, half was withheld; later, when they went well, a twentieth.
    early = [trial(100, 20, holdout=0.5), trial(100, 20, withheld=True, holdout=0.5)]
    late = [trial(190, 171, holdout=0.05), trial(10, 9, withheld=True, holdout=0.05)]
    found = uplift_by_holdout([*early, *late])
    assert found is not None
    assert found.value == pytest.approx(0.0)


def test_without_sessions_of_both_sorts_there_is_no_estimate() -> None:
    assert uplift_by_holdout([]) is None
    assert uplift_by_holdout([trial(9, 5)]) is None
    assert uplift_by_holdout([trial(9, 5, holdout=0.0), trial(9, 5, withheld=True)]) is None
    assert uplift_by_comparison((0, 0), (9, 5)) is None
    assert uplift_by_comparison((9, 5), (0, 0)) is None
    compared = uplift_by_comparison((10, 8), (10, 3))
    assert compared is not None
    assert (compared.by, compared.value) == ("compared", pytest.approx(0.5))
