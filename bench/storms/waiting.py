"""Search beside eight writers: what any of them stored is found at once, and no search waits for their catching up.

A search that has no time left for all that was written says so; whether it has is a question to a clock. Writers store
one memory after the other and tell which was acknowledged last; readers in other processes look for exactly that one.
How long their searches take is compared with the same searches at rest, in the same process.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import statistics
import time
from pathlib import Path

from bench.storms._weather import Promise, Weather
from reasoningbank.wiring import ReasoningBank

SLICE = 5
"""Searches of each reader in the test command."""
WRITERS, READERS = 8, 4
FEW_WRITERS, FEW_READERS = 3, 2
FEW_WRITES = 60
"""Of each writer in the test command, which then rests."""
AT_REST = 40
AT_FIRST, FEW_AT_FIRST = 1_000, 100
SLOT_BYTES = 64


def storm(weather: Weather) -> list[Promise]:
    found = Promise(
        "what another process was told is stored, the next search finds, or it says that it does not know all"
    )
    at_once = Promise("what another process was told is stored, the next search finds", timed=True)
    raised = Promise("no search raises beside writers")
    folder = weather.folder
    few = weather.most is not None
    _fill(folder, FEW_AT_FIRST if few else AT_FIRST)
    writers = [
        _writer(folder, number, FEW_WRITES if few else None) for number in range(FEW_WRITERS if few else WRITERS)
    ]
    crowd = len(writers), FEW_READERS if few else READERS
    readers = [_reader(weather, number, crowd) for number in range(crowd[1])]
    told = [json.loads(os.fdopen(pipe, "rb").read() or "null") for _, pipe in readers]
    for pid in (*writers, *(pid for pid, _ in readers)):
        _end(pid)
    rest, beside = [], []
    for each in told:
        if each is None:
            raised.violated("a reader died")
            continue
        raised.held(len(each["beside"]))
        for how in each["errors"]:
            raised.violated(how)
        found.held(each["found"] + len(each["late"]))
        at_once.held(each["found"])
        for how in each["lost"]:
            found.violated(how)
        for how in each["late"]:
            at_once.violated(how)
        rest += each["rest"]
        beside += each["beside"]
    if rest and beside:
        at_once.measured = _measured(rest, beside, len(writers))
    return [found, at_once, raised]


def _measured(rest: list[float], beside: list[float], writers: int) -> str:
    middle, at_rest = statistics.median(beside), statistics.median(rest)
    late = sorted(beside)[int(len(beside) * 0.99)]
    return (
        f"median {middle * 1e3:.1f} ms, p99 {late * 1e3:.0f} ms beside {writers} writers; "
        f"{at_rest * 1e3:.1f} ms at rest: {middle / at_rest:.0f} times"
    )


def _open(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=256, namespace="storm")


def _fill(folder: Path, count: int) -> None:
    pid = os.fork()
    if pid == 0:
        with _open(folder) as bank:
            rng = random.Random(1)
            words = [f"word{n}" for n in range(2_000)]
            bank.record_many(
                {"title": f"note {n}", "content": " ".join(rng.choices(words, k=30))} for n in range(count)
            )
            bank.catch_up()
        (folder / "latest").write_bytes(bytes(WRITERS * SLOT_BYTES))
        os._exit(0)
    os.waitpid(pid, 0)


def _end(pid: int) -> None:
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def _writer(folder: Path, number: int, most: int | None) -> int:
    pid = os.fork()
    if pid:
        return pid
    while not (folder / "go").exists():
        time.sleep(0.01)
    latest = os.open(folder / "latest", os.O_WRONLY)
    with _open(folder) as bank:
        for count in itertools.count(1) if most is None else range(1, most + 1):
            token = f"zq{number}x{count}"
            bank.record(title=f"{token} stored", content=f"{token} says how the wind blows for {count}")
            os.pwrite(latest, token.encode().ljust(SLOT_BYTES, b"\0"), number * SLOT_BYTES)
        signal.pause()
    os._exit(0)


def _reader(weather: Weather, number: int, crowd: tuple[int, int]) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    told = _searched(weather, random.Random(weather.seed + number), number, crowd)
    os.write(writing, json.dumps(told).encode())
    os.close(writing)
    time.sleep(3600)
    os._exit(0)


def _searched(weather: Weather, rng: random.Random, number: int, crowd: tuple[int, int]) -> dict[str, object]:
    folder, (writers, readers) = weather.folder, crowd
    rest: list[float] = []
    beside: list[float] = []
    errors: list[str] = []
    lost: list[str] = []
    late: list[str] = []
    found = 0
    with _open(folder) as bank:
        rest += [_timed(bank, f"word{rng.randrange(2_000)}")[0] for _ in range(AT_REST)]
        (folder / f"ready-{number}").touch()
        while len(list(folder.glob("ready-*"))) < readers:
            time.sleep(0.01)
        (folder / "go").touch()
        latest = os.open(folder / "latest", os.O_RDONLY)
        while not weather.over and (weather.most is None or len(beside) < weather.most):
            raw = os.pread(latest, SLOT_BYTES, rng.randrange(writers) * SLOT_BYTES).rstrip(b"\0")
            if not raw:
                time.sleep(0.005)
                continue
            token = raw.decode()
            try:
                took, titles, owed = _timed(bank, token)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
                errors.append(f"{type(error).__name__}: {error}")
                continue
            beside.append(took)
            if f"{token} stored" in titles:
                found += 1
            elif owed:
                late.append(f"{token} is stored and was not found: {owed} changes are not indexed yet")
            else:
                lost.append(f"{token} is stored, was not found, and nothing is said to be owed")
    return {
        "rest": rest,
        "beside": beside[:20_000],
        "errors": errors[:20],
        "lost": lost[:20],
        "late": late[:2_000],
        "found": found,
    }


def _timed(bank: ReasoningBank, text: str) -> tuple[float, list[str], int]:
    began = time.perf_counter()
    told = bank.search(text, floor=0.0, min_confidence=0.0, limit=5)
    return time.perf_counter() - began, [hit.title for hit in told.memories], told.not_yet_indexed
