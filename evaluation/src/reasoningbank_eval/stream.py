"""Stream the episodes through a bank: ask before each, learn after each, count what memory would have saved.

The ceiling is what any memory could have known: every table that the gold query needs was described in an earlier
episode on the same database. Beside it stands what was at least used: every needed column was named, with its table, in
earlier queries that brought rows. A weak agent describes nothing, and teaches that much.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.ports import Distiller
from reasoningbank.wiring import ReasoningBank
from reasoningbank_eval.figures import share_with_interval, spread
from reasoningbank_eval.intercode import Exam, told_anywhere, told_by_lines

BUDGET_TOKENS = 500
ONE_NAMESPACE = "all"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One way of running the stream."""

    name: str
    apart: bool
    """A namespace for each database; otherwise all share one, with nothing but the question to go by."""
    embedder: str = "local"
    distiller: Distiller | None = None
    """None is the shipped one."""
    experience: bool = True
    consolidated_every: int | None = None
    """After so many episodes each; None is never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    stumbled: int
    ceiling: int
    hits: int
    """Needed tables, each in one line with its needed columns."""
    used_ceiling: int
    """Stumbled where all that was needed had been described or used before..."""
    used_hits: int
    """...and of those the ones that were told."""
    loose_hits: int
    """Needed names anywhere in the text."""
    tokens: float
    """On average, over every episode."""
    injections: int
    """Episodes before which anything was injected..."""
    held: int
    """...and of those the ones whose text held every needed table with its columns, whether or not it was missed."""
    memories: int


def orders(number: int, shuffles: int) -> list[tuple[str, list[int]]]:
    """File order first, then shuffled by the seeds 1, 2, …"""
    entries = [("file order", list(range(number)))]
    for seed in range(1, shuffles + 1):
        order = list(range(number))
        random.Random(seed).shuffle(order)  # noqa: S311 - an order for an experiment
        entries.append((f"seed {seed}", order))
    return entries


def run(exams: Sequence[Exam], order: Sequence[int], setting: Setting, progress: Progress | None = None) -> Count:
    with tempfile.TemporaryDirectory(prefix="reasoningbank-eval-") as folder:
        bank = ReasoningBank.open(
            Path(folder) / "bank.db",
            namespace=ONE_NAMESPACE,
            embedder=setting.embedder,
            distiller=setting.distiller or "offline",
        )
        with bank:
            return _streamed(bank, [exams[number] for number in order], setting, progress)


def _streamed(bank: ReasoningBank, exams: Sequence[Exam], setting: Setting, progress: Progress | None) -> Count:
    tables_of: dict[str, set[str]] = {}
    used: dict[str, dict[str, frozenset[str]]] = {}
    stumbles = ceiling = hits = loose = tokens = injections = hold_count = used_ceiling = used_hits = 0
    for number, exam in enumerate(exams, start=1):
        namespace = exam.database if setting.apart else ONE_NAMESPACE
        text = bank.inject(
            exam.episode.task, max_tokens=BUDGET_TOKENS, namespace=namespace, experience=setting.experience
        )
        tokens += count_tokens(text)
        holds = bool(text) and told_by_lines(text, exam.needed)
        injections += bool(text)
        hold_count += holds
        tables = tables_of.setdefault(exam.database, set())
        if exam.stumbled:
            stumbles += 1
            if exam.needed.keys() <= tables:
                ceiling += 1
                hits += holds
                loose += told_anywhere(text, exam.needed)
            there = used.get(exam.database, {})
            if all(
                table in tables or set(columns) <= there.get(table, set()) for table, columns in exam.needed.items()
            ):
                used_ceiling += 1
                used_hits += holds
        tables.update(exam.described)
        for table, columns in exam.used.items():
            of_database = used.setdefault(exam.database, {})
            of_database[table] = of_database.get(table, frozenset()) | columns
        bank.keep(_in(namespace, exam))
        bank.distill()
        if setting.consolidated_every is not None and number % setting.consolidated_every == 0:
            bank.consolidate(namespace=EVERY_NAMESPACE)
        if progress is not None:
            progress(number, len(exams))
    return Count(
        stumbled=stumbles,
        ceiling=ceiling,
        hits=hits,
        used_ceiling=used_ceiling,
        used_hits=used_hits,
        loose_hits=loose,
        tokens=tokens / len(exams),
        injections=injections,
        held=hold_count,
        memories=sum(bank.status().memories.values()),
    )


def _in(namespace: str, exam: Exam) -> Any:
    from dataclasses import replace

    return replace(exam.episode, namespace=namespace)


def summary(counts: Sequence[tuple[str, Count]]) -> dict[str, Any]:
    rows = [
        {
            "order": name,
            "stumbled": count.stumbled,
            "ceiling": count.ceiling,
            "hits": count.hits,
            **share_with_interval(count.hits, count.ceiling),
            "described_or_used": {
                "ceiling": count.used_ceiling,
                "hits": count.used_hits,
                **share_with_interval(count.used_hits, count.used_ceiling),
            },
            "loose_hits": count.loose_hits,
            "tokens": round(count.tokens, 1),
            "injections": count.injections,
            "held": round(count.held / max(1, count.injections), 4),
            "memories": count.memories,
        }
        for name, count in counts
    ]
    return {
        "orders": rows,
        "share": spread([count.hits / max(1, count.ceiling) for _, count in counts]),
        "loose_share": spread([count.loose_hits / max(1, count.ceiling) for _, count in counts]),
        "tokens": spread([count.tokens for _, count in counts], 1),
    }
