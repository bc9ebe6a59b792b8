"""How many memories of a tenant there are of each kind that a filter can name, so that counting reads no rows.

Only what a filter says of tags is counted among the rows that have those tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Scope
from reasoningbank.ports import Filter
from reasoningbank_postgres.pgvector.filters import condition_of
from reasoningbank_postgres.pgvector.server import Query, Rows
from reasoningbank_postgres.pgvector.tables import BuildTables


class AskTenant(Protocol):
    def __call__(self, tenant: str, /, *queries: Query) -> list[Rows]: ...


class Group(NamedTuple):
    namespace: str
    scope: str
    outcome: str
    state: str
    agent: str | None
    task_type: str | None
    memories: int
    length: int


class Census:
    def __init__(self, changes: int, reach: int, groups: Sequence[Group]) -> None:
        self.changes = changes
        self.reach = reach
        """How many neighbours a search through the graph must look at; 0 where there is no graph."""
        self._groups = groups
        self.memories = sum(group.memories for group in groups)
        self.mean_length = sum(group.length for group in groups) / max(1, self.memories)
        self._known: dict[Filter, int] = {}

    def counts(self, filters: Sequence[Filter], ask: AskTenant, tables: BuildTables) -> list[int]:
        """How many memories pass each filter."""
        tag_filters = [where for where in filters if where not in self._known and (where.tags or where.without_tags)]
        if len(self._known) > 256:
            self._known = {}
        if tag_filters:
            answers = ask(tag_filters[0].tenant, *(_count_tagged(where, tables) for where in tag_filters))
            for where, [(number,)] in zip(tag_filters, answers, strict=True):
                plain = replace(where, without_tags=())
                self._known[where] = number if where.tags else self._sum(plain) - number
        return [self._count(where) for where in filters]

    def _count(self, where: Filter) -> int:
        if where not in self._known:
            self._known[where] = self._sum(where)
        return self._known[where]

    def _sum(self, where: Filter) -> int:
        return sum(group.memories for group in self._groups if _passes(group, where))


def read_census(tenant: str, stamp: Query, ask: AskTenant, tables: BuildTables) -> Census:
    columns = ", ".join(Group._fields)
    [(changes, reach, *_)], rows = ask(
        tenant, stamp, (f"SELECT {columns} FROM {tables.groups} WHERE tenant = %s AND memories > 0", (tenant,))
    )
    return Census(changes, reach, [Group(*row) for row in rows])


def _count_tagged(where: Filter, tables: BuildTables) -> Query:
    """Query for the number of memories with the tags; if there are none, of those with one that is not wanted."""
    if where.tags:
        condition, values = condition_of(where, tables)
    else:
        condition, values = condition_of(replace(where, without_tags=()), tables)
        condition += f" AND num IN (SELECT num FROM {tables.tags} WHERE tenant = %s AND tag = ANY(%s::text[]))"
        values += [where.tenant, list(where.without_tags)]
    return f"SELECT count(*) FROM {tables.rows} WHERE {condition}", values


def _passes(group: Group, where: Filter) -> bool:
    return (
        group.state in where.states
        and group.scope in where.scopes
        and _is_in_reach(group, where)
        and (where.outcome is None or group.outcome == where.outcome)
        and (where.agent is None or group.agent == where.agent)
        and (where.task_type is None or group.task_type == where.task_type)
    )


def _is_in_reach(group: Group, where: Filter) -> bool:
    if where.namespace is None or group.scope == Scope.ORG or group.namespace == where.namespace:
        return True
    return group.scope == Scope.TEAM and (where.team is None or where.team.holds(group.namespace))
