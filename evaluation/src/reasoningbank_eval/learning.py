"""`eval learning`: what the bank learns, as one report.

Knows which settings are compared and what the report holds. How each is measured has a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank_eval import tau, throughput, verdicts
from reasoningbank_eval.figures import machine
from reasoningbank_eval.intercode import Exam, exams
from reasoningbank_eval.rivals import AppendOnly, RawTraces
from reasoningbank_eval.stream import ONE_NAMESPACE, Setting, orders, run, summary

PARTS = ("intercode", "ablations", "tau", "judge", "throughput")
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    data: Path
    parts: tuple[str, ...] = PARTS
    shuffles: int = 5
    ablation_shuffles: int = 1
    seeds: int = 5
    episodes: int | None = None
    """Fewer than there are, for a quick look."""


SHIPPED = (
    Setting(name="a namespace for each database", apart=True),
    Setting(name="one namespace for all", apart=False),
)


def ablations() -> list[Setting]:
    """Made anew for each stream: a distiller that numbers its memories must begin at 1."""
    return [
        replace(shipped, name=f"{shipped.name}: {without}", **changed)
        for shipped in SHIPPED
        for without, changed in (
            ("no experience retrieval", {"experience": False}),
            ("consolidated after every 50 episodes", {"consolidated_every": 50}),
            ("no consolidation", {"distiller": AppendOnly()}),
            ("raw traces", {"distiller": RawTraces()}),
            ("hash embedder", {"embedder": "hash"}),
        )
    ]


def report(plan: Plan, tell: Tell) -> dict[str, Any]:
    told: dict[str, Any] = {"machine": machine()}
    if "intercode" in plan.parts:
        told["intercode"] = _streams(plan, SHIPPED, plan.shuffles, tell)
    if "ablations" in plan.parts:
        told["ablations"] = _streams(plan, ablations(), plan.ablation_shuffles, tell)
    if "tau" in plan.parts:
        told["tau"] = {}
        for name, found in tau.runs(plan.data).items():
            tell(f"{name}: calibration and ranking")
            fewer = found if plan.episodes is None else tau.fewer(found, plan.episodes)
            told["tau"][name] = tau.report(fewer, plan.seeds)
    if "judge" in plan.parts:
        tell("verdicts of the judge that needs no model")
        told["judge"] = verdicts.report(plan.data, plan.episodes)
    if "throughput" in plan.parts:
        tell("throughput")
        longest = max(exams(plan.data).values(), key=len)[: plan.episodes]
        told["throughput"] = throughput.measure([replace(exam.episode, namespace=ONE_NAMESPACE) for exam in longest])
    return told


def _streams(plan: Plan, settings: Sequence[Setting], shuffles: int, tell: Tell) -> dict[str, Any]:
    """By the name of the set, then by that of the setting."""
    return {
        name: _settings(f"{name}: ", found[: plan.episodes], settings, shuffles, tell)
        for name, found in exams(plan.data).items()
    }


def _settings(
    prefix: str, found: Sequence[Exam], settings: Sequence[Setting], shuffles: int, tell: Tell
) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for setting in settings:
        counts = []
        for name, order in orders(len(found), shuffles):
            count = run(found, order, setting)
            counts.append((name, count))
            tell(f"{prefix}{setting.name}, {name}: {count.hits} of {count.ceiling} at {count.tokens:.0f} tokens")
        told[setting.name] = summary(counts)
    return told
