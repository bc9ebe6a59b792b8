"""OpenCode: a plugin of our own that calls the hooks (`plugin/reasoningbank.js`), and `mcp` in `opencode.json`.

The plugin speaks the forms of Claude Code. OpenCode keeps its sessions in a database of its own, so the hooks write
down what they hear.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from reasoningbank_coding_agents.events import AFTER_FAILURE, AFTER_TOOL, PROMPT, SESSION_START
from reasoningbank_coding_agents.hosts.host import Host, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank_coding_agents.install.hooks import HookCall
    from reasoningbank_coding_agents.install.program import Program
    from reasoningbank_coding_agents.install.targets import Places, Target

_COMMAND = "const COMMAND = "


class OpenCode(Host):
    name = "opencode"
    title = "OpenCode"
    transcripts_tell_results = False
    can_ask = False
    reads_context_at = (SESSION_START, PROMPT, AFTER_TOOL, AFTER_FAILURE)

    def withheld_prompt(self, reason: str) -> dict[str, Any]:
        # A plugin can only add to what the user typed.
        del reason
        return {}

    def targets(self, places: Places, program: Program) -> list[Target]:
        from reasoningbank_coding_agents.install.targets import MCP_ARGUMENTS, json_server, own_file

        home = (places.named("XDG_CONFIG_HOME") or places.home / ".config") / "opencode"
        folder = places.project / ".opencode" if places.project else places.named("OPENCODE_CONFIG_DIR") or home
        plugin = own_file(folder / "plugin" / "reasoningbank.js", _plugin(program, self.name), start_call=_start_call)
        if not places.server:
            return [plugin]
        settings = (places.project or folder) / "opencode.json"
        if not settings.exists() and settings.with_suffix(".jsonc").exists():
            settings = settings.with_suffix(".jsonc")
        entry = {"type": "local", "command": program.call(*MCP_ARGUMENTS), "enabled": True}
        return [plugin, json_server(settings, entry, under="mcp")]

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import claude_code

        return claude_code

    def transcripts(self, places: Places) -> Iterable[Path]:
        del places
        return ()


def _plugin(program: Program, name: str) -> str:
    from importlib.resources import files

    text = files("reasoningbank_coding_agents.hosts").joinpath("opencode_plugin.js").read_text("utf-8")
    call = json.dumps(program.call("hook", name))
    return text.replace("{{line}}", program.line("hook", name)).replace('["{{call}}"]', call)


def _start_call(text: str) -> HookCall | None:
    import shlex

    from reasoningbank_coding_agents.install.hooks import HookCall
    from reasoningbank_coding_agents.install.targets import ANSWER_S

    line = next((line for line in text.splitlines() if line.startswith(_COMMAND)), None)
    if line is None:
        return None
    try:
        words = json.loads(line.removeprefix(_COMMAND))
    except ValueError:
        return None
    return HookCall(shlex.join([*map(str, words), "--event", SESSION_START]), ANSWER_S)


HOST = OpenCode()
