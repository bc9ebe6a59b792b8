"""Interrupt writers at random moments, and hold what they were told about their writes against the bank.

Three ways by turns: a process whose only thread is interrupted by a signal's handler (once or several times in a row,
by Ctrl-C or by an error of its own), one with sixteen threads into which errors are thrown from outside, and the
command line with SIGINT at any time. What a caller is told is a claim: it came back, so it is written; or a sentence
says that it had been committed, or that nothing was written. Nothing said is no claim.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench.storms._weather import Promise, Weather
from reasoningbank.bank.bank import Bank
from reasoningbank.core.interrupts import was_written
from reasoningbank.core.types import Memory, Signal, Trajectory
from reasoningbank.wiring import ReasoningBank

SLICE = 4
"""Rounds in the test command."""
PATIENCE_S = 90.0
DEEDS = 60
THREADS = 16
DEEDS_PER_THREAD = 12
COMMANDS = 3
Claims = dict[str, bool | None]


class Alarm(Exception):
    """As a signal's handler may raise it."""


def storm(weather: Weather) -> list[Promise]:
    true = Promise("what is said of a write that was interrupted is true")
    goes_on = Promise("after interrupts the bank goes on: nothing hangs, the next write is made, verify is clean")
    said: Counter[str] = Counter()
    ways = (_one_thread, _one_thread, _many_threads, _command_line)
    for number in weather.rounds():
        folder = weather.folder / f"round-{number}"
        folder.mkdir()
        seed, way = weather.chance.getrandbits(32), ways[number % len(ways)]
        found = _apart(lambda way=way, folder=folder, seed=seed: way(folder, random.Random(seed)))  # type: ignore[misc]
        where = f"round {number}, {way.__name__.strip('_')}, seed {seed}"
        if found is None:
            goes_on.violated(f"{where}: it still ran after {PATIENCE_S:g} s, or died")
            continue
        for how in found["lies"]:
            true.violated(f"{where}: {how}")
        for how in found["problems"]:
            goes_on.violated(f"{where}: {how}")
        true.held(found["claims"])
        goes_on.held()
        said.update(found["said"])
        if not found["lies"] and not found["problems"]:
            shutil.rmtree(folder)
    true.measured = ", ".join(f"{count:,} {word}" for word, count in sorted(said.items()))
    return [true, goes_on]


def _apart(act: Callable[[], dict[str, object]]) -> dict[str, object] | None:
    """Run in a process of its own; None when it does not come to its end."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.setpgid(0, 0)
        try:
            found = act()
        except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
            found = {"lies": [], "problems": [f"{type(error).__name__}: {error}"], "claims": 0, "said": {}}
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    there, _, _ = select.select([reading], [], [], PATIENCE_S)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read() if there else b""
    if not there:
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return json.loads(answer) if answer else None


def _open(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=64, namespace="storm")


# ---------------------------------------------------------------- deeds, and what is there of them


def _record(bank: Bank, token: str) -> None:
    bank.record(title=token, content=f"storm {token}")


def _record_many(bank: Bank, token: str) -> None:
    bank.record_many([{"title": token, "content": f"storm {token} {part}"} for part in range(3)])


def _store(bank: Bank, token: str) -> None:
    bank.store(token, f"storm {token}", title=token)


def _feedback(bank: Bank, token: str) -> None:
    bank.feedback("the first", helpful=True, comment=token)


def _edit(bank: Bank, token: str) -> None:
    bank.edit("the first", description=token)


def _session(bank: Bank, token: str) -> None:
    bank.start_session(token)


DEED: tuple[Callable[[Bank, str], None], ...] = (_record, _record_many, _store, _feedback, _edit, _session)


def _warmed(folder: Path) -> ReasoningBank:
    """A bank in which everything was done once: an import that is interrupted in one thread may hang in another, which
    is Python's own affair.
    """
    bank = _open(folder)
    bank.store("the first", "of all")
    for deed in DEED:
        deed(bank, f"warm{deed.__name__}")
    return bank


def _written(bank: Bank) -> set[str]:
    """Every token that is in the bank."""
    with bank.context.store.read(bank.tenant) as reader:
        memories = reader.select(Memory, {})
        texts = {memory.title for memory in memories}
        for memory in memories:
            if memory.key == "the first":
                texts |= {one.description for one in (memory, *reader.revisions(Memory, memory.id))}
        texts |= {one.comment for one in reader.select(Signal, {})}
        texts |= {one.task for one in reader.select(Trajectory, {})}
    return texts


def _claim(act: Callable[[], None]) -> bool | None:
    try:
        act()
    except BaseException as error:  # noqa: BLE001 - the interrupt itself, too
        return was_written(error)
    return True


def _found(bank: Bank, claims: Claims, problems: list[str]) -> dict[str, object]:
    there = _written(bank)
    lies = [
        f"{token} is said to be written and is not" for token, said in claims.items() if said and token not in there
    ]
    lies += [
        f"{token} is said not to be written and is"
        for token, said in claims.items()
        if said is False and token in there
    ]
    _record(bank, "last")
    if "last" not in _written(bank):
        problems.append("the next write is lost")
    problems += [f"verify: {damage}" for damage in bank.verify()]
    numbers = [change.seq for change in bank.context.store.changes(0, 100_000)]
    if numbers != list(range(1, len(numbers) + 1)):
        problems.append("the feed has gaps")
    said = Counter({True: "written", False: "not written", None: "unsaid"}[claim] for claim in claims.values())
    return {"lies": lies, "problems": problems, "claims": len(claims), "said": said}


# ---------------------------------------------------------------- the ways


def _one_thread(folder: Path, rng: random.Random) -> dict[str, object]:
    bank, claims, left = _warmed(folder), Claims(), [0]
    kinds = (KeyboardInterrupt, KeyboardInterrupt, Alarm)

    def handler(*_: object) -> None:
        if left[0] > 0:
            left[0] -= 1
            if left[0]:
                signal.setitimer(signal.ITIMER_REAL, rng.random() * 0.0005 + 1e-6)
            raise rng.choice(kinds)

    signal.signal(signal.SIGALRM, handler)
    for number in range(DEEDS):
        token, deed = f"deed{number}", rng.choice(DEED)

        def act(token: str = token, deed: Callable[[Bank, str], None] = deed) -> None:
            left[0] = rng.choice((1, 1, 2, 4))
            signal.setitimer(signal.ITIMER_REAL, rng.random() ** 2 * 0.02 + 1e-6)
            deed(bank, token)
            left[0] = 0

        try:
            claims[token] = _claim(act)
        except (KeyboardInterrupt, Alarm):
            # It came once more, while this storm itself was looking at the one before.
            claims[token] = None
        left[0] = 0
    signal.setitimer(signal.ITIMER_REAL, 0)
    return _found(bank, claims, [])


def _many_threads(folder: Path, rng: random.Random) -> dict[str, object]:  # noqa: C901 - one scene, told in order
    bank, claims, problems = _warmed(folder), Claims(), list[str]()
    at_work: dict[int, bool] = {}

    def work(name: int, chance: random.Random) -> None:
        for number in range(DEEDS_PER_THREAD):
            token, deed = f"deed{name}x{number}", chance.choice(DEED)

            def act(token: str = token, deed: Callable[[Bank, str], None] = deed) -> None:
                at_work[threading.get_ident()] = True
                deed(bank, token)

            try:
                claims[token] = None
                claims[token] = _claim(act)
                at_work[threading.get_ident()] = False
            except KeyboardInterrupt:
                # It came in the storm's own steps.
                continue

    def guarded(name: int, chance: random.Random) -> None:
        try:
            work(name, chance)
        except KeyboardInterrupt:
            pass
        finally:
            at_work.pop(threading.get_ident(), None)

    threads = [
        threading.Thread(target=guarded, args=(name, random.Random(rng.getrandbits(32))), daemon=True)
        for name in range(THREADS)
    ]
    threading.excepthook = lambda *_: None
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE_S / 2
    while any(thread.is_alive() for thread in threads) and time.monotonic() < deadline:
        time.sleep(rng.random() * 0.01)
        busy = [ident for ident, working in list(at_work.items()) if working]
        if busy:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(rng.choice(busy)), ctypes.py_object(KeyboardInterrupt)
            )
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    stuck = [thread.ident for thread in threads if thread.is_alive()]
    if stuck:
        problems += [f"a thread hangs in {_place_of(ident)}" for ident in stuck]
        return {"lies": [], "problems": problems, "claims": 0, "said": {}}
    return _found(bank, claims, problems)


def _place_of(ident: int | None) -> str:
    """Where a thread is, in our own code, innermost first."""
    frame = sys._current_frames().get(ident or 0)  # noqa: SLF001 - there is no other way to see where a thread stands
    lines = [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_stack(frame)] if frame else []
    return " < ".join(reversed(lines[-6:]))


def _command_line(folder: Path, rng: random.Random) -> dict[str, object]:
    claims, problems = Claims(), list[str]()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with _open(folder) as bank:
        bank.store("the first", "of all")
    path = str(folder / "bank.db")
    for number in range(COMMANDS):
        token = f"deed{number}"
        words = ["--bank", path, "--namespace", "storm", "store", token, f"storm {token}", "--title", token]
        process = subprocess.Popen(
            [sys.executable, "-m", "reasoningbank", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(rng.random())
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE_S / 3)
        if process.returncode == 0 or "had been committed" in told:
            claims[token] = True
        else:
            claims[token] = False if "Nothing was written" in told else None
    with _open(folder) as bank:
        return _found(bank, claims, problems)
