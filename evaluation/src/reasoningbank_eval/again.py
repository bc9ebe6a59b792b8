"""The same task again, and a task like it: does the text that the bank injects hold what solved it?

    again   every session is learned from; then each solved task is asked once more, in its own words
    like    half of the tasks are learned from; the other half is asked, of which no session is known

Whatever solved a task must stand in the text to the letter (spacing aside; a `<placeholder>` stands for anything). Of a
like task nobody can know the solution, so there the words of it that recur in other solutions and that the task does
not say are counted, beside how many of them the best of the learned solutions has.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reasoningbank.core.tokens import count_tokens
from reasoningbank.wiring import ReasoningBank
from reasoningbank_eval.cases import NAMESPACE, Case
from reasoningbank_eval.figures import share_with_interval, spread
from reasoningbank_eval.grading import PLACEHOLDER, code_in, grades, pattern_of

BUDGET_TOKENS = 500
MOST_LESSONS = 100_000
RECURS_IN_TASKS = 3
"""A word of so many solutions is part of a way; a rarer one is a parameter."""
_WORD = re.compile(r"-{0,2}\w+")


@contextmanager
def taught(cases: Sequence[Case], embedder: str) -> Iterator[ReasoningBank]:
    """A bank that has learned from these sessions, in their order, as it ships."""
    with (
        tempfile.TemporaryDirectory(prefix="reasoningbank-eval-") as folder,
        ReasoningBank.open(
            Path(folder) / "bank.db", namespace=NAMESPACE, embedder=embedder, distiller="offline", durability="normal"
        ) as bank,
    ):
        for case in cases:
            bank.keep(case.episode)
            bank.distill()
        bank.catch_up()
        yield bank


def again(cases: Sequence[Case], embedder: str = "local") -> dict[str, Any]:
    """The share of solved tasks whose solution is offered when they are asked again, and what the lessons are like."""
    with taught(cases, embedder) as bank:
        answers = [(_injected(bank, task), solutions) for task, solutions in solutions_by_task(cases).items()]
        lessons = [item.memory for item in bank.list(limit=MOST_LESSONS)]
    texts = [text for text, _ in answers if text]
    offers = sum(any(is_offered(text, solution) for solution in solutions) for text, solutions in answers)
    in_words = sum(any(_has_the_words(text, solution) for solution in solutions) for text, solutions in answers)
    tokens = [count_tokens(text) for text, _ in answers]
    return {
        "sessions": len(cases),
        "solved_tasks": len(answers),
        "offered": {"tasks": offers, **share_with_interval(offers, len(answers))},
        "all_its_words_in_one_lesson": {"tasks": in_words, **share_with_interval(in_words, len(answers))},
        "injections": {"tasks": len(texts), "held_it": share_with_interval(offers, len(texts))["share"]},
        "tokens": spread(tokens, 1) if tokens else None,
        "lessons": grades(lessons, [case.episode for case in cases]),
    }


def like(cases: Sequence[Case], seed: int, embedder: str = "local") -> dict[str, Any]:
    tasks = sorted({case.episode.task for case in cases})
    random.Random(seed).shuffle(tasks)  # noqa: S311 - a choice for an experiment
    training = set(tasks[: len(tasks) // 2])
    training_cases = [case for case in cases if case.episode.task in training]
    holders = Counter(
        word for solutions in solutions_by_task(cases).values() for word in set().union(*map(words_of, solutions))
    )
    ways = [words_of(case.solution) for case in training_cases if case.solution]
    shares, best, tokens = [], [], []
    with taught(training_cases, embedder) as bank:
        for task, solutions in solutions_by_task(case for case in cases if case.episode.task not in training).items():
            text = _injected(bank, task)
            task_words = words_of([task])
            word_sets = [{w for w in words_of(s) if holders[w] >= RECURS_IN_TASKS} - task_words for s in solutions]
            word_sets = [words for words in word_sets if words]
            if not word_sets:
                continue
            text_words = words_of([text])
            shares.append(max(len(words & text_words) / len(words) for words in word_sets))
            best.append(max((len(words & way) / len(words) for words in word_sets for way in ways), default=0.0))
            tokens.append(count_tokens(text))
    if not shares:
        return {"seed": seed, "asked": 0}
    return {
        "seed": seed,
        "asked": len(shares),
        "words_told": round(sum(shares) / len(shares), 4),
        "words_in_the_best_learned_solution": round(sum(best) / len(best), 4),
        "tokens": spread(tokens, 1),
    }


def solutions_by_task(cases: Any) -> Mapping[str, list[tuple[str, ...]]]:
    by_task: dict[str, list[tuple[str, ...]]] = {}
    for case in cases:
        if case.solution:
            by_task.setdefault(case.episode.task, []).append(case.solution)
    return by_task


def is_offered(text: str, solution: Sequence[str]) -> bool:
    """True if every action of the solution stands in the text."""
    plain = _plain(text)
    return all(_plain(action) in plain or _with_placeholders(action, text) for action in solution)


def _with_placeholders(action: str, text: str) -> bool:
    plain_action = _plain(action)
    templates = [piece for piece in code_in(text) if PLACEHOLDER.search(piece)]
    return any(re.fullmatch(pattern_of(piece), plain_action) for piece in templates)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _has_the_words(text: str, solution: Sequence[str]) -> bool:
    solution_words = words_of(solution)
    return any(solution_words <= words_of([block]) for block in re.split(r"\n\s*\n", text))


def words_of(texts: Sequence[str]) -> set[str]:
    return {word.casefold() for text in texts for word in _WORD.findall(text)}


def _injected(bank: ReasoningBank, task: str) -> str:
    return bank.inject(task, max_tokens=BUDGET_TOKENS)
