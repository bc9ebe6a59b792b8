"""Episodes of two benchmarks with a reward from the environment: tau-bench runs and InterCode sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.chat import read

WHOLE_REWARD = 1.0


def is_tau_run(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("traj"), list) and "reward" in value


def is_intercode(value: object) -> bool:
    turns = value.get("turn_history") if isinstance(value, Mapping) else None
    return isinstance(turns, Mapping) and isinstance(turns.get("actions"), list)


def tau_runs_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for run in values:
        if not is_tau_run(run):
            continue
        said, steps = read(run["traj"])
        task = _instruction(run) or next((entry["content"] for entry in said if entry["role"] == "user"), "")
        if task:
            yield Episode(
                task=task,
                namespace=namespace,
                steps=tuple(steps),
                outcome=_outcome(_number(run.get("reward"))),
                reward=_number(run.get("reward")),
                messages=tuple(said),
                metadata={"task_id": run["task_id"]} if isinstance(run.get("task_id"), int | str) else {},
            )


def intercode_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for value in values:
        if not is_intercode(value) or not isinstance(value.get("query"), str) or not value["query"].strip():
            continue
        summary = value.get("summary")
        reward = _number(summary.get("max_reward")) if isinstance(summary, Mapping) else None
        yield Episode(
            task=value["query"],
            namespace=namespace,
            steps=tuple(_turns(value["turn_history"])),
            outcome=_outcome(reward),
            reward=reward,
            metadata={"environment": value["environment"]} if isinstance(value.get("environment"), str) else {},
        )


def _turns(history: Mapping[str, Any]) -> Iterator[EpisodeStep]:
    actions, seen = history["actions"], history.get("observations")
    valid = history.get("valid_action")
    for number, action in enumerate(actions):
        result = seen[number] if isinstance(seen, list) and number < len(seen) else ""
        ok = valid[number] if isinstance(valid, list) and number < len(valid) else None
        yield EpisodeStep(
            action=str(action),
            result=result if isinstance(result, str) else str(result),
            ok=ok if isinstance(ok, bool) else None,
        )


def _instruction(run: Mapping[str, Any]) -> str:
    info = run.get("info")
    task = info.get("task") if isinstance(info, Mapping) else None
    instruction = task.get("instruction") if isinstance(task, Mapping) else None
    return instruction if isinstance(instruction, str) else ""


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN
        return None
    return min(1.0, max(0.0, float(value)))


def _outcome(reward: float | None) -> str | None:
    return None if reward is None else ("success" if reward >= WHOLE_REWARD else "failure")
