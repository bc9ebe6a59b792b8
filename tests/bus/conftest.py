"""What tests of the bank's side share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bus.sides import Side


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Callable[..., Side]]:
    """`side(seed, …)` opens a bank on the bus in a folder of its own."""
    opened: list[Side] = []

    def open_side(seed: int = 1, **options: object) -> Side:
        folder = tmp_path / f"side-{len(opened)}"
        folder.mkdir()
        opened.append(Side(folder, seed, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield open_side
    for one in opened:
        one.close()
