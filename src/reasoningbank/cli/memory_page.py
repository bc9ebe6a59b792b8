"""One memory as a page for people."""

from __future__ import annotations

import time
from collections.abc import Sequence

from reasoningbank.cli import figures, plain
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.types import Memory, Outcome, Remembered, Scope, Step
from reasoningbank.guard.admission import warnings_of

_MOST_STEPS = 20


def show_memory(terminal: Terminal, memory: Memory, earned: Remembered | None, team: str | None = None) -> None:
    """`earned` is left out for an earlier revision: evidence is about the memory, not one wording of it."""
    now = time.time()
    terminal.say(plain.one_line(memory.title), bold=True)
    facts = [
        memory.id,
        f"revision {memory.revision}",
        memory.state.value,
        memory.outcome.value,
        f"scope {memory.scope.value}{f' {team}' if team and memory.scope is Scope.TEAM else ''}",
        f"namespace {memory.namespace}",
    ]
    _facts(terminal, facts)
    named = [
        f"key {memory.key}" if memory.key is not None and memory.key != memory.title else "",
        f"tags {', '.join(memory.tags)}" if memory.tags else "",
        f"agent {memory.agent}" if memory.agent else "",
        f"task type {memory.task_type}" if memory.task_type else "",
        f"from {memory.origin}" if earned is None else f"from {memory.origin}, {earned.trust}",
        f"source {memory.source}" if memory.source else "",
    ]
    _facts(terminal, named)
    if earned is not None:
        _facts(
            terminal,
            [
                f"confidence {figures.confidence(earned.confidence)}",
                f"used {earned.usage_count}×, {earned.succeeded} succeeded",
                f"shown {earned.shown}×",
            ],
        )
    _facts(
        terminal,
        [f"stored {figures.ago(memory.created_at, now)}", f"changed {figures.ago(memory.updated_at, now)}"],
    )
    for warning in warnings_of(memory):
        terminal.paragraph(f"warning: {plain.one_line(warning)}")
    terminal.say()
    if memory.description:
        label = "Avoid when" if memory.outcome is Outcome.FAILURE else "When"
        terminal.paragraph(f"{label}: {memory.description}")
    terminal.paragraph(memory.content)


def show_track(terminal: Terminal, steps: Sequence[Step]) -> None:
    """What was done under a memory; the latest, where it was much."""
    if not steps:
        return
    terminal.say()
    earlier = len(steps) - _MOST_STEPS
    terminal.say(f"Steps{f' (the last {_MOST_STEPS} of {len(steps):,})' if earlier > 0 else ''}:", bold=True)
    for step in steps[-_MOST_STEPS:]:
        result = f" → {plain.one_line(step.result)}" if step.result else ""
        terminal.paragraph(f"{step.number}. {plain.one_line(step.action)}{result}", "  ", 3)


def _facts(terminal: Terminal, facts: list[str]) -> None:
    terminal.paragraph(plain.one_line(" · ".join(fact for fact in facts if fact)), dim=True)
