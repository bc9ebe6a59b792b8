"""Eight real peers in network namespaces that lose 30 % of all datagrams: how soon a record is everywhere, and whether
two halves that wrote apart agree when they meet.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.bus.netns import Network, NotPermitted
from bench.report import Report
from reasoningbank_bus.node.settings import NodeSettings

PEERS = 8
LOSS = 0.3
PORT = 8711
MOST_ROUNDS = 7
ROUND_SECONDS = NodeSettings().round_seconds
RECORDS_APART = 600
"""Of either half: one a second for ten minutes."""
SETTLE_SECONDS = 120.0
ARRIVE_SECONDS = 60.0
JOIN_SECONDS = 300.0


def measure_namespaces(report: Report, small: bool) -> None:
    try:
        with Network(PEERS, loss=LOSS) as network, _peers(network) as peers:
            report.add("bus", f"datagrams lost, measured ({network.loss_by})", 100 * _measured_loss(network), "%")
            settled = _wait(lambda: min(peer.links for peer in peers) >= PEERS - 1, SETTLE_SECONDS)
            report.add(
                "bus", f"{PEERS} peers of which each knew one address all connected, {LOSS:.0%} loss", settled, "s"
            )
            _measure_spread(report, peers, 16 if small else 200)
            _measure_partition(report, network, peers, 50 if small else RECORDS_APART)
    except NotPermitted as reason:
        report.note(f"namespaces: SKIPPED, network namespaces are not permitted here: {reason}")


class _Peer:
    """A peer's process, and what it has said."""

    def __init__(self, network: Network, number: int, addresses: Sequence[str], folder: Path) -> None:
        command = [sys.executable, "-m", "bench.bus.namespace_peer", str(number), *addresses, str(folder)]
        self._process = subprocess.Popen(
            network.inside(number, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.links = 0
        self.wrote: dict[str, float] = {}
        self.took: dict[str, float] = {}
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    @property
    def holds(self) -> int:
        return len(self.wrote) + len(self.took)

    def write(self, count: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reading.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            self.links = told.get("links", self.links)
            for name in told.get("wrote", ()):
                self.wrote[name] = told["at"]
            for name in told.get("took", ()):
                self.took.setdefault(name, told["at"])


@contextmanager
def _peers(network: Network) -> Iterator[list[_Peer]]:
    addresses = [f"{network.address(number)}:{PORT}" for number in range(PEERS)]
    peers: list[_Peer] = []
    with tempfile.TemporaryDirectory(prefix="bench-bus-") as folder:
        try:
            for number in range(PEERS):
                # One at a time: those that were started are ended if the next cannot be.
                peers.append(_Peer(network, number, addresses, Path(folder) / str(number)))  # noqa: PERF401
            yield peers
        finally:
            for peer in peers:
                peer.end()


def _measured_loss(network: Network, count: int = 2_000) -> float:
    """The share of datagrams from one machine to another that do not come."""
    receive = (
        "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\ns.bind(('', 9))\ns.settimeout(2)\n"
        "print(flush=True)\nn = 0\n"
        "try:\n while s.recv(9): n += 1\nexcept TimeoutError: print(n)\n"
    )
    send = (
        "import socket, time\ns = socket.socket(type=socket.SOCK_DGRAM)\n"
        f"for i in range({count}):\n s.sendto(b'x', ('{network.address(0)}', 9)); time.sleep(0.0002)\n"
    )
    with subprocess.Popen(
        network.inside(0, [sys.executable, "-c", receive]), stdout=subprocess.PIPE, text=True
    ) as receiver:
        assert receiver.stdout is not None
        receiver.stdout.readline()
        subprocess.run(network.inside(1, [sys.executable, "-c", send]), check=True, timeout=60)
        return 1 - int(receiver.stdout.readline()) / count


def _measure_spread(report: Report, peers: Sequence[_Peer], records: int) -> None:
    rounds: list[float] = []
    missing = 0
    for number in range(records):
        writer = peers[number % len(peers)]
        before = len(writer.wrote)
        writer.write(1)
        _wait(lambda: len(writer.wrote) > before, ARRIVE_SECONDS)  # noqa: B023 - called before the next round
        name = list(writer.wrote)[-1]
        others = [peer for peer in peers if peer is not writer]
        _wait(lambda: all(name in peer.took for peer in others), ARRIVE_SECONDS)  # noqa: B023
        missing += sum(name not in peer.took for peer in others)
        last = max(peer.took.get(name, math.inf) for peer in others)
        rounds.append((last - writer.wrote[name]) / ROUND_SECONDS)
    rounds.sort()
    p99 = rounds[min(len(rounds) - 1, math.ceil(0.99 * len(rounds)) - 1)]
    what = f"a record in all {PEERS} peers, {LOSS:.0%} loss, {records} records"
    report.add("bus", f"{what}, p50", statistics.median(rounds), "rounds")
    report.add("bus", f"{what}, p99", p99, "rounds", limit=MOST_ROUNDS)
    report.add("bus", f"{what}, missing", missing, "", limit=0)
    report.note(f"a round is {ROUND_SECONDS:g} s; load {_load():.1f} on this machine's cores while they ran")


def _measure_partition(report: Report, network: Network, peers: Sequence[_Peer], records: int) -> None:
    half = len(peers) // 2
    held = peers[0].holds
    network.part(range(half, len(peers)))
    for peer in (peers[0], peers[half]):
        peer.write(records)
    _wait(lambda: all(peer.holds >= held + records for peer in peers), JOIN_SECONDS)
    apart = all(peer.holds == held + records for peer in peers)
    network.join()
    took = _wait(lambda: all(peer.holds == held + 2 * records for peer in peers), JOIN_SECONDS)
    missing = sum(held + 2 * records - peer.holds for peer in peers)
    report.add("bus", f"two halves that wrote {records} records each apart agree after", took, "s")
    report.add("bus", "records missing anywhere after that", missing, "", limit=0)
    if not apart:
        report.note("the halves were not fully apart: some heard of the others' records before they were joined")


def _wait(is_so: Callable[[], bool], seconds: float) -> float:
    """Wait until something is so, at most for a while; how long it took."""
    began = time.monotonic()
    while not is_so() and time.monotonic() - began < seconds:
        time.sleep(0.005)
    return time.monotonic() - began


def _load() -> float:
    return float(Path("/proc/loadavg").read_text().split()[0])
