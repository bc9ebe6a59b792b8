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
            kept = time.perf_counter()
            bank.distill()
            distilled, spent = time.perf_counter(), time.process_time() - cpu
            bank.catch_up()
            indexed = time.perf_counter()
    return {
        "sessions": len(episodes),
        "sessions_a_minute": round(60 * len(episodes) / (distilled - start)),
        "keeping_s": round(kept - start, 2),
        "distilling_s": round(distilled - kept, 2),
        "indexing_s": round(indexed - distilled, 2),
        "cpu_ms_a_session": round(1000 * spent / len(episodes), 2),
    }
