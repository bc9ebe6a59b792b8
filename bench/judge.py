"""How often the judge that needs no model is right, against the rewards of real customer-service sessions.

    python -m bench judge --data DIR          # a folder that holds tau-retail/

The reward is kept from the judge: it sees the chat alone. Printed for each model's file and for all: how many sessions
it dares to judge, how many of these verdicts are right, and whether a certainty of 0.8 means right four times in five.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.report import Report
from reasoningbank.core.learning import Episode, EpisodeStep, Finding, Verdict
from reasoningbank.learn.judge import RulesJudge
from reasoningbank.ports import Judge


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench judge", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds tau-retail/")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    asked = parser.parse_args(argv)
    files = sorted((asked.data / "tau-retail").glob("*.json"))
    if not files:
        print(f"There is no tau-retail/*.json in {asked.data}.", file=sys.stderr)
        return 2
    report = Report()
    measure(report, files, RulesJudge())
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def measure(report: Report, files: Sequence[Path], judge: Judge) -> None:
    everything: list[tuple[Verdict, bool]] = []
    for path in files:
        judged = [(judge.judge(episode), rewarded) for episode, rewarded in episodes(path)]
        everything += judged
        _figures(report, path.stem, judged)
    _figures(report, "all", everything)
    for low, high in ((0.0, 0.8), (0.8, 0.9), (0.9, 1.01)):
        binned = [(v, r) for v, r in everything if v.outcome is not Finding.UNKNOWN and low <= v.certainty < high]
        if binned:
            right = sum(_right(v, r) for v, r in binned) / len(binned)
            claimed = sum(v.certainty for v, _ in binned) / len(binned)
            detail = f"claimed {claimed:.2f}, {len(binned)} verdicts"
            report.add("judge", f"certainty {low:g}–{min(high, 1):g}: right", right, "", detail=detail)


def _figures(report: Report, name: str, judged: Sequence[tuple[Verdict, bool]]) -> None:
    spoken = [(v, r) for v, r in judged if v.outcome is not Finding.UNKNOWN]
    right = sum(_right(v, r) for v, r in spoken)
    base = max(share := sum(r for _, r in judged) / len(judged), 1 - share)
    said = f"{right} of {len(spoken)} right; always saying the commoner: {base:.2f}"
    report.add("judge", f"{name}: share judged", len(spoken) / len(judged), "")
    report.add("judge", f"{name}: right where judged", right / max(1, len(spoken)), "", detail=said)


def _right(verdict: Verdict, rewarded: bool) -> bool:
    return (verdict.outcome is Finding.SUCCESS) == rewarded


def episodes(path: Path) -> Iterator[tuple[Episode, bool]]:
    """Episodes without their rewards, each with whether it was rewarded."""
    for run in json.loads(path.read_text("utf-8")):
        yield (
            Episode(task=run["info"]["task"]["instruction"], namespace="tau", steps=tuple(_steps(run["traj"]))),
            run["reward"] >= 1.0,
        )


def _steps(messages: Sequence[dict[str, Any]]) -> Iterator[EpisodeStep]:
    action: str | None = None
    for message in messages:
        text = str(message.get("content") or "")
        if message["role"] == "assistant":
            if action is not None:
                yield EpisodeStep(action=action)
            calls = message.get("tool_calls") or []
            action = " ".join(f"{c['function']['name']}({c['function']['arguments']})" for c in calls) or text
        elif message["role"] in ("tool", "user") and action is not None:
            yield EpisodeStep(action=action, result=text)
            action = None
    if action is not None:
        yield EpisodeStep(action=action)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
