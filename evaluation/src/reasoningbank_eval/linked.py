"""Do links help recall? Half of the tasks is learned from, with credit and consolidation; the other half is asked.

While a bank learns, each task is asked before it is learned from, and whatever its session then visibly did is named as
used: so links from use come to be as they would at work. Then every other task is asked at the same budget of tokens,
once for each thing that recall can make of links. What is counted is what `like` counts: the words of a solution that
recur in other solutions and that the task does not say. Differences are of the same questions, with a 95 % interval by
drawing them anew.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from reasoningbank.core.settings import FOLLOWED, NAMED, OFF, REQUIRED
from reasoningbank.core.tokens import count_tokens
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents.following import course_of, is_followed
from reasoningbank_eval.again import RECURS_IN_TASKS, solutions_by_task, words_of
from reasoningbank_eval.cases import NAMESPACE, Case

BUDGETS = (100, 200, 500)
COMPARED = (NAMED, REQUIRED, FOLLOWED)
"""Each with what is told where links are `off`."""
DRAWS = 2_000


def linked(cases: Sequence[Case], seed: int, embedder: str = "local") -> dict[str, Any]:
    tasks = sorted({case.episode.task for case in cases})
    random.Random(seed).shuffle(tasks)  # noqa: S311 - a choice for an experiment
    training = set(tasks[: len(tasks) // 2])
    test_tasks = solutions_by_task(case for case in cases if case.episode.task not in training)
    holders = Counter(w for ways in solutions_by_task(cases).values() for w in set().union(*map(words_of, ways)))
    with ExitStack() as stack:
        bank = _bank(stack, embedder)
        for case in cases:
            if case.episode.task in training:
                _work_and_learn(bank, case)
        bank.consolidate()
        bank.catch_up()
        links = Counter(f"{link.edge.kind}" for link in bank.edges(limit=100_000))
        rows = []
        for budget in BUDGETS:
            shares: dict[str, list[float]] = {}
            pulls: Counter[str] = Counter()
            tokens: Counter[str] = Counter()
            for task, solutions in test_tasks.items():
                task_words = words_of([task])
                word_sets = [{w for w in words_of(s) if holders[w] >= RECURS_IN_TASKS} - task_words for s in solutions]
                word_sets = [words for words in word_sets if words]
                for way in (OFF, *COMPARED) if word_sets else ():
                    injection = bank.injection(task, max_tokens=budget, links=way)
                    text_words = words_of([injection.text])
                    shares.setdefault(way, []).append(max(len(words & text_words) / len(words) for words in word_sets))
                    pulls[way] += sum(hit.pulled_in is not None for hit in injection.memories)
                    tokens[way] += count_tokens(injection.text)
            rows.append(_row(budget, shares, pulls, tokens))
    return {"seed": seed, "learned": len(training), "links": dict(links), "budgets": rows}


def _bank(stack: ExitStack, embedder: str) -> ReasoningBank:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="reasoningbank-eval-"))
    return stack.enter_context(
        ReasoningBank.open(
            Path(folder) / "bank.db", namespace=NAMESPACE, embedder=embedder, distiller="offline", durability="normal"
        )
    )


def _work_and_learn(bank: ReasoningBank, case: Case) -> None:
    session = bank.start_session(case.episode.task)
    hits = bank.search(case.episode.task, session=session.id).memories
    course = course_of(case.episode, "")
    used = [hit.id for hit in hits if is_followed(hit.memory, course)]
    bank.end_session(session.id, "success" if case.solution else "failure", used=used)
    bank.keep(case.episode)
    bank.distill()


def _row(budget: int, shares: dict[str, list[float]], pulls: Counter[str], tokens: Counter[str]) -> dict[str, Any]:
    count = len(shares.get(OFF, ()))
    row: dict[str, Any] = {"budget": budget, "asked": count, "words_told": {}}
    for way, values in shares.items():
        row["words_told"][way] = {
            "share": round(sum(values) / count, 4),
            "pulled_in": pulls[way],
            "tokens": round(tokens[way] / count, 1),
            **(_difference(values, shares[OFF]) if way != OFF else {}),
        }
    return row


def _difference(values: Sequence[float], other: Sequence[float]) -> dict[str, float]:
    """Difference of the means, with the 2.5 % and 97.5 % points of as many draws of the same questions."""
    gains = [a - b for a, b in zip(values, other, strict=True)]
    rng = random.Random(1)  # noqa: S311 - an interval that can be repeated
    means = sorted(sum(rng.choices(gains, k=len(gains))) / len(gains) for _ in range(DRAWS))
    return {
        "gain": round(sum(gains) / len(gains), 4),
        "low": round(means[int(0.025 * DRAWS)], 4),
        "high": round(means[int(0.975 * DRAWS) - 1], 4),
        "differs": sum(gain != 0.0 for gain in gains),
    }
