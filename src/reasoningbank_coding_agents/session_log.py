"""Log of the memories that a session was shown: each once, within its budget, noted when it was delivered.

An append-only file of lines, written under a lock, so that hooks of one session that run at the same time agree. What
is about to be said stands in it with the name of the hook's turn, which keeps others from saying it meanwhile; it
counts as shown once that hook has printed it and adds its receipt. A torn line (a kill, a full disk) is passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.files import PRIVATE_MODE, hold
from reasoningbank.recall.holdout import LARGEST_SHARE
from reasoningbank_coding_agents.state_dir import make_room

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
    """Memories of both kinds that a lot was drawn for."""
    holdout: float = 0.0
    tokens: int = 0
    prompt: str = ""
    """A digest of what the user asked, in the entry of that prompt."""
    refused: tuple[str, ...] = ()
    """Calls that were held back; each is only once."""
    call: str = ""
    """The tool call that it was said at; "" for what was said before any."""
    turn: str = ""
    """The hook that was to say it; it was said if there is a receipt of that name. "" for what needs none."""
    forgets: bool = False
    """True if what was said before is no longer in the agent's context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLog:
    """The log of a session as one hook sees it."""

    path: Path
    now: float = 0.0
    call: str = ""
    """The tool call that the hook is about."""
    delivery: Delivery | None = None
    """None where what is noted counts as said."""
    pending_s: float = 0.0
    """For so long what another hook is delivering counts as said."""

    @property
    def stem(self) -> str:
        """The session's own name, whoever answers its hooks."""
        return self.path.stem


class Delivery:
    """The way of one hook's words to its agent: `turn` names it, `confirm` says that they have arrived."""

    def __init__(self, turn: str) -> None:
        self.turn = turn
        self.log: Path | None = None
        """Where the receipt belongs, once there is something to deliver."""

    def confirm(self) -> None:
        self._leave("delivered")

    def drop(self) -> None:
        """Say that they will not arrive: what they told is free again."""
        self._leave("dropped")

    def _leave(self, what: str) -> None:
        if self.log is not None:
            _append(self.log, {what: self.turn})
            self.log = None


class HookTurn:
    """One hook's turn to speak in a session."""

    def __init__(self, log: SessionLog, lines: _Lines) -> None:
        self._log = log
        entries = [entry if _is_pending(entry, log, lines) else lines.delivered(entry) for entry in lines.entries]
        self.owed = _owed(log, lines)
        """Memories that were to be said for the user's last words and have never arrived."""
        last = max((number for number, entry in enumerate(entries) if entry.forgets), default=0)
        self.shown = frozenset(memory for entry in entries[last:] for memory in (*entry.shown, *entry.withheld))
        self.refused = frozenset(call for entry in entries for call in entry.refused)
        self.tokens = sum(entry.tokens for entry in entries[last:])
        forgotten = () if self.shown else entries[:last]
        self.lost = tuple(dict.fromkeys(memory for entry in forgotten for memory in entry.shown))
        """Memories that the agent was told and has forgotten since, until something is said again."""

    def note(self, entry: LogEntry) -> None:
        fields: dict[str, Any] = {"at": entry.at}
        fields |= {"shown": list(entry.shown)} if entry.shown else {}
        # What was said again in a refusal costs the agent as much as what is new.
        fields |= {"tokens": entry.tokens} if entry.tokens else {}
        if entry.on_trial:
            fields |= {"withheld": list(entry.withheld), "on_trial": list(entry.on_trial), "holdout": entry.holdout}
        fields |= {name: value for name in ("prompt", "forgets") if (value := getattr(entry, name))}
        fields |= {"refused": list(entry.refused)} if entry.refused else {}
        if entry.shown and self._log.call:
            fields["call"] = self._log.call
        if entry.tokens and (delivery := self._log.delivery) is not None:
            fields["turn"], delivery.log = delivery.turn, self._log.path
        _append(self._log.path, fields)


@contextmanager
def turn(log: SessionLog) -> Iterator[HookTurn | None]:
    """None when another hook of the session is speaking for too long, or the session has said more than enough."""
    make_room(log.path)
    descriptor = hold(log.path, LONGEST_WAIT_S)
    if descriptor is None:
        yield None
        return
    try:
        too_long = os.fstat(descriptor).st_size > MOST_BYTES
        yield None if too_long else HookTurn(log, _lines(log.path))
    finally:
        os.close(descriptor)


def _is_pending(entry: LogEntry, log: SessionLog, lines: _Lines) -> bool:
    """True if another hook may still be delivering it. What a server was to say for this very hook, and was too slow
    to, is free again.
    """
    own = log.delivery is not None and entry.turn == log.delivery.turn
    return not own and entry.turn not in lines.dropped and abs(log.now - entry.at) < log.pending_s


def _owed(log: SessionLog, lines: _Lines) -> tuple[str, ...]:
    last = next((entry for entry in reversed(lines.entries) if entry.prompt), None)
    is_late = last is not None and last.turn and last.turn not in lines.receipts and not _is_pending(last, log, lines)
    return last.shown if last is not None and is_late else ()


def forget(log: SessionLog) -> None:
    """Note that the agent's context was compacted or cleared: what was said is to be said again."""
    with turn(log) as speaking:
        if speaking is not None and speaking.shown:
            speaking.note(LogEntry(at=log.now, forgets=True))


def lost_in(log: SessionLog) -> tuple[str, ...]:
    """Memories that the agent was told and has forgotten, unless it was spoken to since."""
    return HookTurn(log, _lines(log.path)).lost


def owed_in(log: SessionLog) -> tuple[str, ...]:
    """Memories that were found for the user's last words and came too late, unless they were said since."""
    speaking = HookTurn(log, _lines(log.path))
    return tuple(memory for memory in speaking.owed if memory not in speaking.shown)


def entries_in(path: Path) -> list[LogEntry]:
    """Entries of what was delivered, and of what was asked."""
    lines = _lines(path)
    return [lines.delivered(entry) for entry in lines.entries]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    entries: tuple[LogEntry, ...] = ()
    receipts: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()

    def delivered(self, entry: LogEntry) -> LogEntry:
        """An entry without what never arrived."""
        if not entry.turn or entry.turn in self.receipts:
            return entry
        return replace(entry, shown=(), withheld=(), on_trial=(), tokens=0, refused=())


def _append(path: Path, fields: Mapping[str, Any]) -> None:
    # Begun on a line of its own: what was torn before it stays alone.
    line = f"\n{json.dumps(fields)}\n".encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_MODE)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _lines(path: Path) -> _Lines:
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError:
        return _Lines()
    values = [value for line in text.splitlines() if isinstance(value := _parse(line), dict)]
    return _Lines(
        entries=tuple(entry for value in values if (entry := _entry(value)) is not None),
        receipts=frozenset(str(value["delivered"]) for value in values if "delivered" in value),
        dropped=frozenset(str(value["dropped"]) for value in values if "dropped" in value),
    )


def _parse(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _entry(fields: Mapping[str, Any]) -> LogEntry | None:
    try:
        return LogEntry(
            at=float(fields["at"]),
            shown=tuple(str(memory) for memory in fields.get("shown", ())),
            withheld=tuple(str(memory) for memory in fields.get("withheld", ())),
            on_trial=tuple(str(memory) for memory in fields.get("on_trial", ())),
            holdout=min(max(float(fields.get("holdout", 0.0)), 0.0), LARGEST_SHARE),
            tokens=int(fields.get("tokens", 0)),
            prompt=str(fields.get("prompt", "")),
            refused=tuple(str(call) for call in fields.get("refused", ())),
            call=str(fields.get("call", "")),
            turn=str(fields.get("turn", "")),
            forgets=fields.get("forgets") is True,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
