"""Processes that do to a bank what they are told, one word at a time, and say what came of it.

Forked before anything is open, so each starts warm and clean; and killed at the end, whatever it is doing.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import reasoningbank.bank.search

# Loaded before any fork, so that no actor spends its life on it.
import reasoningbank.embed.hashing
import reasoningbank.index.embedded
import reasoningbank.recall.experience
import reasoningbank.recall.search
import reasoningbank.store.sqlite.recovering  # noqa: F401
from reasoningbank.core.errors import BankError
from reasoningbank.wiring import ReasoningBank


def open_bank(place: Path) -> ReasoningBank:
    return ReasoningBank.open(place, embedder="hash", dimension=64, namespace="storm")


class Actor:
    """Another process. `tell` waits for its answer."""

    def __init__(self, deeds: dict[str, Callable[..., Any]]) -> None:
        to_child, self._to = os.pipe()
        self._answers, from_child = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._to)
            os.close(self._answers)
            _act(deeds, to_child, from_child)
        os.close(to_child)
        os.close(from_child)
        self._lines = os.fdopen(self._answers, "r", encoding="utf-8")

    def tell(self, deed: str, *words: Any) -> Any:
        """Its result; a `BankError` as {"error": …}, anything else as {"raw": …}; None when it has died."""
        self.start(deed, *words)
        return self.answer()

    def start(self, deed: str, *words: Any) -> None:
        with suppress(BrokenPipeError):
            os.write(self._to, json.dumps([deed, *words]).encode() + b"\n")

    def answer(self) -> Any:
        line = self._lines.readline()
        return json.loads(line) if line else None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._to)
        self._lines.close()


def _act(deeds: dict[str, Callable[..., Any]], reading: int, writing: int) -> None:
    try:
        with os.fdopen(reading, "r", encoding="utf-8") as told:
            for line in told:
                deed, *words = json.loads(line)
                os.write(writing, json.dumps(_result(deeds[deed], words)).encode() + b"\n")
    finally:
        os._exit(0)


def _result(deed: Callable[..., Any], words: list[Any]) -> Any:
    try:
        return deed(*words)
    except BankError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    except Exception as error:  # noqa: BLE001 - a raw error is what a storm looks for
        return {"raw": f"{type(error).__module__}.{type(error).__name__}: {error}"}


def bank_deeds(place: Path) -> dict[str, Callable[..., Any]]:
    """What an actor with one bank can do."""
    held: dict[str, ReasoningBank] = {}

    def bank() -> ReasoningBank:
        if "bank" not in held:
            held["bank"] = open_bank(place)
        return held["bank"]

    def close() -> str:
        if "bank" in held:
            held.pop("bank").close()
        return "closed"

    def write(title: str, size: int) -> str:
        return bank().record(title=title, content=f"{title} " + "wind " * (size // 5)).id

    def elsewhere(other: str) -> str:
        held["other"] = open_bank(Path(other))
        held["other"].record(title="storm of another bank", content="wind from elsewhere")
        held["other"].search("storm")
        return "written"

    def close_elsewhere() -> str:
        held.pop("other").close()
        return "closed"

    return {
        "elsewhere": elsewhere,
        "close elsewhere": close_elsewhere,
        "open": lambda: str(bank().namespace),
        "write": write,
        "erase": lambda memory_id: bank().erase(memory_id),
        "search": lambda text: [hit.id for hit in bank().search(text, floor=0.0).memories],
        "ids": lambda: sorted(item.id for item in bank().list(limit=10_000)),
        "found": lambda: sorted(
            hit.id for hit in bank().search("storm", limit=1_000, floor=0.0, min_confidence=0).memories
        ),
        "verify": lambda: [f"{d.kind} {d.id} {d.problem}" for d in bank().verify()],
        "backup": lambda target: str(bank().backup(target)),
        "recover": lambda source: str(ReasoningBank.recover(source, place).kept or ""),
        "close": close,
    }
