"""Where coding agents leave their transcripts, and what a transcript says about itself: its session and its folder.

The folder is the one that the agent wrote down. The name of the directory that a transcript lies in is never taken for
it: slashes and dots both became dashes there. Runs of subagents belong to the session that started them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from reasoningbank.agents.install.targets import Places
from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.values import dataclass
from reasoningbank.learn.ingest import claude_code, codex, cursor
from reasoningbank.learn.ingest.text import json_lines

LINES_LOOKED_AT = 500
_PATH_ARGUMENTS = ("working_directory", "cwd", "path", "file_path", "target_file", "target_directory", "filePath")


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
    match agent:
        case "claude-code":
            root = (places.claude or places.home / ".claude") / "projects"
            files = (path for path in root.glob("*/*.jsonl") if not path.name.startswith("agent-"))
        case "codex":
            files = ((places.codex or places.home / ".codex") / "sessions").rglob("*.jsonl")
        case _:
            root = places.home / ".cursor" / "projects"
            files = (path for path in root.glob("*/agent-transcripts/**/*.jsonl") if "subagents" not in path.parts)
    return sorted((path for path in files if path.is_file()), key=changed_at)


def changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def opened(agent: str, path: Path) -> Transcript:
    """Raises ImportRejected when it is no transcript of this agent."""
    is_record, folder_of = _READERS[agent]
    records = [record for record in islice(json_lines(path), LINES_LOOKED_AT) if is_record(record)]
    if not records:
        raise ImportRejected("it holds no record of a session.")
    named = next(filter(None, map(codex.session_of, records)), None) if agent == "codex" else None
    return Transcript(
        agent=agent,
        path=path,
        session=named or path.stem,
        folder=folder_of(records),
        remote=_codex_remote(records) if agent == "codex" else None,
    )


# ---------------------------------------------------------------- in which folder


def _first_folder(records: list[dict[str, Any]]) -> str | None:
    return next((record["cwd"] for record in records if isinstance(record.get("cwd"), str) and record["cwd"]), None)


def _codex_folder(records: list[dict[str, Any]]) -> str | None:
    payloads = (record["payload"] for record in records if record.get("type") in ("session_meta", "turn_context"))
    return next((str(payload["cwd"]) for payload in payloads if isinstance(payload.get("cwd"), str)), None)


def _codex_remote(records: list[dict[str, Any]]) -> str | None:
    told = (record["payload"].get("git") for record in records if record.get("type") == "session_meta")
    addresses = (git.get("repository_url") for git in told if isinstance(git, Mapping))
    return next((address for address in addresses if isinstance(address, str)), None)


def _cursor_folder(records: list[dict[str, Any]]) -> str | None:
    """The repository that most of the calls name a path of."""
    roots = Counter(root for path in _named_paths(records) if (root := _repository(path)) is not None)
    return roots.most_common(1)[0][0] if roots else None


def _named_paths(records: list[dict[str, Any]]) -> Iterator[Path]:
    for record in records:
        content = record["message"]["content"]
        for block in content if isinstance(content, list) else ():
            given = block.get("input") if isinstance(block, Mapping) else None
            paths = [given.get(name) for name in _PATH_ARGUMENTS] if isinstance(given, Mapping) else []
            for value in paths:
                if isinstance(value, str) and Path(value).is_absolute():
                    yield Path(value)


def _repository(path: Path) -> str | None:
    return next((str(folder) for folder in (path, *path.parents) if (folder / ".git").exists()), None)


_READERS: dict[str, tuple[Callable[[object], bool], Callable[[list[dict[str, Any]]], str | None]]] = {
    "claude-code": (claude_code.is_record, _first_folder),
    "codex": (codex.is_record, _codex_folder),
    "cursor": (cursor.is_record, _cursor_folder),
}
