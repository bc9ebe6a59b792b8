"""Vertices and edges that a walk may come to: those of the namespace that asks, neither revoked nor forgotten.

A node belongs to its namespace; a memory reaches as far as its scope. Asked a level at a time, without a look at texts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.teams import fold_memberships
from reasoningbank.core.types import EVERY_NAMESPACE, Edge, Membership, Scope, State
from reasoningbank.guard.trust import revoked_origins
from reasoningbank.ports import Reader, Tie, VertexRow


class Visible:
    def __init__(self, reader: Reader, namespace: str | None, exclude: Collection[str] = ()) -> None:
        """`namespace` None is every one; `exclude` are conversations that must not be come to."""
        self._reader = reader
        self._namespace = namespace
        self._exclude = frozenset(exclude)
        self._revoked = revoked_origins(reader)
        self._team = (
            None if namespace is None else fold_memberships(reader.select(Membership, {})).reach_from(namespace)
        )

    def __call__(self, ids: Sequence[str]) -> set[str]:
        return set(self.rows(ids))

    def rows(self, ids: Sequence[str]) -> dict[str, VertexRow]:
        """Rows of those of the vertices that may be visited."""
        return {vertex_id: row for vertex_id, row in self._reader.vertex_rows(ids).items() if self._shows(row)}

    def says(self, edge: Edge | Tie) -> bool:
        """True if an edge may be shown, given that both of its ends are."""
        return edge.origin not in self._revoked

    def _shows(self, row: VertexRow) -> bool:
        if row.origin in self._revoked or row.state is not State.ACTIVE or row.conv_id in self._exclude:
            return False
        if self._namespace is None or row.namespace == self._namespace or row.scope is Scope.ORG:
            return True
        return row.scope is Scope.TEAM and (self._team is None or self._team.holds(row.namespace))


def namespace_asked(context: BankContext, namespace: str | None) -> str | None:
    """The namespace that is meant: the bank's own where none is said, None for every one."""
    if namespace is None:
        return context.namespace
    return None if namespace == EVERY_NAMESPACE else clean_namespace(namespace)
