"""`install` and `uninstall`: our hooks and our MCP server in the settings of a coding agent.

Shows every change before it is made, and asks when a person is there to answer.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import home
from reasoningbank.core.errors import Conflict
from reasoningbank.files import hold
from reasoningbank.guard.secrets import Scrubber
from reasoningbank_coding_agents.hosts import NAMES, full_name, host_named
from reasoningbank_coding_agents.install.changing import FileChange, Written, installing, uninstalling, write
from reasoningbank_coding_agents.install.targets import Target
from reasoningbank_coding_agents.places import add_scope, program, targets
from reasoningbank_coding_agents.state_dir import make_room

_LOCK_WAIT_S = 20.0
_NEXT = "Start it anew to let it take effect; `reasoningbank doctor` checks the whole way."
_SHARED = "These settings name a path of this machine: do not commit them, or put reasoningbank on the PATH and repeat."


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("agents", metavar="AGENT", nargs="+", type=full_name, choices=NAMES, help=", ".join(NAMES))
    add_scope(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the change, and write nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _install(args: Namespace, terminal: Terminal) -> int:
    notes = []
    can_serve = find_spec("mcp") is not None
    if not can_serve:
        notes.append(
            "The MCP server is left out: it needs `pip install 'reasoningbank[mcp]'` "
            "(in a checkout: `pip install '.[mcp]'`). Then repeat this."
        )
    if args.project and program(args).words[0] != PROGRAM:
        notes.append(_SHARED)
    notes += [note for agent in args.agents if (note := host_named(agent).note_after_install)]
    targets = _targets(args, server=can_serve)
    return _carry_out(args, terminal, lambda: installing(targets), notes=[*notes, _NEXT])


def _uninstall(args: Namespace, terminal: Terminal) -> int:
    there = _targets(args)
    return _carry_out(args, terminal, lambda: uninstalling(there), notes=[])


def _targets(args: Namespace, *, server: bool = True) -> list[Target]:
    return [target for agent in dict.fromkeys(args.agents) for target in targets(agent, args, server=server)]


def _carry_out(args: Namespace, terminal: Terminal, plan: Callable[[], list[FileChange]], notes: list[str]) -> int:
    changes = plan()
    updates = [change for change in changes if change.kind != "unchanged"]
    if not terminal.as_json:
        for change in updates:
            terminal.say(_scrubbed_diff(change.diff))
    is_agreed = False
    if updates and not args.dry_run:
        # A person is asked; a program that calls this has decided already.
        is_agreed = args.yes or terminal.as_json or not terminal.attended() or terminal.confirmed("Write this?")
    writes = _write_alone(plan) if is_agreed else []
    if terminal.as_json:
        terminal.json(_as_json(changes, writes, notes if is_agreed else []))
    else:
        _tell(args, terminal, changes, writes)
        for note in notes if is_agreed else ():
            terminal.tell(note)
    return 0


def _write_alone(plan: Callable[[], list[FileChange]]) -> list[Written]:
    """Write under a lock: whoever comes second looks again, and never takes back what the first one did."""
    lock_file = home() / "install.lock"
    make_room(lock_file)
    lock = hold(lock_file, _LOCK_WAIT_S)
    if lock is None:
        raise Conflict("Another installation is under way. Run this again when it has ended.")
    try:
        return write(plan(), time.time())
    finally:
        os.close(lock)


def _scrubbed_diff(diff: str) -> str:
    """A diff without secrets: the lines around ours are somebody else's and may hold a key."""
    return Scrubber().scrub(diff).text


def _tell(args: Namespace, terminal: Terminal, changes: list[FileChange], writes: list[Written]) -> None:
    for change in changes:
        if change.kind == "unchanged":
            there = "is not there" if change.was.data is None else "is as it should be"
            terminal.tell(f"{change.target.path} {there} ({change.target.holds}).")
    for entry in writes:
        if entry.change.kind != "unchanged":
            note = f"; the file from before is {entry.backup.name}" if entry.backup else ""
            terminal.tell(f"{entry.change.target.path} {entry.change.kind} ({entry.change.target.holds}){note}.")
    names = ", ".join(host_named(agent).title for agent in dict.fromkeys(args.agents))
    if all(change.kind == "unchanged" for change in changes):
        terminal.tell(f"Nothing to change for {names}.")
    elif not writes:
        terminal.tell("Nothing was written.")


def _as_json(changes: list[FileChange], writes: list[Written], notes: list[str]) -> dict[str, Any]:
    backups = {entry.change.target.path: entry.backup for entry in writes}
    return {
        "written": bool(writes),
        "files": [
            {
                "path": str(change.target.path),
                "holds": change.target.holds,
                "change": change.kind,
                "diff": _scrubbed_diff(change.diff),
                "backup": str(backup) if (backup := backups.get(change.target.path)) else None,
            }
            for change in changes
        ],
        "notes": notes,
    }


COMMANDS = {
    "install": Command(
        run=_install,
        options=_options,
        about="Hooks that recall and capture, and the MCP server. Other entries of the settings stay as they are, "
        "the file from before is kept beside it, and doing it twice changes nothing.",
    ),
    "uninstall": Command(
        run=_uninstall,
        options=_options,
        about="Takes out exactly what `install` put in; where nothing else was changed since, the file is what it was.",
    ),
}
