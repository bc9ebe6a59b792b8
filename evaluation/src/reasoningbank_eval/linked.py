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
    known = set(tasks[: len(tasks) // 2])
    others = solutions_by_task(case for case in cases if case.episode.task not in known)
    holders = Counter(w for found in solutions_by_task(cases).values() for w in set().union(*map(words_of, found)))
    with ExitStack() as opened:
        bank = _bank(opened, embedder)
        for case in cases:
            if case.episode.task in known:
                _work_and_learn(bank, case)
        bank.consolidate()
        bank.catch_up()
        links = Counter(f"{joined.edge.kind}" for joined in bank.edges(limit=100_000))
        rows = []
        for budget in BUDGETS:
            shares: dict[str, list[float]] = {}
            pulled: Counter[str] = Counter()
            tokens: Counter[str] = Counter()
            for task, solutions in others.items():
                said = words_of([task])
                needed = [{w for w in words_of(s) if holders[w] >= RECURS_IN_TASKS} - said for s in solutions]
                needed = [words for words in needed if words]
                for way in (OFF, *COMPARED) if needed else ():
                    found = bank.injection(task, max_tokens=budget, links=way)
                    told = words_of([found.text])
                    shares.setdefault(way, []).append(max(len(words & told) / len(words) for words in needed))
                    pulled[way] += sum(hit.pulled_in is not None for hit in found.memories)
                    tokens[way] += count_tokens(found.text)
            rows.append(_row(budget, shares, pulled, tokens))
    return {"seed": seed, "learned": len(known), "links": dict(links), "budgets": rows}


def _bank(opened: ExitStack, embedder: str) -> ReasoningBank:
    folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="reasoningbank-eval-"))
    return opened.enter_context(
        ReasoningBank.open(
            Path(folder) / "bank.db", namespace=NAMESPACE, embedder=embedder, distiller="offline", durability="normal"
        )
    )


def _work_and_learn(bank: ReasoningBank, case: Case) -> None:
    session = bank.start_session(case.episode.task)
    shown = bank.search(case.episode.task, session=session.id).memories
    course = course_of(case.episode, "")
    used = [hit.id for hit in shown if is_followed(hit.memory, course)]
    bank.end_session(session.id, "success" if case.solution else "failure", used=used)
    bank.keep(case.episode)
    bank.distill()


def _row(budget: int, shares: dict[str, list[float]], pulled: Counter[str], tokens: Counter[str]) -> dict[str, Any]:
    asked = len(shares.get(OFF, ()))
    row: dict[str, Any] = {"budget": budget, "asked": asked, "words_told": {}}
    for way, told in shares.items():
        row["words_told"][way] = {
            "share": round(sum(told) / asked, 4),
            "pulled_in": pulled[way],
            "tokens": round(tokens[way] / asked, 1),
            **(_difference(told, shares[OFF]) if way != OFF else {}),
        }
    return row


def _difference(one: Sequence[float], other: Sequence[float]) -> dict[str, float]:
    """Of the means, with the 2.5 % and 97.5 % points of as many draws of the same questions."""
    gains = [a - b for a, b in zip(one, other, strict=True)]
    rng = random.Random(1)  # noqa: S311 - an interval that can be repeated
    means = sorted(sum(rng.choices(gains, k=len(gains))) / len(gains) for _ in range(DRAWS))
    return {
        "gain": round(sum(gains) / len(gains), 4),
        "low": round(means[int(0.025 * DRAWS)], 4),
        "high": round(means[int(0.975 * DRAWS) - 1], 4),
        "differs": sum(gain != 0.0 for gain in gains),
    }
