"""Memories and tasks from the files of the paper's own code: memories_<mode>/<site>.jsonl, one line a task.

What a model wrote into `memory_items` is parsed by `memory_blocks`, and what does not parse is reported, since the
paper's code stored it unread. A task whose status is not stated teaches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.types import Draft, Outcome
from reasoningbank.core.wording import clip_title, counted
from reasoningbank.exchange.coerce import (
    digest,
    lines_of,
    object_of,
    outcome_of,
    small,
    tags_of,
    text_of,
)
from reasoningbank.exchange.items import IncomingMemory, IncomingStep, IncomingTrajectory, Item, SkippedItem
from reasoningbank.exchange.memory_blocks import MemoryBlock, parse_blocks

ORIGIN = "import:reasoning-bank-paper"
_CONFIDENCE = {Outcome.SUCCESS: 0.7, Outcome.FAILURE: 0.6}
# Metadata is kept small by the bank; a longer thought would cost the whole trajectory.
_THOUGHT_CHARACTERS = 20_000
_USED = frozenset({"task_id", "query", "think_list", "action_list", "memory_items", "status"})


def is_task(record: Mapping[str, Any]) -> bool:
    return "memory_items" in record and ("query" in record or "task_id" in record)


def read_paper(path: Path) -> Iterator[Item]:
    if not any(is_task(record) for record, _ in map(object_of, lines_of(path)) if record is not None):
        raise ImportRejected(
            f"{path} holds no line with task_id, query and memory_items. "
            "Name a file such as memories_reasoningbank/shopping.jsonl (not the _embeddings.jsonl beside it)."
        )
    site = text_of(path.stem) or "paper"
    for line in lines_of(path):
        record, fault = object_of(line)
        if record is None:
            yield SkippedItem(what=f"line {line.number}", why=fault)
        elif not is_task(record):
            yield SkippedItem(what=f"line {line.number}", why="it has no memory_items")
        else:
            yield from _task(record, site, line.number)


def _task(record: Mapping[str, Any], site: str, number: int) -> Iterator[Item]:
    task_id = text_of(record.get("task_id")) or f"line-{number}"
    what = f"line {number} (task {clip_title(task_id, 40)})"
    outcome = outcome_of(record.get("status"))
    trajectory = _trajectory(record, site, task_id, outcome)
    yield trajectory
    blocks, faults, stray = _items(record.get("memory_items"))
    if stray:
        yield SkippedItem(what=f"{what}: '{clip_title(stray, 60)}'", why="not a memory: it has no title and content")
    for fault in faults:
        yield SkippedItem(what=what, why=fault)
    if blocks and outcome is None:
        status = clip_title(text_of(record.get("status")), 40) or "missing"
        yield SkippedItem(
            what=f"{what}: {counted(len(blocks), 'memory', 'memories')}",
            why=f"the status is {status}: whether to follow or to avoid them is not known",
        )
        return
    for block in blocks:
        # Said by the item itself when a model judged each item; otherwise the task's own.
        verdict = outcome_of(block.outcome) or outcome
        if verdict is not None:
            yield IncomingMemory(
                identity=f"{_place(site, task_id)}:{digest(block.title, block.content)}",
                draft=_draft(block, verdict, site, trajectory.identity, record),
            )


def _draft(block: MemoryBlock, outcome: Outcome, site: str, source: str, record: Mapping[str, Any]) -> Draft:
    return Draft(
        title=clip_title(text_of(block.title), 300),
        description=text_of(block.description),
        content=text_of(block.content),
        outcome=outcome,
        namespace=site,
        tags=tags_of(block.tags),
        origin=ORIGIN,
        source=source,
        metadata=small({"template_id": record.get("template_id"), "task": record.get("query")}),
        initial_confidence=_CONFIDENCE[outcome],
    )


def _trajectory(record: Mapping[str, Any], site: str, task_id: str, outcome: Outcome | None) -> IncomingTrajectory:
    steps = tuple(_steps(record.get("think_list"), record.get("action_list")))
    task = text_of(record.get("query")) or f"task {task_id}"
    return IncomingTrajectory(
        identity=f"{_place(site, task_id)}:{digest(task, *(step.action for step in steps))}",
        task=task,
        namespace=site,
        outcome=outcome or "unknown",
        steps=steps,
        metadata={**small(record, without=_USED), "imported_id": task_id},
    )


def _steps(thoughts: object, actions: object) -> Iterator[IncomingStep]:
    for reasoning, action in zip_longest(_as_list(thoughts), _as_list(actions), fillvalue=""):
        if action:
            yield IncomingStep(action=action, metadata={"think": reasoning[:_THOUGHT_CHARACTERS]} if reasoning else {})
        elif reasoning:
            yield IncomingStep(action=reasoning, metadata={"kind": "think"})


def _as_list(value: object) -> list[str]:
    if isinstance(value, list):
        return [text_of(entry) for entry in value]
    return [text_of(value)] if text_of(value) else []


def _items(value: object) -> tuple[list[MemoryBlock], list[str], str]:
    """The paper's code split the model's answer on blank lines, wherever they fell: join it again first."""
    entries = value if isinstance(value, list) else [value]
    dict_blocks = [_parse_named(entry) for entry in entries if isinstance(entry, dict)]
    text_blocks = parse_blocks("\n\n".join(text_of(entry) for entry in entries if isinstance(entry, str)))
    blocks = [block for block in dict_blocks if block is not None]
    faults = ["a memory has no title or no content" for block in dict_blocks if block is None]
    return [*blocks, *text_blocks.whole], [*faults, *text_blocks.broken], text_of(text_blocks.stray)


def _parse_named(entry: Mapping[str, Any]) -> MemoryBlock | None:
    parts = {str(name).lower(): value for name, value in entry.items()}
    title, content = text_of(parts.get("title")), text_of(parts.get("content"))
    if not title or not content:
        return None
    tags = ", ".join(tags_of(parts.get("tags")))
    return MemoryBlock(title=title, content=content, description=text_of(parts.get("description")), tags=tags)


def _place(site: str, task_id: str) -> str:
    return f"paper:{site}:{task_id}"
