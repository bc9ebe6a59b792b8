"""Many lives in many worlds, as figures: regret over time for each arm, how soon it recovers, and who is ahead.

Arms meet the same worlds with the same luck, so they are compared world by world. Intervals are 95 % by Student's t
over the seeds.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reasoningbank.core.frozen import replace
from reasoningbank_eval.figures import machine
from reasoningbank_eval.world.life import ARMS, Arm, lived
from reasoningbank_eval.world.rules import Rules, World

Tell = Callable[[str], None]
OURS = "ours"
STEP = 10
"""The curves have a point for so many tasks."""
RECOVERED_WITHIN = 1.1
"""Factor on the regret before the drift below which an arm is taken to have recovered."""
LOOKED_AT_TASKS = 50
VARIED: Mapping[str, Mapping[str, Any]] = {
    "a tenth of the outcomes reported wrongly": {"noise": 0.1},
    "nobody says what was used": {"tells": 0.0},
    "always said what was used": {"tells": 1.0},
    "no platitudes": {"platitudes": 0},
    "hard tasks": {"ease": -0.5},
    "all kinds drift": {"drifting": 1.0},
    "no drift": {"drifting": 0.0},
    "twice the ways": {"ways": 12},
    "small differences": {"worth": 1.0},
}
VARIED_ARMS = ("no memory", "ratchet", "bayes", OURS)


def study(rules: Rules, seeds: Sequence[int], tell: Tell, arms: Sequence[Arm] = ARMS) -> dict[str, Any]:
    regrets = {}
    for arm in arms:
        tell(arm.name)
        regrets[arm.name] = _lives(rules, arm, seeds)
    return {
        "rules": {name: getattr(rules, name) for name in rules.__slots__},
        "seeds": list(seeds),
        "arms": {name: _figures(runs, regrets.get(OURS, runs)) for name, runs in regrets.items()},
    }


def report(rules: Rules, seeds: Sequence[int], tell: Tell, *, varied_seeds: int = 0) -> dict[str, Any]:
    result = {"machine": machine(), **study(rules, seeds, tell)}
    arms = [arm for arm in ARMS if arm.name in VARIED_ARMS]
    result["varied"] = {}
    result["not_run"] = {} if varied_seeds else {"varied": "not asked for"}
    for what, changes in VARIED.items() if varied_seeds else ():
        tell(what)
        result["varied"][what] = study(replace(rules, **changes), seeds[:varied_seeds], lambda _: None, arms)
    return result


def _lives(rules: Rules, arm: Arm, seeds: Sequence[int]) -> list[list[float]]:
    runs = []
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="reasoningbank-eval-", dir=_quick_folder()) as folder:
            runs.append(lived(World(rules, seed), arm, seed, Path(folder)))
    return runs


def _quick_folder() -> str | None:
    """In memory where the system has such a folder: what these banks survive is not the question."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a temporary folder is made in it


def _figures(runs: Sequence[Sequence[float]], ours: Sequence[Sequence[float]]) -> dict[str, Any]:
    tasks = len(runs[0])
    behind = [sum(run) - sum(own) for run, own in zip(runs, ours, strict=True)]
    quarters = [(tasks * n // 4, tasks * (n + 1) // 4) for n in range(4)]
    return {
        "regret": _interval([sum(run) for run in runs]),
        "behind_ours": _interval(behind),
        "regret_a_task_by_quarter": [
            round(statistics.fmean(statistics.fmean(run[a:b]) for run in runs), 4) for a, b in quarters
        ],
        "tasks_to_recover": _recovery(runs),
        "curve": [_interval([sum(run[:n]) for run in runs]) for n in range(STEP, tasks + 1, STEP)],
    }


def _interval(values: Sequence[float]) -> dict[str, float]:
    mean = statistics.fmean(values)
    half = 0.0
    if len(values) > 1:
        half = _student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return {"mean": round(mean, 3), "low": round(mean - half, 3), "high": round(mean + half, 3)}


def _student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, by the first terms of its expansion; within 0.01 from 5 degrees on."""
    z = 1.959964
    first = (z**3 + z) / (4 * freedom)
    return z + first + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _recovery(runs: Sequence[Sequence[float]]) -> int | None:
    """Tasks after the drift until the mean regret of the next fifty is about what it was before; None: not in time."""
    mean = [statistics.fmean(column) for column in zip(*runs, strict=True)]
    half = len(mean) // 2
    window = min(LOOKED_AT_TASKS, half // 2)
    before = statistics.fmean(mean[half - window : half])
    for start in range(half, len(mean) - window + 1):
        if statistics.fmean(mean[start : start + window]) <= RECOVERED_WITHIN * before:
            return start - half
    return None
