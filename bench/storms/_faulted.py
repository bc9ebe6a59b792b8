"""The storm of faults in a process whose calls to the system can be made to fail; `faults` starts it."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import signal
import sys
import traceback
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import bench.storms._actors  # noqa: F401 - loads what a bank needs before any fork
from bench.storms._verbs import VERBS, Known, open_bank, prepared
from bench.storms._weather import Promise, Weather
from reasoningbank.core.errors import BankError
from reasoningbank.core.types import State
from reasoningbank.wiring import ReasoningBank

OPEN, READ, WRITE, SYNC, SIZE, NAME, MAKE = (1 << bit for bit in range(7))
FAULTS = {
    errno.EIO: OPEN | READ | WRITE | SYNC | SIZE | NAME | MAKE,
    errno.ENOSPC: WRITE | SYNC | SIZE | MAKE,
    errno.EMFILE: OPEN,
    errno.EACCES: OPEN | NAME | MAKE,
}
ANY = OPEN | READ | WRITE | SYNC | SIZE | NAME | MAKE
LONGEST_S = 60


class Library:
    """The preloaded calls."""

    def __init__(self) -> None:
        self._calls = ctypes.CDLL(None)
        self._calls.faulty_disarm.restype = ctypes.c_long

    def watch(self, folder: Path) -> None:
        self._calls.faulty_watch(str(folder).encode())

    def arm(self, kinds: int, number: int, at: int, *, forever: bool) -> None:
        self._calls.faulty_arm(kinds, number, ctypes.c_long(at), int(forever))

    def disarm(self) -> int:
        return int(self._calls.faulty_disarm())


def main() -> None:
    folder, seconds, seed, most = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    weather = Weather(seconds, seed, folder, most or None)
    typed = Promise("whatever fails below, a caller meets a typed error with a sentence, never a raw one")
    true = Promise("what is acknowledged under faults is there once they are over")
    readable = Promise("after any fault the bank opens whole, nothing from before is lost, and its index catches up")
    names = list(VERBS)
    template = _prepared_apart(folder / "template")
    sizes: dict[tuple[str, int], int] = {}
    failed = 0
    for number in weather.rounds():
        verb = names[number % len(names)]
        fault = weather.chance.choice(list(FAULTS))
        forever = weather.chance.random() < 0.5
        if (verb, fault) not in sizes:
            sound = _apart(verb, _copy(template, folder / f"{number}-sound"), fault, 0, forever=False)
            sizes[verb, fault] = max(1, int(sound.get("calls", 1)))
            readable.check(set(sound) == {"calls"}, f"{verb} without any fault: {sound}")
        at = weather.chance.randint(1, sizes[verb, fault])
        case = f"round {number}: {verb}, {errno.errorcode[fault]} at call {at}{' and for ever' if forever else ''}"
        told = _apart(verb, _copy(template, folder / str(number)), fault, at, forever=forever)
        failed += bool(told.get("error"))
        typed.check(not told.get("raw"), f"{case}: {told.get('raw')}")
        true.check(not told.get("lie"), f"{case}: {told.get('lie')}")
        readable.check(not told.get("after"), f"{case}: {told.get('after')}")
    typed.measured = f"{failed:,} refusals by {len(names)} verbs"
    print(json.dumps([asdict(promise) for promise in (typed, true, readable)]))


def _prepared_apart(folder: Path) -> Known:
    """Made in another process, so that this one never has a bank open."""
    folder.mkdir()
    noted = folder / "known.json"
    pid = os.fork()
    if pid == 0:
        try:
            known = prepared(folder)
            noted.write_text(json.dumps([known.ids, known.forgotten, known.session]), "utf-8")
        except BaseException:  # noqa: BLE001 - a child of fork must end here
            traceback.print_exc()
        os._exit(0)
    os.waitpid(pid, 0)
    return Known(folder, *json.loads(noted.read_text("utf-8")))


def _copy(template: Known, folder: Path) -> Known:
    shutil.copytree(template.folder, folder)
    return replace(template, folder=folder)


def _apart(verb: str, known: Known, fault: int, at: int, *, forever: bool) -> dict[str, Any]:
    """One verb under one fault, in a process of its own."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        signal.alarm(LONGEST_S)
        try:
            told = _one(verb, known, fault, at, forever=forever)
        except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
            told = {"after": f"the check met {_described(error)}"}
        os.write(writing, json.dumps(told).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    shutil.rmtree(known.folder)
    return dict(json.loads(answer)) if answer else {"raw": f"the process ended with {code}"}


def _one(verb: str, known: Known, fault: int, at: int, *, forever: bool) -> dict[str, Any]:
    library = Library()
    told: dict[str, Any] = {}
    bank = open_bank(known.place)
    library.watch(known.folder)
    library.arm(FAULTS[fault], fault, at, forever=forever)
    seen = None
    try:
        seen = VERBS[verb](bank, known)
    except BankError as error:
        told["error"] = f"{type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001 - a raw error is what this looks for
        told["raw"] = _described(error)
    try:
        bank.close()
    except BankError:
        pass
    except BaseException as error:  # noqa: BLE001 - as above
        told["raw"] = f"in closing: {_described(error)}"
    told["calls"] = library.disarm()
    with open_bank(known.place) as later:
        if seen is not None and not seen(later):
            told["lie"] = "it was acknowledged and is not there"
        told |= _after(later, verb, known)
    return told


def _after(later: ReasoningBank, verb: str, known: Known) -> dict[str, str]:
    """What is wrong once the faults are over."""
    # Where nothing could be removed, the next copy does it.
    later.backup(known.folder / "swept.db")
    left = [path.name for path in known.folder.glob("*partial*")]
    damage = later.verify()
    active = {item.id for item in later.list(limit=1_000, state=State.ACTIVE)}
    changed = {"erase": {known.ids[3]}, "forget": {known.ids[4]}, "consolidate": set(known.ids)}.get(verb, set())
    lost = set(known.ids) - active - changed
    later.catch_up()
    found = {hit.id for hit in later.search("storm", limit=500, floor=0.0, min_confidence=0).memories}
    if damage:
        return {"after": f"verify: {damage[0]}"}
    if lost:
        return {"after": f"{len(lost)} memories from before are gone"}
    if active - found:
        return {"after": f"{len(active - found)} of {len(active)} are not found"}
    return {"after": f"left behind: {left}"} if left else {}


def _described(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-5:])
    return f"{type(error).__name__}: {error} ← {where}"


if __name__ == "__main__":
    main()
