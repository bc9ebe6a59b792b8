"""Tells whether a command is given by a person or by a coding agent in its shell."""

from __future__ import annotations

from reasoningbank.config.environment import agent_mark
from reasoningbank.core.origins import AGENT, USER
from reasoningbank.guard.speakers import require_user


def speaker() -> str:
    """The origin of what this command writes."""
    return USER if agent_mark() is None else AGENT


def check_is_user(what: str) -> None:
    """For what only the user decides."""
    require_user(speaker(), what)
