"""Everyday sentences that have nothing to do with programs, to fill a bank with; and banks in a file of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.embed import minilm

WHO = (
    *("gardener", "baker", "pilot", "nurse", "violinist", "farmer", "painter", "fisherman", "librarian", "sailor"),
    *("carpenter", "goalkeeper"),
)
WHAT = (
    *("waters the roses", "bakes rye bread", "tunes the old piano", "feeds the geese", "mends a wooden fence"),
    *("picks ripe cherries", "reads a long novel", "sweeps the marble stairs", "photographs the harbour"),
    "sings in the village choir",
)
WHEN = (
    *("before breakfast", "on rainy mornings", "after the market closes", "during the summer holidays"),
    "while the children sleep",
)

Sentences = Callable[[int], Sequence[str]]


@pytest.fixture(scope="session")
def everyday() -> Sentences:
    """`everyday(n)`: the first n of 600 different sentences."""
    every = [f"The {who} {what} {when}." for when, what, who in product(WHEN, WHAT, WHO)]
    return lambda count: every[:count]


@pytest.fixture(scope="session", autouse=True)
def _one_model() -> Iterator[None]:
    """The banks of a process run one and the same model, which takes longer to load than most tests of it."""
    with pytest.MonkeyPatch.context() as patch:
        for part in ("_open_session", "read_vocabulary"):
            patch.setattr(minilm, part, cache(getattr(minilm, part)))
        yield


Banks = Callable[[str], ReasoningBank]


@pytest.fixture(scope="module")
def open_bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Banks]:
    """`open_bank(embedder)`: a new bank for all tests of a file, which must not see the home of whoever runs them."""
    opened: list[ReasoningBank] = []
    with _home(tmp_path_factory.mktemp("home")):

        def open_one(embedder: str) -> ReasoningBank:
            made = ReasoningBank.open(tmp_path_factory.mktemp("bank") / "bank.db", embedder=embedder, namespace="n")
            opened.append(made)
            return made

        yield open_one
        for bank in opened:
            bank.close()


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REASONINGBANK_HOME", str(folder))
        yield
