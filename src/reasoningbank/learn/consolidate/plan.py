"""Consolidation plan as values: it can be shown, compared and thrown away.

Independent of how the acts are found and carried out.
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
    """Title of the memory that is kept."""
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
    from_use: bool = False
    """Known from tasks, and to be weighed again when there are more of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reweighing:
    """A link from use whose evidence has grown, or grown old."""

    edge: str
    revision: int
    before: float
    link: Link
    """As it is from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlinking:
    """A link from use that no longer holds."""

    edge: str
    revision: int
    link: Link
    """As it is, but with what use says now."""
    way: str
    counts: tuple[int, ...]
    tasks: tuple[str, ...]


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


Act = Merge | Link | Reweighing | Unlinking | Archival | Promotion


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    namespace: str
    at: float
    considered: int
    """Memories that took part."""
    merges: tuple[Merge, ...] = ()
    conflicts: tuple[Link, ...] = ()
    links: tuple[Link, ...] = ()
    reweighed: tuple[Reweighing, ...] = ()
    unlinked: tuple[Unlinking, ...] = ()
    archivals: tuple[Archival, ...] = ()
    promotions: tuple[Promotion, ...] = ()
    revisions: Mapping[str, int] = field(default_factory=dict)
    """At which revision each memory was when it was looked at: whoever changed one since goes first."""

    @property
    def acts(self) -> tuple[Act, ...]:
        """In the order in which they are carried out."""
        linking: tuple[Act, ...] = (*self.conflicts, *self.unlinked, *self.reweighed, *self.links)
        return (*self.merges, *linking, *self.archivals, *self.promotions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """A plan and what became of it."""

    plan: Plan
    run: str | None
    """The id to undo it by; None when nothing was changed."""
    applied: int
    """Acts that were carried out."""
    left: tuple[str, ...] = ()
    """Acts that could not be done, and why."""
    due: bool = True
    """False when it was asked for only if due, and was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    run: str
    memories: tuple[str, ...]
    """Put back as they were."""
    edges: int
    """Removed again."""
    signals: int
    left: tuple[str, ...]
    """Memories and edges that stay as they are because somebody has changed them since."""
    links: int = 0
    """Put back as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRun:
    """A run as the history shows it."""

    id: str
    kind: ConsolidationKind
    namespace: str
    at: float
    source: str
    counts: Mapping[str, int]
    """Number of acts of each sort: merged, linked, reweighed, unlinked, archived, promoted."""
    undone: bool
    units: tuple[Consolidation, ...]
