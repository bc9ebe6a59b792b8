"""Two banks on a real bus, each served by a process of its own: one may send more than the other takes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.page.browser import served_page
from reasoningbank import ReasoningBank

NAMESPACE = "shop"
MOST_RECORDS = 3
TITLES = (
    "Retry idempotent requests only",
    "Read the migration before the code",
    "Name the operation in an error",
    "Pin the clock in tests",
)


@contextmanager
def served_on_the_bus(folder: Path, *, called: str = "ben") -> Iterator[str]:
    """The address of Anna's page. Ben is connected; an office that was named is not there; Eve was let in by nobody."""
    from reasoningbank_bus import Bus

    there, nowhere = f"127.0.0.1:{_free_port()}", f"127.0.0.1:{_free_port()}"
    paths = [folder / f"{name}.db" for name in ("anna", "ben", "office", "eve")]
    anna, ben, office, eve = (
        ReasoningBank.open(path, embedder="hash", namespace=NAMESPACE, config="none") for path in paths
    )
    with (
        anna, ben, office, eve, Bus.open(anna) as at_anna, Bus.open(ben) as at_ben, Bus.open(office) as at_office,
        Bus.open(eve) as at_eve,
    ):  # fmt: skip
        for title in TITLES:
            ben.record(title=title, content=f"{title}: it has cost us an afternoon.", scope="team")
        anna.record(title="Write down why", content="Who comes later asks for it.", scope="team")
        ours, theirs, offices = (bus.init().key for bus in (at_anna, at_ben, at_office))
        for bus in (at_anna, at_ben):
            bus.share(namespaces=["*"])
        at_ben.accept(at_anna.grant(theirs, name=called, caps={"records": MOST_RECORDS, "searches": 200}).line)
        at_anna.accept(at_ben.grant(ours, name="anna").line)
        at_anna.grant(offices, name="office", actions=("search",), namespaces=(NAMESPACE,), period_s=3600)
        at_anna.add_peer(nowhere, "office")
        at_eve.init()
        for bus in (at_ben, at_eve):
            bus.add_peer(there, ours)
    with (
        served_page(paths[0], NAMESPACE, "serve", "--bus", there) as address,
        served_page(paths[1], NAMESPACE, "serve", "--bus", "127.0.0.1:0"),
        served_page(paths[3], NAMESPACE, "serve", "--bus", "127.0.0.1:0"),
    ):
        yield address


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
