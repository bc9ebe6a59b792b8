"""Prints one memory as a page for people."""

from __future__ import annotations

import time
from collections.abc import Sequence

from reasoningbank.cli import figures, plain
from reasoningbank.cli.command import PROGRAM
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.confidence import track_record
from reasoningbank.core.link_meaning import relation, sentence_from
from reasoningbank.core.types import Memory, Remembered, Scope, Step
from reasoningbank.core.wording import headline, occasion, shown_key
from reasoningbank.graph.walk import Neighbour
from reasoningbank.guard.trust import warnings_of

_MOST_LINKS = 20
_MOST_STEPS = 20


def set_aside_in_words(number: int) -> str:
    """How much of the evidence is about an earlier text."""
    if number == 1:
        return "1 earlier outcome belongs to an old text and does not count"
    return f"{number:,} earlier outcomes belong to an old text and do not count"


def show_memory(terminal: Terminal, memory: Memory, item: Remembered | None, team: str | None = None) -> None:
    """Show a memory. `item` is left out for an earlier revision: what it has earned is shown with the current one."""
    now = time.time()
    terminal.say(plain.one_line(headline(memory.title, memory.outcome)), bold=True)
    facts = [
        memory.id,
        f"revision {memory.revision}",
        memory.state.value,
        memory.outcome.value,
        f"scope {memory.scope.value}{f' {team}' if team and memory.scope is Scope.TEAM else ''}",
        f"namespace {memory.namespace}",
    ]
    _facts(terminal, facts)
    labels = [
        f"key {key}" if (key := shown_key(memory)) else "",
        f"tags {', '.join(memory.tags)}" if memory.tags else "",
        f"agent {memory.agent}" if memory.agent else "",
        f"task type {memory.task_type}" if memory.task_type else "",
        f"from {memory.origin}" if item is None else f"from {memory.origin}, {item.trust}",
        f"source {memory.source}" if memory.source else "",
    ]
    _facts(terminal, labels)
    if item is not None:
        _facts(
            terminal,
            [
                f"confidence {figures.confidence(item.confidence)}",
                track_record(item) or "not used yet",
                f"last worked {figures.ago(item.last_success, now)}" if item.last_success else "",
                f"last failed {figures.ago(item.last_failure, now)}" if item.last_failure else "",
                f"shown {item.shown}×",
            ],
        )
        if item.set_aside:
            how = f"{PROGRAM} edit {memory.id} --keep-evidence"
            lets = "makes it count" if item.set_aside == 1 else "makes them count"
            terminal.paragraph(f"{set_aside_in_words(item.set_aside)} (`{how}` {lets})", dim=True)
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


def show_track(terminal: Terminal, steps: Sequence[Step]) -> None:
    """Show what was done under a memory; the latest, where it was much."""
    if not steps:
        return
    terminal.say()
    earlier = len(steps) - _MOST_STEPS
    terminal.say(f"Steps{f' (the last {_MOST_STEPS} of {len(steps):,})' if earlier > 0 else ''}:", bold=True)
    for step in steps[-_MOST_STEPS:]:
        result = f" → {plain.one_line(step.result)}" if step.result else ""
        terminal.paragraph(f"{step.number}. {plain.one_line(step.action)}{result}", "  ", 3)


def show_links(terminal: Terminal, near: Sequence[Neighbour]) -> None:
    """Show every link of a memory, read from its end, with the reason."""
    if not near:
        return
    terminal.say()
    note = f" (the strongest {_MOST_LINKS} of {len(near):,}; `graph neighbours` shows all)"
    terminal.say(f"Links{note if len(near) > _MOST_LINKS else ''}:", bold=True)
    for item in near[:_MOST_LINKS]:
        bond = relation(item.edge.kind, outward=item.outward)
        sentence = plain.one_line(sentence_from(item.edge, outward=item.outward))
        why = f" · {sentence}" if sentence else ""
        strength = f"({figures.short(item.edge.weight)}) {item.record.id}"
        terminal.paragraph(f"{bond}: {plain.one_line(item.title)} {strength}{why}", "  ", 3)


def _facts(terminal: Terminal, facts: list[str]) -> None:
    terminal.paragraph(plain.one_line(" · ".join(fact for fact in facts if fact)), dim=True)
