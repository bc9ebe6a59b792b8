"""What a storm is given, and what it gives back."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_KEPT = 20
"""So many violations of a promise are told in words; all are counted."""


@dataclass(slots=True)
class Promise:
    """What must hold, how often it was tried, and every time it did not hold."""

    text: str
    timed: bool = False
    """Whether a clock decides: then the storm says it, and the tests do not hold it against a busy machine."""
    tries: int = 0
    broken: int = 0
    violations: list[str] = field(default_factory=list)
    measured: str = ""
    """A figure worth printing beside the counts, as "p99 41 ms"."""

    def held(self, times: int = 1) -> None:
        self.tries += times

    def violated(self, how: str) -> None:
        self.tries += 1
        self.broken += 1
        if len(self.violations) < MOST_KEPT:
            self.violations.append(how)

    def check(self, truth: bool, how: str) -> None:
        if truth:
            self.held()
        else:
            self.violated(how)


@dataclass(slots=True)
class Weather:
    """How long to go on, by which chance, and where."""

    seconds: float
    seed: int
    folder: Path
    """Empty, and the storm's own."""
    most: int | None = None
    """Rounds, for the short slice in the tests: the same ones each time."""
    started: float = field(default_factory=time.monotonic)
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    @property
    def over(self) -> bool:
        return time.monotonic() - self.started >= self.seconds

    def rounds(self) -> Iterator[int]:
        """Numbers from 0 while there is time; always at least one."""
        number = 0
        while True:
            yield number
            number += 1
            if self.over or (self.most is not None and number >= self.most):
                return
