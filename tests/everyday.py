"""Cases of one promise that are tried every day, and those that wait for `pytest -m storm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def some_every_day(cases: Sequence[Any], every: int) -> list[Any]:
    """The first of every few cases each day, the others with the storms."""
    return [case if number % every == 0 else _for_storms(case) for number, case in enumerate(cases)]


def _for_storms(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.storm)
