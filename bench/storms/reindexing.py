"""Build the index anew from several processes at once, while others search, store, erase and remove its folder.

Each round forks two that reindex to chosen dimensions, two that search, and one that stores and erases; now and then
the folder of the index is removed, or one that reindexes is killed. No error may reach any of them, what is stored is
found, what is erased is never shown again, and in the end none of it is left in the files of the index.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bench.storms._weather import Promise, Weather
from reasoningbank.core.errors import NotFound
from reasoningbank.wiring import ReasoningBank

SLICE = 1
"""Rounds in the test command."""
AT_FIRST = 60
REINDEXES, SEARCHES, STORES = 2, 20, 8
DIMENSIONS = (16, 64, 96, 256)
PATIENCE_S = 120.0
Role = Callable[[Path, random.Random], list[str]]


def storm(weather: Weather) -> list[Promise]:
    quiet = Promise("no error reaches whoever searches, stores, erases or reindexes meanwhile")
    right = Promise("what is stored is found, and what is erased is neither shown nor left in the index")
    folder = weather.folder
    _apart(lambda: _fill(folder))
    for number in weather.rounds():
        _round(weather, number, quiet)
        told = _apart(lambda: _settled(folder))
        for how in told if isinstance(told, list) else [f"the check died: {told}"]:
            right.violated(f"round {number}: {how}")
        right.held()
    return [quiet, right]


def _open(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", namespace="storm")


def _fill(folder: Path) -> list[str]:
    with ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=64, namespace="storm") as bank:
        bank.record_many({"title": f"storm {n}", "content": f"mark{n} of the storm"} for n in range(AT_FIRST))
        bank.catch_up()
    (folder / "erased").touch()
    return []


def _round(weather: Weather, number: int, quiet: Promise) -> None:
    folder, chance = weather.folder, weather.chance
    roles: list[Role] = [_reindex, _reindex, _search, _search, _write]
    running = [_begun(role, folder, chance.getrandbits(32)) for role in roles]
    victim = running[0][0] if chance.random() < 0.3 else None
    removes = chance.random() < 0.4
    time.sleep(chance.random() * 0.5)
    if removes:
        shutil.rmtree(f"{folder / 'bank.db'}.index", ignore_errors=True)
    if victim is not None:
        os.kill(victim, signal.SIGKILL)
    what = f"round {number}{', folder removed' if removes else ''}{', one killed' if victim else ''}"
    for (pid, pipe), role in zip(running, roles, strict=True):
        told = _ended(pid, pipe)
        if told is None:
            quiet.check(pid == victim, f"{what}: {_name(role)} died or hung")
            continue
        quiet.held()
        for how in told:
            quiet.violated(f"{what}: {_name(role)}: {how}")


def _name(role: Role) -> str:
    return {_reindex: "reindex", _search: "search", _write: "store and erase"}[role]


# ---------------------------------------------------------------- who does what


def _reindex(folder: Path, rng: random.Random) -> list[str]:
    with _open(folder) as bank:
        for _ in range(REINDEXES):
            bank.reindex("hash", dimension=rng.choice(DIMENSIONS))
    return []


def _search(folder: Path, rng: random.Random) -> list[str]:
    wrong = []
    with _open(folder) as bank:
        for _ in range(SEARCHES):
            gone = set((folder / "erased").read_text("utf-8").split())
            number = rng.randrange(AT_FIRST)
            hits = bank.search(f"mark{number} of the storm", floor=0.0, min_confidence=0.0, limit=5).memories
            wrong += [f"{hit.id} was erased and is shown" for hit in hits if hit.id in gone]
    return wrong


def _write(folder: Path, rng: random.Random) -> list[str]:
    wrong = []
    with _open(folder) as bank:
        for _ in range(STORES):
            token = f"tok{rng.getrandbits(48):x}"
            kept = bank.record(title=f"storm {token}", content=f"{token} of the storm")
            found = bank.search(token, floor=0.0, min_confidence=0.0, limit=3)
            if kept.id not in [hit.id for hit in found.memories] and not found.not_yet_indexed:
                wrong.append(f"{kept.id} was stored, is not found, and nothing is said to be owed")
            if rng.random() < 0.5:
                with suppress(NotFound):
                    bank.erase(kept.id)
                with (folder / "erased").open("a", encoding="utf-8") as log:
                    log.write(f"{kept.id}\n")
    return wrong


def _settled(folder: Path) -> list[str]:
    gone = (folder / "erased").read_text("utf-8").split()
    with _open(folder) as bank:
        if not bank.catch_up(budget_s=60.0):
            return ["the index does not catch up"]
        problems = [f"verify: {damage}" for damage in bank.verify()][:5]
        found = {hit.id for hit in bank.search("of the storm", floor=0.0, min_confidence=0.0, limit=1_000).memories}
        listed = {each.id for each in bank.list(limit=1_000)}
        problems += [f"{memory_id} is not found" for memory_id in sorted(listed - found)[:5]]
        problems += [f"{memory_id} was erased and is back" for memory_id in gone if memory_id in found | listed]
    files = b"".join(p.read_bytes() for p in Path(f"{folder / 'bank.db'}.index").rglob("*") if p.is_file())
    return problems + [
        f"{memory_id} was erased and is in the index" for memory_id in gone if memory_id.encode() in files
    ]


# ---------------------------------------------------------------- processes


def _begun(role: Role, folder: Path, seed: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    try:
        told = role(folder, random.Random(seed))
    except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
        told = [f"{type(error).__name__}: {error}"]
    os.write(writing, json.dumps(told[:20]).encode())
    os._exit(0)


def _ended(pid: int, pipe: int) -> list[str] | None:
    deadline = time.monotonic() + PATIENCE_S
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            break
        time.sleep(0.01)
    with os.fdopen(pipe, "rb") as file:
        told = file.read()
    return list(json.loads(told)) if told else None


def _apart(work: Callable[[], list[str]]) -> list[str] | None:
    """In a process of its own, so that the one that forks never has the bank open."""
    pid, pipe = _begun(lambda _, __: work(), Path(), 0)
    return _ended(pid, pipe)
