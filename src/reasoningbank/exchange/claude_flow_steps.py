"""The trajectories of claude-flow in their four layouts, as values.

Pure: rows in, trajectories out. A verdict that is neither success nor failure is "unknown", never a
failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.exchange.coerce import identity_of, json_or_text, moment_of, outcome_of, small, text_of
from reasoningbank.exchange.items import IncomingStep, IncomingTrajectory

PLACE = "claude-flow:task_trajectories"
_TASK = ("query", "task", "description", "task_description", "title", "name")
_ACTION = ("action", "description", "step", "name", "tool", "type", "thought", "content")
_RESULT = ("result", "output", "observation", "outcome")
_AT = ("timestamp", "at", "created_at")
_DOCUMENTS = ("trajectory_json", "task_data", "step_sequence")
_USED = frozenset((*_TASK, *_DOCUMENTS)) | {
    *("", "id", "task_id", "agent_id", "agent", "steps", "trajectory", "metadata", "pattern_id", "memory_id"),
    *("started_at", "ended_at", "created_at", "judge_label", "outcome"),
}


def is_step_table(columns: frozenset[str]) -> bool:
    """Seed 000 keeps one step a row; the others keep one trajectory a row."""
    return {"pattern_id", "step_number", "action"} <= columns


def trajectory_of(row: Mapping[str, Any], title_of: Mapping[str, str]) -> IncomingTrajectory | None:
    """None when the row names neither a task nor a step."""
    document = next((json_or_text(row[name]) for name in _DOCUMENTS if row.get(name) is not None), None)
    details = document if isinstance(document, dict) else {}
    memory = text_of(row.get("memory_id")) or text_of(row.get("pattern_id"))
    task = _first(row, _TASK) or _first(details, _TASK) or title_of.get(memory, "")
    if not task and isinstance(document, str):
        task = text_of(document)
    entries = document if isinstance(document, list) else details.get("steps", details.get("trajectory"))
    steps = tuple(step for step in map(_step, entries if isinstance(entries, list) else ()) if step is not None)
    if not task and not steps:
        return None
    own_id = _first(row, ("task_id", "id")) or f"row-{row.get('')}"
    label = row.get("judge_label", row.get("outcome"))
    more = details.get("metadata")
    return IncomingTrajectory(
        identity=identity_of(PLACE, own_id, task, *(f"{step.action}\x1e{step.result}" for step in steps)),
        task=task or f"claude-flow task {own_id}",
        agent=_first(row, ("agent_id", "agent")) or None,
        outcome=outcome_of(label) or "unknown",
        steps=steps,
        metadata={
            **small(more if isinstance(more, dict) else {}),
            **small(row, without=_USED),
            "imported_id": own_id,
        },
        started_at=_moment(row, "started_at", "created_at"),
        ended_at=_moment(row, "ended_at"),
    )


def trajectory_of_steps(memory: str, rows: list[Mapping[str, Any]], title_of: Mapping[str, str]) -> IncomingTrajectory:
    """The rows of one pattern, in order. Whether it went well was not recorded."""
    steps = tuple(step for step in map(_step, rows) if step is not None)
    task = title_of.get(memory) or f"claude-flow pattern {memory or 'without id'}"
    times = [step.at for step in steps if step.at is not None]
    return IncomingTrajectory(
        identity=identity_of(PLACE, memory or "none", task, *(f"{step.action}\x1e{step.result}" for step in steps)),
        task=task,
        outcome="unknown",
        steps=steps,
        metadata={"imported_pattern_id": memory} if memory else {},
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
    )


def _step(value: object) -> IncomingStep | None:
    if not isinstance(value, Mapping):
        action = text_of(value)
        return IncomingStep(action=action) if action else None
    name = next((name for name in _ACTION if text_of(value.get(name))), None)
    if name is None:
        return None
    document = json_or_text(value.get("metadata"))
    rest = small(value, without={name, *_RESULT, *_AT, "", "id", "metadata", "pattern_id", "step_number"})
    return IncomingStep(
        action=text_of(value.get(name)),
        result=_first(value, tuple(column for column in _RESULT if column != name)),
        metadata={**rest, **small(document if isinstance(document, dict) else {})},
        at=_moment(value, *_AT),
    )


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((text for text in map(text_of, map(fields.get, names)) if text), "")


def _moment(fields: Mapping[str, Any], *names: str) -> float | None:
    return next((moment for moment in map(moment_of, map(fields.get, names)) if moment is not None), None)
