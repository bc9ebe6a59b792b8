"""Log of the memories that a session was shown: each once, within its budget.

An append-only file of lines, written under a lock, so that hooks of one session that run at the same time agree. A torn
line (a kill, a full disk) is passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reasoningbank.agents.state_dir import make_room
from reasoningbank.core.frozen import dataclass
from reasoningbank.files import hold
from reasoningbank.recall.holdout import LARGEST_SHARE

LONGEST_WAIT_S = 0.25
MOST_BYTES = 1_000_000
"""A session that asks more often than this many bytes can tell is not listened to any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    at: float
    shown: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    """Would have been shown, had the lot not fallen on them; they have had their turn."""
    on_trial: tuple[str, ...] = ()
    """Of both, those that a lot was drawn for."""
    holdout: float = 0.0
    tokens: int = 0
    prompt: str = ""
    """A digest of what the user asked, in the entry of that prompt."""
    refused: tuple[str, ...] = ()
    """Calls that were held back; each is only once."""


class HookTurn:
    """One hook's turn to speak in a session."""

    def __init__(self, descriptor: int, entries: Sequence[LogEntry]) -> None:
        self._descriptor = descriptor
        self.shown = frozenset(memory for entry in entries for memory in (*entry.shown, *entry.withheld))
        self.refused = frozenset(call for entry in entries for call in entry.refused)
        self.tokens = sum(entry.tokens for entry in entries)

    def note(self, entry: LogEntry) -> None:
        told: dict[str, Any] = {"at": entry.at}
        told |= {"shown": list(entry.shown), "tokens": entry.tokens} if entry.shown else {}
        if entry.on_trial:
            told |= {"withheld": list(entry.withheld), "on_trial": list(entry.on_trial), "holdout": entry.holdout}
        told |= {"prompt": entry.prompt} if entry.prompt else {}
        told |= {"refused": list(entry.refused)} if entry.refused else {}
        line = f"\n{json.dumps(told)}\n".encode()
        # Begun on a line of its own: what was torn before it stays alone.
        os.lseek(self._descriptor, 0, os.SEEK_END)
        os.write(self._descriptor, line)


@contextmanager
def turn(path: Path) -> Iterator[HookTurn | None]:
    """None when another hook of the session is speaking for too long, or the session has said more than enough."""
    make_room(path)
    descriptor = hold(path, LONGEST_WAIT_S)
    if descriptor is None:
        yield None
        return
    try:
        too_long = os.fstat(descriptor).st_size > MOST_BYTES
        yield None if too_long else HookTurn(descriptor, entries_in(path))
    finally:
        os.close(descriptor)


def entries_in(path: Path) -> list[LogEntry]:
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError:
        return []
    return [entry for line in text.splitlines() if (entry := _entry(line)) is not None]


def _entry(line: str) -> LogEntry | None:
    try:
        told = json.loads(line)
        return LogEntry(
            at=float(told["at"]),
            shown=tuple(str(memory) for memory in told.get("shown", ())),
            withheld=tuple(str(memory) for memory in told.get("withheld", ())),
            on_trial=tuple(str(memory) for memory in told.get("on_trial", ())),
            holdout=min(max(float(told.get("holdout", 0.0)), 0.0), LARGEST_SHARE),
            tokens=int(told.get("tokens", 0)),
            prompt=str(told.get("prompt", "")),
            refused=tuple(str(call) for call in told.get("refused", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
