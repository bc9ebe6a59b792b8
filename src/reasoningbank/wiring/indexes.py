"""Registry of indexes by name."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from reasoningbank.index.builds import EmbeddedBuilds
from reasoningbank.ports import IndexBuilds

DEFAULT_INDEX = "embedded"


class MakeBuilds(Protocol):
    def __call__(self, folder: Path | None, *, read_only: bool) -> IndexBuilds:
        """`folder` is for what it keeps beside the bank; None for a bank in memory."""
        ...


INDEXES: dict[str, MakeBuilds] = {DEFAULT_INDEX: EmbeddedBuilds}
