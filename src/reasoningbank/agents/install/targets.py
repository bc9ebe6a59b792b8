"""Which files of which agent are changed, and what is put into each.

One function an agent. Knows the places and the forms that the agents document; how a text is changed, and how a file is
written, is the business of the other files here.

| agent       | for a user                                        | for a project                             |
|-------------|---------------------------------------------------|-------------------------------------------|
| claude-code | `~/.claude/settings.json`, `~/.claude.json`       | `.claude/settings.json`, `.mcp.json`      |
| codex       | `~/.codex/hooks.json`, `~/.codex/config.toml`     | `.codex/hooks.json`, `.codex/config.toml` |
| cursor      | `~/.cursor/hooks.json`, `~/.cursor/mcp.json`      | `.cursor/hooks.json`, `.cursor/mcp.json`  |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from reasoningbank.agents.install import hooks, json_text, toml_text
from reasoningbank.agents.install.hooks import Hook
from reasoningbank.agents.install.program import NAME, Program
from reasoningbank.core.values import dataclass

ANSWER_S = 5
"""A hook has a deadline of its own, far below; this one is for a machine that stands still."""
NOTE_S = 3
"""Codex allows no more at the end of a session."""
MCP_ARGUMENTS = ("serve", "--mcp")
CODEX_SWITCH = "codex_hooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    home: Path
    claude: Path | None = None
    """CLAUDE_CONFIG_DIR, where it is set."""
    codex: Path | None = None
    """CODEX_HOME, where it is set."""
    project: Path | None = None
    """The project whose settings are meant; None means the user's own."""
    codex_switch: str | None = CODEX_SWITCH
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


def claude_code(places: Places, program: Program) -> list[Target]:
    folder = places.project / ".claude" if places.project else places.claude or places.home / ".claude"
    server = places.project / ".mcp.json" if places.project else (places.claude or places.home) / ".claude.json"
    line = program.line("hook", "claude-code")
    changing = "Bash|Edit|MultiEdit|Write|NotebookEdit"
    # None is `async`: what runs in the background dies with the agent, and a headless one ends right after its turn.
    wanted = [
        Hook(event="SessionStart", command=line, timeout_s=ANSWER_S),
        Hook(event="UserPromptSubmit", command=line, timeout_s=ANSWER_S),
        Hook(event="PreToolUse", command=line, timeout_s=ANSWER_S, matcher=changing),
        Hook(event="PostToolUseFailure", command=line, timeout_s=ANSWER_S, matcher=changing),
        Hook(event="PreCompact", command=line, timeout_s=ANSWER_S),
        Hook(event="Stop", command=line, timeout_s=ANSWER_S),
        Hook(event="SessionEnd", command=line, timeout_s=NOTE_S),
    ]
    entry = {"type": "stdio", "command": program.call()[0], "args": [*program.call()[1:], *MCP_ARGUMENTS]}
    added = _groups(folder / "settings.json", wanted)
    return [added, _json_server(server, entry, guarded=places.project is None)] if places.server else [added]


def codex(places: Places, program: Program) -> list[Target]:
    folder = places.project / ".codex" if places.project else places.codex or places.home / ".codex"
    line = program.line("hook", "codex")
    changing = "Bash|apply_patch"
    wanted = [
        Hook(event="SessionStart", command=line, timeout_s=ANSWER_S),
        Hook(event="UserPromptSubmit", command=line, timeout_s=ANSWER_S),
        Hook(event="PreToolUse", command=line, timeout_s=ANSWER_S, matcher=changing),
        # There is no event of its own for a tool that fails.
        Hook(event="PostToolUse", command=line, timeout_s=ANSWER_S, matcher=changing),
        Hook(event="PreCompact", command=line, timeout_s=ANSWER_S),
        Hook(event="Stop", command=line, timeout_s=ANSWER_S),
        Hook(event="SessionEnd", command=line, timeout_s=NOTE_S),
    ]
    return [_groups(folder / "hooks.json", wanted), _codex_settings(folder / "config.toml", program, places)]


def cursor(places: Places, program: Program) -> list[Target]:
    folder = (places.project or places.home) / ".cursor"
    changing = "Shell|Write|Delete"
    wanted = [
        Hook(event=event, command=program.line("hook", "cursor", "--event", event), timeout_s=ANSWER_S, matcher=matcher)
        for event, matcher in {
            "sessionStart": None,
            "beforeSubmitPrompt": None,
            "preToolUse": changing,
            "postToolUseFailure": changing,
            "preCompact": None,
            "stop": None,
            "sessionEnd": None,
        }.items()
    ]
    entry = {"command": program.call()[0], "args": [*program.call()[1:], *MCP_ARGUMENTS]}
    added = Target(
        path=folder / "hooks.json",
        holds="hooks",
        blank="{}\n",
        add=lambda text: hooks.with_entries(text, wanted),
        remove=hooks.without_entries,
    )
    return [added, _json_server(folder / "mcp.json", entry)] if places.server else [added]


AGENTS: dict[str, Callable[[Places, Program], list[Target]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "cursor": cursor,
}


# ---------------------------------------------------------------- the forms


def _groups(path: Path, wanted: list[Hook]) -> Target:
    return Target(
        path=path,
        holds="hooks",
        blank="{}\n",
        add=lambda text: hooks.with_groups(text, wanted),
        remove=hooks.without_groups,
    )


def _json_server(path: Path, entry: Mapping[str, object], *, guarded: bool = False) -> Target:
    return Target(
        path=path,
        holds="MCP server",
        blank="{}\n",
        add=partial(_with_json_server, entry),
        remove=_without_json_server,
        guarded=guarded,
    )


def _with_json_server(entry: Mapping[str, object], text: str) -> str:
    there = json_text.parsed(text)
    servers = there.get("mcpServers") if isinstance(there, dict) else None
    known = servers.get(NAME) if isinstance(servers, dict) else None
    # What the agent or the user added to the entry, such as `env`, stays.
    if isinstance(known, dict) and entry.items() <= known.items():
        return text
    kept = known if isinstance(known, dict) else {}
    return json_text.with_member(text, ["mcpServers", NAME], {**kept, **entry})


def _without_json_server(text: str) -> str:
    there = json_text.parsed(text)
    servers = there.get("mcpServers") if isinstance(there, dict) else None
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    return json_text.without_if_bare(json_text.without(text, ["mcpServers", NAME]), ["mcpServers"])


def _codex_settings(path: Path, program: Program, places: Places) -> Target:
    switch = places.codex_switch
    server = {"command": program.call()[0], "args": [*program.call()[1:], *MCP_ARGUMENTS]}

    def add(text: str) -> str:
        there = toml_text.parsed(text)
        features = there.get("features", {})
        # Whoever has decided about hooks, under the old name or the new, has decided.
        decided = isinstance(features, dict) and bool(features.keys() & {"hooks", CODEX_SWITCH})
        if switch is not None and not decided:
            text = toml_text.with_key(text, "features", switch, value=True)
        known = there.get("mcp_servers", {}).get(NAME)
        if not places.server or (isinstance(known, dict) and server.items() <= known.items()):
            return text
        return toml_text.with_table(text, ["mcp_servers", NAME], {**_plain(known), **server})

    def remove(text: str) -> str:
        there = toml_text.parsed(text)
        if NAME in there.get("mcp_servers", {}):
            text = toml_text.without_table(text, ["mcp_servers", NAME])
        return text

    return Target(path=path, holds="MCP server", blank="", add=add, remove=remove)


def _plain(known: object) -> dict[str, object]:
    return (
        {name: value for name, value in known.items() if not isinstance(value, dict)} if isinstance(known, dict) else {}
    )
