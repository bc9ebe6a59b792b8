"""Runs of tau-bench and tau2: customers' tasks with the conversation, the calls and the environment's reward.

What the customer was told to want is the task, since nobody asks for all of it at once. In tau2 the customer may have
tools too: what these did is no step of the agent's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest.messages import episode_of, is_message
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat


def is_tau_run(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("traj"), list) and "reward" in value


def tau_runs_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for run in filter(is_tau_run, values):
        info = run.get("info")
        task = info.get("task") if isinstance(info, Mapping) else None
        instruction = task.get("instruction") if isinstance(task, Mapping) else None
        wish = instruction if isinstance(instruction, str) else ""
        yield from _episode(run, run["traj"], wish, run.get("reward"), namespace)


def _is_tau2_results(value: object) -> bool:
    return isinstance(value, Mapping) and (
        _is_simulation(value)
        or (isinstance(value.get("simulations"), list) and any(map(_is_simulation, value["simulations"])))
    )


def _is_simulation(value: object) -> bool:
    return isinstance(value, Mapping) and "reward_info" in value and isinstance(value.get("messages"), list)


def _tau2_results_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for value in filter(_is_tau2_results, values):
        tasks = value.get("tasks")
        task_by_id = {str(t.get("id")): t for t in tasks if isinstance(t, Mapping)} if isinstance(tasks, list) else {}
        for run in value.get("simulations", [value]):
            if _is_simulation(run):
                info = run["reward_info"]
                reward = info.get("reward") if isinstance(info, Mapping) else None
                # Without the calls of tools that the customer made.
                messages = [
                    message
                    for message in run["messages"]
                    if is_message(message)
                    and not (message.get("role") == "tool" and message.get("requestor") == "user")
                ]
                task = _scenario(task_by_id.get(str(run.get("task_id"))))
                yield from _episode(run, messages, task, reward, namespace)


def _episode(
    run: Mapping[str, Any], messages: list[Any], task: str, reward: object, namespace: str
) -> Iterator[Episode]:
    metadata = {"task_id": run["task_id"]} if isinstance(run.get("task_id"), int | str) else {}
    episode = episode_of(messages, namespace, about={"reward": reward}, task=task, metadata=metadata)
    if episode is not None:
        yield episode


def _scenario(task: object) -> str:
    """The instructions of the customer, in the order in which tau2 tells them."""
    scenario = task.get("user_scenario") if isinstance(task, Mapping) else None
    instructions = scenario.get("instructions") if isinstance(scenario, Mapping) else None
    if isinstance(instructions, Mapping):
        parts = (instructions.get(name) for name in ("reason_for_call", "known_info", "task_instructions"))
        return "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
    return instructions if isinstance(instructions, str) else ""


FORMATS = (
    TranscriptFormat(
        name="tau-bench", about="runs of tau-bench (`traj`, `reward`)", knows=is_tau_run, episodes=tau_runs_in
    ),
    TranscriptFormat(
        name="tau2",
        about="results of tau2-bench (`simulations` with `messages` and `reward_info`)",
        knows=_is_tau2_results,
        episodes=_tau2_results_in,
    ),
)
