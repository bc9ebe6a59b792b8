"""Lose power at any moment of a recorded run, and hold the bank to its word on whatever the disk kept.

A run does everything that a bank can do: alone, with sixteen threads, with several processes, and with durability
`normal`. `_recorder` writes down what it asks of the disk and what it was told; `_disk` puts together what a power loss
may leave at any moment: what was synced is there, all else may be lost, torn at sectors or reordered. Each such state
is opened as after a reboot. What was acknowledged is there, what was erased is not, nothing is damaged, backups are
whole, and searching finds exactly the active memories.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.storms._apart import Died, apart
from bench.storms._deeds import BANK, alone, open_bank, processes, threads
from bench.storms._disk import Disk, Tree
from bench.storms._recorder import BANK_MARK, Recorder, events_in
from bench.storms._weather import Promise, Weather
from reasoningbank.core.types import Memory
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.wiring import ReasoningBank

SLICE = 2
"""Rounds in the test command: one thread, and sixteen that share commits."""
CUTS, FEW_CUTS = 20, 5
"""Moments of a run at which the power fails; the few are those of the test command."""
LOSSES = 4
"""States for each moment."""
SEARCHED_EVERY = 5
MOST_FOUND = 5_000

KINDS = ("alone", "threads", "processes", "normal")


@dataclass(slots=True)
class Told:
    """What callers had been told when the power failed."""

    head: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    doomed: set[str] = field(default_factory=set)
    erased: dict[str, str] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    backups: dict[str, int] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)
    met: list[str] = field(default_factory=list)

    def hear(self, words: tuple[Any, ...]) -> None:
        match words:
            case ("head", head):
                self.head = max(self.head, head)
            case ("kept", memory_id, revision):
                self.kept[memory_id] = max(revision, self.kept.get(memory_id, 0))
            case ("doomed", memory_id):
                self.doomed.add(memory_id)
            case ("erased", memory_id, stamp):
                self.erased[memory_id] = stamp
            case ("token", token_id):
                self.tokens.add(token_id)
            case ("backup", name, head):
                self.backups[name] = head
            case ("note", path):
                self.notes.add(path)
            case ("met", what):
                self.met.append(what)


def storm(weather: Weather) -> list[Promise]:
    promises = {
        "runs": Promise("a run whose disk is recorded meets no error"),
        "opens": Promise("a bank opens after a power loss and nothing in it is damaged"),
        "kept": Promise("what was acknowledged before a power loss is there, at durability full"),
        "prefix": Promise("what is there after a power loss is a beginning of what was written, without a gap"),
        "erased": Promise("what was erased stays so, and its bytes are gone from the bank"),
        "backups": Promise("a backup that was acknowledged is there and whole"),
        "found": Promise("searching finds exactly the active memories after a power loss"),
    }
    place = Path("/dev/shm") if Path("/dev/shm").is_dir() else weather.folder
    with tempfile.TemporaryDirectory(prefix="power-", dir=place) as name:
        for number in weather.rounds():
            seed = weather.chance.getrandbits(32)
            kind = KINDS[number % len(KINDS)]
            try:
                # A state may kill whoever opens it.
                answer = apart(_round, Path(name), kind, seed, FEW_CUTS if weather.most is not None else CUTS)
            except Died as death:
                answer = {"runs": {"held": 0, "violations": [str(death)]}}
            for which, found in answer.items():
                promises[which].held(found["held"])
                for how in found["violations"]:
                    promises[which].violated(f"round {number} ({kind}): {how}")
            _empty(Path(name))
    promises["opens"].measured = "states"
    return list(promises.values())


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


# ---------------------------------------------------------------- a round: one run, many power losses


def _round(place: Path, kind: str, seed: int, cuts: int) -> dict[str, Any]:
    rng = random.Random(seed)
    root, log = place / "disk", place / "log"
    root.mkdir()
    root_number = root.stat().st_ino
    findings = Findings()
    # What is recorded cannot be unrecorded.
    met = apart(_run, root, log, kind, rng.getrandbits(32))
    findings.check("runs", not met, met)
    events = list(events_in(log))
    truth = next((event[2] for _, event in reversed(events) if event[:2] == ("said", "feed")), [])
    checker = Checker(place / "state", kind, [tuple(change) for change in truth], findings)
    for told, tree, is_searched in _losses(events, root_number, rng, cuts):
        checker.check(tree, told, is_searched=is_searched)
    return findings.answer()


def _run(root: Path, log: Path, kind: str, seed: int) -> str:
    recorder, rng = Recorder(root, log), random.Random(seed)
    recorder.start()
    met = ""
    try:
        if kind == "threads":
            threads(root, recorder, rng, 16, 3)
        elif kind == "processes":
            processes(root, recorder, rng, 3, 3)
        else:
            alone(root, recorder, rng, "normal" if kind == "normal" else "full")
    except Exception as error:  # noqa: BLE001 - what the run met is the finding
        met = f"{type(error).__name__}: {error}"
    feed = []
    with open_bank(root) as bank:
        while page := bank.context.store.changes(feed[-1][0] if feed else 0, 10_000):
            feed += [(change.seq, change.kind, str(change.op), change.id) for change in page]
    recorder.say("feed", feed)
    return met or next((event[2] for _, event in events_in(log) if event[:2] == ("said", "met")), "")


def _losses(events: list[Any], root: int, rng: random.Random, count: int) -> Iterator[tuple[Told, Tree, bool]]:
    """Power losses at moments chosen by chance: anywhere, right after somebody was told something, right after
    something that the feed does not tell, while the bank is being made, and while the index is written.
    """
    said = {number + 1: event[1] for number, (_, event) in enumerate(events) if event[0] == "said"}
    beside = [number for number, word in said.items() if word not in ("head", "kept", "doomed")]
    banks = {event[3] for _, event in events if event[0] == "name" and BANK_MARK in event[2]}
    indexing = [n for n, (_, event) in enumerate(events) if event[0] in ("data", "sync") and event[1] not in banks]
    moments = (range(len(events)), list(said), beside or list(said), range(min(said)), indexing or list(said))
    cuts = sorted({number for choice in moments for number in rng.choices(choice, k=count // len(moments))})
    searched = set(indexing)
    disk, told, seen = Disk(root), Told(), set[object]()
    last = number_of_states = 0
    for cut in cuts:
        for at, event in events[last:cut]:
            if event[0] == "said":
                told.hear(event[1:])
            else:
                disk.replay(at, event)
        last = cut
        for number in range(LOSSES):
            is_searched = cut in searched or number_of_states % SEARCHED_EVERY == 0
            wanted = _everything if is_searched else _records
            tree = disk.bare(wanted) if number == 0 else disk.lost(rng, wanted)
            if (tree.key, told.head) in seen:
                continue
            seen.add((tree.key, told.head))
            number_of_states += 1
            yield told, tree, is_searched
    for at, event in events[last:]:
        if event[0] == "said":
            told.hear(event[1:])
        else:
            disk.replay(at, event)
    yield told, disk.untouched(_everything), True


def _everything(_path: str) -> bool:
    return True


def _records(path: str) -> bool:
    return ".index/" not in path


# ---------------------------------------------------------------- what must hold


@dataclass(slots=True)
class Findings:
    held: dict[str, int] = field(default_factory=dict)
    violations: dict[str, list[str]] = field(default_factory=dict)

    def check(self, which: str, truth: bool, how: str) -> None:
        self.violations.setdefault(which, [])
        self.held.setdefault(which, 0)
        if truth:
            self.held[which] += 1
        else:
            self.violations[which].append(how)

    def answer(self) -> dict[str, Any]:
        return {which: {"held": held, "violations": self.violations[which]} for which, held in self.held.items()}


class Checker:
    def __init__(self, folder: Path, kind: str, truth: list[tuple[Any, ...]], findings: Findings) -> None:
        self._folder, self._kind, self._truth, self._findings = folder, kind, truth, findings

    def check(self, tree: Tree, told: Told, *, is_searched: bool) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self._folder)
        self._folder.mkdir()
        tree.write_to(self._folder)
        where = f"at change {told.head}"
        if self._kind in ("alone", "threads"):
            self._check_bytes(tree, told, where)
        try:
            with open_bank(self._folder) as bank:
                self._check_records(bank, told, where)
                # Where records may be lost with the power, the index may know more than they do until it is asked.
                if is_searched or self._kind == "normal":
                    self._check_index(bank, where)
                # After the search: an index that lacks something is made whole by it.
                damage = [f"{d.kind} {d.id}: {d.problem}" for d in bank.verify()]
                self._findings.check("opens", not damage, f"{where}: verify says {damage[:3]}")
        except Exception as error:  # noqa: BLE001 - whatever it is, the bank did not open
            self._findings.check("opens", False, f"{where}: {type(error).__name__}: {error}")
        if is_searched and self._kind != "normal":
            self._check_backups(told, where)

    def _check_bytes(self, tree: Tree, told: Told, where: str) -> None:
        for path in (BANK, f"{BANK}-wal", f"{BANK}-journal"):
            content = tree.files.get(path, b"")
            left = [stamp for stamp in told.erased.values() if stamp.startswith("stamp") and stamp.encode() in content]
            self._findings.check("erased", not left, f"{where}: {len(left)} erased texts can be read in {path}")

    def _check_records(self, bank: ReasoningBank, told: Told, where: str) -> None:
        store = bank.context.store
        feed = [(change.seq, change.kind, str(change.op), change.id) for change in store.changes(0, 1 << 20)]
        is_beginning = feed == self._truth[: len(feed)]
        self._findings.check("prefix", is_beginning, f"{where}: the feed of {len(feed)} is no beginning of the run's")
        if self._kind == "normal":
            return
        self._findings.check("kept", len(feed) >= told.head, f"{where}: {len(feed)} changes are there")
        with store.read(bank.tenant) as reader:
            there = {memory.id: memory.revision for memory in reader.select(Memory, {})}
        lost = [
            memory_id
            for memory_id, revision in told.kept.items()
            if there.get(memory_id, 0) < revision and not (memory_id in told.doomed and memory_id not in there)
        ]
        self._findings.check("kept", not lost, f"{where}: lost are {lost[:3]}")
        tokens = told.tokens - {token.id for token in store.tokens()}
        self._findings.check("kept", not tokens, f"{where}: lost are the tokens {sorted(tokens)[:3]}")
        notes = [path for path in told.notes if not (self._folder / path).exists()]
        self._findings.check("kept", not notes, f"{where}: {len(notes)} notes of hooks are lost")
        back = told.erased.keys() & there.keys()
        self._findings.check("erased", not back, f"{where}: back are {sorted(back)[:3]}")

    def _check_index(self, bank: ReasoningBank, where: str) -> None:
        # Life goes on before anybody searches: numbers of the feed that were lost are given again.
        for item in bank.list(limit=2):
            bank.edit(item.id, content=f"storm after the loss {item.id}")
        bank.record(title="storm", content="storm after the loss")
        with bank.context.store.read(bank.tenant) as reader:
            active = {memory.id for memory in reader.select(Memory, {"state": "active"})}
        is_done = bank.catch_up(budget_s=60.0)
        found = set(bank.candidates("storm", depth=MOST_FOUND).ids)
        self._findings.check(
            "found",
            is_done and found == active,
            f"{where}: {len(active - found)} of {len(active)} are not found, {len(found - active)} found too many",
        )

    def _check_backups(self, told: Told, where: str) -> None:
        for name, head in told.backups.items():
            path = self._folder / name
            if not path.exists():
                self._findings.check("backups", False, f"{where}: {name} is not there")
                continue
            try:
                store = SqliteStore(path, create=False)
                damage, reached = store.verify(), store.head()
                store.close()
            except Exception as error:  # noqa: BLE001 - whatever it is, the backup is not whole
                self._findings.check("backups", False, f"{where}: {name}: {type(error).__name__}: {error}")
                continue
            whole = not damage and reached >= head
            self._findings.check("backups", whole, f"{where}: {name} reaches {reached} of {head}; {damage[:2]}")
