"""Reads the transcripts of sessions from before the hooks were installed.

Goes the way of the hooks themselves (`work.read_session`), with their cursors and their ids: whatever was captured is
known, whatever is read again adds nothing. One transcript is held at a time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from reasoningbank.config import remote_namespace
from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents import transcripts
from reasoningbank_coding_agents.capture_queue import CaptureNote
from reasoningbank_coding_agents.capture_session import read_session
from reasoningbank_coding_agents.capture_worker import IDLE_S
from reasoningbank_coding_agents.install.targets import Places
from reasoningbank_coding_agents.namespaces import spaces_of
from reasoningbank_coding_agents.policy import HookPolicy
from reasoningbank_coding_agents.reading import TranscriptCursor, read_transcript
from reasoningbank_coding_agents.state_dir import StateDir
from reasoningbank_coding_agents.transcripts import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest:
    agents: tuple[str, ...]
    since: float
    namespace: str | None = None
    """Instead of the identity of each transcript's repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedTranscript:
    path: Path
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    sessions: Mapping[str, int] = field(default_factory=dict)
    """Number of transcripts that told something new, by namespace."""
    tasks: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    """Transcripts that were read before, and have not grown."""
    skipped: tuple[SkippedTranscript, ...] = ()


Progress = Callable[[int, int], None]


def backfill(
    bank: ReasoningBank | None,
    place: StateDir,
    places: Places,
    request: BackfillRequest,
    *,
    now: float,
    progress: Progress | None = None,
) -> Backfilled:
    """Without a bank nothing is kept, and it is only said what would be."""
    files = [
        (agent, path)
        for agent in request.agents
        for path in transcripts.found(agent, places)
        if transcripts.changed_at(path) >= request.since
    ]
    sessions: Counter[str] = Counter()
    tasks: Counter[str] = Counter()
    failures: list[SkippedTranscript] = []
    known_count = 0
    for number, (agent, path) in enumerate(files):
        if progress is not None:
            progress(number, len(files))
        try:
            transcript = transcripts.open_transcript(agent, path)
            if _is_read(place, transcript):
                known_count += 1
                continue
            namespace = request.namespace or _namespace(transcript)
            count = _keep_tasks(bank, place, transcript, namespace, now)
        except (ImportRejected, InvalidInput) as error:
            failures.append(SkippedTranscript(path=path, why=str(error)))
            continue
        except OSError as error:
            failures.append(SkippedTranscript(path=path, why=f"it cannot be read ({error.strerror or error})."))
            continue
        if count:
            sessions[namespace] += 1
            tasks[namespace] += count
        else:
            known_count += 1
    return Backfilled(sessions=dict(sessions), tasks=dict(tasks), known=known_count, skipped=tuple(failures))


def _keep_tasks(bank: ReasoningBank | None, place: StateDir, transcript: Transcript, namespace: str, now: float) -> int:
    """How many tasks it told; none when all of it was known."""
    if bank is None:
        read = read_transcript(
            transcript.path, TranscriptCursor(), agent=transcript.agent, session=transcript.session, namespace=namespace
        )
        return len(read.tasks)
    note = CaptureNote(
        agent=transcript.agent,
        session=transcript.session,
        transcript=str(transcript.path),
        namespace=namespace,
        # One that was written a moment ago may go on.
        ended=now - transcripts.changed_at(transcript.path) > IDLE_S,
        at=now,
        captured=False,
    )
    before = bank.context.store.head()
    count = read_session(bank, place, note, now=now, eager=False)
    return count if bank.context.store.head() != before else 0


def _is_read(place: StateDir, transcript: Transcript) -> bool:
    """True if a hook, or an earlier run, has read it to its end and it has not changed since."""
    try:
        state = json.loads(place.cursor(transcript.agent, transcript.session).read_text("utf-8"))
        return not state["open"] and float(state["at"]) > transcripts.changed_at(transcript.path)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _namespace(transcript: Transcript) -> str:
    if transcript.folder is None:
        raise ImportRejected("it does not say in which folder it happened; --namespace NAME takes it all the same.")
    if not Path(transcript.folder).is_dir():
        namespace = remote_namespace(transcript.remote) if transcript.remote else None
        if namespace:
            return namespace
        raise ImportRejected(f"its folder {transcript.folder} is gone; --namespace NAME takes it all the same.")
    return spaces_of(transcript.folder, HookPolicy()).own
