"""Feedback and outcomes move the confidence the right way, under every policy, and can be read back as a curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.confidence import policies
from reasoningbank.core.errors import NotFound


@pytest.fixture(params=policies())
def judged(request: pytest.FixtureRequest, path: Path, clock: Callable[[], float]) -> Iterator[ReasoningBank]:
    with ReasoningBank.open(path, embedder="hash", namespace="n", policy=request.param, clock=clock) as bank:
        yield bank


@pytest.mark.parametrize("initial", [0.0, 0.1, 0.5, 0.6, 0.8, 0.95, 1.0])
def test_the_first_helpful_never_lowers_and_the_first_harmful_never_raises(
    judged: ReasoningBank, initial: float
) -> None:
    for helpful in (True, False):
        kept = judged.record(title="t", content="c", initial_confidence=initial)
        before = judged.get(kept.id).confidence.mean
        assert before == pytest.approx(initial)
        after = judged.feedback(kept.id, helpful=helpful).mean
        if helpful:
            assert after >= before - 1e-9
        elif judged.status().policy != "factors":
            # `factors` counts any use, so a first one that failed lifts a memory that began very low (seed 003).
            assert after <= before + 1e-9
        assert judged.get(kept.id).confidence.mean == pytest.approx(after)


def test_five_times_helpful_raises_and_five_times_harmful_lowers(judged: ReasoningBank, clock) -> None:
    good, bad = (judged.record(title="t", content="c", initial_confidence=0.5) for _ in range(2))
    for _ in range(5):
        clock.forward(seconds=60)
        judged.feedback(good.id, helpful=True)
        judged.outcome(bad.id, succeeded=False)
        judged.feedback(bad.id, helpful=False)
    assert judged.get(good.id).confidence.mean > 0.55
    assert judged.get(bad.id).confidence.mean < 0.5 or judged.status().policy == "factors"
    assert judged.get(bad.id).confidence.mean < judged.get(good.id).confidence.mean
    assert judged.get(good.id).usage_count == judged.get(good.id).succeeded == 5
    assert (judged.get(bad.id).usage_count, judged.get(bad.id).succeeded) == (10, 0)


def test_the_history_shows_every_revision_and_every_signal(judged: ReasoningBank, clock) -> None:
    kept = judged.store("k", "one")
    clock.forward(days=1)
    judged.feedback("k", helpful=True, comment="it worked")
    clock.forward(days=1)
    judged.store("k", "two")
    judged.outcome("k", succeeded=False, comment="it did not")
    history = judged.history("k")
    assert [r.content for r in history.revisions] == ["one", "two"]
    assert [None if s is None else (s.positive, s.comment) for s in (point.signal for point in history.points)] == [
        None,
        (True, "it worked"),
        None,
        (False, "it did not"),
    ]
    assert [(point.revision, point.counts) for point in history.points] == [(1, True), (1, False), (2, True), (2, True)]
    assert history.points[2].confidence.mean == pytest.approx(history.remembered.memory.initial_confidence, abs=0.01)
    assert history.points[0].confidence.mean == pytest.approx(0.5)
    assert history.points[-1].confidence.mean == pytest.approx(judged.get(kept.id).confidence.mean)
    assert (history.remembered.usage_count, history.remembered.set_aside) == (1, 1)
    assert history.policy == judged.status().policy


def test_evidence_about_nothing_is_refused(judged: ReasoningBank) -> None:
    with pytest.raises(NotFound):
        judged.feedback("mem_none", helpful=True)
    assert judged.status().signals == 0


def test_explicit_and_raw_memories_start_where_they_should(bank: ReasoningBank) -> None:
    assert bank.record(title="t", content="c").confidence.mean == pytest.approx(0.8)
    assert bank.store("k", "v").confidence.mean == pytest.approx(0.5)
    assert bank.record(title="t", content="c", initial_confidence=0.0).confidence.mean == pytest.approx(0.0)
