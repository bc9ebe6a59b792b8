"""A settings file of a coding agent that an installation changes, and the forms that several agents share.

Which files those are says each agent's own file in `agents/hosts`; how a text is changed, and how a file is written, is
the business of the other files here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.files import PRIVATE_MODE
from reasoningbank_coding_agents.install import hooks, json_text
from reasoningbank_coding_agents.install.hooks import HookCall
from reasoningbank_coding_agents.install.program import NAME, Program, is_ours

ANSWER_S = 5
"""A hook has a deadline of its own, far below; this one is for a machine that stands still."""
NOTE_S = 3
"""Codex allows no more at the end of a session."""
MCP_ARGUMENTS = ("serve", "--mcp")
SERVERS = "mcpServers"
"""Where most agents keep their MCP servers."""
PROGRAM_MODE = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment, in which agents are told that their folder is elsewhere."""
    project: Path | None = None
    """The project whose settings are meant; None means the user's own."""
    codex_switch: str | None = None
    """The feature that has to be switched on for hooks to run in Codex; None where they run anyway."""
    server: bool = True
    """True if the MCP server is meant too."""

    def named(self, variable: str) -> Path | None:
        """The folder that a variable names, where it is set."""
        folder = self.variables.get(variable)
        return Path(folder).expanduser() if folder else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    path: Path
    holds: str
    """hooks, MCP server, or both."""
    blank: str
    """Text that a file which is not there is taken for."""
    add: Callable[[str], str]
    remove: Callable[[str], str]
    start_call: Callable[[str], HookCall | None] | None = None
    """How the settings call the hook at the start of a session; None where such a hook has no place here."""
    server_call: Callable[[str], Sequence[str] | None] | None = None
    """How the settings start our MCP server; None where it has no place here."""
    guarded: bool = False
    """The agent itself locks this file while it writes it."""
    mode: int = PRIVATE_MODE
    """Mode of a file that is made."""
    trust: Callable[[str], tuple[bool, str] | None] | None = None
    """True if the agent runs what stands there, and what to say of it; None where it runs whatever it finds."""


def hook_groups(path: Path, our_hooks: list[hooks.Hook], *, per_second: int = 1) -> Target:
    """Hooks in the shape of Claude Code; `per_second` is 1000 where an agent counts a timeout in milliseconds."""
    return Target(
        path=path,
        holds=hooks.HOOKS,
        blank="{}\n",
        add=lambda text: hooks.with_groups(text, our_hooks, per_second=per_second),
        remove=hooks.without_groups,
        start_call=partial(hooks.start_call, per_second=per_second),
    )


def hook_entries(path: Path, our_hooks: list[hooks.Hook], entry: Callable[[hooks.Hook], dict[str, object]]) -> Target:
    """Hooks as a flat list for each event, in a file that says `version`."""
    return Target(
        path=path,
        holds=hooks.HOOKS,
        blank="{}\n",
        add=lambda text: hooks.with_entries(text, our_hooks, entry),
        remove=hooks.without_entries,
        start_call=hooks.start_call,
    )


def json_server(path: Path, entry: Mapping[str, object], *, under: str = SERVERS, has_lock: bool = False) -> Target:
    return Target(
        path=path,
        holds="MCP server",
        blank="{}\n",
        add=partial(_with_json_server, entry, under),
        remove=partial(_without_json_server, under),
        server_call=partial(_json_server_call, under),
        guarded=has_lock,
    )


def both_in_one(first: Target, second: Target) -> Target:
    """Two kinds of entries for one file, as one target."""
    return Target(
        path=first.path,
        holds=f"{first.holds} and {second.holds}",
        blank=first.blank,
        add=lambda text: second.add(first.add(text)),
        remove=lambda text: first.remove(second.remove(text)),
        start_call=first.start_call,
        server_call=second.server_call,
    )


def own_file(
    path: Path,
    text: str,
    *,
    start_call: Callable[[str], HookCall | None] | None = None,
    mode: int = PRIVATE_MODE,
) -> Target:
    """A file that is ours altogether, such as a script that an agent runs."""

    def add(there: str) -> str:
        if there and not is_ours(there):
            raise InvalidInput("it is there already and calls something else")
        return text

    return Target(
        path=path,
        holds=hooks.HOOKS,
        blank="",
        add=add,
        remove=lambda there: "" if is_ours(there) else there,
        start_call=start_call,
        mode=mode,
    )


def server_entry(program: Program) -> dict[str, object]:
    """How an agent starts our MCP server."""
    return {"command": program.call()[0], "args": [*program.call()[1:], *MCP_ARGUMENTS]}


def _with_json_server(entry: Mapping[str, object], under: str, text: str) -> str:
    existing = _known_server(under, text)
    # What the agent or the user added to the entry, such as `env`, stays.
    if existing is not None and entry.items() <= existing.items():
        return text
    return json_text.with_member(text, [under, NAME], {**(existing or {}), **entry})


def _without_json_server(under: str, text: str) -> str:
    there = json_text.parse(text)
    servers = there.get(under) if isinstance(there, dict) else None
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    return json_text.without_if_bare(json_text.without(text, [under, NAME]), [under])


def _json_server_call(under: str, text: str) -> list[str] | None:
    entry = _known_server(under, text)
    if entry is None:
        return None
    inner = entry.get("transport")
    call = inner if isinstance(inner, dict) else entry
    command, arguments = call.get("command", ""), call.get("args")
    words = command if isinstance(command, list) else [command, *(arguments if isinstance(arguments, list) else ())]
    return [str(word) for word in words]


def _known_server(under: str, text: str) -> dict[str, object] | None:
    there = json_text.parse(text)
    servers = there.get(under) if isinstance(there, dict) else None
    server = servers.get(NAME) if isinstance(servers, dict) else None
    return server if isinstance(server, dict) else None
