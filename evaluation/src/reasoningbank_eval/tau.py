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
    """Its changes, for telling whether two runs did the same."""


def runs(data: Path) -> dict[str, list[Run]]:
    """Runs by the name of the set, of those sets whose tasks were run more than once."""
    by_set = {name: [_run(case.episode) for case in cases] for name, cases in case_sets(data).items()}
    selection = {
        name: set_runs for name, set_runs in by_set.items() if len(set_runs) >= RUNS_A_TASK * _tasks_in(set_runs)
    }
    if not selection:
        raise NotFound(
            f"No tasks that were run several times lie in {data}. `--data` names the folder that holds the evaluation "
            "sets; docs/evaluation.md lists the shapes."
        )
    return selection


def _tasks_in(runs: Sequence[Run]) -> int:
    return len({run.task for run in runs})


def _run(episode: Episode) -> Run:
    deeds = [step.action for step in episode.steps if changes_something(step.action)]
    text = "\n".join(deeds) or "Nothing was changed."
    lesson = f"{episode.task}\n{text}"[:_LONGEST_LESSON_CHARS]
    return Run(task=episode.task, succeeded=episode.outcome == "success", lesson=lesson, deed="\n".join(sorted(deeds)))


def shuffled(runs: Sequence[Run], seed: int) -> list[Run]:
    order = list(runs)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order for an experiment
    return order


# ---------------------------------------------------------------- calibration


Prediction = tuple[float, bool, str]
"""The confidence in a lesson before a later run of its task, whether that run bore it out, and the task."""


def predictions(runs: Sequence[Run], flip: float, seed: int, policy: str) -> list[Prediction]:
    """Predictions from lessons in the later part of the stream, and what came. A lesson's own run is none of it."""
    rng = random.Random(f"{seed} {flip}")  # noqa: S311 - an experiment that can be repeated
    lessons: dict[str, list[tuple[str, bool]]] = {}
    results: list[Prediction] = []
    with ReasoningBank.open(":memory:", embedder="hash", policy=policy, clock=lambda: 1_790_000_000.0) as bank:
        for number, run in enumerate(shuffled(runs, seed)):
            is_success = run.succeeded != (rng.random() < flip)
            for memory_id, follow in lessons.get(run.task, ()):
                if number >= LATER * len(runs):
                    results.append((bank.get(memory_id).confidence.mean, run.succeeded == follow, run.task))
                bank.outcome(memory_id, succeeded=is_success == follow)
            memory = bank.record(
                title="What was done",
                content=run.lesson,
                outcome="success" if is_success else "failure",
                initial_confidence=INITIAL_CONFIDENCE[Outcome.SUCCESS if is_success else Outcome.FAILURE],
            )
            lessons.setdefault(run.task, []).append((memory.id, is_success))
    return results


def calibration(runs: Sequence[Run], flip: float, seeds: int, policy: str) -> dict[str, float]:
    """Expected calibration error over orders 1 to `seeds`: the mean, the least and the greatest, and a 95 % interval by
    drawing the tasks again.
    """
    orders = [predictions(runs, flip, seed, policy) for seed in range(1, seeds + 1)]
    by_task = [_by_task(order) for order in orders]
    tasks = sorted({task for order in by_task for task in order})
    rng = random.Random(f"drawn {flip}")  # noqa: S311 - an experiment that can be repeated
    errors = sorted(_error_in(by_task, rng.choices(tasks, k=len(tasks))) for _ in range(_DRAWS)) if tasks else [0.0]
    return {
        **spread([calibration_error([(sure, came) for sure, came, _ in order]) for order in orders]),
        "low": round(errors[round(0.025 * (len(errors) - 1))], 4),
        "high": round(errors[round(0.975 * (len(errors) - 1))], 4),
        "predictions": len(orders[0]),
    }


def _by_task(order: Sequence[Prediction]) -> dict[str, list[tuple[float, bool]]]:
    by_task: dict[str, list[tuple[float, bool]]] = {}
    for sure, came, task in order:
        by_task.setdefault(task, []).append((sure, came))
    return by_task


def _error_in(orders: Sequence[dict[str, list[tuple[float, bool]]]], tasks: Sequence[str]) -> float:
    errors = [calibration_error([pair for task in tasks for pair in order.get(task, ())]) for order in orders]
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

    def __init__(self, runs: Sequence[Run], folder: Path) -> None:
        self._found = list(runs)
        self._folder = folder
        with ReasoningBank.open(folder / "bare" / "bank.db", namespace="n") as bank:
            self._ids = bank.record_many(
                {"title": "What was done", "content": run.lesson, "initial_confidence": 0.5} for run in runs
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
                    is_success = run.succeeded != (rng.random() < flip)
                    for memory_id, other in zip(self._ids, self._found, strict=True):
                        if other is not run and other.task == run.task and other.deed == run.deed:
                            bank.outcome(memory_id, succeeded=is_success)
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


def _above(score: float, other: float) -> float:
    return 0.5 if score == other else float(score > other)


# ---------------------------------------------------------------- everything


def report(runs: Sequence[Run], seeds: int) -> dict[str, Any]:
    rows = [
        {"flipped": flip, "calibration_error": calibration(runs, flip, seeds, "bayes"), "pairs": 0} for flip in FLIPS
    ]
    result: dict[str, Any] = {"runs": len(runs), "tasks": _tasks_in(runs), "seeds": seeds, "by_flip": rows}
    if len(runs) > MOST_RANKED_RUNS:
        result["not_run"] = {"ranking": f"more than {MOST_RANKED_RUNS} runs; --episodes takes the first tasks only"}
    else:
        _rank(rows, runs, seeds)
    result["calibration_error_by_policy"] = {
        policy: calibration(runs, 0.0, seeds, policy) for policy in ("bayes", "signals", "ratchet", "factors")
    }
    return result


def _rank(rows: Sequence[dict[str, Any]], runs: Sequence[Run], seeds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="reasoningbank-eval-") as folder:
        shelf = Shelf(runs, Path(folder))
        for row in rows:
            rankings = [shelf.ranked(row["flipped"], seed) for seed in range(1, seeds + 1)]
            row["outcome_weighted"] = spread([ranking.weighted for ranking in rankings])
            row["by_confidence"] = spread([ranking.by_confidence for ranking in rankings])
            row["relevance_only"] = spread([ranking.relevance_only for ranking in rankings])
            row["pairs"] = rankings[0].pairs


def fewer(runs: Sequence[Run], most: int) -> list[Run]:
    """The runs of the first tasks only, for a quick look."""
    tasks = list(dict.fromkeys(run.task for run in runs))[:most]
    return [run for run in runs if run.task in set(tasks)]
