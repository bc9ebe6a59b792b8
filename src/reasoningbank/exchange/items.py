"""Items that readers of foreign files yield, one at a time.

Readers only read: they neither open a bank nor decide what is new. `identity` is stable for the same thing in the
same file, so that importing twice adds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.core.frozen import dataclass, field
from reasoningbank.core.types import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMemory:
    identity: str
    draft: Draft
    successes: int = 0
    """Uses that the other system counted as successful; they become signals."""
    failures: int = 0
    used_at: float | None = None
    left_out: tuple[str, ...] = ()
    """Fields of the file that could not be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingEdge:
    source_identity: str
    target_identity: str
    kind: str
    """One of `EdgeKind`; the other system's own word goes into `text`."""
    weight: float
    text: str = ""
    evidence: str = ""
    created_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingStep:
    action: str
    result: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingTrajectory:
    identity: str
    task: str
    namespace: str | None = None
    agent: str | None = None
    outcome: str | None = None
    steps: tuple[IncomingStep, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    started_at: float | None = None
    ended_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedItem:
    what: str
    why: str


Item = IncomingMemory | IncomingEdge | IncomingTrajectory | SkippedItem
