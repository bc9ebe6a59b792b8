"""Consolidation plan as values: it can be shown, compared and thrown away.

Knows the shape of each act and nothing of how it is found or carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Consolidation, ConsolidationKind, EdgeKind, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """Text that a model made of several that say the same."""

    title: str
    description: str
    content: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    kept: str
    merged: tuple[str, ...]
    title: str
    """Of the one that is kept."""
    likeness: tuple[tuple[float, float], ...]
    """For each merged one: cosine, and share of words in common."""
    why: str
    text: Rewritten | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    source: str
    target: str
    kind: EdgeKind
    weight: float
    text: str
    evidence: str
    titles: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archival:
    id: str
    title: str
    confidence: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    id: str
    title: str
    before: Scope
    after: Scope
    sessions: int
    confidence: float
    why: str


Act = Merge | Link | Archival | Promotion


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    namespace: str
    at: float
    considered: int
    """Memories that took part."""
    merges: tuple[Merge, ...] = ()
    conflicts: tuple[Link, ...] = ()
    links: tuple[Link, ...] = ()
    archivals: tuple[Archival, ...] = ()
    promotions: tuple[Promotion, ...] = ()
    revisions: Mapping[str, int] = field(default_factory=dict)
    """At which revision each memory was when it was looked at: whoever changed one since goes first."""

    @property
    def acts(self) -> tuple[Act, ...]:
        """In the order in which they are carried out."""
        return (*self.merges, *self.conflicts, *self.links, *self.archivals, *self.promotions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """A plan and what became of it."""

    plan: Plan
    run: str | None
    """The id to undo it by; None when nothing was changed."""
    applied: int
    """Acts that were carried out."""
    left: tuple[str, ...] = ()
    """What could not be done, and why."""
    due: bool = True
    """False when it was asked for only if due, and was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    run: str
    memories: tuple[str, ...]
    """Put back as they were."""
    edges: int
    signals: int
    left: tuple[str, ...]
    """What stays as it is because somebody has changed it since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRun:
    """A run as the history shows it."""

    id: str
    kind: ConsolidationKind
    namespace: str
    at: float
    source: str
    counts: Mapping[str, int]
    """By act: merged, linked, archived, promoted."""
    undone: bool
    units: tuple[Consolidation, ...]
