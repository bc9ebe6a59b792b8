"""Writes refusals to the program's log as they happen: each reason with whose it was, now and then."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reasoningbank_bus.views import RefusalView

AGAIN_S = 600.0
"""How long nothing more is written of one reason."""
Row = Mapping[str, Any]
"""One reason of refusal, as a node reports it."""
_log = logging.getLogger("reasoningbank.bus")


class RefusalLog:
    def __init__(self) -> None:
        self._written: dict[tuple[str, bool], tuple[int, float]] = {}
        """Count and moment when it was last written, by the reason."""

    def write(self, rows: Iterable[Row], view: Callable[[Row], RefusalView], now_s: float) -> None:
        """Write those that are due; `view` puts one into words, for which names are looked up."""
        for row in rows:
            reason = (row["code"], row["ours"])
            count, at = self._written.get(reason, (0, -AGAIN_S))
            if row["count"] > count and now_s - at >= AGAIN_S:
                self._written[reason] = (row["count"], now_s)
                _log.warning("refused %d so far, %s: %s", row["count"], row["code"], view(row).sentence)
