"""One memory as a page for people."""

from __future__ import annotations

import time

from reasoningbank.cli import figures, plain
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.types import Memory, Remembered
from reasoningbank.core.wording import headline, occasion, shown_key
from reasoningbank.guard.admission import warnings_of


def show_memory(terminal: Terminal, memory: Memory, earned: Remembered | None) -> None:
    """`earned` is left out for an earlier revision: evidence is about the memory, not one wording of it."""
    now = time.time()
    terminal.say(plain.one_line(headline(memory.title, memory.outcome)), bold=True)
    facts = [
        memory.id,
        f"revision {memory.revision}",
        memory.state.value,
        memory.outcome.value,
        f"scope {memory.scope.value}",
        f"namespace {memory.namespace}",
    ]
    _facts(terminal, facts)
    named = [
        f"key {key}" if (key := shown_key(memory)) else "",
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
        terminal.paragraph(f"When: {occasion(memory.description)}")
    terminal.paragraph(memory.content)


def _facts(terminal: Terminal, facts: list[str]) -> None:
    terminal.paragraph(plain.one_line(" · ".join(fact for fact in facts if fact)), dim=True)
