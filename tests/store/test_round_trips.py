"""How many round trips to PostgreSQL a verb costs: a server on another machine makes each of them a wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from tests.postgres_server import Server
from tests.socket_proxy import SocketProxy

FLUSH, SYNC = b"H\x00\x00\x00\x04", b"S\x00\x00\x00\x04"
"""How a client says that it waits for answers; and that this is the end, whether or not it waits."""


class CountingProxy(SocketProxy):
    def __init__(self, folder: Path, server: str) -> None:
        self.asked = self.ended = 0
        super().__init__(folder, server)
        self.to_server = self._count

    def _count(self, piece: bytes) -> bytes:
        self.asked += piece.endswith(FLUSH)
        self.ended += piece.endswith(SYNC)
        return piece


@pytest.fixture
def proxy(postgres: Server, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CountingProxy]:
    made = CountingProxy(tmp_path_factory.mktemp("p"), postgres.socket)
    yield made
    made.close()


@pytest.fixture
def bank(postgres: Server, proxy: CountingProxy) -> Iterator[ReasoningBank]:
    url = Server(str(proxy.folder), postgres.database).url("shared")
    with ReasoningBank.open(url, embedder="hash", namespace="n") as opened:
        yield opened


def waits_of(proxy: CountingProxy, read: Callable[[], object]) -> int:
    """Of something that only reads, when it is done again."""
    read()
    before = proxy.asked
    read()
    return proxy.asked - before


def test_a_store_is_one_round_trip(bank, proxy) -> None:
    bank.record(title="First", content="Do it first.")
    before = proxy.asked, proxy.ended
    bank.record(title="Second", content="Do it then.")
    assert (proxy.asked, proxy.ended) == (before[0], before[1] + 1)


def test_a_search_asks_once_what_is_new_and_once_for_what_it_shows(bank, proxy) -> None:
    made = [bank.record(title=f"Step {number}", content=f"Do the step {number}.") for number in range(30)]

    def search(**options: str) -> int:
        bank.catch_up()
        return waits_of(proxy, lambda: bank.search("do the step", noted=False, **options))

    assert len(bank.search("do the step").memories) == 5
    assert search() == 2
    assert waits_of(proxy, lambda: bank.get(made[0].id)) == 2
    assert waits_of(proxy, bank.list) == 2

    session = bank.start_session("do the step")
    bank.end_session(session.id, "success", used=[made[0].id])
    # Past tasks like this one, and what is said of what they taught; then which uses of the hits hooks saw.
    assert search() == 2 + 2 + 1

    for memory in made[1:20]:
        bank.link(made[0].id, memory.id, "relates", weight=0.9)
    # Links of the hits, and where they lead; whom nobody believes any more is known until something changes.
    assert search(links="named") == 2 + 2 + 1 + 2
    assert search(links="off") == 2 + 2 + 1
