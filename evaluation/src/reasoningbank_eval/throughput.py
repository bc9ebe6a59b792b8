"""How many sessions a minute the bank takes in and distils offline, end to end, as it ships."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasoningbank import Episode
from reasoningbank.wiring import ReasoningBank


def measure(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Kept one by one, each durable, then distilled by the default crew; embedding is a view and timed apart."""
    with tempfile.TemporaryDirectory(prefix="reasoningbank-eval-") as folder:
        bank = ReasoningBank.open(Path(folder) / "bank.db", namespace="n", distiller="offline")
        with bank:
            start, cpu = time.perf_counter(), time.process_time()
            for episode in episodes:
                bank.keep(episode)
            keep_end = time.perf_counter()
            bank.distill()
            distill_end, cpu_s = time.perf_counter(), time.process_time() - cpu
            bank.catch_up()
            index_end = time.perf_counter()
    return {
        "sessions": len(episodes),
        "sessions_a_minute": round(60 * len(episodes) / (distill_end - start)),
        "keeping_s": round(keep_end - start, 2),
        "distilling_s": round(distill_end - keep_end, 2),
        "indexing_s": round(index_end - distill_end, 2),
        "cpu_ms_a_session": round(1000 * cpu_s / len(episodes), 2),
    }
