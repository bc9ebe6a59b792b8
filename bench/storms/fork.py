"""Fork in every position, by chance: what any of the processes was told is stored is there, and none of them hangs.

Each round has a bank of its own. A process opens it, puts threads to work, and forks children before the first write,
in the middle of writes and searches of other threads, inside a read, a session or a unit, from another thread, and
children of children; they write, edit, erase, search, open the file anew, close, drop the bank or end in any order, and
the parent closes, ends or waits. What was acknowledged is noted outside; a child that is refused with a sentence is no
violation, one that hangs is.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import select
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench.storms._weather import Promise, Weather
from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import BankUnavailable, Conflict, NotFound, StoreError
from reasoningbank.core.types import Memory
from reasoningbank.wiring import ReasoningBank

SLICE = 2
"""Rounds in the test command."""
PATIENCE_S = 60.0
MOST_CHILDREN = 4
POSITIONS = ("first", "after", "threads", "read", "session", "unit", "worker", "busy unit")
PARENT_ENDS = ("closes first", "ends first", "waits", "exits")
_IN_THE_CHILD = 0
CHILD_ENDS = ("closes", "ends", "drops", "exits")


def storm(weather: Weather) -> list[Promise]:
    kept = Promise("what a forked process or its parent was told is stored is there, whole, and verify is clean")
    ended = Promise("a forked process ends, and is refused only with a sentence")
    seen: Counter[str] = Counter()
    for number in weather.rounds():
        folder = weather.folder / f"round-{number}"
        folder.mkdir()
        seed = weather.chance.getrandbits(32)
        if not _round(folder, seed):
            ended.violated(f"round {number}, seed {seed}: a process still ran after {PATIENCE_S:g} s")
        log = _log(folder)
        seen.update(line.split()[0] for line in log)
        ended.held(sum(line.startswith("begun") for line in log))
        for line in log:
            if line.startswith("error"):
                ended.violated(f"round {number}, seed {seed}: {line}")
        for how in _checked_apart(folder):
            kept.violated(f"round {number}, seed {seed}: {how}")
        kept.held(sum(line.startswith("kept") for line in log))
        if not kept.broken and not ended.broken:
            shutil.rmtree(folder)
    kept.measured = f"{seen['kept']:,} acknowledgements, {seen['gone']:,} erasures"
    ended.measured = f"{seen['begun']:,} forked, {seen['refused']:,} refusals"
    return [kept, ended]


def _round(folder: Path, seed: int) -> bool:
    """Whether every process of it ended by itself."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.close(reading)
        _guarded(folder, lambda: _parent(folder, random.Random(seed)))
    os.close(writing)
    # Every process of the round has the other end, so that this one ends with the last of them.
    there, _, _ = select.select([reading], [], [], PATIENCE_S)
    os.close(reading)
    if not there:
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return bool(there)


def _guarded(folder: Path, act: Callable[[], None]) -> None:
    """A process that ends here, and notes what it met."""
    try:
        act()
    except (StoreError, BankUnavailable) as error:
        refused = "forked" in str(error)
        _note(folder, "refused" if refused else f"error {type(error).__name__}: {error}")
    except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
        _note(folder, f"error {type(error).__name__}: {error}".replace("\n", " "))
    os._exit(0)


def _note(folder: Path, *words: object) -> None:
    line = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(line, " ".join(map(str, words)).encode() + b"\n")
    os.close(line)


def _log(folder: Path) -> list[str]:
    log = folder / "log"
    return log.read_text("utf-8").splitlines() if log.exists() else []


# ---------------------------------------------------------------- the processes


def _open(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=64, namespace="storm")


def _parent(folder: Path, rng: random.Random) -> None:
    bank = _open(folder)
    position = rng.choice(POSITIONS)
    if position != "first":
        _work(folder, bank, rng, rng.randrange(1, 6))
    over = threading.Event()
    threads = [
        threading.Thread(target=_keep_at_it, args=(folder, bank, random.Random(rng.getrandbits(32)), over), daemon=True)
        for _ in range(rng.randrange(1, 6) if position in ("threads", "worker", "busy unit") else 0)
    ]
    for thread in threads:
        thread.start()
    children = [_forked_at(position, folder, bank, rng) for _ in range(rng.randrange(1, MOST_CHILDREN + 1))]
    if rng.random() < 0.5:
        _work(folder, bank, rng, rng.randrange(1, 4))
    end = rng.choice(PARENT_ENDS)
    if end == "ends first":
        return
    over.set()
    for thread in threads:
        thread.join()
    if end == "closes first":
        bank.close()
    for child in children:
        os.waitpid(child, 0)
    if end == "waits":
        _work(folder, bank, rng, 2)
        bank.close()
    elif end == "exits":
        atexit._run_exitfuncs()  # noqa: SLF001 - as the interpreter does at the end of a process


def _forked_at(position: str, folder: Path, bank: Bank, rng: random.Random) -> int:
    seed = rng.getrandbits(32)
    if position == "read":
        with bank.context.store.read(bank.tenant) as reader:
            before = reader.count(Memory, {})
            child = _forked(folder, bank, seed)
            if reader.count(Memory, {}) != before:
                _note(folder, "error the parent's moment has moved")
        return child
    if position == "session":
        with bank.session(f"task {seed}") as run:
            child = _forked(folder, bank, seed)
            run.step("fork", "a child")
        return child
    if position in ("unit", "busy unit"):
        child = bank.atomically(lambda inner, _: _forked_in_unit(folder, bank, inner, seed))
        if child == _IN_THE_CHILD:
            _note(folder, "error a child committed its parent's unit")
        return child
    if position == "worker":
        got: list[int] = []
        worker = threading.Thread(target=lambda: got.append(_forked(folder, bank, seed)))
        worker.start()
        worker.join()
        return got[0]
    return _forked(folder, bank, seed)


def _forked_in_unit(folder: Path, bank: Bank, inner: Bank, seed: int) -> int:
    token = f"tok{seed:x}"
    inner.record(title=f"storm {token}", content=_content(token), metadata={"stamp": token})
    child = os.fork()
    if child == 0:
        _note(folder, "begun")
        # Whatever the child tries is refused; the unit is the parent's to commit.
        if seed % 2:
            _guarded(folder, lambda: _work(folder, bank, random.Random(seed), 3))
        return _IN_THE_CHILD
    return child


def _forked(folder: Path, bank: Bank, seed: int) -> int:
    child = os.fork()
    if child == 0:
        _note(folder, "begun")
        _guarded(folder, lambda: _child(folder, bank, random.Random(seed), depth=1))
    return child


def _child(folder: Path, bank: Bank, rng: random.Random, depth: int) -> None:
    if rng.random() < 0.3:
        # The parent is likely gone by then, and the file closed by it.
        time.sleep(rng.random() * 0.2)
    _work(folder, bank, rng, rng.randrange(0, 5))
    if rng.random() < 0.3:
        with _open(folder) as anew:
            _work(folder, anew, rng, 2)
    if rng.random() < 0.3 and depth < 3:
        seed = rng.getrandbits(32)
        grandchild = os.fork()
        if grandchild == 0:
            _note(folder, "begun")
            _guarded(folder, lambda: _child(folder, bank, random.Random(seed), depth + 1))
        if rng.random() < 0.5:
            os.waitpid(grandchild, 0)
    _work(folder, bank, rng, rng.randrange(0, 4))
    end = rng.choice(CHILD_ENDS)
    if end == "closes":
        bank.close()
    elif end == "drops":
        del bank
        gc.collect()
    elif end == "exits":
        atexit._run_exitfuncs()  # noqa: SLF001 - as the interpreter does at the end of a process


def _keep_at_it(folder: Path, bank: Bank, rng: random.Random, over: threading.Event) -> None:
    process = os.getpid()
    try:
        while not over.is_set():
            _work(folder, bank, rng, 1)
    except BaseException as error:  # noqa: BLE001 - the outermost door of this thread, and what it met is the finding
        if os.getpid() == process:
            _note(folder, f"error in a thread {type(error).__name__}: {error}".replace("\n", " "))
        else:
            # It led the write in which another thread's unit forked, and is all that there is of the child.
            _note(folder, "refused" if "forked" in str(error) else f"error {error}")
            os._exit(0)


def _work(folder: Path, bank: Bank, rng: random.Random, deeds: int) -> None:
    for _ in range(deeds):
        deed = rng.random()
        try:
            if deed < 0.5:
                token = f"tok{rng.getrandbits(60):x}"
                memory = bank.record(title=f"storm {token}", content=_content(token), metadata={"stamp": token})
                _note(folder, "kept", memory.id)
            elif deed < 0.6:
                for item in bank.list(limit=2):
                    bank.feedback(item.id, helpful=True)
            elif deed < 0.65:
                victim = rng.choice(bank.list(limit=20) or [None])
                if victim is not None:
                    _note(folder, "doomed", victim.id)
                    bank.erase(victim.id)
                    _note(folder, "gone", victim.id)
            else:
                bank.search(f"storm {rng.random()}", floor=0.0)
        except (Conflict, NotFound):
            # Another process was first, as it may be.
            continue


def _content(token: str) -> str:
    return f"storm {token} " + "wind " * 50 + f"end of {token}"


# ---------------------------------------------------------------- the promises


def _checked_apart(folder: Path) -> list[str]:
    """Check in a process of its own, so that the one that forks never has the bank open."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            found = _violations(folder)
        except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
            found = [f"the check met {type(error).__name__}: {error}"]
        os.write(writing, json.dumps(found[:20]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return list(json.loads(answer)) if answer else ["the check died"]


def _violations(folder: Path) -> list[str]:
    told: dict[str, set[str]] = {"kept": set(), "doomed": set(), "gone": set()}
    for line in _log(folder):
        word, _, memory_id = line.partition(" ")
        told.get(word, set()).add(memory_id)
    with _open(folder) as bank:
        with bank.context.store.read(bank.tenant) as reader:
            there = {memory.id: memory for memory in reader.select(Memory, {})}
        problems = [f"{lost} was acknowledged and is lost" for lost in told["kept"] - there.keys() - told["doomed"]]
        problems += [f"{back} was erased and is back" for back in told["gone"] & there.keys()]
        problems += [
            f"{memory.id} is half-written"
            for memory in there.values()
            if memory.content != _content(str(memory.metadata.get("stamp")))
        ]
        problems += [f"verify: {damage}" for damage in bank.verify()]
        numbers = [change.seq for change in bank.context.store.changes(0, 100_000)]
        if numbers != list(range(1, len(numbers) + 1)):
            problems.append("the feed has gaps")
        found = bank.search("storm", floor=0.0, min_confidence=0.0, limit=1_000)
        if found.total_found != len(there):
            problems.append(f"{len(there)} memories are active, {found.total_found} are found")
    return problems
