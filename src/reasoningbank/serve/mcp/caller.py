"""Who calls a tool, as far as a tool needs to know.

The identity resolver of the HTTP door makes these; over stdio there is one, `LOCAL`. Nothing here proves an identity.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank.core.values import dataclass

READ, WRITE, ADMIN = "read", "write", "admin"
AGENT = "agent"
USER = "user"
TOOL_PREFIX = "tool:"


class Caller(Protocol):
    @property
    def tenant(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def scopes(self) -> Collection[str]:
        """What it may do: read, write, admin."""
        ...

    @property
    def origin(self) -> str:
        """The highest origin that it may claim for what it records."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCaller:
    tenant: str = DEFAULT_TENANT
    name: str = "local"
    scopes: frozenset[str] = frozenset({READ, WRITE, ADMIN})
    origin: str = AGENT


LOCAL = LocalCaller()


def may(caller: Caller, needed: str) -> bool:
    """Each scope includes the ones before it."""
    ladder = (READ, WRITE, ADMIN)
    return any(scope in caller.scopes for scope in ladder[ladder.index(needed) :])


def admitted_origin(claimed: str | None, caller: Caller) -> str:
    """Where a recorded memory comes from. What speaks MCP is an agent, so it is never the user; a caller may only
    lower itself, to a tool whose words it passes on.
    """
    ceiling = AGENT if caller.origin == USER else caller.origin
    if claimed is None or claimed in (AGENT, ceiling):
        return ceiling
    if not claimed.startswith(TOOL_PREFIX) or not claimed.removeprefix(TOOL_PREFIX).strip():
        raise InvalidInput(
            f"origin {claimed[:100]!r} cannot be claimed here: leave it out for your own experience, or say "
            "tool:NAME for what a tool or a page told you."
        )
    return claimed if ceiling == AGENT else ceiling


def source_of(caller: Caller) -> str:
    """Under which name its evidence counts: fixed by who it is, so that nobody can agree with himself."""
    return f"{admitted_origin(None, caller)}:{caller.name}"[:200]
