"""A world whose truth is known: tasks with features, and ways of doing them whose worth depends on the features.

    a task        is of a kind (what is to be done) and in a condition (where); it is worded anew each time
    a kind        is easy or hard: how often it goes well when done in a way that makes no difference
    a way         belongs to a kind; its worth in each condition is what it adds to the log-odds of success
    drift         halfway, for some of the kinds, the ways change places: what helped hurts

The rules say nothing about memories or confidence, and every number of them is a field of `Rules`, to be varied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from reasoningbank.core.frozen import dataclass

_DEEDS = (
    "deploy the gateway",
    "migrate the ledger",
    "restore the archive",
    "tune the scheduler",
    "patch the firmware",
    "render the invoices",
    "balance the shards",
    "audit the permissions",
    "translate the manuals",
    "compress the telemetry",
    "rotate the certificates",
    "reconcile the payments",
)
_PLATITUDES = (
    "read the documentation first",
    "think step by step",
    "take a backup before",
    "keep the customer informed",
    "double check the result",
    "ask when in doubt",
    "stay on the simple path",
    "note what was done",
)
_CONDITIONS = ("behind a proxy", "without network access", "under heavy load", "on read-only storage")
_WAYS = (
    "start with a dry run",
    "work in small batches",
    "stop all consumers first",
    "copy everything aside",
    "raise the time limits",
    "ask for a second opinion",
    "begin from the newest end",
    "switch off the cache",
    "use the older interface",
    "repeat until it settles",
    "write the checks first",
    "split it between two workers",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    tasks: int = 400
    kinds: int = 4
    conditions: int = 2
    ways: int = 6
    """For each kind: a third helps, a third makes no difference, a third hurts."""
    platitudes: int = 4
    """Ways that can be tried on any task and make no difference to it."""
    ease: float = 1.0
    """The log-odds of success without help, in the middle of the kinds."""
    variety: float = 2.0
    """How far the easiest and the hardest kind are from that."""
    known: float = 0.5
    """The share of the ways that somebody has written down before, good and bad alike; the others must be found."""
    worth: float = 2.0
    """Log-odds that a way that helps adds, and one that hurts takes, give or take a third."""
    fickle: float = 0.25
    """The share of the ways that help in one condition only and hurt in the others."""
    drifting: float = 0.5
    """The share of kinds for which the ways change places halfway."""
    noise: float = 0.0
    """The chance that an outcome is reported wrongly."""
    own_ideas: float = 0.1
    """The chance that the agent tries something of its own although advice was shown."""
    obedience: float = 0.9
    """The chance that it follows the first piece of advice; else another that was shown."""
    tells: float = 0.3
    """The chance that it says which advice it followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    number: int
    kind: int
    condition: int

    @property
    def text(self) -> str:
        return f"{_DEEDS[self.kind]} {_CONDITIONS[self.condition]} for customer {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    kind: int | None
    """None: advice for any task."""
    number: int

    @property
    def title(self) -> str:
        return f"{self._occasion.capitalize()}, {self._what}"

    @property
    def advice(self) -> str:
        return f"{self._occasion.capitalize()} for a customer, {self._what}."

    @property
    def _occasion(self) -> str:
        return "whatever you do" if self.kind is None else f"when you {_DEEDS[self.kind]}"

    @property
    def _what(self) -> str:
        return (_PLATITUDES if self.kind is None else _WAYS)[self.number]

    def fits(self, task: Task) -> bool:
        return self.kind is None or self.kind == task.kind

    def learned_in(self, task: Task) -> str:
        return "For any customer" if self.kind is None else f"To {_DEEDS[task.kind]} {_CONDITIONS[task.condition]}"


class World:
    def __init__(self, rules: Rules, seed: int) -> None:
        self.rules = rules
        rng = Random(f"world {seed}")  # noqa: S311 - a world that can be made again
        spread = [rules.ease + rules.variety * (2.0 * k / max(1, rules.kinds - 1) - 1.0) for k in range(rules.kinds)]
        self._ease = rng.sample(spread, rules.kinds)
        kinds = [*range(rules.kinds), None]
        before = {kind: [self._worth(kind, n, rng) for n in range(self._count(kind))] for kind in kinds}
        drift = rng.sample(range(rules.kinds), round(rules.drifting * rules.kinds))
        self._worths = (before, {**before, **{kind: _turned(before[kind]) for kind in drift}})
        self.tasks = [
            Task(number=n, kind=rng.randrange(rules.kinds), condition=rng.randrange(rules.conditions))
            for n in range(rules.tasks)
        ]

    def _count(self, kind: int | None) -> int:
        return self.rules.platitudes if kind is None else self.rules.ways

    def _worth(self, kind: int | None, number: int, rng: Random) -> tuple[float, ...]:
        rules = self.rules
        if kind is None:
            return (0.0,) * rules.conditions
        sign = (1.0, 0.0, -1.0)[number * 3 // rules.ways]
        size = rules.worth * rng.uniform(2 / 3, 4 / 3)
        if sign > 0 and rng.random() < rules.fickle:
            right = rng.randrange(rules.conditions)
            return tuple(size if condition == right else -size for condition in range(rules.conditions))
        return (sign * size,) * rules.conditions

    def ideas(self, task: Task) -> list[Way]:
        """Everything that can be done about a task."""
        return [Way(kind=kind, number=n) for kind in (task.kind, None) for n in range(self._count(kind))]

    def known(self, rng: Random) -> list[Way]:
        """Ways that somebody has written down before, whatever they are worth."""
        ways = [Way(kind=kind, number=n) for kind in (*range(self.rules.kinds), None) for n in range(self._count(kind))]
        return rng.sample(ways, round(self.rules.known * len(ways)))

    def chance(self, task: Task, way: Way) -> float:
        """Chance of success, when the task is done in this way."""
        worths = self._worths[task.number >= self.rules.tasks // 2]
        return _sigmoid(self._ease[task.kind] + worths[way.kind][way.number][task.condition])

    def best(self, task: Task) -> float:
        return max(self.chance(task, way) for way in self.ideas(task))


def _turned(worths: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Each way gets the worth that stands opposite in the order of worth: the best that of the worst, and so on."""
    order = sorted(range(len(worths)), key=lambda n: sum(worths[n]))
    result = list(worths)
    for place, way in enumerate(order):
        result[way] = worths[order[-1 - place]]
    return result


def _sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))
