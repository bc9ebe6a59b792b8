"""A settings file of a coding agent that an installation changes, and the forms that several agents share.

Which files those are says each agent's own file in `agents/hosts`; how a text is changed, and how a file is written, is
the business of the other files here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from reasoningbank.agents.install import hooks, json_text
from reasoningbank.agents.install.hooks import Hook
from reasoningbank.agents.install.program import NAME, Program
from reasoningbank.core.frozen import dataclass

ANSWER_S = 5
"""A hook has a deadline of its own, far below; this one is for a machine that stands still."""
NOTE_S = 3
"""Codex allows no more at the end of a session."""
MCP_ARGUMENTS = ("serve", "--mcp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    home: Path
    claude: Path | None = None
    """CLAUDE_CONFIG_DIR, where it is set."""
    codex: Path | None = None
    """CODEX_HOME, where it is set."""
    project: Path | None = None
    """The project whose settings are meant; None means the user's own."""
    codex_switch: str | None = None
    """The feature that has to be switched on for hooks to run in Codex; None where they run anyway."""
    server: bool = True
    """Whether the MCP server is meant too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    path: Path
    holds: str
    """hooks, or MCP server."""
    blank: str
    """What a file that is not there is taken for."""
    add: Callable[[str], str]
    remove: Callable[[str], str]
    guarded: bool = False
    """The agent itself locks this file while it writes it."""
    trust: Callable[[str], tuple[bool, str] | None] | None = None
    """Whether the agent runs what stands there, and what to say of it; None where it runs whatever it finds."""


def hook_groups(path: Path, wanted: list[Hook]) -> Target:
    return Target(
        path=path,
        holds="hooks",
        blank="{}\n",
        add=lambda text: hooks.with_groups(text, wanted),
        remove=hooks.without_groups,
    )


def json_server(path: Path, entry: Mapping[str, object], *, guarded: bool = False) -> Target:
    return Target(
        path=path,
        holds="MCP server",
        blank="{}\n",
        add=partial(_with_json_server, entry),
        remove=_without_json_server,
        guarded=guarded,
    )


def server_entry(program: Program) -> dict[str, object]:
    """How an agent starts our MCP server."""
    return {"command": program.call()[0], "args": [*program.call()[1:], *MCP_ARGUMENTS]}


def _with_json_server(entry: Mapping[str, object], text: str) -> str:
    there = json_text.parse(text)
    servers = there.get("mcpServers") if isinstance(there, dict) else None
    known = servers.get(NAME) if isinstance(servers, dict) else None
    # What the agent or the user added to the entry, such as `env`, stays.
    if isinstance(known, dict) and entry.items() <= known.items():
        return text
    kept = known if isinstance(known, dict) else {}
    return json_text.with_member(text, ["mcpServers", NAME], {**kept, **entry})


def _without_json_server(text: str) -> str:
    there = json_text.parse(text)
    servers = there.get("mcpServers") if isinstance(there, dict) else None
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    return json_text.without_if_bare(json_text.without(text, ["mcpServers", NAME]), ["mcpServers"])
