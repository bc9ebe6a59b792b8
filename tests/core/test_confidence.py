"""The policies against tables worked out by hand from the formulas they come from."""

from __future__ import annotations

import dataclasses
import itertools
import math
import subprocess
import sys

import pytest

from reasoningbank.core import confidence as c
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Confidence, Signal, SignalKind

DAY = 86_400.0
NOW = 1_760_000_000.0
_numbers = itertools.count()


def signal(
    positive: bool = True,
    kind: SignalKind = SignalKind.FEEDBACK,
    *,
    days_ago: float = 0.0,
    weight: float = 1.0,
    used: bool = False,
    source: str = "test",
) -> Signal:
    return Signal(
        id=f"sig_{next(_numbers):06d}",
        tenant="local",
        memory_id="mem_1",
        kind=kind,
        positive=positive,
        weight=weight,
        used=used,
        source=source,
        trajectory_id=None,
        comment="",
        at=NOW - days_ago * DAY,
    )


def mean(policy: str, signals: list[Signal], *, initial: float = 0.5, created_days_ago: float = 0.0) -> float:
    return c.fold(c.policy_named(policy), initial, NOW - created_days_ago * DAY, signals, NOW).mean


# ---------------------------------------------------------------- names


def test_the_four_policies_are_found_by_name_and_the_default_comes_first() -> None:
    assert list(c.policies()) == ["bayes", "signals", "ratchet", "factors"]
    assert all(c.policy_named(name).name == name for name in c.policies())


def test_an_unknown_policy_is_refused_with_the_names_to_choose_from() -> None:
    with pytest.raises(InvalidInput, match=r"'guess'.*bayes, signals, ratchet, factors"):
        c.policy_named("guess")


def test_initial_confidences_are_those_of_the_design() -> None:
    assert (c.INITIAL_EXPLICIT, c.INITIAL_DISTILLED_SUCCESS, c.INITIAL_DISTILLED_FAILURE) == (0.8, 0.7, 0.6)
    assert (c.INITIAL_RAW, c.PRUNE_BELOW) == (0.5, 0.3)


def test_importing_confidence_and_tokens_does_not_load_numpy() -> None:
    code = "import sys, reasoningbank.core.confidence, reasoningbank.core.tokens; sys.exit('numpy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, env={"PYTHONPATH": ":".join(sys.path)}).returncode
        == 0
    )


# ---------------------------------------------------------------- what every policy shares


@pytest.mark.parametrize("policy", c.policies())
@pytest.mark.parametrize("initial", [-0.1, 1.1, math.nan])
def test_an_initial_confidence_outside_0_to_1_is_refused(policy: str, initial: float) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        mean(policy, [], initial=initial)


@pytest.mark.parametrize("policy", c.policies())
@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_a_signal_without_a_usable_weight_is_no_evidence(policy: str, weight: float) -> None:
    assert mean(policy, [signal(weight=weight, used=True) for _ in range(5)], initial=0.7) == 0.7


@pytest.mark.parametrize("policy", c.policies())
def test_a_signal_without_a_time_is_no_evidence(policy: str) -> None:
    timeless = [dataclasses.replace(signal(used=True), at=at) for at in (math.nan, math.inf)]
    assert mean(policy, timeless, initial=0.7) == 0.7


@pytest.mark.parametrize("policy", c.policies())
def test_uses_are_counted_from_signals_that_say_used_and_never_from_peers(policy: str) -> None:
    signals = [
        signal(days_ago=9, used=True),
        signal(False, SignalKind.COMPLETION, days_ago=3, used=True),
        signal(True, SignalKind.STABILITY, days_ago=5, used=True),
        signal(days_ago=1),
        signal(True, SignalKind.PEER, days_ago=2, used=True),
    ]
    standing = c.policy_named(policy).standing(0.5, NOW, signals)
    assert (standing.used, standing.succeeded, standing.last_used_at) == (3, 2, NOW - 3 * DAY)


def test_of_two_versions_of_one_signal_the_earlier_counts() -> None:
    early = signal(True, days_ago=2)
    late = dataclasses.replace(early, positive=False, at=NOW)
    assert mean("ratchet", [late, early]) == mean("ratchet", [early, late]) == pytest.approx(0.6)


# ---------------------------------------------------------------- bayes


@pytest.mark.parametrize(
    ("initial", "signals", "expected"),
    [
        (0.5, [signal()], 4.0 / 6.0),  # (4·0.5 + 2) / (4 + 2)
        (0.5, [signal(False)], 2.0 / 6.0),
        (0.8, [signal(True, SignalKind.COMPLETION)], 4.2 / 5.0),
        (0.8, [signal(False, SignalKind.STABILITY)], 3.2 / 5.5),
        (0.7, [signal(True, SignalKind.PEER)], 3.3 / 4.5),
        (0.7, [signal(True, SignalKind.PEER, weight=0.2)], 2.9 / 4.1),
        (0.5, [signal(days_ago=180)], 3.0 / 5.0),  # one half-life leaves 1 of 2
        (0.5, [signal(days_ago=360), signal(False)], 2.5 / 6.5),
        (0.5, [signal(weight=0.0)], 0.5),
    ],
)
def test_bayes_adds_typed_and_aged_evidence_to_the_prior(
    initial: float, signals: list[Signal], expected: float
) -> None:
    assert mean("bayes", signals, initial=initial) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("alpha", "beta", "low", "high"),
    # From scipy.stats.beta.ppf at 0.05 and 0.95.
    [
        (2.0, 2.0, 0.1354, 0.8646),
        (3.2, 0.8, 0.4343, 0.9930),
        (2.8, 1.2, 0.3106, 0.9683),
        (4.0, 2.0, 0.3426, 0.9236),
        (3.2, 2.8, 0.2166, 0.8365),
        (23.2, 0.8, 0.8937, 0.9991),
        (2.4, 21.6, 0.0234, 0.2145),
        (52.0, 52.0, 0.4197, 0.5803),
    ],
)
def test_the_interval_is_close_to_the_central_90_percent_of_the_beta(
    alpha: float, beta: float, low: float, high: float
) -> None:
    assert 1.0 - c._beta_95(beta, alpha) == pytest.approx(low, abs=0.01)
    assert c._beta_95(alpha, beta) == pytest.approx(high, abs=0.01)


def test_a_certain_prior_has_no_width_until_evidence_comes() -> None:
    bayes = c.policy_named("bayes")
    assert c.fold(bayes, 1.0, NOW, [], NOW) == Confidence(mean=1.0, low=1.0, high=1.0)
    assert c.fold(bayes, 0.0, NOW, [], NOW) == Confidence(mean=0.0, low=0.0, high=0.0)
    doubted = c.fold(bayes, 1.0, NOW, [signal(False)], NOW)
    assert doubted.low < doubted.mean < doubted.high


def test_a_contradiction_may_widen_the_interval() -> None:
    bayes = c.policy_named("bayes")
    before, after = c.fold(bayes, 0.9, NOW, [], NOW), c.fold(bayes, 0.9, NOW, [signal(False)], NOW)
    assert after.high - after.low > before.high - before.low


@pytest.mark.parametrize("at", [-1e18, 0.0, 1e18])
@pytest.mark.parametrize("now", [-1e18, 0.0, NOW, 1e18])
def test_no_date_overflows_bayes(at: float, now: float) -> None:
    heavy = [dataclasses.replace(signal(positive, weight=1e308), at=at) for positive in (True, True, False)]
    result = c.fold(c.policy_named("bayes"), 0.5, NOW, heavy, now)
    assert 0.0 <= result.low <= result.mean <= result.high <= 1.0
    assert 0.5 <= result.mean <= 2.0 / 3.0 + 1e-12


def test_bayes_notices_that_what_always_worked_works_no_more() -> None:
    worked = [signal(True, SignalKind.COMPLETION, days_ago=50 - n / 10) for n in range(200)]
    fails = [signal(False, SignalKind.COMPLETION, days_ago=20 - n) for n in range(20)]
    assert mean("bayes", worked, initial=0.7) > 0.9
    assert mean("bayes", [*worked, *fails], initial=0.7) < 0.5


def test_one_signal_however_heavy_does_not_wipe_out_what_was_known() -> None:
    worked = [signal(True, SignalKind.COMPLETION, days_ago=50 - n / 10) for n in range(200)]
    assert mean("bayes", [*worked, signal(False, weight=1e9)], initial=0.7) > 0.6


def test_an_hour_of_clock_skew_hardly_matters() -> None:
    ahead = mean("bayes", [signal(days_ago=-1 / 24)])
    assert ahead == pytest.approx(mean("bayes", [signal()]), abs=1e-4)


# ---------------------------------------------------------------- signals


def settled(*signals: Signal) -> list[Signal]:
    """After three uses that carry no weight of their own, so that no consensus is asked for."""
    return [signal(used=True, weight=0.0, days_ago=days) for days in (300, 200, 100)] + list(signals)


@pytest.mark.parametrize(
    ("kind", "up", "down"),
    [
        (SignalKind.FEEDBACK, 0.30, -0.20),
        (SignalKind.COMPLETION, 0.10, -0.05),
        (SignalKind.STABILITY, 0.20, -0.15),
        (SignalKind.PEER, 0.10, -0.05),
    ],
)
def test_signals_step_by_their_kind(kind: SignalKind, up: float, down: float) -> None:
    assert mean("signals", settled(signal(True, kind))) == pytest.approx(0.5 + up)
    assert mean("signals", settled(signal(False, kind))) == pytest.approx(0.5 + down)
    assert mean("signals", settled(signal(True, kind, weight=0.5))) == pytest.approx(0.5 + up / 2)


def test_signals_decay_by_five_hundredths_a_month_since_creation() -> None:
    # 0.8 + 0.30 − 0.05 · 60/30
    assert mean("signals", settled(signal()), initial=0.8, created_days_ago=60) == pytest.approx(1.0)
    assert mean("signals", [], initial=0.8, created_days_ago=60) == pytest.approx(0.7)
    assert mean("signals", [], initial=0.8, created_days_ago=-60) == 0.8


def test_signals_forget_what_went_beyond_the_limits() -> None:
    assert mean("signals", settled(*[signal() for _ in range(5)])) == 1.0
    # 0.5 + 3·0.30 is held at 1.0, and 1.0 − 4·0.20 = 0.2; adding up everything first would have given 0.6.
    mixed = [signal(days_ago=2) for _ in range(3)] + [signal(False, days_ago=1) for _ in range(4)]
    assert mean("signals", settled(*mixed)) == pytest.approx(0.2, abs=0.01)
    assert mean("signals", settled(*[signal(False) for _ in range(5)])) == 0.0


@pytest.mark.parametrize(
    ("signals", "change"),
    [
        pytest.param([signal()], 0.0, id="one signal changes nothing"),
        pytest.param([signal(days_ago=1), signal()], 0.60, id="two that agree apply"),
        pytest.param([signal(days_ago=1), signal(False)], 0.0, id="two that disagree do not"),
        pytest.param([signal(days_ago=7), signal()], 0.60, id="the seventh day still counts"),
        pytest.param([signal(days_ago=7.01), signal()], 0.0, id="the eighth does not"),
        pytest.param(
            [signal(days_ago=2), signal(False, days_ago=1), signal()],
            0.40,
            id="all of the window apply, the dissent too",
        ),
        pytest.param(
            [signal(True, SignalKind.COMPLETION, days_ago=days) for days in (12, 6, 0)],
            0.30,
            id="each applies once though windows overlap",
        ),
        pytest.param([signal(days_ago=30), signal(days_ago=1), signal()], 0.60, id="what no window covers stays out"),
        pytest.param([signal(weight=0.0), signal()], 0.0, id="a signal of no weight has no vote"),
        pytest.param(
            [signal(days_ago=days, used=True) for days in (90, 60, 30)],
            0.30,
            id="the third use settles from its own signal on",
        ),
        pytest.param(
            [signal(days_ago=days, used=True) for days in (90, 60, 30)] + [signal(False, days_ago=0)],
            0.10,
            id="a settled memory listens to one voice",
        ),
    ],
)
def test_a_young_memory_changes_only_by_consensus(signals: list[Signal], change: float) -> None:
    initial = 0.1 if change > 0.5 else 0.5
    assert mean("signals", signals, initial=initial) == pytest.approx(initial + change)


def test_signals_decay_from_the_limit_on_and_not_from_beyond_it() -> None:
    two = [signal(days_ago=30), signal(days_ago=30)]
    assert mean("signals", two, initial=0.8, created_days_ago=30) == pytest.approx(0.95)
    # At the bottom it is the same: what fell below nothing is forgotten, and the way up starts there.
    worn = [signal(False, days_ago=60) for _ in range(6)] + [signal(days_ago=0)]
    assert mean("signals", worn, initial=0.5, created_days_ago=60) == 0.0
    assert mean("signals", [*worn, signal()], initial=0.5, created_days_ago=60) == pytest.approx(0.6)


def test_signals_without_evidence_lose_a_twentieth_a_month() -> None:
    assert mean("signals", [], initial=0.8, created_days_ago=90) == pytest.approx(0.65)
    assert mean("bayes", [], initial=0.8, created_days_ago=90) == 0.8


# ---------------------------------------------------------------- ratchet


def test_ratchet_follows_the_published_learning_curve() -> None:
    outcomes = [True, True, False, True, True]
    signals = [signal(positive, days_ago=9 - day) for day, positive in enumerate(outcomes)]
    points = [mean("ratchet", signals[:number]) for number in range(6)]
    # 0.5 + 0.2·0.5; 0.6 + 0.2·0.4; 0.68 − 0.15·0.68; 0.578 + 0.2·0.422; 0.6624 + 0.2·0.3376
    assert points == pytest.approx([0.50, 0.60, 0.68, 0.578, 0.6624, 0.72992])


def test_ratchet_takes_a_weight_of_two_for_two_signals() -> None:
    assert mean("ratchet", [signal(weight=2.0)]) == pytest.approx(mean("ratchet", [signal(), signal()]))
    assert mean("ratchet", [signal(False, weight=1e300)]) == pytest.approx(0.0)


# ---------------------------------------------------------------- factors


def test_factors_give_the_published_example() -> None:
    uses = [signal(number < 18, days_ago=2 + number, used=True) for number in range(20)]
    factors = c.policy_named("factors")
    context = c.Context(total_uses=100, context_match=0.85)
    result = c.fold(factors, 0.5, NOW - 99 * DAY, uses, NOW, context)
    # 0.4·18/20 + 0.3·20/100 + 0.2·0.95 + 0.1·0.85 = 0.36 + 0.06 + 0.19 + 0.085
    assert result.mean == pytest.approx(0.695, abs=1e-12)


def test_factors_without_a_use_give_the_initial_confidence() -> None:
    assert mean("factors", [signal(False), signal(False)], initial=0.8) == 0.8


def test_factors_forget_what_is_long_unused_and_ignore_impossible_contexts() -> None:
    uses = [signal(used=True, days_ago=10_000)]
    factors = c.policy_named("factors")
    # 0.4·1 + 0.3·1 + 0.2·0 + 0.1·0
    odd = c.Context(total_uses=-5, context_match=math.nan)
    assert c.fold(factors, 0.5, NOW, uses, NOW, odd).mean == pytest.approx(0.7)
