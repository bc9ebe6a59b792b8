"""Confidence of a memory: a fold over its stored signals, by one of four policies.

The arithmetic of evidence alone. Who may be trusted is already in a signal's weight; the clock is an argument.

The fold has two steps, so that a view can keep the first: `standing` reads the signals and needs no clock, `confidence`
reads the clock and needs no signals. Whatever the policy, signals are taken in the order of (at, id), one per id, so
neither the order nor the repetition of their delivery can matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ids import derived_id
from reasoningbank.core.origins import HOOK, USER, kind_of
from reasoningbank.core.types import Confidence, Memory, Remembered, Signal, SignalKind, Standing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[Any]]
    Means = NDArray[np.float64]

INITIAL_EXPLICIT = 0.8
INITIAL_DISTILLED_SUCCESS = 0.7
INITIAL_DISTILLED_FAILURE = 0.6
INITIAL_RAW = 0.5
PRUNE_BELOW = 0.3
LEAST_SHOWN = PRUNE_BELOW
"""The confidence that a memory must have to be shown, at whichever door it is asked for: what may be kept may be found.

Not one half, where what makes no difference ends by the way credit is given (`learn.credit`): a floor there would show
and hide it by the toss of a coin.
"""

DAY_SECONDS = 86_400.0
EPOCH = 1_735_689_600.0
"""2025-01-01 UTC: evidence masses are kept as of this moment, near the present so that they stay small."""
MAX_WEIGHT = 1_000.0
"""A signal counts for at most this many pieces, so that no weight can overflow a sum."""

_MAX_HALF_LIVES = 400.0
_Z90 = 1.6448536269514722
_USE_KINDS = frozenset({SignalKind.FEEDBACK, SignalKind.COMPLETION, SignalKind.STABILITY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Facts about the moment of asking that a policy may need, beside the time.

    The defaults describe a memory looked at by itself: the only one in use, in the context it was made for.
    """

    total_uses: int = 0
    """Uses of all memories together. Never less than the memory's own uses, whatever is given."""
    context_match: float = 1.0


ALONE = Context()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexts:
    """`Context` for many at once: numbers, or columns of them."""

    total_uses: Any = 0
    context_match: Any = 1.0


ALL_ALONE = Contexts()


def evidence_for(memory: Memory, signals: Iterable[Signal]) -> list[Signal]:
    """Signals of a memory that are about what it advises now; the others are about an earlier text."""
    return [signal for signal in signals if signal.advice_id == memory.advice_id]


def taken_over_id(signal: Signal, advice_id: str) -> str:
    """The id of the copy that lets a signal about an earlier text count for another: the same whenever it is made."""
    return derived_id("sig", f"{signal.tenant}\n{signal.id}\n{advice_id}")


def copies_among(signals: Sequence[Signal]) -> dict[str, Signal]:
    """The signals that let an earlier one count for another text, by their ids, each with the one that it repeats."""
    advice, there = {signal.advice_id for signal in signals}, {signal.id for signal in signals}
    return {
        copy_id: signal
        for signal in signals
        for advice_id in advice
        if advice_id != signal.advice_id and (copy_id := taken_over_id(signal, advice_id)) in there
    }


def set_aside_for(memory: Memory, signals: Sequence[Signal]) -> list[Signal]:
    """Signals about an earlier text of a memory that nobody has taken over for the present one."""
    earlier = [signal for signal in signals if signal.advice_id != memory.advice_id]
    copies = copies_among(signals) if earlier else {}
    here = {copies[signal.id].id for signal in evidence_for(memory, signals) if signal.id in copies}
    return [signal for signal in earlier if signal.id not in copies and signal.id not in here]


class ConfidencePolicy(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def compares_uses(self) -> bool:
        """True if the policy compares a memory's uses with those of all memories together."""
        ...

    def standing(self, initial: float, created_at: float, signals: Iterable[Signal]) -> Standing: ...

    def confidence(self, standing: Standing, now: float, context: Context = ...) -> Confidence: ...

    def means(self, standings: Columns, now: float, contexts: Contexts = ...) -> Means:
        """The means of `confidence`, for many memories at once and without the interval: a search asks for hundreds."""
        ...


# ---------------------------------------------------------------- the four policies


@dataclass(frozen=True, slots=True, kw_only=True)
class Bayes:
    """A Beta posterior, whose prior has the initial confidence as mean and `prior_strength` as its mass.

    Evidence loses half its mass every `half_life_days`, so an old verdict fades toward the prior. Because all
    masses fade at one rate, they can be kept as of a fixed epoch and brought to any `now` by one
    multiplication.

    Evidence also gives way to newer evidence: there is room for `most_pieces`, and what comes when it is full takes
    the place of a part of what is there. Without that a memory that has worked a hundred times would have to fail a
    hundred times before anybody noticed that the world has changed. One signal takes a quarter of the room at most.
    A positive one takes less from the positive mass than it brings, so it can only raise the mean.

    A signal stamped later than `now` is not held at age zero but counts for more than a whole piece, by the
    same curve. Age zero cannot be had without the signals at hand, and the substitute, moving `now` up to the
    latest stamp, would age everything else: a positive signal could then lower the confidence. An hour of
    clock skew is worth 0.02 %, a year a factor of four; whoever lets signals in must refuse stamps from far
    ahead.

    The user's own "unhelpful" is a verdict and not one outcome among many: beside its own weight it leaves only
    `left_by_user` of the positive mass that was there. Two of them put a memory that started at 0.8 or below under 0.5,
    whatever it has earned; from then on it earns as any other. What is taken is taken from the positive mass alone, so
    that a negative signal never raises, wherever it comes.

    The interval is the central 90 % of that Beta. Evidence that agrees with the mean narrows it; evidence
    that contradicts it may widen it at first, as it should.
    """

    name: str = "bayes"
    prior_strength: float = 4.0
    feedback: float = 2.0
    completion: float = 1.0
    stability: float = 1.5
    peer: float = 0.5
    half_life_days: float = 180.0
    most_pieces: float = 20.0
    left_by_user: float = 0.2

    @property
    def compares_uses(self) -> bool:
        return False

    def standing(self, initial: float, created_at: float, signals: Iterable[Signal]) -> Standing:
        history = _in_order(signals)
        positive = negative = 0.0
        for signal in history:
            # As of the epoch the room grows with time, as the masses do.
            growth = math.exp2(self._half_lives(signal.at))
            weight = min(self._weight(signal), self.most_pieces / 4.0) * growth
            if _is_users_no(signal):
                positive *= self.left_by_user ** min(_pieces(signal), 1.0)
            there, room = positive + negative, self.most_pieces * growth - weight
            if there > room:
                positive, negative = positive * (room / there), negative * (room / there)
            if signal.positive:
                positive += weight
            else:
                negative += weight
        return _standing(initial, created_at, history, positive=positive, negative=negative)

    def means(self, standings: Columns, now: float, contexts: Contexts = ALL_ALONE) -> Means:
        fading = self._fading(now)
        return _clamp_all(
            self._mean(standings["initial"], standings["positive"] * fading, standings["negative"] * fading)
        )

    def _fading(self, now: float) -> float:
        return math.exp2(-self._half_lives(now))

    def _mean(self, prior: Any, positive: Any, negative: Any) -> Any:
        """Posterior mean, of numbers or of columns of them."""
        # Written as a shift of the prior, so that no evidence gives the prior to the last bit.
        shift = positive * (1.0 - prior) - negative * prior
        return prior + shift / (self.prior_strength + positive + negative)

    def confidence(self, standing: Standing, now: float, context: Context = ALONE) -> Confidence:
        prior, fading = standing.initial, self._fading(now)
        positive, negative = standing.positive * fading, standing.negative * fading
        mean = _clamp(self._mean(prior, positive, negative))
        alpha = self.prior_strength * prior + positive
        beta = self.prior_strength * (1.0 - prior) + negative
        low, high = 1.0 - _beta_95(beta, alpha), _beta_95(alpha, beta)
        return Confidence(mean=mean, low=min(low, mean), high=max(high, mean))

    def _weight(self, signal: Signal) -> float:
        by_kind = {
            SignalKind.FEEDBACK: self.feedback,
            SignalKind.COMPLETION: self.completion,
            SignalKind.STABILITY: self.stability,
            SignalKind.PEER: self.peer,
        }
        return by_kind[signal.kind] * _pieces(signal)

    def _half_lives(self, at: float) -> float:
        """From the epoch to `at`, held within ±400 (two centuries) so that no date can overflow a mass."""
        half_lives = (at - EPOCH) / (self.half_life_days * DAY_SECONDS)
        return min(max(half_lives, -_MAX_HALF_LIVES), _MAX_HALF_LIVES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    """Fixed steps up and down, a monthly decay since creation, and agreement asked of young memories.

    Signals are walked in time. One that finds (with itself) at least `settled_uses` uses applies at once. An
    earlier one looks back over `window_days`: if at least `agreeing` signals there point the same way,
    whichever way, all signals of that window apply, each once however many windows it falls in. A signal that
    no such window ever covers is kept but stays without effect. What applies at one moment is added up and
    held within 0–1 there and then: what went beyond the limits is forgotten, and the decay goes on from the limit.

    Steps are scaled by a signal's weight; peers count as task completions. One law of `Bayes` is absent by
    design: the second of two agreeing positives may release a stronger negative that was waiting in the same
    window.
    """

    name: str = "signals"
    feedback: tuple[float, float] = (0.30, -0.20)
    completion: tuple[float, float] = (0.10, -0.05)
    stability: tuple[float, float] = (0.20, -0.15)
    decay_per_month: float = 0.05
    month_days: float = 30.0
    settled_uses: int = 3
    agreeing: int = 2
    window_days: float = 7.0

    @property
    def compares_uses(self) -> bool:
        return False

    def standing(self, initial: float, created_at: float, signals: Iterable[Signal]) -> Standing:
        history = _in_order(signals)
        # The decay is linear, so it is kept out: `shift` is how far the signals have moved the memory from where its
        # age alone would have it, and the limits move against it.
        shift = 0.0
        for at, batch in self._steps(history):
            baseline = initial - self.decay_per_month * self._months(created_at, at)
            before = _clamp(baseline + shift)
            shift = _clamp(before + math.fsum(self._step(signal) for signal in batch)) - baseline
        return _standing(initial, created_at, history, value=shift)

    def _months(self, created_at: float, now: float) -> float:
        return max(0.0, now - created_at) / (self.month_days * DAY_SECONDS)

    def means(self, standings: Columns, now: float, contexts: Contexts = ALL_ALONE) -> Means:
        import numpy as np

        months = np.maximum(0.0, now - standings["created_at"]) / (self.month_days * DAY_SECONDS)
        return _clamp_all(standings["initial"] + standings["value"] - self.decay_per_month * months)

    def confidence(self, standing: Standing, now: float, context: Context = ALONE) -> Confidence:
        months = self._months(standing.created_at, now)
        return _point(standing.initial + standing.value - self.decay_per_month * months)

    def _step(self, signal: Signal) -> float:
        by_kind = {
            SignalKind.FEEDBACK: self.feedback,
            SignalKind.COMPLETION: self.completion,
            SignalKind.STABILITY: self.stability,
            SignalKind.PEER: self.completion,
        }
        up, down = by_kind[signal.kind]
        return (up if signal.positive else down) * _pieces(signal)

    def _steps(self, history: Sequence[Signal]) -> list[tuple[float, Sequence[Signal]]]:
        """Times at which signals apply, each with the signals that do."""
        steps: list[tuple[float, Sequence[Signal]]] = []
        window = self.window_days * DAY_SECONDS
        votes = {True: 0, False: 0}
        used = oldest = settled_up_to = 0
        for number, signal in enumerate(history):
            used += _is_use(signal)
            if used >= self.settled_uses:
                steps.append((signal.at, (signal,)))
                continue
            votes[signal.positive] += _pieces(signal) > 0.0
            while signal.at - history[oldest].at > window:
                votes[history[oldest].positive] -= _pieces(history[oldest]) > 0.0
                oldest += 1
            if max(votes.values()) >= self.agreeing:
                steps.append((signal.at, history[max(oldest, settled_up_to) : number + 1]))
                settled_up_to = number + 1
        return steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratchet:
    """Success takes a fifth of the room that is left, failure 15 % of what is there; the clock plays no part.

    A signal of weight w counts as w signals in a row, so the steps stay within 0–1 for any weight.
    """

    name: str = "ratchet"
    gain: float = 0.20
    loss: float = 0.15

    @property
    def compares_uses(self) -> bool:
        return False

    def standing(self, initial: float, created_at: float, signals: Iterable[Signal]) -> Standing:
        history = _in_order(signals)
        value = initial
        for signal in history:
            pieces = _pieces(signal)
            if signal.positive:
                value += (1.0 - value) * (1.0 - (1.0 - self.gain) ** pieces)
            else:
                value -= value * (1.0 - (1.0 - self.loss) ** pieces)
        return _standing(initial, created_at, history, value=value)

    def means(self, standings: Columns, now: float, contexts: Contexts = ALL_ALONE) -> Means:
        return _clamp_all(standings["value"])

    def confidence(self, standing: Standing, now: float, context: Context = ALONE) -> Confidence:
        return _point(standing.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """A weighted sum of success rate, share of all uses, recency of the last use, and match with the context.

    Recency is exp(−rate · days); the rate is the one by which a use two days ago is worth 0.95. Weights of
    signals play no part: this policy counts uses. A memory never used has its initial confidence, since a
    success rate of nothing out of nothing would condemn every new memory.
    """

    name: str = "factors"
    success: float = 0.4
    frequency: float = 0.3
    recency: float = 0.2
    context: float = 0.1
    recency_rate_per_day: float = -math.log(0.95) / 2.0

    @property
    def compares_uses(self) -> bool:
        return True

    def standing(self, initial: float, created_at: float, signals: Iterable[Signal]) -> Standing:
        return _standing(initial, created_at, _in_order(signals))

    def means(self, standings: Columns, now: float, contexts: Contexts = ALL_ALONE) -> Means:
        import numpy as np

        used = np.maximum(standings["used"], 1)
        idle_days = np.maximum(0.0, now - standings["last_used_at"]) / DAY_SECONDS
        scores = (
            self.success * standings["succeeded"] / used
            + self.frequency * standings["used"] / np.maximum(contexts.total_uses, used)
            + self.recency * np.exp(-self.recency_rate_per_day * idle_days)
            + self.context * np.fmin(np.fmax(contexts.context_match, 0.0), 1.0)
        )
        return _clamp_all(np.where(standings["used"] == 0, standings["initial"], scores))

    def confidence(self, standing: Standing, now: float, context: Context = ALONE) -> Confidence:
        if standing.used == 0:
            return _point(standing.initial)
        idle_days = max(0.0, now - standing.last_used_at) / DAY_SECONDS
        return _point(
            self.success * standing.succeeded / standing.used
            + self.frequency * standing.used / max(context.total_uses, standing.used)
            + self.recency * math.exp(-self.recency_rate_per_day * idle_days)
            + self.context * _clamp(context.context_match)
        )


# ---------------------------------------------------------------- by name


_POLICIES: Mapping[str, ConfidencePolicy] = MappingProxyType(
    {policy.name: policy for policy in (Bayes(), Consensus(), Ratchet(), Factors())}
)


def policies() -> Mapping[str, ConfidencePolicy]:
    """Every policy by its name, the default first."""
    return _POLICIES


def policy_named(name: str) -> ConfidencePolicy:
    try:
        return _POLICIES[name]
    except KeyError:
        raise InvalidInput(f"There is no confidence policy '{name}'. Choose one of: {', '.join(_POLICIES)}.") from None


# ---------------------------------------------------------------- the fold


def fold(
    policy: ConfidencePolicy,
    initial: float,
    created_at: float,
    signals: Iterable[Signal],
    now: float,
    context: Context = ALONE,
) -> Confidence:
    return policy.confidence(policy.standing(initial, created_at, signals), now, context)


def seen_uses(signals: Iterable[Signal]) -> tuple[int, int]:
    """How many of the uses happened in sessions that our own hooks captured, and how many of these went well."""
    outcomes = {s.id: s.positive for s in signals if s.used and s.kind is SignalKind.COMPLETION and s.source == HOOK}
    return len(outcomes), sum(outcomes.values())


def track_record(item: Remembered) -> str:
    """Outcome of the uses of a memory in words; "" for one that nobody has reported a use of.

    Only what our own hooks saw is told as a fact: anybody can report a use.
    """
    used, well, prefix = (
        (item.seen, item.seen_well, "") if item.seen else (item.usage_count, item.succeeded, "reported: ")
    )
    if used <= 1:
        return f"{prefix}{'worked' if well else 'failed'} once" if used else ""
    return f"{prefix}worked {well:,} of {used:,} times"


# ---------------------------------------------------------------- what they share


def _in_order(signals: Iterable[Signal]) -> list[Signal]:
    """One signal per id, by (at, id). What has no usable weight or time is no evidence and is left out."""
    usable = [s for s in signals if math.isfinite(s.at) and math.isfinite(s.weight) and s.weight >= 0.0]
    # The fields after the id only order two versions of one signal, which a faulty peer might send.
    usable.sort(key=lambda s: (s.at, s.id, s.kind, s.positive, s.weight, s.used))
    first: dict[str, Signal] = {}
    for signal in usable:
        first.setdefault(signal.id, signal)
    return list(first.values())


def _standing(
    initial: float,
    created_at: float,
    history: Sequence[Signal],
    *,
    positive: float = 0.0,
    negative: float = 0.0,
    value: float = 0.0,
) -> Standing:
    if not 0.0 <= initial <= 1.0:
        raise InvalidInput(f"An initial confidence must lie between 0 and 1, not be {initial}.")
    uses = [signal for signal in history if _is_use(signal)]
    return Standing(
        initial=initial,
        created_at=created_at,
        positive=positive,
        negative=negative,
        value=value,
        used=len(uses),
        succeeded=sum(signal.positive for signal in uses),
        last_used_at=uses[-1].at if uses else 0.0,
        last_succeeded_at=max((signal.at for signal in uses if signal.positive), default=0.0),
        last_failed_at=max((signal.at for signal in uses if not signal.positive), default=0.0),
    )


def _is_use(signal: Signal) -> bool:
    """A peer's use happened in another bank."""
    return signal.used and signal.kind in _USE_KINDS


def _is_users_no(signal: Signal) -> bool:
    """True if the user says in person that a memory did not help."""
    return signal.kind is SignalKind.FEEDBACK and not signal.positive and kind_of(signal.source) == USER


def _pieces(signal: Signal) -> float:
    return min(signal.weight, MAX_WEIGHT)


def _clamp(value: float) -> float:
    """Within 0–1; what is not a number is 0."""
    return min(max(0.0, value), 1.0)


def _clamp_all(values: NDArray[Any]) -> Means:
    """`_clamp` for a column. NumPy is imported where columns are, since most commands need neither."""
    import numpy as np

    means: Means = np.fmin(np.fmax(values, 0.0), 1.0)
    return means


def _point(value: float) -> Confidence:
    """These policies state a figure and no uncertainty about it."""
    value = _clamp(value)
    return Confidence(mean=value, low=value, high=value)


# All that start alike and have no evidence yet have the same two intervals.
@lru_cache(maxsize=4096)
def _beta_95(alpha: float, beta: float) -> float:
    """The 95 % quantile of Beta(alpha, beta), nearly.

    A Beta is a ratio of two chi-squares, and the cube root of a chi-square is nearly normal (Wilson and
    Hilferty); that leaves one quadratic equation. Within 0.01 of the truth where both parameters reach 0.4
    and their sum 4, within 0.05 below. Inverting the integral would be exact, but a search would pay for the
    iteration at every candidate.
    """
    if alpha < 1e-3:
        return 0.0
    if beta < 1e-3:
        return 1.0
    a, b = 1.0 / (9.0 * alpha), 1.0 / (9.0 * beta)
    square = (1.0 - b) ** 2 - _Z90**2 * b
    if b >= 1.0 or square <= 0.0:
        return 1.0
    half = (1.0 - a) * (1.0 - b)
    root = math.sqrt(max(0.0, half**2 - square * ((1.0 - a) ** 2 - _Z90**2 * a)))
    ratio = max(0.0, (half + root) / square) ** 3
    return alpha * ratio / (alpha * ratio + beta)
