"""Small records between two real banks over loopback QUIC, each a process of its own, durable on both sides.

    python -m bench bus pair

The first bank is filled before it goes up. The clock runs from the moment at which both nodes are up until the second
node has every record: signed, metered and kept in the first log; sent, verified, metered, kept in the second log and so
acknowledged. A second figure is for when they are memories of the second bank: scrubbed, judged and found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.report import Report
from reasoningbank import ReasoningBank
from reasoningbank.core.types import Memory
from reasoningbank_bus import Bus

RECORDS = 20_000
FEW_RECORDS = 2_000
WITHIN_S = 300.0
LOOK_S = 0.05
"""Looking takes the nodes some of their time."""


def measure_pair(report: Report, small: bool) -> None:
    records = FEW_RECORDS if small else RECORDS
    with tempfile.TemporaryDirectory() as folder:
        sender, receiver = Path(folder) / "sender.db", Path(folder) / "receiver.db"
        make_pair(sender, receiver, records)
        with node_up(receiver, "127.0.0.1:0") as listen:
            with ReasoningBank.open(sender) as bank, Bus.open(bank) as bus:
                bus.add_peer(listen, "receiver")
            with node_up(sender):
                began = time.perf_counter()
                in_log = wait_for(receiver, records, entries_in_log) - began
                in_bank = wait_for(receiver, records, memories_in_bank) - began
    told = f"{records:,} records in {in_log:.2f} s"
    limit = {"limit": 5_000, "at_least": True}
    report.add(
        "pair", "small records, signed and durable at both peers", records / in_log, "a second", detail=told, **limit
    )
    told = f"{records:,} records in {in_bank:.2f} s"
    report.add("pair", "… and found in the second bank", records / in_bank, "a second", detail=told)


def make_pair(sender: Path, receiver: Path, records: int) -> None:
    """Two banks that have granted each other everything usual; the first has records for its team."""
    with (
        ReasoningBank.open(sender, embedder="hash", namespace="n") as one,
        ReasoningBank.open(receiver, embedder="hash", namespace="n") as other,
        Bus.open(one) as here,
        Bus.open(other) as there,
    ):
        here.init()
        there.init()
        here.share(namespaces=["*"])
        there.share(namespaces=["*"])
        here.accept(there.grant(here.identity.key, name="sender").line, name="receiver")
        there.accept(here.grant(there.identity.key).line)
        one.record_many(_drafts(records))


def _drafts(records: int) -> Iterator[dict[str, Any]]:
    for number in range(records):
        yield {
            "title": f"Step {number} of the release",
            "content": f"Before step {number}, look at the log of step {number - 1}: it names the host.",
            "scope": "team",
        }


@contextmanager
def node_up(path: Path, *listen: str) -> Iterator[str]:
    """A node in a process of its own, ended by SIGTERM; gives where it listens."""
    command = [sys.executable, "-m", "reasoningbank", "--bank", str(path), "bus", "up", *listen, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            while not said.rstrip().endswith("}"):
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError(f"the node at {path} did not come up: {said}")
                said += line
            yield json.loads(said)["listen"] or ""
        finally:
            process.terminate()
            process.wait(60)


def wait_for(receiver: Path, records: int, count: Callable[[Bus], int]) -> float:
    """When the receiver had them all."""
    until = time.monotonic() + WITHIN_S
    with ReasoningBank.open(receiver, read_only=True) as bank, Bus.open(bank) as bus:
        while time.monotonic() < until:
            if count(bus) >= records:
                return time.perf_counter()
            time.sleep(LOOK_S)
    raise RuntimeError(f"not all of {records:,} records were there after {WITHIN_S:g} s")


def entries_in_log(bus: Bus) -> int:
    return bus.log.counts(bus.key.public)[1]


def memories_in_bank(bus: Bus) -> int:
    with bus.bank.context.store.read(bus.bank.tenant) as reader:
        return reader.count(Memory, {})
