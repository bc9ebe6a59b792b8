from __future__ import annotations

from random import Random

import pytest

from reasoningbank.evaluate.asking import Trial
from reasoningbank.evaluate.calibrating import calibrated
from reasoningbank.evaluate.sets import Kind, LabelledSet
from reasoningbank.recall.relevance import calibration_for


def boastful(name: str, questions: int) -> Trial:
    """Half of what is promised comes true, and nothing below 0.4."""
    rng = Random(name)
    hits = []
    for _ in range(questions):
        promised = rng.random()
        chance = max(0.0, (promised - 0.4) / 1.2)
        hits.append([(promised, rng.random() < chance)])
    labelled = LabelledSet(name=name, kind=Kind.INTENTS, documents=(), questions=(), about="made up")
    return Trial(labelled=labelled, embedder="hash", rankings={}, accepted=(), hits=hits)


def test_fitting_makes_promises_come_true_on_questions_it_never_saw() -> None:
    result = calibrated([boastful("one", 2_000), boastful("two", 400)], "hash", calibration_for("hash"))
    assert result.before.error > 0.25
    assert result.after.error < 0.08


def test_fitting_what_is_true_already_changes_little() -> None:
    rng = Random(5)
    hits = [[(chance, rng.random() < chance)] for chance in (rng.random() for _ in range(6_000))]
    honest = boastful("honest", 0)
    trial = Trial(labelled=honest.labelled, embedder="hash", rankings={}, accepted=(), hits=hits)
    known = calibration_for("hash")
    result = calibrated([trial], "hash", known)
    assert result.calibration.scale == pytest.approx(known.scale, rel=0.15)
    assert result.calibration.mix == known.mix
