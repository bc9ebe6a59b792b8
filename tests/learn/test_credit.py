"""An outcome is weighed by how likely a memory had a part in it and by how the task usually goes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Signal
from reasoningbank.learn.credit import FIRST_SHOWN, SHOWN_BESIDE, Usual, surprise_of

ADVICE = "configure the retry policy of the http client"


def ended(bank: ReasoningBank, task: str, outcome: str, *, used: Sequence[str] = (), **metadata: str) -> list[Signal]:
    """A session in which the advice was looked up."""
    session = bank.start_session(task, metadata=metadata).id
    bank.search(ADVICE, floor=0.0, experience=False, session=session)
    return list(bank.end_session(session, outcome, used=used, distil=False).signals)


@pytest.fixture
def lesson(bank: ReasoningBank) -> str:
    return bank.record(title="Retry", content=ADVICE).id


def weights(bank: ReasoningBank, task: str, **metadata: str) -> tuple[float, float]:
    """Of a success and of a failure that come next, whichever comes."""
    return tuple(
        ended(bank, task.format(n), outcome, **metadata)[0].weight for n, outcome in enumerate(("success", "failure"))
    )  # type: ignore[return-value]


def test_without_experience_an_outcome_counts_as_it_is(bank: ReasoningBank, lesson: str) -> None:
    [signal] = ended(bank, "anything", "success")
    assert (signal.memory_id, signal.weight) == (lesson, FIRST_SHOWN)
    assert signal.comment == "expected 0.50 from other tasks"


def test_where_success_is_the_rule_it_says_little_and_a_failure_much(bank: ReasoningBank, lesson: str) -> None:
    for n in range(20):
        ended(bank, f"restart server {n}", "success")
    success, failure = weights(bank, "restart server 7{}")
    assert success < 0.6 * FIRST_SHOWN
    assert failure > 3 * FIRST_SHOWN
    [signal] = ended(bank, "restart server 800", "success")
    assert signal.comment.startswith("expected 0.9")
    assert signal.comment.endswith("from 22 like tasks")


def test_where_failure_is_the_rule_a_success_says_much(bank: ReasoningBank, lesson: str) -> None:
    for n in range(20):
        ended(bank, f"restart server {n}", "failure")
    success, failure = weights(bank, "restart server 7{}")
    assert success > 3 * FIRST_SHOWN
    assert failure < 0.7 * FIRST_SHOWN


def test_each_kind_of_task_has_a_rate_of_its_own(bank: ReasoningBank, lesson: str) -> None:
    for n in range(30):
        ended(bank, f"restart server {n}", "success")
        ended(bank, f"prove theorem {n}", "failure")
    easy, _ = weights(bank, "restart server 7{}")
    hard, _ = weights(bank, "prove theorem 7{}")
    assert hard > 5 * easy


def test_a_type_that_was_given_goes_before_the_words(bank: ReasoningBank, lesson: str) -> None:
    for n in range(30):
        ended(bank, f"job {'abc'[n % 3]} of {'xyz'[n // 3 % 3]}, please", "success", task_type="deploy")
        ended(bank, f"prove theorem {n}", "failure", task_type="proof")
    easy, _ = weights(bank, "something else {}", task_type="deploy")
    hard, _ = weights(bank, "something else {}", task_type="proof")
    assert hard > 5 * easy


def test_a_new_namespace_is_expected_to_be_like_the_others(bank: ReasoningBank) -> None:
    for n in range(30):
        ended(bank, f"restart server {n}", "success")
    other = bank.for_tenant(bank.tenant, namespace="other")
    other.record(title="Retry", content=ADVICE)
    assert ended(other, "something new", "success")[0].weight < 0.7 * FIRST_SHOWN
    stranger = bank.for_tenant("somebody", namespace="n")
    stranger.record(title="Retry", content=ADVICE)
    assert ended(stranger, "restart server 1", "success")[0].weight == FIRST_SHOWN


def test_what_was_used_keeps_whole_pieces_and_what_stood_beside_it_hardly_counts(bank: ReasoningBank) -> None:
    for n in range(20):
        ended(bank, f"restart server {n}", "success")
    first, second = (bank.record(title=f"Way {n}", content=f"{ADVICE}, way {n}").id for n in range(2))
    signals = {s.memory_id: s for s in ended(bank, "restart server 99", "success", used=[second])}
    assert signals[second].weight == 1.0
    assert signals[first].weight < SHOWN_BESIDE


def test_when_nobody_says_what_was_used_what_stood_first_counts_most(bank: ReasoningBank) -> None:
    for n in range(4):
        bank.record(title=f"Way {n}", content=f"{ADVICE}, way {n}")
    session = bank.start_session("anything").id
    order = [hit.id for hit in bank.search(ADVICE, floor=0.0, session=session)]
    signals = bank.end_session(session, "success", distil=False).signals
    assert {s.memory_id: s.weight for s in signals} == {
        memory_id: pytest.approx(FIRST_SHOWN / rank) for rank, memory_id in enumerate(order, start=1)
    }


@pytest.mark.parametrize(
    "rate", [0.15, pytest.param(0.5, marks=pytest.mark.storm), pytest.param(0.85, marks=pytest.mark.storm)]
)
def test_a_bystander_that_makes_no_difference_ends_near_one_half_on_any_kind_of_task(
    bank: ReasoningBank, lesson: str, rate: float
) -> None:
    rng = random.Random(5)
    for n in range(80):
        ended(bank, f"restart server {n}", "success" if rng.random() < rate else "failure")
    assert bank.get(lesson).confidence.mean == pytest.approx(0.5, abs=0.16)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_neither_outcome_is_ever_worth_nothing_or_everything(rate: float) -> None:
    for positive in (True, False):
        assert 0.5 < surprise_of(Usual(rate=rate, tasks=9), positive=positive) <= 5.0 + 1e-9
