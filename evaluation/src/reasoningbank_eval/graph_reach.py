"""Reach of a walk over the memory graph: the actions of a gold solution it comes to, against flat search.

Every conversation is ingested by rules. A task is then asked for in its own words, and an action of its gold solution
is reached where the text that a model would read names it: by the tool alone, or with every argument in the same line.
Both ways have the same budget. Asked without the task's own conversations (those of others must lead there) and with
them (it must be found again).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reasoningbank import NotFound
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.tokens import count_tokens
from reasoningbank.graph.render import render_walk
from reasoningbank.graph.subgraph import Walk
from reasoningbank.learn.ingest.tau import is_tau_run
from reasoningbank.wiring import ReasoningBank
from reasoningbank_eval.cases import changes_something
from reasoningbank_eval.episodes import folders_in, json_files, listed
from reasoningbank_eval.measures import mean
from reasoningbank_eval.reading import json_of

NODES = ("UserRequest", "UserPreference", "AgentAnswer", "AgentAction", "Event", "DataSource", "Lesson")
FLAT_HITS = 60
SEED = 1
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTask:
    question: str
    actions: tuple[tuple[str, tuple[str, ...]], ...]
    """The name of each with the values of its arguments."""
    conversations: tuple[str, ...]
    """Its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Shares of one task that were reached."""

    tools: float
    changing: float | None
    """Share of the tools that change something; None where its solution changes nothing."""
    actions: float
    """With every argument."""
    tokens: int


def report(data: Path, embedder: str, tasks: int, budget: int, tell: Tell) -> dict[str, Any]:
    conversations, golden = read_tasks(data)
    sample = golden[:tasks]
    with (
        tempfile.TemporaryDirectory(prefix="reasoningbank-eval-") as folder,
        ReasoningBank.open(Path(folder) / "bank.db", embedder=embedder, namespace="all") as bank,
    ):
        tell(f"ingesting {len(conversations):,} conversations")
        ingestions = bank.graph.ingest_many(conversations, by="rules")
        tell("indexing nodes and edges")
        bank.catch_up()
        result = {
            "conversations": len(conversations),
            "nodes": sum(ingestion.nodes_added for ingestion in ingestions),
            "edges": sum(ingestion.edges_added for ingestion in ingestions),
            "tasks": len(sample),
            "budget_tokens": budget,
            "embedder": embedder,
        }
        for name, own in (("without_own_conversations", False), ("with_own_conversations", True)):
            tell(f"asking {name.replace('_', ' ')}")
            result[name] = _compare(bank, sample, budget, own=own)
    return result


def read_tasks(data: Path) -> tuple[dict[str, Any], list[GoldTask]]:
    """Conversations by an id, and the tasks with a gold solution, in the order of their numbers."""
    conversations: dict[str, Any] = {}
    tasks: dict[Any, Mapping[str, Any]] = {}
    own: dict[Any, list[str]] = {}
    for path, run in _runs(data):
        task = (run.get("info") or {}).get("task") or {}
        number = (path.parent.name, run.get("task_id"))
        conv_id = f"{path.parent.name}/{path.stem}/{len(conversations)}"
        conversations[conv_id] = run["traj"]
        tasks[number] = task
        own.setdefault(number, []).append(conv_id)
    golden = [
        GoldTask(
            question=str(task["instruction"]),
            actions=tuple((str(a["name"]), tuple(_values(a.get("kwargs")))) for a in task["actions"]),
            conversations=tuple(own[number]),
        )
        for number, task in sorted(tasks.items(), key=lambda pair: str(pair[0]))
        if task.get("instruction") and task.get("actions")
    ]
    if not golden:
        raise NotFound(f"No runs of tau-bench with their tasks lie in {data}: docs/evaluation.md lists the shapes.")
    return conversations, golden


def _runs(data: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for folder in folders_in(data):
        for path in json_files(folder):
            rows = listed(json_of(path))
            if rows and all(is_tau_run(row) for row in rows):
                yield from ((path, row) for row in rows)


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (text for part in value.values() for text in _values(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in _values(part))
    elif value is not None:
        yield str(value)


def _compare(bank: Any, tasks: Sequence[GoldTask], budget: int, *, own: bool) -> dict[str, Any]:
    def flat(task: GoldTask, labels: Sequence[str]) -> str:
        left_out = () if own else task.conversations
        hits = bank.graph.search(task.question, labels=labels, limit=FLAT_HITS, floor=0.0, exclude=left_out)
        walk = Walk(question=task.question, seeds=tuple(hits), paths=(), visited=0, cut_off={})
        return render_walk(walk, budget)

    def walked(task: GoldTask) -> str:
        return render_walk(bank.graph.walk(task.question, exclude=() if own else task.conversations), budget)

    ways: dict[str, Callable[[GoldTask], str]] = {
        "walk": walked,
        "flat search": lambda task: flat(task, NODES),
        "flat search of actions": lambda task: flat(task, ("AgentAction",)),
    }
    reaches = {name: [reach(way(task), task) for task in tasks] for name, way in ways.items()}
    return {name: _figures(values, reaches["walk"]) for name, values in reaches.items()}


def reach(text: str, task: GoldTask) -> Reach:
    """The part of a gold solution that a text names."""
    tools = sorted({name for name, _ in task.actions})
    mentions = {name for name in tools if re.search(rf"\b{re.escape(name)}\b", text)}
    changing = [name for name in tools if changes_something(name)]
    lines = text.splitlines()
    whole = [
        any(name in line and all(value in line for value in values) for line in lines) for name, values in task.actions
    ]
    return Reach(
        tools=len(mentions) / len(tools),
        changing=sum(name in mentions for name in changing) / len(changing) if changing else None,
        actions=sum(whole) / len(whole),
        tokens=count_tokens(text),
    )


def _figures(reaches: Sequence[Reach], walk_reaches: Sequence[Reach]) -> dict[str, Any]:
    """The mean share over the tasks, and how far it lies behind the walk's, each with its interval."""
    result: dict[str, Any] = {"tokens": round(sum(entry.tokens for entry in reaches) / len(reaches))}
    for name in ("tools", "changing", "actions"):
        pairs = [
            (getattr(entry, name), getattr(other, name)) for entry, other in zip(reaches, walk_reaches, strict=True)
        ]
        values = np.array([pair for pair in pairs if pair[0] is not None], np.float64).reshape(-1, 2)
        result[name] = _estimate(values[:, 0])
        if reaches is not walk_reaches:
            result[name]["behind_the_walk"] = _estimate(values[:, 1] - values[:, 0])
    return result


def _estimate(values: Any) -> dict[str, Any]:
    estimate = mean(values, SEED)
    return {"share": round(estimate.value, 4), "low": round(estimate.low, 4), "high": round(estimate.high, 4)}
