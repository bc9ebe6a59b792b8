"""The caller of a tool: tenant, name and scopes.

The identity resolver of the HTTP door makes these; over stdio there is one, `LOCAL`. Nothing here proves an identity.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import AGENT
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank.guard.speakers import origin_of, speaker_over_mcp

READ, WRITE, ADMIN = "read", "write", "admin"


class Caller(Protocol):
    @property
    def tenant(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def scopes(self) -> Collection[str]:
        """The caller's rights: read, write, admin."""
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


def may(caller: Caller, required_scope: str) -> bool:
    """True if a caller has a scope, or one that includes it: each includes the ones before it."""
    ladder = (READ, WRITE, ADMIN)
    return any(scope in caller.scopes for scope in ladder[ladder.index(required_scope) :])


def admitted_origin(claim: str | None, caller: Caller) -> str:
    """The origin of a memory that this caller records."""
    return origin_of(claim, speaker_over_mcp(caller.origin))


def source_of(caller: Caller) -> str:
    """The name under which the caller's evidence counts: fixed by who it is, so that nobody can agree with himself."""
    return f"{admitted_origin(None, caller)}:{caller.name}"[:200]
