"""Let eight processes write and four search in one bank at once, and see who waits how long.

Every writer writes as fast as it can, so a fair share is known without a stopwatch of its own: with n writers, a write
takes n times as long as the bank takes for one. Beside them one process commits to a file of its own: what the machine
alone makes a commit wait is seen there, and a write that waits for n others may meet it n times. In every round one
more writer is killed in the middle of its work, so that a turn that dies with its holder would show as a long wait.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import apsw

from bench.storms._weather import Promise, Weather
from bench.timing import Times
from reasoningbank.wiring import ReasoningBank

WRITERS, READERS = 8, 4
SLICE = 1
IS_LONG = True
"""A clock decides what matters here."""
ROUND_S, SHORT_ROUND_S = 10.0, 3.0
PREFILLED = 500
P99_SHARES, LONGEST_SHARES = 4.0, 20.0
"""So many fair shares may the slowest write in a hundred take, and the slowest of all."""
LEAST_PART = 0.5
"""Of an equal part of the writes, for every process."""
GOAL_MS = 250.0
BARE_PAUSE_S = 0.002
PATIENCE_S = 60.0


def storm(weather: Weather) -> list[Promise]:
    waits = Promise("a write waits little more than its fair share at p99, eight processes writing", timed=True)
    longest = Promise("no write waits many times its share, though a writer is killed", timed=True)
    parts = Promise("every process gets at least half of its part of the writes", timed=True)
    searches = Promise("a search under writers answers")
    round_s = SHORT_ROUND_S if weather.most is not None else ROUND_S
    written: list[list[float]] = []
    bare: list[float] = []
    searched: list[float] = []
    at_rest: list[float] = []
    for number in weather.rounds():
        place = weather.folder / f"round-{number}"
        place.mkdir()
        prefilling = Party(place, "prefill", 0.0)
        prefilling.start("prefill", _prefill)
        prefilling.took()
        resting = Party(place, "rest", round_s / 6)
        resting.start("reader", _search)
        at_rest += resting.took()["reader"]
        crowd = Party(place, "crowd", round_s)
        crowd.start("bare", _commit_alone)
        victim = crowd.start("victim", _write)
        for i in range(WRITERS):
            crowd.start(f"writer-{i}", _write)
        for i in range(READERS):
            crowd.start(f"reader-{i}", _search)
        crowd.go()
        time.sleep(round_s * (0.2 + 0.5 * weather.chance.random()))
        crowd.kill(victim)
        taken = crowd.took()
        writes = [seconds for name, seconds in taken.items() if name.startswith("writer")]
        written += writes
        bare += taken["bare"]
        _judge(writes, Times.of(taken["bare"]), round_s, waits, longest, parts)
        for name, seconds in taken.items():
            if name.startswith("reader"):
                searches.check(bool(seconds), f"{name} did not get through one search")
                searched += seconds
    every, alone = _all(written), Times.of(bare or [0.0])
    waits.measured = (
        f"p50 {every.p50_ms:.1f}, p99 {1e3 * every.at(0.99):.0f} ms (goal {GOAL_MS:.0f}); "
        f"a commit elsewhere {alone.p50_ms:.1f}, {1e3 * alone.at(0.99):.0f} ms"
    )
    longest.measured = f"longest {1e3 * every.seconds[-1]:.0f} ms, elsewhere {1e3 * alone.seconds[-1]:.0f} ms"
    worst = max(1e3 * Times.of(taken).at(0.99) for taken in written)
    parts.measured = f"{min(map(len, written))} to {max(map(len, written))} writes, worst p99 {worst:.0f} ms"
    under, rest = Times.of(searched or [0.0]), Times.of(at_rest or [0.0])
    searches.measured = f"p50 {under.p50_ms:.1f}, p99 {1e3 * under.at(0.99):.0f} ms; at rest p50 {rest.p50_ms:.1f} ms"
    return [waits, longest, parts, searches]


def _all(written: list[list[float]]) -> Times:
    return Times.of([seconds for taken in written for seconds in taken])


def _judge(
    written: list[list[float]], bare: Times, round_s: float, waits: Promise, longest: Promise, parts: Promise
) -> None:
    every = _all(written)
    share_s = WRITERS * round_s / len(every.seconds)
    words = f"a fair share was {1e3 * share_s:.1f} ms and a commit elsewhere took"
    waits.held(len(every.seconds) - 1)
    waits.check(
        every.at(0.99) <= P99_SHARES * share_s + WRITERS * bare.at(0.99),
        f"p99 {1e3 * every.at(0.99):.0f} ms; {words} {1e3 * bare.at(0.99):.0f} ms at p99",
    )
    for number, taken in enumerate(written):
        longest.held(len(taken) - 1)
        longest.check(
            max(taken) <= LONGEST_SHARES * share_s + WRITERS * bare.seconds[-1],
            f"writer {number} waited {1e3 * max(taken):.0f} ms; {words} {1e3 * bare.seconds[-1]:.0f} ms at most",
        )
        part = WRITERS * len(taken) / len(every.seconds)
        parts.check(
            part >= LEAST_PART, f"writer {number} got {len(taken)} of {len(every.seconds)} writes, {part:.2f} of a part"
        )


# ---------------------------------------------------------------- the processes


def _open(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=64, namespace="storm")


Seconds = list[float]
Begin = Callable[[], float]
"""Says that all is open, waits for the others, and gives the moment at which to stop."""


def _prefill(folder: Path, begin: Begin) -> Seconds:
    with _open(folder) as bank:
        bank.record_many({"title": f"calm {n}", "content": f"what the wind left behind {n}"} for n in range(PREFILLED))
        bank.catch_up()
    begin()
    return []


def _write(folder: Path, begin: Begin) -> Seconds:
    with _open(folder) as bank:

        def write(number: int) -> None:
            bank.record(title=f"gust {os.getpid()} {number}", content=f"the wind turned {number} times")

        return _timed(write, begin)


def _search(folder: Path, begin: Begin) -> Seconds:
    with _open(folder) as bank:
        return _timed(lambda number: bank.search(f"what did the wind leave {number}", floor=0.0), begin)


def _commit_alone(folder: Path, begin: Begin) -> Seconds:
    connection = apsw.Connection(str(folder / "bare.db"))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE bare (body TEXT)")

    def commit(number: int) -> None:
        connection.execute("INSERT INTO bare VALUES (?)", (f"the wind turned {number} times" * 20,))

    return _timed(commit, begin, BARE_PAUSE_S)


def _timed(act: Callable[[int], object], begin: Begin, pause_s: float = 0.0) -> Seconds:
    act(0)
    until, taken = begin(), []
    for number in count(1):
        began = time.perf_counter()
        act(number)
        taken.append(time.perf_counter() - began)
        if time.monotonic() >= until:
            return taken
        time.sleep(pause_s)
    return taken


class Party:
    """Processes that begin together. Each is forked before anything is open, and leaves what its calls took in a file.

    Nobody is measured while others still start.
    """

    def __init__(self, bank_folder: Path, name: str, lasts_s: float) -> None:
        self._bank_folder = bank_folder
        self._place = bank_folder / name
        self._place.mkdir()
        self._lasts_s = lasts_s
        self._processes: dict[str, int] = {}
        self._has_begun = False

    def start(self, name: str, work: Callable[[Path, Begin], Seconds]) -> str:
        pid = os.fork()
        if pid:
            self._processes[name] = pid
            return name
        try:
            told: dict[str, object] = {"taken": work(self._bank_folder, lambda: self._begun(name))}
        except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
            told = {"error": f"{type(error).__name__}: {error}"}
        self._leave(f"{name}.json", json.dumps(told))
        os._exit(0)

    def go(self) -> None:
        self._has_begun = True
        for name in self._processes:
            while not (self._place / f"{name}.ready").exists() and not (self._place / f"{name}.json").exists():
                time.sleep(0.002)
        self._leave("go", str(time.monotonic() + self._lasts_s))

    def kill(self, name: str) -> None:
        pid = self._processes.pop(name)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def took(self) -> dict[str, Seconds]:
        if not self._has_begun:
            self.go()
        found: dict[str, Seconds] = {}
        for name, pid in self._processes.items():
            os.waitpid(pid, 0)
            told = json.loads((self._place / f"{name}.json").read_text())
            if "error" in told:
                raise RuntimeError(f"{name} met {told['error']}")
            found[name] = told["taken"]
        return found

    def _begun(self, name: str) -> float:
        self._leave(f"{name}.ready", "")
        waiting_since = time.monotonic()
        while not (self._place / "go").exists():
            if time.monotonic() - waiting_since > PATIENCE_S:
                raise TimeoutError(f"{name} waited in vain for the others to start")
            time.sleep(0.002)
        return float((self._place / "go").read_text())

    def _leave(self, name: str, text: str) -> None:
        """Whole or not at all, for whoever looks for it meanwhile."""
        (self._place / f"{name}-half").write_text(text)
        (self._place / f"{name}-half").rename(self._place / name)
