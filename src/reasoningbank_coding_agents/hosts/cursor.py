"""Cursor: `~/.cursor/hooks.json` and `~/.cursor/mcp.json`; in a project the same names under `.cursor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reasoningbank_coding_agents.events import AFTER_FAILURE, AFTER_TOOL, BEFORE_TOOL, PROMPT
from reasoningbank_coding_agents.hosts.host import Host, SessionOrigin, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank_coding_agents.install.program import Program
    from reasoningbank_coding_agents.install.targets import Places, Target

_CHANGING = "Shell|Write|Delete"
_HOOKS = {
    "sessionStart": None,
    "beforeSubmitPrompt": None,
    "preToolUse": _CHANGING,
    "postToolUse": _CHANGING,
    "postToolUseFailure": _CHANGING,
    "preCompact": None,
    "stop": None,
    "sessionEnd": None,
}
_PATH_ARGUMENTS = ("working_directory", "cwd", "path", "file_path", "target_file", "target_directory", "filePath")


class Cursor(Host):
    name = "cursor"
    title = "Cursor"
    event_names = {  # noqa: RUF012 - never changed
        "beforesubmitprompt": PROMPT,
        "beforeshellexecution": BEFORE_TOOL,
        "beforemcpexecution": BEFORE_TOOL,
        "aftershellexecution": AFTER_TOOL,
        "aftermcpexecution": AFTER_TOOL,
        "afterfileedit": AFTER_TOOL,
        "posttoolfailure": AFTER_FAILURE,
    }
    transcripts_tell_results = False
    shows_notices = False

    def answer(self, event: str, context: str, notice: str = "") -> dict[str, Any]:
        # It wants an answer even when there is nothing to say, and has no place for a notice.
        del event, notice
        return {"continue": True, **({"additional_context": context} if context else {})}

    def refusal(self, event: str, reason: str, *, asks_user: bool = False) -> dict[str, Any]:
        del event
        return {"permission": "ask" if asks_user else "deny", "user_message": reason, "agent_message": reason}

    def withheld_prompt(self, reason: str) -> dict[str, Any]:
        return {"continue": False, "user_message": reason}

    def first_event(self, session: str, cwd: str) -> dict[str, Any]:
        return {"conversation_id": session, "hook_event_name": "sessionStart", "workspace_roots": [cwd]}

    def targets(self, places: Places, program: Program) -> list[Target]:
        from reasoningbank_coding_agents.install.hooks import Hook, flat
        from reasoningbank_coding_agents.install.targets import ANSWER_S, hook_entries, json_server, server_entry

        folder = (places.project or places.home) / ".cursor"
        our_hooks = [
            Hook(
                event=event,
                command=program.line("hook", self.name, "--event", event),
                timeout_s=ANSWER_S,
                matcher=matcher,
            )
            for event, matcher in _HOOKS.items()
        ]
        hooks_file = hook_entries(folder / "hooks.json", our_hooks, flat)
        return [hooks_file, json_server(folder / "mcp.json", server_entry(program))] if places.server else [hooks_file]

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import cursor

        return cursor

    def transcripts(self, places: Places) -> Iterable[Path]:
        root = places.home / ".cursor" / "projects"
        return (path for path in root.glob("*/agent-transcripts/**/*.jsonl") if "subagents" not in path.parts)

    def origin_of(self, path: Path, records: list[dict[str, Any]]) -> SessionOrigin:
        """In the repository that most of the calls name a path of."""
        from collections import Counter

        roots = Counter(root for call_path in _named_paths(records) if (root := _repository(call_path)) is not None)
        return SessionOrigin(session=path.stem, folder=roots.most_common(1)[0][0] if roots else None)


def _named_paths(records: list[dict[str, Any]]) -> Iterator[Path]:
    from pathlib import Path

    for record in records:
        content = record["message"]["content"]
        for block in content if isinstance(content, list) else ():
            tool_input = block.get("input") if isinstance(block, Mapping) else None
            paths = [tool_input.get(name) for name in _PATH_ARGUMENTS] if isinstance(tool_input, Mapping) else []
            for value in paths:
                if isinstance(value, str) and Path(value).is_absolute():
                    yield Path(value)


def _repository(path: Path) -> str | None:
    return next((str(folder) for folder in (path, *path.parents) if (folder / ".git").exists()), None)


HOST = Cursor()
