"""Progress bar; silent unless a person watches."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from reasoningbank.cli.terminal import Terminal

_EVERY_S = 0.1
_CELLS = 24


class Bar:
    """Progress bar. Call it with (done) or (done, total)."""

    def __init__(self, terminal: Terminal, label: str) -> None:
        self._terminal = terminal
        self._label = label
        self._drawn_at = 0.0
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._terminal.live("")

    def rename(self, label: str) -> None:
        """Go on with another stage of the same work."""
        self._label, self._drawn_at = label, 0.0

    def __call__(self, done: int, total: int | None = None) -> None:
        now = time.monotonic()
        if not self._terminal.err_live or now - self._drawn_at < _EVERY_S:
            return
        self._drawn_at, self._drawn = now, True
        if not total:
            self._terminal.live(f"{self._label} {done:,}")
            return
        share = min(1.0, done / total)
        cells = "█" * int(share * _CELLS)
        self._terminal.live(f"{self._label} {cells:<{_CELLS}} {share:4.0%}  {done:,} of {total:,}")
