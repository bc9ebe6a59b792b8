"""Everybody who may be at one bank: each is a process that works until it is killed, and notes what it was told.

A note is a line in a file outside the bank, written after the answer. What was begun and not answered may have happened
or not, except where the line before says that it was about to (`doomed`).
"""

from __future__ import annotations

import http.client
import json
import os
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.storms._teaching import teacher
from reasoningbank.cli.main import main as command
from reasoningbank.config import locate
from reasoningbank.core.errors import Conflict, NotFound
from reasoningbank.core.types import Remembered
from reasoningbank.files import hold
from reasoningbank.learn import queue
from reasoningbank.learn.worker_pool import Shift
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents import capture_queue
from reasoningbank_coding_agents.capture_worker import work
from reasoningbank_coding_agents.hook_local import answer
from reasoningbank_coding_agents.state_dir import make_room, place_of

NAMESPACE = "storm"
DIMENSIONS = (64, 128)
IMPORTS = 40
MEMORIES_PER_IMPORT = 12
BACKUPS_KEPT = 5
SETTINGS = {
    "REASONINGBANK_CONFIG": "none",
    "REASONINGBANK_EMBEDDER": "hash",
    # Nobody but the distiller of the storm distils.
    "REASONINGBANK_DISTILLER": "none",
    "REASONINGBANK_HOOKS": "deadline_ms=50000",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a storm happens."""

    folder: Path
    port: int

    @property
    def bank(self) -> Path:
        return self.folder / "bank.db"

    def import_file(self, number: int) -> Path:
        return self.folder / "imports" / f"{number}.jsonl"

    def backups(self) -> list[Path]:
        """Oldest first; one that is dropped while they are looked at is none."""
        moments: dict[Path, int] = {}
        for path in (self.folder / "backups").glob("backup-*.db"):
            with suppress(FileNotFoundError):
                moments[path] = path.stat().st_mtime_ns
        return sorted(moments, key=moments.__getitem__)

    def open(self) -> ReasoningBank:
        return ReasoningBank.open(self.bank, embedder="hash", namespace=NAMESPACE, config="none")


@dataclass(slots=True)
class Actor:
    """Who works in a process of its own: the place, its chance, and where it notes what it was told."""

    place: Place
    rng: random.Random
    log: int

    def note(self, *words: object) -> None:
        os.write(self.log, " ".join(map(str, words)).encode() + b"\n")

    def stamp(self) -> str:
        return f"tok{self.rng.getrandbits(60):x}"


def content_of(stamp: str, revision: int, padding: int) -> str:
    return f"storm {stamp} r{revision} " + "wind " * (padding // 5) + f"end of {stamp} r{revision}"


def _stamped(bank: ReasoningBank, actor: Actor) -> Remembered | None:
    """A memory of a writer: lessons and imports are counted one by one, and nobody touches them."""
    found = [item for item in bank.list(limit=300) if "stamp" in item.memory.metadata]
    return actor.rng.choice(found) if found else None


# ---------------------------------------------------------------- the roles


def write(actor: Actor) -> None:
    bank = actor.place.open()
    deeds: tuple[tuple[float, Callable[[ReasoningBank, Actor], None]], ...] = (
        (0.5, _record),
        (0.7, _edit),
        (0.8, _judge),
        (1.0, _erase),
    )
    while True:
        chance = actor.rng.random()
        deed = next(deed for share, deed in deeds if chance < share)
        try:
            deed(bank, actor)
        except (Conflict, NotFound):
            # Another writer edited or erased it first, as it may.
            continue


def _record(bank: ReasoningBank, actor: Actor) -> None:
    stamp = actor.stamp()
    content = content_of(stamp, 1, actor.rng.randrange(0, 6_000))
    kept = bank.record(title=f"storm {stamp}", content=content, metadata={"stamp": stamp})
    actor.note("kept", kept.id, 1)


def _edit(bank: ReasoningBank, actor: Actor) -> None:
    recent = _stamped(bank, actor)
    if recent is not None:
        revision = recent.memory.revision
        text = content_of(recent.memory.metadata["stamp"], revision + 1, actor.rng.randrange(0, 3_000))
        edited = bank.edit(recent.id, content=text, expected_revision=revision)
        actor.note("kept", edited.id, edited.memory.revision)


def _judge(bank: ReasoningBank, actor: Actor) -> None:
    for item in bank.list(limit=3):
        bank.feedback(item.id, helpful=actor.rng.random() < 0.8)


def _erase(bank: ReasoningBank, actor: Actor) -> None:
    victim = _stamped(bank, actor)
    if victim is not None:
        actor.note("doomed", victim.id)
        bank.erase(victim.id)
        actor.note("erased", victim.id)


def search(actor: Actor) -> None:
    bank = actor.place.open()
    while True:
        bank.search(f"storm {actor.rng.random()}", floor=0.0)


def take_part(actor: Actor) -> None:
    """Sessions from beginning to end, each of which is a job."""
    bank = actor.place.open()
    while True:
        session = bank.start_session(f"storm task {actor.stamp()}")
        for number in range(actor.rng.randrange(4)):
            bank.add_step(session.id, f"step {number}", "done")
        bank.end_session(session.id, "success")
        actor.note("ended", session.id)


def distil(actor: Actor) -> None:
    # What failed may be tried again at once: the storm tests what happens, not how long it waits.
    queue.FIRST_WAIT_S = 0.01
    actor.place.open().distill(Shift(workers=1, batch=10, threads=1, watch=True), teachers=[teacher()])


def consolidate(actor: Actor) -> None:
    bank = actor.place.open()
    while True:
        done = bank.consolidate(only=("links", "prune", "conflicts"))
        if done.run is not None:
            actor.note("consolidated", done.run)


def bring_in(actor: Actor) -> None:
    bank = actor.place.open()
    while True:
        number = actor.rng.randrange(IMPORTS)
        bank.import_from(actor.place.import_file(number), restore=True)
        actor.note("imported", number)


def back_up(actor: Actor) -> None:
    bank = actor.place.open()
    while True:
        for old in actor.place.backups()[:-BACKUPS_KEPT]:
            actor.note("dropped", old.name)
            old.unlink()
        name = f"backup-{actor.stamp()}.db"
        head = bank.context.store.head()
        bank.backup(actor.place.folder / "backups" / name)
        actor.note("backup", name, head)


def reindex(actor: Actor) -> None:
    bank = actor.place.open()
    while True:
        bank.reindex(dimension=actor.rng.choice(DIMENSIONS))


def serve(actor: Actor) -> None:
    told = actor.place.folder / "server"
    heard = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(heard, 1)
    os.dup2(heard, 2)
    os.environ.update(SETTINGS)
    options = ("--port", str(actor.place.port), "--workers", "0", "--no-consolidate", "--rate", "0")
    status = command(["--bank", str(actor.place.bank), "--namespace", NAMESPACE, "serve", *options])
    last = told.read_text("utf-8").splitlines()[-1:]
    raise RuntimeError(f"the server ended with status {status}: {last}")


def call(actor: Actor) -> None:
    """A client that asks again with the same key until it is answered, whoever is killed meanwhile."""
    while True:
        stamp = actor.stamp()
        body = {"title": f"storm {stamp}", "content": content_of(stamp, 1, 100), "metadata": {"stamp": stamp}}
        kept = _answered(actor, stamp, body)
        actor.note("kept", kept["id"], 1)
        actor.note("once", stamp)


def _answered(actor: Actor, key: str, body: dict[str, Any]) -> Any:
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", actor.place.port, timeout=30)
        try:
            headers = {"Content-Type": "application/json", "Idempotency-Key": key}
            connection.request("POST", "/v1/memories", json.dumps(body), headers)
            reply = connection.getresponse()
            told = reply.read()
        except (OSError, http.client.HTTPException):
            continue
        finally:
            connection.close()
        if reply.status in (200, 201):
            return json.loads(told)
        if reply.status != http.HTTPStatus.SERVICE_UNAVAILABLE:
            raise RuntimeError(f"the server answered {reply.status}: {told[:200]!r}")


def hook(actor: Actor) -> None:
    """The hooks of one session of a coding agent after the other."""
    os.environ.update(SETTINGS)
    # The reader is a role of its own.
    capture_queue.start_reader = lambda *_: False  # type: ignore[assignment]
    while True:
        session = actor.stamp()
        prompt = f"Please run the unit tests of storm {session} and mend what is broken"
        transcript = _transcript(actor.place.folder / "transcripts" / f"{session}.jsonl", session, prompt)
        actor.note("about-to-hook", session)
        for event in ("UserPromptSubmit", "Stop", "SessionEnd"):
            payload = {
                "session_id": session,
                "transcript_path": str(transcript),
                "cwd": str(actor.place.folder),
                "hook_event_name": event,
                "prompt": prompt,
            }
            raw = json.dumps(payload).encode()
            location, cwd = locate(actor.place.bank), str(actor.place.folder)
            hooks = SETTINGS["REASONINGBANK_HOOKS"]
            answer(location, "claude-code", None, raw, namespace=NAMESPACE, hooks=hooks, cwd=cwd)
        actor.note("hooked", session)


def _transcript(path: Path, session: str, prompt: str) -> Path:
    call_id = f"toolu_{session}"
    used = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "make test"}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "12 passed", "is_error": False}
    spoken: list[tuple[str, Any]] = [("user", prompt), ("assistant", [used]), ("user", [result])]
    lines = [
        {
            "sessionId": session,
            "type": kind,
            "message": {"role": kind, "content": content},
            "uuid": f"{session}-{number}",
            "timestamp": f"2026-11-15T12:00:0{number}.000Z",
            "cwd": str(path.parent),
            "version": "2.1.0",
        }
        for number, (kind, content) in enumerate(spoken)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def read(actor: Actor) -> None:
    """Read what hooks noted, as the process does that they start."""
    os.environ.update(SETTINGS)
    while True:
        read_once(actor.place)


def read_once(place: Place) -> None:
    location = locate(place.bank)
    hooks = place_of(location)
    make_room(hooks.work_lock)
    lock = hold(hooks.work_lock, 1.0)
    if lock is not None:
        try:
            work(location, hooks, clock=lambda: 1e9, over=lambda: False)
        finally:
            os.close(lock)


ROLES: tuple[Callable[[Actor], None], ...] = (
    write,
    write,
    search,
    take_part,
    distil,
    consolidate,
    bring_in,
    back_up,
    reindex,
    serve,
    call,
    hook,
    read,
)
