"""What must hold for any signals whatever: the laws of confidence, as properties.

Laws that only some policies obey are tested for those. `signals` may answer a positive signal with a lower
value (consensus releases what waited) and `factors` a negative one with a higher (a failure is a recent use).
"""

from __future__ import annotations

import dataclasses
import random

from hypothesis import assume, given
from hypothesis import strategies as st

from reasoningbank.core import confidence as c
from reasoningbank.core.types import Confidence, Signal, SignalKind

DAY = 86_400.0
NOW = 1_760_000_000.0
ROUNDING = 1e-12

bayes = c.policy_named("bayes")
ratchet = c.policy_named("ratchet")
factors = c.policy_named("factors")

any_policy = st.sampled_from(list(c.policies().values()))
unit = st.floats(0.0, 1.0)
days = st.floats(-4_000.0, 4_000.0)
contexts = st.builds(c.Context, total_uses=st.integers(0, 1_000), context_match=unit)


def signals_of(positive: st.SearchStrategy[bool]) -> st.SearchStrategy[Signal]:
    return st.builds(
        Signal,
        id=st.uuids().map(str),
        tenant=st.just("local"),
        memory_id=st.just("mem_1"),
        kind=st.sampled_from(SignalKind),
        positive=positive,
        weight=st.one_of(st.just(1.0), st.floats(0.0, 5.0), st.floats(allow_nan=True, allow_infinity=True)),
        used=st.booleans(),
        source=st.sampled_from(["test", "user", "user:ann", "agent:bob"]),
        trajectory_id=st.none(),
        comment=st.just(""),
        # Many shared times, so that ties and crowded windows come up.
        at=st.one_of(st.sampled_from([NOW, NOW - DAY, NOW - 8 * DAY]), days.map(lambda day: NOW - day * DAY)),
    )


any_signals = signals_of(st.booleans())
evidence = st.lists(any_signals, max_size=12, unique_by=lambda signal: signal.id)
positive_signals = signals_of(st.just(True))
negative_signals = signals_of(st.just(False))
moments = days.map(lambda day: NOW + day * DAY)


def width(confidence: Confidence) -> float:
    return confidence.high - confidence.low


@given(any_policy, unit, evidence, moments, moments, contexts)
def test_confidence_lies_in_its_interval_and_that_in_0_to_1(
    policy: c.Policy, initial: float, signals: list[Signal], created_at: float, now: float, context: c.Context
) -> None:
    result = c.fold(policy, initial, created_at, signals, now, context)
    assert 0.0 <= result.low <= result.mean <= result.high <= 1.0


@given(any_policy, unit, evidence, moments, contexts, st.randoms(use_true_random=False))
def test_order_and_repetition_of_delivery_do_not_matter(
    policy: c.Policy,
    initial: float,
    signals: list[Signal],
    now: float,
    context: c.Context,
    chance: random.Random,
) -> None:
    delivered = signals + chance.choices(signals, k=5) if signals else []
    chance.shuffle(delivered)
    assert policy.standing(initial, NOW, delivered) == policy.standing(initial, NOW, signals)
    assert c.fold(policy, initial, NOW, delivered, now, context) == c.fold(policy, initial, NOW, signals, now, context)


@given(any_policy, unit, evidence, any_signals, st.randoms(use_true_random=False))
def test_even_conflicting_versions_of_one_signal_give_one_answer(
    policy: c.Policy, initial: float, signals: list[Signal], twin: Signal, chance: random.Random
) -> None:
    versions = signals + [dataclasses.replace(twin, id=signal.id) for signal in signals]
    shuffled = chance.sample(versions, len(versions))
    assert policy.standing(initial, NOW, versions) == policy.standing(initial, NOW, shuffled)


@given(any_policy, unit, moments)
def test_no_evidence_gives_the_prior_exactly(policy: c.Policy, initial: float, now: float) -> None:
    # `signals` decays by the clock alone, from the creation on.
    created_at = now if policy.name == "signals" else NOW
    assert c.fold(policy, initial, created_at, [], now).mean == initial


@given(any_policy, unit, evidence, moments, contexts)
def test_a_kept_standing_gives_what_a_direct_fold_gives(
    policy: c.Policy, initial: float, signals: list[Signal], now: float, context: c.Context
) -> None:
    kept = policy.standing(initial, NOW, signals)
    assert policy.confidence(kept, now, context) == c.fold(policy, initial, NOW, signals, now, context)


@given(st.sampled_from([bayes, ratchet]), unit, evidence, positive_signals, moments)
def test_a_positive_signal_never_lowers(
    policy: c.Policy, initial: float, signals: list[Signal], extra: Signal, now: float
) -> None:
    before = c.fold(policy, initial, NOW, signals, now)
    after = c.fold(policy, initial, NOW, [*signals, extra], now)
    assert after.mean >= before.mean - ROUNDING


@given(st.sampled_from([bayes, ratchet]), unit, evidence, negative_signals, moments)
def test_a_negative_signal_never_raises(
    policy: c.Policy, initial: float, signals: list[Signal], extra: Signal, now: float
) -> None:
    before = c.fold(policy, initial, NOW, signals, now)
    after = c.fold(policy, initial, NOW, [*signals, extra], now)
    assert after.mean <= before.mean + ROUNDING


@given(st.floats(0.0, 0.8), evidence, st.floats(0.0, 30.0), st.floats(0.0, 30.0))
def test_two_users_who_say_no_put_any_memory_below_an_untested_one(
    initial: float, signals: list[Signal], first_days: float, second_days: float
) -> None:
    before = [signal for signal in signals if signal.at <= NOW]
    no = Signal(
        id="first", tenant="local", memory_id="mem_1", kind=SignalKind.FEEDBACK, positive=False, weight=1.0,
        used=True, source="user", trajectory_id=None, comment="", at=NOW + first_days * DAY,
    )  # fmt: skip
    second = dataclasses.replace(no, id="second", at=no.at + second_days * DAY)
    assert c.fold(bayes, initial, NOW, [*before, no, second], second.at).mean < c.INITIAL_RAW


@given(unit, evidence, positive_signals, moments, contexts)
def test_a_positive_signal_never_lowers_the_factors_of_a_used_memory(
    initial: float, signals: list[Signal], extra: Signal, now: float, context: c.Context
) -> None:
    standing = factors.standing(initial, NOW, signals)
    assume(standing.used > 0)
    after = factors.standing(initial, NOW, [*signals, extra])
    assert factors.confidence(after, now, context).mean >= factors.confidence(standing, now, context).mean - ROUNDING


@given(unit, evidence, any_signals, moments)
def test_evidence_that_agrees_with_the_mean_never_widens_the_interval(
    initial: float, signals: list[Signal], extra: Signal, now: float
) -> None:
    before = c.fold(bayes, initial, NOW, signals, now)
    agreeing = dataclasses.replace(extra, positive=before.mean >= 0.5)
    after = c.fold(bayes, initial, NOW, [*signals, agreeing], now)
    assert width(after) <= width(before) + ROUNDING


@given(st.floats(0.3, 0.9), st.booleans(), st.integers(10, 60))
def test_enough_evidence_of_one_kind_narrows_the_interval_whatever_it_says(
    initial: float, positive: bool, count: int
) -> None:
    template = Signal(
        id="", tenant="local", memory_id="mem_1", kind=SignalKind.FEEDBACK, positive=positive, weight=1.0,
        used=False, source="agent", trajectory_id=None, comment="", at=NOW,
    )  # fmt: skip
    signals = [dataclasses.replace(template, id=str(number)) for number in range(count)]
    few, many = (c.fold(bayes, initial, NOW, some, NOW) for some in (signals[:5], signals))
    assert width(many) < width(few)
    assert width(many) < width(c.fold(bayes, initial, NOW, [], NOW))


@given(unit, evidence, moments, st.floats(0.0, 4_000.0))
def test_ageing_moves_toward_the_prior_and_never_away(
    initial: float, signals: list[Signal], now: float, later_days: float
) -> None:
    standing = bayes.standing(initial, NOW, signals)
    early = bayes.confidence(standing, now).mean - initial
    late = bayes.confidence(standing, now + later_days * DAY).mean - initial
    assert abs(late) <= abs(early) + ROUNDING
    assert early * late >= -ROUNDING


@given(unit, evidence)
def test_in_the_long_run_only_the_prior_is_left(initial: float, signals: list[Signal]) -> None:
    assert abs(c.fold(bayes, initial, NOW, signals, NOW + 40_000 * DAY).mean - initial) < 1e-9


@given(unit, evidence, moments, st.floats(0.0, 4_000.0))
def test_by_the_signals_policy_time_alone_never_raises(
    initial: float, signals: list[Signal], now: float, later_days: float
) -> None:
    policy = c.policy_named("signals")
    standing = policy.standing(initial, NOW, signals)
    assert policy.confidence(standing, now + later_days * DAY).mean <= policy.confidence(standing, now).mean
