"""Transfers evidence to a memory from those that are merged into it.

Signals are copied, never moved: the merged memory keeps its own history. One task is one piece of evidence, however
many of the copies were shown in it, and another session that taught the same is evidence too.
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
    survivor: Memory, duplicates: Sequence[Memory], signals: Mapping[str, Sequence[Signal]], new_id: Callable[[], str]
) -> list[Copy]:
    """Signals to add to those of `survivor`, so that it has those of all, each task counted once.

    `signals` are those that count for what each of them advises, by the memory's id.
    """
    by_task: dict[_Task, Signal] = {}
    for own in signals[survivor.id]:
        _count(by_task, own)
    sources = {survivor.source, *(signal.trajectory_id for signal in signals[survivor.id])}
    copies: list[Copy] = []
    for other in duplicates:
        for signal in signals[other.id]:
            rest = _beyond(by_task, signal)
            if rest is not None:
                copies.append(Copy(signal=_of(survivor, rest, new_id()), original=signal.id))
                _count(by_task, signal)
        if other.source is not None and other.source not in sources:
            sources.update((other.source, *(signal.trajectory_id for signal in signals[other.id])))
            if not any(signal.trajectory_id == other.source for signal in signals[other.id]):
                copies.append(Copy(signal=_taught_again(survivor, other, new_id()), original=other.id))
    return copies


def _of(survivor: Memory, signal: Signal, signal_id: str) -> Signal:
    return replace(signal, id=signal_id, memory_id=survivor.id, advice_id=survivor.advice_id)


def _task(signal: Signal) -> _Task | None:
    return None if signal.trajectory_id is None else (signal.trajectory_id, signal.kind, signal.positive)


def _count(by_task: dict[_Task, Signal], signal: Signal) -> None:
    task = _task(signal)
    if task is not None:
        earlier = by_task.get(task)
        if earlier is None:
            by_task[task] = signal
        else:
            by_task[task] = replace(
                earlier, weight=max(earlier.weight, signal.weight), used=earlier.used or signal.used
            )


def _beyond(by_task: dict[_Task, Signal], signal: Signal) -> Signal | None:
    """The part of a signal beyond what is known of the same task: all of it, the rest of its weight, or nothing."""
    task = _task(signal)
    earlier = None if task is None else by_task.get(task)
    if earlier is None:
        return signal
    rest, used = signal.weight - earlier.weight, signal.used and not earlier.used
    return replace(signal, weight=max(0.0, rest), used=used) if rest > 0.0 or used else None


def _taught_again(survivor: Memory, other: Memory, signal_id: str) -> Signal:
    return Signal(
        id=signal_id,
        tenant=survivor.tenant,
        memory_id=survivor.id,
        kind=SignalKind.COMPLETION,
        positive=True,
        weight=SEEN_AGAIN_WEIGHT,
        used=False,
        source="consolidated",
        trajectory_id=other.source,
        comment="another session taught the same",
        at=other.created_at,
        advice_id=survivor.advice_id,
    )
