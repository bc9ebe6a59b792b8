"""Small records a second through the bank's side: published by one bank, applied by another, each durable."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench.report import Report
from reasoningbank import ReasoningBank
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.exchange.applying import Applier
from reasoningbank_bus.exchange.naming import origin_of_author
from reasoningbank_bus.exchange.policy import Policy, keep_policy
from reasoningbank_bus.exchange.publishing import Publisher
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.wire.signing import SigningKey

RECORDS_PER_S = 5_000
T = TypeVar("T")


def measure_exchange(report: Report, small: bool) -> None:
    count = 2_000 if small else 20_000
    ann, ben = SigningKey(bytes([1]) * 32), SigningKey(bytes([2]) * 32)
    with tempfile.TemporaryDirectory() as folder:
        home, away = Path(folder) / "home", Path(folder) / "away"
        with ReasoningBank.open(home / "bank.db", namespace="n") as bank, DurableLog(home / "bus") as log:
            bank.record_many(_lesson(number) for number in range(count))
            keep_policy(log, Policy(namespaces=("*",)))
            entries = _timed(report, "memories published", count, Publisher(bank, log, ann, Rights(ann.public)).publish)
        for trust in ("untrusted", "working"):
            place = away / trust
            with ReasoningBank.open(place / "bank.db", namespace="n") as bank, DurableLog(place / "bus") as log:
                bank.trust.give(origin_of_author(ann.public), trust)
                log.add(entries)
                applied = _timed(
                    report,
                    f"memories of a peer that is {trust}, applied",
                    count,
                    Applier(bank, log, ben.public).apply_new,
                )
                if applied.added["memory"] != count:
                    raise AssertionError(f"{applied.added['memory']:,} of {count:,} were applied")


def _lesson(number: int) -> dict[str, object]:
    return {
        "title": f"Lesson {number} about service {number % 97}",
        "content": f"When service {number} does not answer, look at queue {7 * number}, restart worker {number % 9}.",
        "scope": "team",
        "tags": ["ops"],
    }


def _timed(report: Report, what: str, count: int, act: Callable[[], T]) -> T:
    began, used = time.perf_counter(), time.process_time()
    done = act()
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    told = f"{count / cpu:,.0f} for each second of one core"
    report.add("bus", what, count / wall, "/s", limit=RECORDS_PER_S, at_least=True, detail=told)
    return done
