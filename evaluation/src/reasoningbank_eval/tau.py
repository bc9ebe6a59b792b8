"""The same tasks run several times, with a reward from the environment: calibration and ranking.

Each run leaves a lesson: what it did, to be followed when it succeeded and avoided when it failed. Later runs of the
same task are evidence for or against it. Two questions:

    calibration   is a lesson of which the bank says 0.7 borne out by the next run in seven cases of ten?
    ranking       do the lessons of successful runs stand above those of failed ones, among the lessons for the task?

Rewards are flipped with a given probability before the bank hears of them; what is asked of it stays true.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasoningbank import Episode, NotFound, Outcome
from reasoningbank.core.frozen import dataclass
from reasoningbank.learn.store_lessons import INITIAL_CONFIDENCE
from reasoningbank.wiring import ReasoningBank
from reasoningbank_eval.cases import case_sets, changes_something
from reasoningbank_eval.figures import calibration_error, spread

FLIPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
RUNS_A_TASK = 2
"""At least, on average."""
LATER = 0.5
"""The share of the stream after which predictions count as those on later runs."""
_LONGEST_LESSON_CHARS = 600
_LESSONS_SEEN = 16
_DRAWS = 200
MOST_RANKED_RUNS = 600
"""Ranking asks the bank for every task, for every flip and seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    task: str
    succeeded: bool
    lesson: str
    deed: str
    """What it changed, for telling whether two runs did the same."""


def runs(data: Path) -> dict[str, list[Run]]:
    """By the name of the set, of those whose tasks were run more than once."""
    found = {name: [_run(case.episode) for case in cases] for name, cases in case_sets(data).items()}
    repeated = {name: told for name, told in found.items() if len(told) >= RUNS_A_TASK * _tasks_in(told)}
    if not repeated:
        raise NotFound(
            f"No tasks that were run several times lie in {data}. `--data` names the folder that holds the evaluation "
            "sets; docs/evaluation.md lists the shapes."
        )
    return repeated


def _tasks_in(told: Sequence[Run]) -> int:
    return len({run.task for run in told})


def _run(episode: Episode) -> Run:
    deeds = [step.action for step in episode.steps if changes_something(step.action)]
    told = "\n".join(deeds) or "Nothing was changed."
    lesson = f"{episode.task}\n{told}"[:_LONGEST_LESSON_CHARS]
    return Run(task=episode.task, succeeded=episode.outcome == "success", lesson=lesson, deed="\n".join(sorted(deeds)))


def shuffled(found: Sequence[Run], seed: int) -> list[Run]:
    order = list(found)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order for an experiment
    return order


# ---------------------------------------------------------------- calibration


Prediction = tuple[float, bool, str]
"""The confidence in a lesson before a later run of its task, whether that run bore it out, and the task."""


def predictions(found: Sequence[Run], flip: float, seed: int, policy: str) -> list[Prediction]:
    """What was expected of lessons in the later part of the stream, and what came. A lesson's own run is none of it."""
    rng = random.Random(f"{seed} {flip}")  # noqa: S311 - an experiment that can be repeated
    lessons: dict[str, list[tuple[str, bool]]] = {}
    told: list[Prediction] = []
    with ReasoningBank.open(":memory:", embedder="hash", policy=policy, clock=lambda: 1_790_000_000.0) as bank:
        for number, run in enumerate(shuffled(found, seed)):
            heard = run.succeeded != (rng.random() < flip)
            for memory_id, follow in lessons.get(run.task, ()):
                if number >= LATER * len(found):
                    told.append((bank.get(memory_id).confidence.mean, run.succeeded == follow, run.task))
                bank.outcome(memory_id, succeeded=heard == follow)
            kept = bank.record(
                title="What was done",
                content=run.lesson,
                outcome="success" if heard else "failure",
                initial_confidence=INITIAL_CONFIDENCE[Outcome.SUCCESS if heard else Outcome.FAILURE],
            )
            lessons.setdefault(run.task, []).append((kept.id, heard))
    return told


def calibration(found: Sequence[Run], flip: float, seeds: int, policy: str) -> dict[str, float]:
    """Expected calibration error over orders 1 to `seeds`: the mean, the least and the greatest, and a 95 % interval by
    drawing the tasks again.
    """
    orders = [predictions(found, flip, seed, policy) for seed in range(1, seeds + 1)]
    by_task = [_by_task(told) for told in orders]
    tasks = sorted({task for told in by_task for task in told})
    rng = random.Random(f"drawn {flip}")  # noqa: S311 - an experiment that can be repeated
    drawn = sorted(_error_in(by_task, rng.choices(tasks, k=len(tasks))) for _ in range(_DRAWS)) if tasks else [0.0]
    return {
        **spread([calibration_error([(sure, came) for sure, came, _ in told]) for told in orders]),
        "low": round(drawn[round(0.025 * (len(drawn) - 1))], 4),
        "high": round(drawn[round(0.975 * (len(drawn) - 1))], 4),
        "predictions": len(orders[0]),
    }


def _by_task(told: Sequence[Prediction]) -> dict[str, list[tuple[float, bool]]]:
    found: dict[str, list[tuple[float, bool]]] = {}
    for sure, came, task in told:
        found.setdefault(task, []).append((sure, came))
    return found


def _error_in(orders: Sequence[dict[str, list[tuple[float, bool]]]], tasks: Sequence[str]) -> float:
    errors = [calibration_error([one for task in tasks for one in told.get(task, ())]) for told in orders]
    return sum(errors) / len(errors)


# ---------------------------------------------------------------- ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    weighted: float
    """The share of pairs (a lesson of a success, one of a failure, same task) that the ranking puts right."""
    by_confidence: float
    """The same by the confidence alone, where equals count half: most lessons have nobody else to speak for them."""
    relevance_only: float
    pairs: int


class Shelf:
    """A bank with every run's lesson in it and no evidence; each experiment works on a copy."""

    def __init__(self, found: Sequence[Run], folder: Path) -> None:
        self._found = list(found)
        self._folder = folder
        with ReasoningBank.open(folder / "bare" / "bank.db", namespace="n") as bank:
            self._ids = bank.record_many(
                {"title": "What was done", "content": run.lesson, "initial_confidence": 0.5} for run in found
            )
            bank.catch_up()

    def ranked(self, flip: float, seed: int) -> Ranked:
        """A run's outcome is evidence for the lessons of other runs that did the same for the task, never for its own:
        otherwise the ranking would be asked for what it was told.
        """
        rng = random.Random(f"{seed} {flip}")  # noqa: S311 - an experiment that can be repeated
        with tempfile.TemporaryDirectory(dir=self._folder) as copy:
            target = Path(copy) / "bank"
            shutil.copytree(self._folder / "bare", target)
            # What it survives is not the question here.
            with ReasoningBank.open(target / "bank.db", namespace="n", durability="normal") as bank:
                for run in self._found:
                    heard = run.succeeded != (rng.random() < flip)
                    for memory_id, other in zip(self._ids, self._found, strict=True):
                        if other is not run and other.task == run.task and other.deed == run.deed:
                            bank.outcome(memory_id, succeeded=heard)
                return self._pairs(bank)

    def _pairs(self, bank: ReasoningBank) -> Ranked:
        by_id = dict(zip(self._ids, self._found, strict=True))
        right = right_by_confidence = right_by_relevance = pairs = 0.0
        for task in dict.fromkeys(run.task for run in self._found):
            hits = bank.search(task, limit=_LESSONS_SEEN, floor=0.0, min_confidence=0.0).memories
            own = [(place, hit) for place, hit in enumerate(hits) if by_id[hit.id].task == task]
            for place, good in own:
                for other_place, bad in own:
                    if by_id[good.id].succeeded and not by_id[bad.id].succeeded:
                        pairs += 1
                        right += place < other_place
                        right_by_confidence += _above(good.confidence.mean, bad.confidence.mean)
                        right_by_relevance += _above(good.relevance, bad.relevance)
        return Ranked(
            weighted=right / pairs,
            by_confidence=right_by_confidence / pairs,
            relevance_only=right_by_relevance / pairs,
            pairs=int(pairs),
        )


def _above(one: float, other: float) -> float:
    return 0.5 if one == other else float(one > other)


# ---------------------------------------------------------------- everything


def report(found: Sequence[Run], seeds: int) -> dict[str, Any]:
    rows = [
        {"flipped": flip, "calibration_error": calibration(found, flip, seeds, "bayes"), "pairs": 0} for flip in FLIPS
    ]
    told: dict[str, Any] = {"runs": len(found), "tasks": _tasks_in(found), "seeds": seeds, "by_flip": rows}
    if len(found) > MOST_RANKED_RUNS:
        told["not_run"] = {"ranking": f"more than {MOST_RANKED_RUNS} runs; --episodes takes the first tasks only"}
    else:
        _rank(rows, found, seeds)
    told["calibration_error_by_policy"] = {
        policy: calibration(found, 0.0, seeds, policy) for policy in ("bayes", "signals", "ratchet", "factors")
    }
    return told


def _rank(rows: Sequence[dict[str, Any]], found: Sequence[Run], seeds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="reasoningbank-eval-") as folder:
        shelf = Shelf(found, Path(folder))
        for row in rows:
            ranked = [shelf.ranked(row["flipped"], seed) for seed in range(1, seeds + 1)]
            row["outcome_weighted"] = spread([one.weighted for one in ranked])
            row["by_confidence"] = spread([one.by_confidence for one in ranked])
            row["relevance_only"] = spread([one.relevance_only for one in ranked])
            row["pairs"] = ranked[0].pairs


def fewer(found: Sequence[Run], most: int) -> list[Run]:
    """The runs of the first tasks only, for a quick look."""
    tasks = list(dict.fromkeys(run.task for run in found))[:most]
    return [run for run in found if run.task in set(tasks)]
