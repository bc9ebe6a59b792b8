"""An agent living in the world: it asks the bank before each task, goes by what it is shown, and reports what came.

The bank is a real one, in a file, and is spoken to through its verbs; only the clock is the world's. Every chance is
drawn for its task and purpose, so that two arms meet the same tasks with the same luck.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from reasoningbank import Outcome
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import SignalKind
from reasoningbank.learn.evidence import Evidence, give
from reasoningbank.learn.store_lessons import INITIAL_CONFIDENCE, SEEN_AGAIN_WEIGHT
from reasoningbank.wiring import ReasoningBank
from reasoningbank_eval.world.rules import Rules, Task, Way, World

FIRST_MOMENT = 1_790_000_000.0
BETWEEN_TASKS_S = 3 * 3600.0
SHOWN = 5
BYSTANDER_WEIGHT = 0.25
"""Weight of evidence for a memory that was shown and not named as used, where evidence is not weighed."""
NAMESPACE = "world"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    name: str
    policy: str = "bayes"
    remembers: bool = True
    credits: str = "weighed"
    """`weighed` as the bank does it; `plain`: the same evidence without regard to the task; `none`: no evidence."""
    past_tasks: bool = True
    """True if tasks like the one at hand speak for what they taught, and evidence counts by their likeness: the same
    look-up for every arm, so that what differs is what becomes of outcomes.
    """
    appends: bool = False
    """Every success is kept as one more memory, whether or not it is known."""


ARMS = (
    Arm(name="no memory", remembers=False),
    Arm(name="append only", credits="none", appends=True),
    Arm(name="signals", policy="signals", credits="plain"),
    Arm(name="ratchet", policy="ratchet", credits="plain"),
    Arm(name="factors", policy="factors", credits="plain"),
    Arm(name="bayes", credits="plain"),
    Arm(name="no past tasks", past_tasks=False),
    Arm(name="ours"),
)


def lived(world: World, arm: Arm, seed: int, folder: Path) -> list[float]:
    """The regret of each task: how much likelier success would have been in the best way than in the one taken."""
    if not arm.remembers:
        return [_regret(world, task, _luck(seed, task)("idea").choice(world.ideas(task))) for task in world.tasks]
    moment = [FIRST_MOMENT]
    with ReasoningBank.open(
        folder / "bank.db",
        embedder="hash",
        policy=arm.policy,
        namespace=NAMESPACE,
        durability="normal",
        holdout=0.0,
        clock=lambda: moment[0],
    ) as bank:
        life = _Life(bank, world, arm)
        life.begin(Random(f"known {seed}"))  # noqa: S311 - what is known can be known again
        regrets = []
        for task in world.tasks:
            moment[0] += BETWEEN_TASKS_S
            regrets.append(life.spent_on(task, _luck(seed, task)))
        return regrets


class _Life:
    def __init__(self, bank: ReasoningBank, world: World, arm: Arm) -> None:
        self._bank = bank
        self._world = world
        self._arm = arm
        self._ways: dict[str, Way] = {}
        """Advice of each memory, by its id."""

    def begin(self, rng: Random) -> None:
        """Earlier sessions, of which only the lessons are known and not how good they are."""
        for way in self._world.known(rng):
            rules = self._world.rules
            kind = rng.randrange(rules.kinds) if way.kind is None else way.kind
            task = Task(number=-1, kind=kind, condition=rng.randrange(rules.conditions))
            session = self._bank.start_session(task.text).id
            self._bank.end_session(session, "unknown", distil=False)
            self._keep(way, when=way.learned_in(task), source=session)

    def _keep(self, way: Way, **where: Any) -> None:
        memory = self._bank.record(
            title=way.title,
            description=where.pop("when"),
            content=way.advice,
            initial_confidence=INITIAL_CONFIDENCE[Outcome.SUCCESS],
            **where,
        )
        self._ways[memory.id] = way

    def spent_on(self, task: Task, luck: Callable[[str], Random]) -> float:
        bank, rules = self._bank, self._world.rules
        session = bank.start_session(task.text).id
        # Where the bank is not to give credit, it is not told what was shown.
        search_session = session if self._arm.credits == "weighed" else None
        hit_ids = [
            hit.id
            for hit in bank.search(task.text, limit=SHOWN, experience=self._arm.past_tasks, session=search_session)
        ]
        # Advice for something else is passed over.
        fitting = [memory_id for memory_id in hit_ids if self._ways[memory_id].fits(task)]
        choice = _followed(fitting, rules, luck)
        way = luck("idea").choice(self._world.ideas(task)) if choice is None else self._ways[choice]
        is_success = luck("outcome").random() < self._world.chance(task, way)
        verdict = is_success != (luck("noise").random() < rules.noise)
        used = [choice] if choice is not None and luck("tells").random() < rules.tells else []
        self._report(session, hit_ids, used, is_success=verdict)
        if verdict and (choice is None or self._arm.appends):
            self._learn(session, task, way)
        return _regret(self._world, task, way)

    def _report(self, session: str, hit_ids: Sequence[str], used: Sequence[str], *, is_success: bool) -> None:
        outcome = "success" if is_success else "failure"
        is_weighed = self._arm.credits == "weighed"
        self._bank.end_session(session, outcome, used=used if is_weighed else (), distil=False)
        if is_weighed:
            return
        for memory_id in hit_ids if self._arm.credits == "plain" else ():
            weight = 1.0 if memory_id in used else BYSTANDER_WEIGHT
            evidence = Evidence(
                kind=SignalKind.COMPLETION,
                positive=is_success,
                weight=weight,
                used=memory_id in used,
                source="session",
                trajectory_id=session,
            )
            give(self._bank.context, memory_id, evidence)

    def _learn(self, session: str, task: Task, way: Way) -> None:
        """Keeps what worked as a lesson of its session; a lesson that is known already is borne out by it."""
        lesson_id = next((memory_id for memory_id, its in self._ways.items() if its == way), None)
        if lesson_id is None or self._arm.appends:
            self._keep(way, when=way.learned_in(task), source=session)
        elif self._arm.credits != "none":
            again = Evidence(
                kind=SignalKind.COMPLETION,
                positive=True,
                weight=SEEN_AGAIN_WEIGHT,
                used=False,
                source="distilled",
                trajectory_id=session,
            )
            give(self._bank.context, lesson_id, again)


def _followed(hit_ids: Sequence[str], rules: Rules, luck: Callable[[str], Random]) -> str | None:
    """The memory that the agent goes by; None when it goes its own way."""
    rng = luck("choice")
    if not hit_ids or rng.random() < rules.own_ideas:
        return None
    if len(hit_ids) == 1 or rng.random() < rules.obedience:
        return hit_ids[0]
    return rng.choice(hit_ids[1:])


def _regret(world: World, task: Task, way: Way) -> float:
    return world.best(task) - world.chance(task, way)


def _luck(seed: int, task: Task) -> Callable[[str], Random]:
    return lambda purpose: Random(f"{seed} {task.number} {purpose}")  # noqa: S311 - luck that can be had again
