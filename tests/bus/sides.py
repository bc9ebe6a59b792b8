"""One side of the bus without a network: a bank, its log and its key; entries are handed over as they were signed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import msgspec

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Memory, Remembered, Signal
from reasoningbank_bus.authority.intent import Intent, sign_intent
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.exchange.applied import Applied
from reasoningbank_bus.exchange.applying import Applier
from reasoningbank_bus.exchange.naming import local_id, origin_of_author
from reasoningbank_bus.exchange.policy import Policy, keep_policy
from reasoningbank_bus.exchange.publishing import Publisher
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.wire.entry import Entry, RecordName, sign_entry
from reasoningbank_bus.wire.signing import SigningKey

EVERYTHING = Policy(namespaces=("*",), nodes=True)


class Side:
    """A bank on the bus. `seed` makes its key; the same seed is the same author."""

    def __init__(self, folder: Path, seed: int = 1, *, policy: Policy = EVERYTHING, **options: Any) -> None:
        self.folder, self._options = folder, options
        self.key = SigningKey(bytes([seed]) * 32)
        self.rights = Rights(self.key.public)
        self._policy = policy
        self.open()

    def open(self) -> Self:
        self._stack = ExitStack()
        options = {"embedder": "hash", "namespace": "n"} | self._options
        place = options.pop("place", self.folder / "bank.db")
        self.bank = self._stack.enter_context(ReasoningBank.open(place, **options))
        self.log = self._stack.enter_context(DurableLog(self.folder / "bus"))
        keep_policy(self.log, self._policy)
        self.publisher = Publisher(self.bank, self.log, self.key, self.rights)
        self.applier = Applier(self.bank, self.log, self.key.public)
        return self

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def lose_log(self) -> None:
        self.close()
        shutil.rmtree(self.folder / "bus")
        self.open()

    def put_back(self, backup: Path) -> None:
        """A backup in the place of the bank, while the log stays."""
        self.close()
        for file in self.folder.glob("bank.db*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        shutil.copy(backup, self.folder / "bank.db")
        self.open()

    def forge(self, entry: Entry, **said: Any) -> Entry:
        """An entry of this side that says something else, rightly signed."""
        body = msgspec.msgpack.decode(entry.body) | said
        names = ("at", "kind", "namespace", "scope", "record", "revision", "intent")
        told = {name: getattr(entry, name) for name in names}
        return sign_entry(self.key, **told, body=msgspec.msgpack.encode(body))

    @property
    def origin(self) -> str:
        return origin_of_author(self.key.public)

    def learn(self, content: str, **options: Any) -> Remembered:
        return self.bank.record(**{"title": content[:40], "content": content, "scope": "team"} | options)

    def publish(self) -> list[Entry]:
        return self.publisher.publish()

    def entries(self) -> list[Entry]:
        return [entry for _, entry in self.log.after(0, 1_000_000)]

    def take(self, entries: Iterable[Entry]) -> Applied:
        self.log.add(list(entries))
        return self.applier.apply_new()

    def here(self, other: Side, record_id: str, noun: str = "memory") -> str:
        """The id that another side's record has in this bank."""
        return local_id(RecordName(other.key.public, record_id), noun, self.key.public)

    def memory(self, record_id: str) -> Memory | None:
        with self.bank.context.store.read(self.bank.tenant) as reader:
            return reader.get(Memory, [record_id]).get(record_id)

    def signals(self, memory_id: str) -> Sequence[Signal]:
        with self.bank.context.store.read(self.bank.tenant) as reader:
            return reader.select(Signal, {"memory_id": memory_id})


def give(issuer: Side, holder: Side, *, life_s: float = 86_400.0, **what: Any) -> Intent:
    """A grant of one side to another, known to both."""
    now = int(issuer.bank.context.clock() * 1000)
    asked = {"actions": ("record", "signal", "link"), "namespaces": ("*",), "nonce": b"n" * 16} | what
    intent = sign_intent(
        issuer.key, holder.key.public, not_before=now - 1_000, expires=now + int(life_s * 1000), **asked
    )
    for side in (issuer, holder):
        side.rights.add(intent)
    return intent
