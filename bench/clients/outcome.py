"""What came of the scenarios: a table of what held, and one of what each event cost in tokens and milliseconds."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.clients.recorded_program import HookCall
from bench.report import machine
from reasoningbank.core.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class Outcome:
    scenario: str
    about: str
    client: str
    problem: str
    """What did not hold; empty where everything did."""
    seconds: float
    calls: tuple[HookCall, ...]

    @property
    def held(self) -> bool:
        return not self.problem

    @property
    def line(self) -> str:
        told = "ok" if self.held else f"MISSED: {self.problem}"
        return f"{self.scenario}, {self.client}, {self.seconds:.0f} s: {told}"


@dataclass(frozen=True, slots=True)
class ClientsReport:
    text: str
    figures: dict[str, Any]

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.figures, indent=1, ensure_ascii=False) + "\n", "utf-8")


def report_of(outcomes: Sequence[Outcome], versions: Mapping[str, str]) -> ClientsReport:
    clients = list(dict.fromkeys(outcome.client for outcome in outcomes))
    scenarios = list(dict.fromkeys(outcome.scenario for outcome in outcomes))
    held = {(outcome.scenario, outcome.client): outcome for outcome in outcomes}
    lines = [f"{'scenario':34}" + "".join(f"{client:>14}" for client in clients)]
    for scenario in scenarios:
        told = ["ok" if held[scenario, client].held else "MISSED" for client in clients]
        lines.append(f"{scenario:34}" + "".join(f"{word:>14}" for word in told))
    costs = [cost for client in clients for cost in _costs(client, outcomes)]
    lines += [
        "",
        f"{'client':14}{'event':22}{'calls':>7}{'spoke':>7}{'tokens p50':>12}{'most':>7}{'ms p50':>9}{'p95':>8}",
    ]
    lines += [
        f"{c['client']:14}{c['event']:22}{c['calls']:>7}{c['spoke']:>7}{c['tokens_p50']:>12}{c['tokens_most']:>7}"
        f"{c['ms_p50']:>9.0f}{c['ms_p95']:>8.0f}"
        for c in costs
    ]
    lines += ["", "; ".join(versions[client] for client in clients) + f"; load {os.getloadavg()[0]:.1f}"]
    kept = [
        {"scenario": o.scenario, "about": o.about, "client": o.client, "held": o.held, "problem": o.problem}
        for o in outcomes
    ]
    return ClientsReport(
        "\n".join(lines), {"machine": machine(), "versions": dict(versions), "outcomes": kept, "events": costs}
    )


def _costs(client: str, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    by_event: dict[str, list[HookCall]] = {}
    for outcome in outcomes:
        for call in outcome.calls if outcome.client == client else ():
            by_event.setdefault(call.event, []).append(call)
    found = []
    for event, calls in by_event.items():
        told = [count_tokens(call.context) for call in calls if call.context]
        times = sorted(call.ms for call in calls)
        found.append(
            {
                "client": client,
                "event": event,
                "calls": len(calls),
                "spoke": len(told),
                "tokens_p50": round(statistics.median(told)) if told else 0,
                "tokens_most": max(told, default=0),
                "ms_p50": round(statistics.median(times), 1),
                "ms_p95": round(times[min(len(times) - 1, int(0.95 * len(times)))], 1),
            }
        )
    return found
