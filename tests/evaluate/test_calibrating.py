from __future__ import annotations

import math
from random import Random

import pytest
from reasoningbank_eval.calibrating import calibrate
from reasoningbank_eval.crowds import Asked, Crowd, Reply

from reasoningbank.recall.relevance import calibration_for, floor_among


def reply(asked: Asked, relevance: float, *, right: bool = False) -> Reply:
    return Reply(asked=asked, relevance=relevance, cosine=0.0, right=right, shown=True, right_shown=right)


def crowd(name: str, memories: int, truth: float, count: int = 900) -> Crowd:
    """Promises between 0 and 1 of which the share `truth` comes true; strangers reach up to 0.4."""
    rng = Random(f"{name} {memories}")
    told = [(chance, rng.random() < chance * truth) for chance in (rng.random() for _ in range(count))]
    return Crowd(
        set=name,
        embedder="hash",
        memories=memories,
        replies=[
            *(reply(Asked.ANSWERABLE, relevance, right=right) for relevance, right in told),
            *(reply(Asked.OTHER_SUBJECT, 0.4 * number / 99) for number in range(100)),
        ],
    )


def test_fitting_makes_promises_come_true_on_sets_it_never_saw() -> None:
    boastful = [crowd(name, size, 0.3) for name in ("one", "two", "three") for size in (10, 200)]
    result = calibrate(boastful, calibration_for("hash"))
    assert result.before > 0.2
    assert result.after < 0.1


def test_fitting_keeps_the_weights_that_rank() -> None:
    result = calibrate([crowd("one", 10, 1.0), crowd("two", 200, 1.0)], calibration_for("hash"))
    assert result.calibration.fit == calibration_for("hash").fit


@pytest.mark.parametrize("memories", [10, 200])
def test_the_floor_lets_one_in_twenty_strangers_pass(memories: int) -> None:
    known = calibration_for("hash")
    crowds = [crowd(name, size, 0.5) for name in ("one", "two") for size in (10, 200)]
    made = calibrate(crowds, known).calibration
    # What the strangers of this size reached, in the relevance that the new calibration makes of it.
    odds = math.log(0.38 / 0.62)
    small = math.log(min(memories, 50))
    log_fit = (odds - known.bias + known.crowd * small) / known.scale
    reached = 1 / (1 + math.exp(-(made.bias + made.scale * log_fit - made.crowd * small)))
    assert floor_among(made, memories) == pytest.approx(reached, abs=0.01)
