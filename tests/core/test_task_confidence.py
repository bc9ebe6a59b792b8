"""Confidence for the task at hand: evidence counts by the likeness of the task in which it arose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.confidence import DAY_SECONDS
from reasoningbank.core.task_confidence import (
    HALF_LIFE_DAYS,
    MOST_ALIKE,
    ROOM_PIECES,
    Evidenced,
    confidence_here,
    gather,
)

NOW = 1_790_000_000.0


def said(task: str, *, positive: bool, weight: float = 1.0, at: float = NOW, memory: str = "m") -> Evidenced:
    return Evidenced(
        trajectory_id=task,
        memory_id=memory,
        kind="completion",
        positive=positive,
        weight=weight,
        used=True,
        source="session",
        at=at,
    )


def believed(overall: float, *evidence: Evidenced, likeness: float = 1.0) -> float:
    here = gather(evidence, {e.trajectory_id: likeness for e in evidence}, NOW)
    return float(confidence_here(np.array([overall]), ["m"], here)[0])


def test_without_evidence_a_memory_keeps_its_confidence_to_the_last_bit() -> None:
    overall = np.array([0.1 + 0.2, 0.7])
    assert confidence_here(overall, ["a", "b"], {}) is overall
    of_another = gather([said("t", positive=False, memory="b")], {"t": 1.0}, NOW)
    assert confidence_here(overall, ["a", "b"], of_another)[0] == 0.1 + 0.2


def test_one_failure_is_no_verdict_and_two_are() -> None:
    failures = [said(f"t{n}", positive=False) for n in range(2)]
    assert 0.3 < believed(0.7, failures[0]) < 0.5
    assert believed(0.7, *failures) < 0.3


def test_however_surprising_a_failure_was_it_is_one_failure() -> None:
    assert believed(0.7, said("t", positive=False, weight=50.0)) == believed(0.7, said("t", positive=False, weight=1.0))


def test_what_a_task_that_is_hardly_alike_says_hardly_counts() -> None:
    unlike, alike = (believed(0.7, said("t", positive=False), likeness=likeness) for likeness in (0.02, 0.9))
    assert 0.65 < unlike < 0.7
    assert alike < 0.5


def test_the_newest_evidence_fills_the_room() -> None:
    often = math.ceil(ROOM_PIECES / MOST_ALIKE)
    old = [said(f"old {n}", positive=True, at=NOW - DAY_SECONDS) for n in range(50)]
    new = [said(f"new {n}", positive=False) for n in range(often)]
    assert believed(0.7, *old) > 0.9
    assert believed(0.7, *old, *new) < 0.1


def test_evidence_of_long_ago_has_faded() -> None:
    past = said("t", positive=False, at=NOW - 20 * HALF_LIFE_DAYS * DAY_SECONDS)
    assert believed(0.7, past) == pytest.approx(0.7, abs=1e-5)


def test_the_order_in_which_evidence_comes_does_not_matter() -> None:
    evidence = [said(f"t{n}", positive=n % 3 > 0, weight=0.4 + n, at=NOW - n % 2) for n in range(6)]
    likeness = {e.trajectory_id: 0.5 for e in evidence}
    assert gather(evidence, likeness, NOW) == gather(evidence[::-1], likeness, NOW)


_ODD = st.floats(allow_nan=True, allow_infinity=True)


@given(weight=_ODD, at=_ODD, positive=st.booleans(), overall=st.floats(0.0, 1.0), likeness=st.floats(0.0, 1.0))
def test_no_weight_and_no_time_takes_a_confidence_out_of_its_range_or_the_wrong_way(
    weight: float, at: float, positive: bool, overall: float, likeness: float
) -> None:
    found = believed(overall, said("t", positive=positive, weight=weight, at=at), likeness=likeness)
    assert 0.0 <= found <= 1.0
    assert found >= overall - 1e-12 if positive else found <= overall + 1e-12
