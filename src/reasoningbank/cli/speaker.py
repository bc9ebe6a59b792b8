"""Tells whether a command is given by a person or by a coding agent in its shell."""

from __future__ import annotations

import sys

from reasoningbank.config.environment import agent_around, agent_mark
from reasoningbank.core.origins import AGENT, USER
from reasoningbank.guard.speakers import Door, require_user


def speaker() -> str:
    """The origin of what this command writes."""
    return USER if agent_mark() is None else AGENT


def check_is_user(what: str) -> None:
    """Refuse an agent what only the user decides."""
    require_user(speaker(), what)


def terminal_door() -> Door:
    """The door by which a rule comes in here: the user's own where a person types, and no agent is around."""
    mark = agent_around()
    if mark is not None:
        return Door(name="command", why=f"an agent runs this command ({mark})")
    if sys.stdin is None or not sys.stdin.isatty():
        return Door(name="command", why="nobody types here: the input of this command is no terminal")
    return Door(name="terminal", is_user=True)
