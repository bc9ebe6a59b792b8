"""What is done to a bank while its disk is recorded: every verb that promises something, and a word after each.

A word is said only after the verb has returned. It names the head of the feed, which is as far as the records must
reach, and whatever the feed does not tell.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.storms._recorder import Recorder
from bench.storms._teaching import teacher
from reasoningbank.config import locate
from reasoningbank.core.errors import Conflict, NotFound
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents.capture_queue import leave_note
from reasoningbank_coding_agents.payload import Event
from reasoningbank_coding_agents.state_dir import place_of
from reasoningbank_server import tokens

BANK = "made/on/demand/bank.db"
"""In folders that are not there before."""
DIMENSIONS = (64, 128)


def open_bank(folder: Path, durability: str = "full") -> ReasoningBank:
    return ReasoningBank.open(folder / BANK, embedder="hash", namespace="storm", durability=durability, config="none")


class Deeds:
    """What one thread does, by chance, and the words it says."""

    def __init__(self, bank: ReasoningBank, recorder: Recorder, rng: random.Random, folder: Path) -> None:
        self.bank, self.recorder, self.rng, self.folder = bank, recorder, rng, folder
        self.sessions: list[str] = []

    def do(self, name: str) -> None:
        try:
            words = getattr(self, name)()
        except (Conflict, NotFound):
            # Another thread edited or erased it first, as it may.
            return
        for word in words or ():
            self.recorder.say(*word)
        self.recorder.say("head", self.bank.context.store.head())

    def _any(self) -> Any:
        return self.rng.choice(self.bank.list(limit=30) or [self._record()])

    def _record(self) -> Any:
        stamp = f"stamp{self.rng.getrandbits(60):015x}"
        padding = "wind " * self.rng.choice((0, 3, 40, 1_200))
        return self.bank.record(title=f"storm {stamp}", content=f"storm {padding}{stamp}", metadata={"stamp": stamp})

    def record(self) -> Any:
        kept = self._record()
        return [("kept", kept.id, 1)]

    def record_many(self) -> Any:
        drafts = [{"title": f"storm {self.rng.random()}", "content": "storm of many"} for _ in range(5)]
        return [("kept", memory_id, 1) for memory_id in self.bank.record_many(drafts)]

    def store(self) -> Any:
        kept = self.bank.store(f"key {self.rng.randrange(4)}", f"storm {self.rng.random()}")
        return [("kept", kept.id, kept.memory.revision)]

    def edit(self) -> Any:
        found = self._any()
        content = f"storm edited {self.rng.random()} {found.memory.metadata.get('stamp', '')}"
        edited = self.bank.edit(found.id, content=content)
        return [("kept", edited.id, edited.memory.revision)]

    def feedback(self) -> Any:
        self.bank.feedback(self._any().id, helpful=self.rng.random() < 0.7)

    def forget(self) -> Any:
        self.bank.forget(self._any().id)

    def link(self) -> Any:
        self.bank.link(self._any().id, self._record().id, kind="relates")

    def erase(self) -> Any:
        victim = self._any()
        stamp = victim.memory.metadata.get("stamp", victim.id)
        self.recorder.say("doomed", victim.id)
        self.bank.erase(victim.id)
        return [("erased", victim.id, stamp)]

    def session(self) -> Any:
        started = self.bank.start_session(f"storm task {self.rng.random()}")
        for number in range(self.rng.randrange(3)):
            self.bank.add_step(started.id, f"step {number}", "done")
            self.recorder.say("head", self.bank.context.store.head())
        if self.rng.random() < 0.8:
            self.bank.end_session(started.id, self.rng.choice(("success", "failure")))

    def distill(self) -> Any:
        self.bank.distill(teachers=[teacher()])

    def consolidate(self) -> Any:
        self.bank.consolidate()

    def search(self) -> Any:
        self.bank.search(f"storm {self.rng.random()}", floor=0.0)

    def reindex(self) -> Any:
        self.bank.reindex(dimension=self.rng.choice(DIMENSIONS))

    def backup(self) -> Any:
        name, head = f"backup-{self.rng.getrandbits(40):x}.db", self.bank.context.store.head()
        self.bank.backup(self.folder / name)
        return [("backup", name, head)]

    def bring_in(self) -> Any:
        source = self.folder.parent / f"import-{self.rng.getrandbits(40):x}.jsonl"
        with ReasoningBank.open(":memory:", embedder="hash", namespace="storm", config="none") as other:
            for number in range(self.rng.randrange(1, 8)):
                other.record(title=f"storm import {number} {self.rng.random()}", content="storm from elsewhere")
            source.write_text("".join(f"{line.rstrip()}\n" for line in other.export_lines()), "utf-8")
        self.bank.import_from(source, restore=True)

    def note(self) -> Any:
        """As a hook leaves one when its agent stops."""
        place, session = place_of(locate(self.folder / BANK)), f"session {self.rng.random()}"
        stop = Event(agent="claude-code", kind="stop", named="Stop", session=session, cwd="/", tool_input={})
        leave_note(place, stop, "storm", 1.0)
        return [("note", str(place.note("claude-code", session).relative_to(self.folder)))]

    def token(self) -> Any:
        _, kept = tokens.create(
            self.bank.context.store, tenant="local", scope="read", now=1.0, random_bytes=os.urandom, lifetime_s=None
        )
        return [("token", kept.id)]


BESIDE_OTHERS = ("record", "record", "record_many", "store", "edit", "feedback", "session", "link", "token", "search")
ALL = (*BESIDE_OTHERS, "forget", "erase", "erase", "distill", "consolidate", "reindex", "backup", "bring_in", "note")


def alone(folder: Path, recorder: Recorder, rng: random.Random, durability: str) -> None:
    """One thread that does everything, and closes the bank and opens it again now and then."""
    for _ in range(rng.randrange(1, 4)):
        with open_bank(folder, durability) as bank:
            deeds = Deeds(bank, recorder, rng, folder)
            for name in rng.sample(ALL, k=len(ALL)):
                deeds.do(name)


def threads(folder: Path, recorder: Recorder, rng: random.Random, count: int, each: int) -> None:
    """Writers that share commits."""
    with open_bank(folder) as bank:
        seeds = [rng.getrandbits(32) for _ in range(count)]

        def work(seed: int) -> None:
            deeds = Deeds(bank, recorder, random.Random(seed), folder)
            for _ in range(each):
                deeds.do(deeds.rng.choice((*BESIDE_OTHERS, "erase")))

        _together([lambda seed=seed: work(seed) for seed in seeds])


def _together(acts: Sequence[Callable[[], None]]) -> None:
    met: list[BaseException] = []

    def run(act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that waits
            met.append(error)

    running = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if met:
        raise met[0]


def processes(folder: Path, recorder: Recorder, rng: random.Random, count: int, each: int) -> None:
    """Writers that share the file: some threads in each of a few processes, and one that does everything else."""
    children = []
    for number in range(count):
        seed = rng.getrandbits(32)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                if number:
                    threads(folder, recorder, random.Random(seed), 4, each)
                else:
                    alone(folder, recorder, random.Random(seed), "full")
                status = 0
            except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
                recorder.say("met", f"{type(error).__name__}: {error}")
            os._exit(status)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
