"""The whole evaluation of recall: every set with every embedder, and what came of it as one report.

The folder for its banks, the clock and the seed are given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank_eval.asking import Progress, Trial, asked, bank_in, plain_words
from reasoningbank_eval.crowd_figures import CrowdFigure, crowd_figure
from reasoningbank_eval.crowds import SIZES, ask_crowds, plan_crowds
from reasoningbank_eval.duplicates import Repeats, repeats
from reasoningbank_eval.machine import machine, versions
from reasoningbank_eval.measures import RESAMPLES
from reasoningbank_eval.reliability import Reliability, reliability_of
from reasoningbank_eval.scoring import Figure, figures_of
from reasoningbank_eval.sets import MEASURES, Kind, LabelledSet, answerable, sampled
from reasoningbank_eval.shapes import Recognised
from reasoningbank_eval.subjects import find_likeness

FORMAT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    sets: Sequence[LabelledSet]
    embedders: Sequence[str]
    seed: int
    most_questions: int | None = None
    """Questions asked of each set; None asks them all."""
    sizes: Sequence[int] = SIZES
    """Sizes of banks, for questions with and without an answer."""
    only_crowds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    plan: Plan
    unknown: Sequence[str]
    figures: Sequence[Figure]
    reliability: Sequence[Reliability]
    repeats: Sequence[Repeats]
    crowds: Sequence[CrowdFigure]
    started_at: float
    seconds: float
    cpu_seconds: float


def plan_of(
    data: Recognised,
    embedders: Sequence[str],
    seed: int,
    most_questions: int | None,
    *,
    sizes: Sequence[int] = SIZES,
    only_crowds: bool = False,
) -> Plan:
    sets = [sampled(dataset, most_questions, seed) for dataset in data.sets]
    return Plan(
        sets=sets,
        embedders=embedders,
        seed=seed,
        most_questions=most_questions,
        sizes=sizes,
        only_crowds=only_crowds,
    )


Watch = Callable[[str], AbstractContextManager[Progress]]
"""Says what is begun and gives something to tell how far it is."""


def evaluated(
    plan: Plan, unknown: Sequence[str], folder: Path, watch: Watch, clock: Callable[[], tuple[float, float]]
) -> Report:
    """`folder` is empty and of our own. `clock` gives the time and the processor time spent so far, in seconds."""
    (started_at, cpu_before) = clock()
    figures: list[Figure] = []
    trials: list[Trial] = []
    repeat_figures: list[Repeats] = []
    for number, dataset in enumerate(() if plan.only_crowds else plan.sets):
        words = plain_words(dataset)
        for embedder in plan.embedders:
            place = folder / f"{number}-{embedder}"
            (place / "crowd").mkdir(parents=True)
            with watch(f"{dataset.name}, {embedder}") as progress, bank_in(place, embedder) as bank:
                trial = asked(bank, dataset, words, progress)
            trials.append(trial)
            figures += figures_of(trial, plan.seed)
            if dataset.kind is not Kind.STREAM and answerable(dataset):
                with watch(f"{dataset.name}, {embedder}, repeats"), bank_in(place / "crowd", embedder) as bank:
                    repeat_figures += repeats(bank, dataset, embedder, plan.seed)
    crowds = list(_crowds(plan, folder, watch))
    ended_at, cpu_after = clock()
    return Report(
        plan=plan,
        unknown=unknown,
        figures=figures,
        reliability=[reliability_of(trials, embedder) for embedder in plan.embedders if trials],
        repeats=repeat_figures,
        crowds=crowds,
        started_at=started_at,
        seconds=ended_at - started_at,
        cpu_seconds=cpu_after - cpu_before,
    )


def _crowds(plan: Plan, folder: Path, watch: Watch) -> Iterator[CrowdFigure]:
    for number, crowd in enumerate(plan_crowds(plan.sets, find_likeness(plan.sets), plan.sizes, plan.seed)):
        for embedder in plan.embedders if crowd.sizes else ():
            place = folder / f"crowd-{number}-{embedder}"
            place.mkdir()
            title = f"{crowd.labelled.name}, {embedder}, by size"
            with watch(title) as progress, bank_in(place, embedder) as bank:
                for replies in ask_crowds(bank, crowd, plan.seed, progress):
                    yield crowd_figure(replies, plan.seed)


def report_json(report: Report) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "machine": machine(),
        "versions": versions(),
        "seed": report.plan.seed,
        "resamples": RESAMPLES,
        "most_questions": report.plan.most_questions,
        "started_at": report.started_at,
        "seconds": round(report.seconds, 1),
        "cpu_seconds": round(report.cpu_seconds, 1),
        "sets": [
            {
                "name": dataset.name,
                "kind": dataset.kind.value,
                "about": dataset.about,
                "documents": len(dataset.documents),
                "questions": len(dataset.questions),
                "answerable": answerable(dataset),
                "measures": list(MEASURES[dataset.kind]),
            }
            for dataset in report.plan.sets
        ],
        "unknown": list(report.unknown),
        "figures": [_rounded(asdict(figure)) for figure in report.figures],
        "reliability": [_rounded(asdict(reliability)) for reliability in report.reliability],
        "repeats": [_rounded(asdict(repeat)) for repeat in report.repeats],
        "crowds": [_rounded(asdict(crowd)) for crowd in report.crowds],
    }


def _rounded(value: Any) -> Any:
    """Six digits are more than the intervals bear; what is no number is null, since JSON has none."""
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, (list, tuple)) else value
