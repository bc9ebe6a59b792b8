"""Queue of sessions to be captured: a synced note for each, and the start of the one worker that reads them.

A hook writes a note, which outlives the agent and the machine, and starts a reader that belongs to nobody. Whatever a
reader leaves behind, the next one finds.
"""

from __future__ import annotations

import json
from pathlib import Path

from reasoningbank.core.frozen import dataclass
from reasoningbank.files import hold
from reasoningbank.location import Location
from reasoningbank_coding_agents.detached import start_detached
from reasoningbank_coding_agents.events import SESSION_END, SESSION_START, SUBAGENT_STOP
from reasoningbank_coding_agents.payload import Event
from reasoningbank_coding_agents.state_dir import StateDir, make_room, write_whole

TAKEN = ".taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureNote:
    agent: str
    session: str
    transcript: str | None
    namespace: str
    ended: bool
    """The session is over: its last task will not go on."""
    at: float
    captured: bool
    """A hook that no agent called left it, while the session happened."""
    parent: str | None = None
    """Transcript of the session that started this one, which is a subagent's run."""


def leave_note(place: StateDir, event: Event, namespace: str, now: float, *, by_hook: bool = True) -> None:
    note = {
        "agent": event.agent,
        "session": event.session,
        "transcript": event.transcript,
        "namespace": namespace,
        "ended": event.kind in (SESSION_END, SUBAGENT_STOP),
        "at": now,
        "captured": by_hook,
        "parent": event.parent_transcript,
    }
    # A session that begins has nothing to lose yet.
    durable = event.kind != SESSION_START
    write_whole(place.note(event.agent, event.session), json.dumps(note), durable=durable)


def take_notes(place: StateDir) -> list[tuple[Path, CaptureNote]]:
    """Every note there is, moved aside so that a newer one of the same session is not thrown away with it."""
    folder = place.folder / "notes"
    if not folder.is_dir():
        return []
    for path in folder.glob("*.json"):
        path.replace(path.with_suffix(TAKEN))
    pairs = [(path, _note_in(path)) for path in folder.glob(f"*{TAKEN}")]
    notes = [(path, note) for path, note in pairs if note is not None]
    for path, note in pairs:
        if note is None:
            path.unlink(missing_ok=True)
    return sorted(notes, key=lambda pair: pair[1].at)


def waiting(place: StateDir) -> int:
    """How many sessions are still to be read."""
    folder = place.folder / "notes"
    return sum(1 for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else 0


def _note_in(path: Path) -> CaptureNote | None:
    try:
        fields = json.loads(path.read_text("utf-8"))
        return CaptureNote(
            agent=str(fields["agent"]),
            session=str(fields["session"]),
            transcript=str(fields["transcript"]) if fields["transcript"] else None,
            namespace=str(fields["namespace"]),
            ended=bool(fields["ended"]),
            at=float(fields["at"]),
            captured=fields.get("captured") is True,
            parent=str(fields["parent"]) if fields.get("parent") else None,
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def start_reader(place: StateDir, bank: Location) -> bool:
    """Start the process that reads, unless one is at it. False when there is one."""
    make_room(place.work_lock)
    lock = hold(place.work_lock)
    if lock is None:
        return False
    start_detached("reasoningbank_coding_agents.capture_worker", bank, [], lock, place.folder)
    return True
