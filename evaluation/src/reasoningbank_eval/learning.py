"""`reasoningbank_eval learning`: what the bank learns, as one report.

How each part is measured has a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reasoningbank import NotFound
from reasoningbank.core.frozen import dataclass
from reasoningbank_eval import tau, throughput, verdicts
from reasoningbank_eval.again import again, like
from reasoningbank_eval.cases import case_sets
from reasoningbank_eval.figures import machine
from reasoningbank_eval.intercode import Exam, exams
from reasoningbank_eval.linked import linked
from reasoningbank_eval.rivals import AppendOnly, RawTraces
from reasoningbank_eval.stream import Setting, orders, run, summary

PARTS = ("intercode", "ablations", "again", "like", "links", "tau", "judge", "throughput")
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    data: Path
    parts: tuple[str, ...] = PARTS
    shuffles: int = 5
    ablation_shuffles: int = 1
    seeds: int = 5
    halves: int = 2
    episodes: int | None = None
    """Fewer than there are, for a quick look."""
    needed: bool = False
    """True if a part for which there are no data is an error; else it is named as not run."""


SHIPPED = (
    Setting(name="a namespace for each database", apart=True),
    Setting(name="one namespace for all", apart=False),
)


def ablations() -> list[Setting]:
    """Made anew for each stream: a distiller that numbers its memories must begin at 1."""
    return [
        replace(setting, name=f"{setting.name}: {without}", **changes)
        for setting in SHIPPED
        for without, changes in (
            ("no experience retrieval", {"experience": False}),
            ("consolidated after every 50 episodes", {"consolidated_every": 50}),
            ("no consolidation", {"distiller": AppendOnly()}),
            ("raw traces", {"distiller": RawTraces()}),
            ("hash embedder", {"embedder": "hash"}),
        )
    ]


def report(plan: Plan, tell: Tell) -> dict[str, Any]:
    """Every part by its name; `not_run` says which had no data or were not asked for."""
    result: dict[str, Any] = {"machine": machine(), "episodes": plan.episodes or "all", "not_run": {}}
    for part in PARTS:
        if part not in plan.parts:
            result["not_run"][part] = "not asked for"
            continue
        try:
            result[part] = _PARTS[part](plan, tell)
        except NotFound as error:
            if plan.needed or not plan.data.is_dir():
                raise
            result["not_run"][part] = str(error)
    return result


def _again(plan: Plan, tell: Tell) -> dict[str, Any]:
    by_set = {}
    for name, cases in case_sets(plan.data).items():
        tell(f"{name}: the same task again")
        by_set[name] = again(cases[: plan.episodes])
    return by_set


def _like(plan: Plan, tell: Tell) -> dict[str, Any]:
    by_set = {}
    for name, cases in case_sets(plan.data).items():
        tell(f"{name}: a task like it")
        by_set[name] = [like(cases[: plan.episodes], seed) for seed in range(1, plan.halves + 1)]
    return by_set


def _links(plan: Plan, tell: Tell) -> dict[str, Any]:
    by_set = {}
    for name, cases in case_sets(plan.data).items():
        tell(f"{name}: recall with links and without")
        by_set[name] = [linked(cases[: plan.episodes], seed) for seed in range(1, plan.halves + 1)]
    return by_set


def _tau(plan: Plan, tell: Tell) -> dict[str, Any]:
    by_set = {}
    for name, runs in tau.runs(plan.data).items():
        tell(f"{name}: calibration and ranking")
        fewer = runs if plan.episodes is None else tau.fewer(runs, plan.episodes)
        by_set[name] = tau.report(fewer, plan.seeds)
    return by_set


def _judge(plan: Plan, tell: Tell) -> dict[str, Any]:
    tell("verdicts of the judge that needs no model")
    return verdicts.report(plan.data, plan.episodes)


def _throughput(plan: Plan, tell: Tell) -> dict[str, Any]:
    tell("throughput")
    longest = max(case_sets(plan.data).values(), key=len)[: plan.episodes]
    return throughput.measure([case.episode for case in longest])


_PARTS: dict[str, Callable[[Plan, Tell], dict[str, Any]]] = {
    "intercode": lambda plan, tell: _streams(plan, SHIPPED, plan.shuffles, tell),
    "ablations": lambda plan, tell: _streams(plan, ablations(), plan.ablation_shuffles, tell),
    "again": _again,
    "like": _like,
    "links": _links,
    "tau": _tau,
    "judge": _judge,
    "throughput": _throughput,
}


def _streams(plan: Plan, settings: Sequence[Setting], shuffles: int, tell: Tell) -> dict[str, Any]:
    """Summaries by the name of the set, then by that of the setting."""
    return {
        name: _settings(f"{name}: ", exam_list[: plan.episodes], settings, shuffles, tell)
        for name, exam_list in exams(plan.data).items()
    }


def _settings(
    prefix: str, exam_list: Sequence[Exam], settings: Sequence[Setting], shuffles: int, tell: Tell
) -> dict[str, Any]:
    by_setting: dict[str, Any] = {}
    for setting in settings:
        counts = []
        for name, order in orders(len(exam_list), shuffles):
            count = run(exam_list, order, setting)
            counts.append((name, count))
            tell(f"{prefix}{setting.name}, {name}: {count.hits} of {count.ceiling} at {count.tokens:.0f} tokens")
        by_setting[setting.name] = summary(counts)
    return by_setting
