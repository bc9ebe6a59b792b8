"""Clocks and what is made of them. Contestants take turns in blocks, so that a busy machine is busy for all of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds by the clock on the wall, and those that the calling thread really ran; both sorted.

    On a machine that others use too, the second says what the first would be without them.
    """

    seconds: tuple[float, ...]
    running: tuple[float, ...]

    @classmethod
    def of(cls, seconds: Sequence[float], running: Sequence[float] = (0.0,)) -> Times:
        return cls(tuple(sorted(seconds)), tuple(sorted(running)))

    def at(self, share: float) -> float:
        return self.seconds[min(len(self.seconds) - 1, int(share * len(self.seconds)))]

    @property
    def p50_ms(self) -> float:
        return 1e3 * self.at(0.5)

    @property
    def p95_ms(self) -> float:
        return 1e3 * self.at(0.95)

    @property
    def running_ms(self) -> float:
        """The median."""
        return 1e3 * self.running[len(self.running) // 2]

    @property
    def mean_ms(self) -> float:
        return 1e3 * sum(self.seconds) / len(self.seconds)


def in_turns(
    contestants: Mapping[str, Callable[[int], object]], rounds: int, block: int = 1, warm_up: int = 0
) -> dict[str, Times]:
    """Call each with 0, 1, … `rounds` - 1, `block` calls at a time; `warm_up` calls before them do not count."""
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    running: dict[str, list[float]] = {name: [] for name in contestants}
    for call in contestants.values():
        for number in range(warm_up):
            call(rounds + number)
    gc.collect()
    for start in range(0, rounds, block):
        for name, call in contestants.items():
            for number in range(start, min(rounds, start + block)):
                began, ran = time.perf_counter(), time.thread_time()
                call(number)
                taken[name].append(time.perf_counter() - began)
                running[name].append(time.thread_time() - ran)
    return {name: Times.of(taken[name], running[name]) for name in contestants}
