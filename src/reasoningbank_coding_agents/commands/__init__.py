"""The commands for coding agents, by name."""

from __future__ import annotations

from reasoningbank.cli.table import CommandEntry

COMMANDS = {
    "install": CommandEntry("start", "set a coding agent up: hooks and MCP server", f"{__name__}.install"),
    "uninstall": CommandEntry("start", "take hooks and MCP server out again", f"{__name__}.install"),
    "backfill": CommandEntry(
        "start", "learn from the transcripts that coding agents have left", f"{__name__}.backfill"
    ),
    "ingest": CommandEntry("learn", "take over transcripts of agents as sessions", f"{__name__}.ingest"),
    "watch-git": CommandEntry("learn", "let commits that lasted or were reverted be evidence", f"{__name__}.watch_git"),
    "off": CommandEntry("agents", "silence the hooks of coding agents", f"{__name__}.switch"),
    "on": CommandEntry("agents", "let them speak and listen again", f"{__name__}.switch"),
    "pause": CommandEntry("agents", "silence them for a while", f"{__name__}.switch"),
    "hook": CommandEntry("agents", "answer an event of a coding agent", f"{__name__}.hook"),
}
