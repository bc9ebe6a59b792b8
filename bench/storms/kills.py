"""Kill everybody who is at a bank, at random moments, and prove that nothing acknowledged was lost.

Writers, searchers, sessions, a distiller, a consolidator, an importer, a maker of backups, a reindexer, a server with
its clients, hooks and their reader work at one bank, each in a process that notes what it was told in a file outside
it. Each is killed with SIGKILL after some milliseconds, whatever it is doing, and replaced. Now and then, and at the
end, the bank is held to its promises.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from bench.storms._apart import Died, apart
from bench.storms._roles import IMPORTS, MEMORIES_PER_IMPORT, NAMESPACE, ROLES, SETTINGS, Actor, Place, read_once
from bench.storms._teaching import teacher
from bench.storms._weather import Promise, Weather
from reasoningbank.core.types import Memory
from reasoningbank.learn import queue
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.wiring import ReasoningBank

LIVES_S = (0.05, 0.3, 1.5)
"""Everybody lives at most one of these, chosen by chance: some die while opening, others in full work."""
SLICE = 6
"""Rounds in the test command."""
KILLS_BETWEEN_CHECKS = 250
READY_WITHIN_S = 2.0
PORTS = range(18_710, 19_710)
KEPT, JOBS, BACKUPS, FOUND, READY = "kept", "jobs", "backups", "found", "ready"


@dataclass(slots=True)
class Told:
    """What everybody was told: the newest acknowledged revision of each memory, which are gone for good, and so on."""

    revision: dict[str, int] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    doomed: set[str] = field(default_factory=set)
    """An erasure was begun; whether it happened is open unless it was acknowledged."""
    once: set[str] = field(default_factory=set)
    """Stamps of writes with a key."""
    ended: set[str] = field(default_factory=set)
    hooked: set[str] = field(default_factory=set)
    imported: set[int] = field(default_factory=set)
    consolidated: set[str] = field(default_factory=set)
    backups: dict[str, int] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    acknowledgements: int = 0
    errors: list[str] = field(default_factory=list)


def storm(weather: Weather) -> list[Promise]:
    promises = {
        KEPT: Promise("what was acknowledged before a kill is there, whole and in the feed; what was erased is not"),
        JOBS: Promise("no session is lost and none is learned from twice, whoever is killed"),
        BACKUPS: Promise("a backup that was acknowledged is whole"),
        FOUND: Promise("searching finds exactly the active memories after kills"),
        READY: Promise(f"a bank is ready again within {READY_WITHIN_S:g} s of processor after kills", timed=True),
    }
    place = _prepared(weather.folder)
    chance = weather.chance
    alive: dict[int, tuple[Callable[[Actor], None], float]] = {}
    waiting = list(ROLES)
    done = 0
    for _ in weather.rounds():
        for role in waiting:
            life_s = chance.random() * chance.choice(LIVES_S)
            alive[_start(place, role, chance.getrandbits(32))] = (role, time.monotonic() + life_s)
        pid = min(alive, key=lambda pid: alive[pid][1])
        role, until = alive.pop(pid)
        time.sleep(max(0.0, until - time.monotonic()))
        _kill(pid)
        waiting = [role]
        done += 1
        if done % KILLS_BETWEEN_CHECKS == 0:
            # While the others go on.
            _hold_to(promises, place, settled=False)
            if any(promise.broken for promise in promises.values()):
                break
    for pid in alive:
        _kill(pid)
    _hold_to(promises, place, settled=True)
    told = told_in(place.folder)
    promises[KEPT].held(done + len(alive))
    promises[KEPT].measured = f"kills; {told.acknowledgements:,} acknowledgements, {len(told.erased):,} erased"
    return list(promises.values())


WARM = (
    "reasoningbank_server.server",
    "reasoningbank_server.start",
    "reasoningbank.serve.mcp.http",
    "reasoningbank_coding_agents.hook_listener",
    "reasoningbank.recall.search",
    "reasoningbank.index.embedded",
)
"""Loaded once, before anybody is forked: a process that dies while importing tells nothing."""


def _prepared(folder: Path) -> Place:
    for name in WARM:
        import_module(name)
    for name in ("backups", "imports", "transcripts"):
        (folder / name).mkdir()
    place = Place(folder, _free_port())
    apart(_write_imports, place)
    return place


def _free_port() -> int:
    """None that the system gives to those who connect: a client that finds nobody there could be given it, and would
    be talking to itself.
    """
    for port in PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError(f"No port from {PORTS.start} to {PORTS.stop} is free.")


def _write_imports(place: Place) -> None:
    for number in range(IMPORTS):
        with ReasoningBank.open(":memory:", embedder="hash", namespace=NAMESPACE, config="none") as other:
            for memory in range(MEMORIES_PER_IMPORT):
                title = f"import {number} {memory}"
                other.record(title=title, content=f"storm from elsewhere, {title}", metadata={"import": number})
            lines = "".join(f"{line.rstrip()}\n" for line in other.export_lines())
            place.import_file(number).write_text(lines, "utf-8")


def _start(place: Place, role: Callable[[Actor], None], seed: int) -> int:
    """A process that works until it is killed. It is forked before anything is open, so it starts warm and clean."""
    pid = os.fork()
    if pid:
        return pid
    log = os.open(place.folder / "told", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        role(Actor(place, random.Random(seed), log))
    except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
        met = f"error {role.__name__} met {type(error).__name__}: {error}"
        os.write(log, met.replace("\n", " ").encode() + b"\n")
    os._exit(1)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _hold_to(promises: dict[str, Promise], place: Place, *, settled: bool) -> None:
    try:
        findings = apart(_findings, place, settled)
    except Died as death:
        promises[KEPT].violated(f"the check: {death}")
        return
    for which, (tries, problems) in findings.items():
        promises[which].held(tries)
        for how in problems:
            # What is lost once is lost at every look.
            if how not in promises[which].violations:
                promises[which].violated(how)


# ---------------------------------------------------------------- what must hold


def told_in(folder: Path) -> Told:  # noqa: C901 - one case for each word
    told = Told()
    log = folder / "told"
    for line in log.read_text("utf-8").splitlines() if log.exists() else ():
        told.acknowledgements += 1
        match line.split():
            case ["kept", memory_id, revision]:
                told.revision[memory_id] = max(int(revision), told.revision.get(memory_id, 0))
            case ["doomed", memory_id]:
                told.doomed.add(memory_id)
            case ["erased", memory_id]:
                told.erased.add(memory_id)
            case ["once", stamp]:
                told.once.add(stamp)
            case ["ended", session]:
                told.ended.add(session)
            case ["hooked", session]:
                told.hooked.add(session)
            case ["imported", number]:
                told.imported.add(int(number))
            case ["consolidated", run]:
                told.consolidated.add(run)
            case ["backup", name, head]:
                told.backups[name] = int(head)
            case ["dropped", name]:
                told.dropped.add(name)
            case ["about-to-hook", _]:
                pass
            case ["error", *words]:
                told.errors.append(" ".join(words))
            case _:
                told.errors.append(f"a torn acknowledgement: {line!r}")
    return told


def _findings(place: Place, settled: bool) -> dict[str, tuple[int, list[str]]]:
    os.environ.update(SETTINGS)
    # Read before the bank is opened: everything acknowledged by now must be in it.
    told = told_in(place.folder)
    began = time.process_time()
    with place.open() as bank:
        bank.search("storm", floor=0.0)
        ready_s = time.process_time() - began
        findings = {
            KEPT: (0, told.errors + _lost(place, bank, told)),
            BACKUPS: _spoilt_backups(place, told),
            READY: (1, []) if ready_s <= READY_WITHIN_S else (0, [f"it took {ready_s:.1f} s"]),
        }
        if settled:
            findings[JOBS] = _unlearned(place, bank, told)
            findings[FOUND] = (1, []) if not (unfound := _unfound(bank)) else (0, unfound)
    return findings


def _lost(place: Place, bank: ReasoningBank, told: Told) -> list[str]:
    store = bank.context.store
    with store.read(bank.tenant) as reader:
        there = {memory.id: memory for memory in reader.select(Memory, {})}
    # Somebody may have begun to erase one meanwhile.
    told.doomed |= told_in(place.folder).doomed
    problems = _broken(told, there)
    runs = {run.id for run in bank.upkeep.runs()}
    problems += [f"the run {run} of a consolidation is lost" for run in told.consolidated - runs]
    imports = Counter(memory.metadata["import"] for memory in there.values() if "import" in memory.metadata)
    problems += [
        f"of import {number}, {imports[number]} of {MEMORIES_PER_IMPORT} memories are there"
        for number in told.imported
        if imports[number] != MEMORIES_PER_IMPORT
    ]
    stamps = Counter(memory.metadata.get("stamp") for memory in there.values())
    problems += [f"{stamp} was written {stamps[stamp]} times" for stamp in told.once if stamps[stamp] > 1]
    numbers: list[int] = []
    while page := store.changes(numbers[-1] if numbers else 0, 10_000):
        numbers += [change.seq for change in page]
    if numbers != list(range(1, len(numbers) + 1)):
        problems.append("the feed has gaps")
    problems += [f"verify: {damage}" for damage in bank.verify()]
    return problems


def _broken(told: Told, there: dict[str, Memory]) -> list[str]:
    problems = []
    for memory_id, revision in told.revision.items():
        memory = there.get(memory_id)
        if memory is None:
            if memory_id not in told.doomed:
                problems.append(f"{memory_id} was acknowledged and is lost")
        elif memory.revision < revision:
            problems.append(f"{memory_id} is at revision {memory.revision}, acknowledged was {revision}")
    problems += [f"{memory_id} was erased and is back" for memory_id in told.erased & there.keys()]
    for memory in there.values():
        if "stamp" in memory.metadata:
            stamp = memory.metadata["stamp"]
            whole = re.fullmatch(rf"storm {stamp} r(\d+) (wind )*end of {stamp} r\1", memory.content)
            if whole is None or int(whole[1]) > memory.revision:
                problems.append(f"{memory.id} is half-written")
    return problems


def _spoilt_backups(place: Place, told: Told) -> tuple[int, list[str]]:
    there = {path.name: path for path in place.backups()}
    # Somebody may have begun to drop one meanwhile.
    expected = told.backups.keys() - told_in(place.folder).dropped
    problems = [f"{name} is lost" for name in expected - there.keys()]
    for name in expected & there.keys():
        copy = place.folder / "tried.db"
        try:
            shutil.copy(there[name], copy)
        except FileNotFoundError:
            continue
        store = SqliteStore(copy, create=False)
        damage, head = store.verify(), store.head()
        store.close()
        copy.unlink()
        if damage or head < told.backups[name]:
            problems.append(f"{name} reaches {head} of {told.backups[name]}: {damage[:2]}")
    return len(expected), problems


def _unlearned(place: Place, bank: ReasoningBank, told: Told) -> tuple[int, list[str]]:
    """Work everything off, then count."""
    queue.FIRST_WAIT_S = 0.01
    read_once(place)
    while bank.distill(teachers=[teacher()]).attempts:
        pass
    items = bank.jobs.list(limit=1 << 30)
    sessions = {session.id: session for session in bank.sessions(limit=1 << 30)}
    with bank.context.store.read(bank.tenant) as reader:
        lessons = Counter(memory.source for memory in reader.select(Memory, {}))
    jobs = Counter(item.job.subject for item in items)
    problems = [f"{session} was ended and is lost" for session in told.ended - sessions.keys()]
    problems += [f"{session} has {jobs[session]} jobs" for session in told.ended if jobs[session] != 1]
    for item in items:
        learned = lessons[item.job.subject]
        # One that was killed five times by chance is given up, visibly.
        if item.standing != "dead" and (item.standing != "done" or learned != 1):
            problems.append(f"{item.job.id} is {item.standing} with {learned} lessons")
    tasks = Counter(word for session in sessions.values() for word in session.task.split() if word.startswith("tok"))
    problems += [
        f"the hooked session {stamp} was kept {tasks[stamp]} times" for stamp in told.hooked if tasks[stamp] != 1
    ]
    return len(items) + len(told.hooked), problems


def _unfound(bank: ReasoningBank) -> list[str]:
    if not bank.catch_up(budget_s=120.0):
        return ["the index does not catch up"]
    with bank.context.store.read(bank.tenant) as reader:
        active = {memory.id for memory in reader.select(Memory, {"state": "active", "namespace": NAMESPACE})}
    found = set(bank.candidates("storm", depth=len(active) + 1_000).ids)
    problems = [f"{memory_id} is found and is not active" for memory_id in found - active]
    problems += [f"{memory_id} is not found" for memory_id in active - found]
    return problems
