"""Transfers evidence to a memory from those that are merged into it.

Signals are copied, never moved: the merged memory keeps its own history. Knows that one task is one piece of evidence,
however many of the copies were shown in it, and that another session that taught the same is evidence too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Memory, Signal, SignalKind

SEEN_AGAIN_WEIGHT = 0.5
"""As for a lesson that another session teaches word for word."""

_Task = tuple[str, SignalKind, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    signal: Signal
    original: str
    """The signal that it repeats, or the memory that it stands for."""


def inherit(
    kept: Memory, others: Sequence[Memory], signals: Mapping[str, Sequence[Signal]], new_id: Callable[[], str]
) -> list[Copy]:
    """What to add to the signals of `kept`, so that they are those of all, each task counted once.

    `signals` are those that count for what each of them advises, by the memory's id.
    """
    counted: dict[_Task, Signal] = {}
    for own in signals[kept.id]:
        _count(counted, own)
    sources = {kept.source, *(signal.trajectory_id for signal in signals[kept.id])}
    copies: list[Copy] = []
    for other in others:
        for signal in signals[other.id]:
            rest = _beyond(counted, signal)
            if rest is not None:
                copies.append(Copy(signal=_of(kept, rest, new_id()), original=signal.id))
                _count(counted, signal)
        if other.source is not None and other.source not in sources:
            sources.update((other.source, *(signal.trajectory_id for signal in signals[other.id])))
            if not any(signal.trajectory_id == other.source for signal in signals[other.id]):
                copies.append(Copy(signal=_taught_again(kept, other, new_id()), original=other.id))
    return copies


def _of(kept: Memory, signal: Signal, signal_id: str) -> Signal:
    return replace(signal, id=signal_id, memory_id=kept.id, advice_id=kept.advice_id)


def _task(signal: Signal) -> _Task | None:
    return None if signal.trajectory_id is None else (signal.trajectory_id, signal.kind, signal.positive)


def _count(counted: dict[_Task, Signal], signal: Signal) -> None:
    task = _task(signal)
    if task is not None:
        known = counted.get(task)
        if known is None:
            counted[task] = signal
        else:
            counted[task] = replace(known, weight=max(known.weight, signal.weight), used=known.used or signal.used)


def _beyond(counted: dict[_Task, Signal], signal: Signal) -> Signal | None:
    """What a signal says beyond what is known of the same task: all of it, the rest of its weight, or nothing."""
    task = _task(signal)
    known = None if task is None else counted.get(task)
    if known is None:
        return signal
    rest, used = signal.weight - known.weight, signal.used and not known.used
    return replace(signal, weight=max(0.0, rest), used=used) if rest > 0.0 or used else None


def _taught_again(kept: Memory, other: Memory, signal_id: str) -> Signal:
    return Signal(
        id=signal_id,
        tenant=kept.tenant,
        memory_id=kept.id,
        kind=SignalKind.COMPLETION,
        positive=True,
        weight=SEEN_AGAIN_WEIGHT,
        used=False,
        source="consolidated",
        trajectory_id=other.source,
        comment="another session taught the same",
        at=other.created_at,
        advice_id=kept.advice_id,
    )
