"""Scope of memories: who may find which, by the teams of the tenant.

    project   its own namespace            team   the namespaces of its team            org   the whole tenant

Teams say what concerns whom, they keep no secrets: within a tenant anybody may ask as any namespace, or as all of them.
"""

from __future__ import annotations

from reasoningbank.core.frozen import replace
from reasoningbank.core.teams import Teams, fold_memberships
from reasoningbank.core.types import Membership, Memory, Scope
from reasoningbank.ports import Filter, Store
from reasoningbank.recall.known_empty import KnownAsOf


class KnownTeams:
    """The teams of each tenant as of a change; read again when the feed has gone on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: KnownAsOf[Teams] = KnownAsOf()

    def narrow(self, where: Filter, asked_from: str | None, as_of: int | None) -> Filter:
        """The filter with the team of the namespace that asks. `as_of` is the change up to which the caller has
        followed the feed, if it knows.
        """
        if where.namespace is None:
            return where
        teams = self._known.get(where.tenant, as_of, lambda: self._teams_of(where.tenant))
        team = teams.reach_from(asked_from or where.namespace)
        return where if team is None else replace(where, team=team)

    def _teams_of(self, tenant: str) -> Teams:
        with self._store.read(tenant) as reader:
            return fold_memberships(reader.select(Membership, {}))


def is_in_reach(memory: Memory, where: Filter) -> bool:
    """True if a memory's scope reaches the namespace that asks."""
    if where.namespace is None or memory.scope is Scope.ORG or memory.namespace == where.namespace:
        return True
    return memory.scope is Scope.TEAM and (where.team is None or where.team.holds(memory.namespace))


def is_referred_to(memory: Memory, where: Filter) -> bool:
    """True if a link may name a memory here: the other projects of the team are named, though not searched."""
    return is_in_reach(memory, where) or where.team is None or where.team.holds(memory.namespace)


def is_allowed(memory: Memory, where: Filter) -> bool:
    """True if a memory passes a filter, to the letter: what every index must let through, and nothing else."""
    return (
        memory.tenant == where.tenant
        and memory.state in where.states
        and memory.scope in where.scopes
        and is_in_reach(memory, where)
        and (where.outcome is None or memory.outcome is where.outcome)
        and (where.agent is None or memory.agent == where.agent)
        and (where.task_type is None or memory.task_type == where.task_type)
        and all(tag in memory.tags for tag in where.tags)
        and not any(tag in memory.tags for tag in where.without_tags)
    )
