"""Kill writers at random moments for as long as you like, then prove that nothing acknowledged was lost.

A few processes write, edit, judge, erase and search in one bank and note what was acknowledged in a file outside it;
each is killed with SIGKILL after some milliseconds, whatever it is doing, and replaced. Now and then, and at the end,
the bank is opened and held to its promises: every acknowledged change is there and whole, every acknowledged erasure is
final, the feed has no gap, `verify` finds nothing, and searching finds exactly the active memories.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.storms._weather import Promise, Weather
from reasoningbank.core.errors import Conflict, NotFound
from reasoningbank.core.types import Memory
from reasoningbank.wiring import ReasoningBank

LIVES_S = (0.03, 0.1, 0.4)
"""A writer lives at most one of these, chosen by chance: some die while opening, others in full work."""
WRITERS = 3
SLICE = 120
"""Rounds in the test command."""
KILLS_BETWEEN_CHECKS = 250
MOST_LISTED = 1_000


@dataclass(slots=True)
class Acknowledged:
    """What the writers were told: the newest acknowledged revision of each memory, and which are gone for good."""

    revision: dict[str, int] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    doomed: set[str] = field(default_factory=set)
    """An erasure was begun; whether it happened is open unless it was acknowledged."""
    acknowledgements: int = 0
    errors: list[str] = field(default_factory=list)


def storm(weather: Weather) -> list[Promise]:
    folder, chance = weather.folder, weather.chance
    kept = Promise("what was acknowledged before a kill is there, whole, found and in the feed")
    alive: dict[int, float] = {}
    done = 0
    for _ in weather.rounds():
        while len(alive) < WRITERS:
            alive[_writer(folder, chance.getrandbits(32))] = time.monotonic() + chance.random() * chance.choice(LIVES_S)
        pid = min(alive, key=alive.__getitem__)
        time.sleep(max(0.0, alive.pop(pid) - time.monotonic()))
        _kill(pid)
        done += 1
        if done % KILLS_BETWEEN_CHECKS == 0:
            # While the other writers go on.
            for how in _checked_apart(folder, settled=False):
                kept.violated(how)
        if kept.broken:
            break
    for pid in alive:
        _kill(pid)
    for how in _checked_apart(folder, settled=True):
        kept.violated(how)
    promises = _promises(folder)
    kept.held(done + len(alive))
    kept.measured = f"kills; {promises.acknowledgements:,} acknowledgements, {len(promises.erased):,} erased"
    return [kept]


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


# ---------------------------------------------------------------- the writers


def _open(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=64, namespace="storm")


def _writer(folder: Path, seed: int) -> int:
    """A process that works until it is killed. It is forked before anything is open, so it starts warm and clean."""
    pid = os.fork()
    if pid:
        return pid
    log = os.open(folder / "acknowledged", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        _work(folder, random.Random(seed), log)
    except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
        os.write(log, f"error {type(error).__name__}: {error}".replace("\n", " ").encode() + b"\n")
    os._exit(1)


def _work(folder: Path, rng: random.Random, log: int) -> None:  # noqa: C901 - one branch for each deed
    bank = _open(folder)

    def acknowledge(*words: object) -> None:
        os.write(log, " ".join(map(str, words)).encode() + b"\n")

    while True:
        deed = rng.random()
        try:
            if deed < 0.55:
                token = f"tok{rng.getrandbits(60):x}"
                kept = bank.record(
                    title=f"storm {token}",
                    content=_content(token, 1, rng.randrange(0, 6_000)),
                    metadata={"stamp": token},
                )
                acknowledge("kept", kept.id, 1)
            elif deed < 0.7:
                recent = rng.choice(bank.list(limit=20) or [None])
                if recent is not None:
                    token, revision = recent.memory.metadata["stamp"], recent.memory.revision
                    text = _content(token, revision + 1, rng.randrange(0, 3_000))
                    edited = bank.edit(recent.id, content=text, expected_revision=revision)
                    acknowledge("kept", edited.id, edited.memory.revision)
            elif deed < 0.8:
                for item in bank.list(limit=3):
                    bank.feedback(item.id, helpful=rng.random() < 0.8)
            elif deed < 0.84:
                victim = rng.choice(bank.list(limit=50) or [None])
                if victim is not None:
                    acknowledge("doomed", victim.id)
                    bank.erase(victim.id)
                    acknowledge("erased", victim.id)
            else:
                bank.search(f"storm {rng.random()}", floor=0.0)
        except (Conflict, NotFound):
            # Another writer edited or erased it first, as it may.
            continue


def _content(token: str, revision: int, padding: int) -> str:
    return f"storm {token} r{revision} " + "wind " * (padding // 5) + f"end of {token} r{revision}"


# ---------------------------------------------------------------- the promises


def _promises(folder: Path) -> Acknowledged:
    promises = Acknowledged()
    log = folder / "acknowledged"
    for line in log.read_text("utf-8").splitlines() if log.exists() else ():
        match line.split():
            case ["kept", memory_id, revision]:
                promises.acknowledgements += 1
                promises.revision[memory_id] = max(int(revision), promises.revision.get(memory_id, 0))
            case ["doomed", memory_id]:
                promises.doomed.add(memory_id)
            case ["erased", memory_id]:
                promises.acknowledgements += 1
                promises.erased.add(memory_id)
            case ["error", *words]:
                promises.errors.append(" ".join(words))
            case _:
                promises.errors.append(f"a torn acknowledgement: {line!r}")
    return promises


def _checked_apart(folder: Path, *, settled: bool) -> list[str]:
    """Check in a process of its own, so that the one that forks writers never has the bank open."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            found = _violations(folder, settled=settled)
        except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
            found = [f"the check met {type(error).__name__}: {error}"]
        os.write(writing, json.dumps(found[:20]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return list(json.loads(answer)) if answer else ["the check died"]


def _violations(folder: Path, *, settled: bool) -> list[str]:
    # Read before the bank is opened: everything acknowledged by now must be in it.
    promises = _promises(folder)
    problems = [f"a writer met {error}" for error in promises.errors]
    with _open(folder) as bank:
        store = bank.desk.store
        with store.read(bank.tenant) as reader:
            there = {memory.id: memory for memory in reader.select(Memory, {})}
        problems += _broken(promises, there)
        numbers: list[int] = []
        while page := store.changes(numbers[-1] if numbers else 0, 10_000):
            numbers += [change.seq for change in page]
        if numbers != list(range(1, len(numbers) + 1)):
            problems.append("the feed has gaps")
        problems += [f"verify: {damage}" for damage in bank.verify()]
        if settled:
            problems += _unfound(bank, there)
    return problems


def _broken(promises: Acknowledged, there: dict[str, Memory]) -> list[str]:
    problems = []
    for memory_id, revision in promises.revision.items():
        memory = there.get(memory_id)
        if memory is None:
            if memory_id not in promises.doomed:
                problems.append(f"{memory_id} was acknowledged and is lost")
        elif memory.revision < revision:
            problems.append(f"{memory_id} is at revision {memory.revision}, acknowledged was {revision}")
    problems += [f"{memory_id} was erased and is back" for memory_id in promises.erased & there.keys()]
    for memory in there.values():
        stamp = f"{memory.metadata['stamp']} r{memory.revision}"
        if not re.fullmatch(rf"storm {stamp} (wind )*end of {stamp}", memory.content):
            problems.append(f"{memory.id} is half-written")
    return problems


def _unfound(bank: ReasoningBank, there: dict[str, Memory]) -> list[str]:
    if not bank.catch_up(budget_s=120.0):
        return ["the index does not catch up"]
    index = bank.search("storm", floor=0.0, min_confidence=0.0, limit=MOST_LISTED)
    found = {hit.id for hit in index.memories}
    problems = [f"{memory_id} is found and does not exist" for memory_id in found - there.keys()]
    if len(there) <= MOST_LISTED:
        problems += [f"{memory_id} is not found" for memory_id in there.keys() - found]
    if index.total_found != len(there):
        problems.append(f"{len(there)} memories are active, {index.total_found} are found")
    return problems
