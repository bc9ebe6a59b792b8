"""Where coding agents leave their transcripts, and what a transcript says about itself: its session and its folder.

The folder is the one that the agent wrote down. The name of the directory that a transcript lies in is never taken for
it: slashes and dots both became dashes there. Runs of subagents belong to the session that started them.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.frozen import dataclass
from reasoningbank.learn.ingest.text import json_lines
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.install.targets import Places

LINES_LOOKED_AT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    agent: str
    path: Path
    session: str
    folder: str | None
    """In which the agent worked; None when the transcript does not tell."""
    remote: str | None = None
    """The address of its repository, where the transcript tells."""


def found(agent: str, places: Places) -> list[Path]:
    """The transcripts of an agent, the oldest first."""
    files = host_named(agent).transcripts(places)
    return sorted((path for path in files if path.is_file()), key=changed_at)


def subagent_transcripts(path: Path) -> list[Path]:
    """The runs of subagents that a session started, which lie in a folder of its name."""
    folder = path.with_suffix("") / "subagents"
    return sorted(folder.rglob("agent-*.jsonl")) if folder.is_dir() else []


def changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def open_transcript(agent: str, path: Path) -> Transcript:
    """Raises ImportRejected when it is no transcript of this agent."""
    host = host_named(agent)
    whole = host.records_of(path)
    candidates = islice(json_lines(path) if whole is None else whole, LINES_LOOKED_AT)
    records = [record for record in candidates if host.reader.is_record(record)]
    if not records:
        raise ImportRejected("it holds no record of a session.")
    origin = host.origin_of(path, records)
    return Transcript(agent=agent, path=path, session=origin.session, folder=origin.folder, remote=origin.remote)
