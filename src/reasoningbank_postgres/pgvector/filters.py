"""A filter as a condition of SQL: to the letter what `recall.reach.is_allowed` says of a memory."""

from __future__ import annotations

from typing import Any

from reasoningbank.core.types import Scope, State
from reasoningbank.ports import Filter
from reasoningbank_postgres.pgvector.tables import BuildTables

Condition = tuple[str, list[Any]]
_SCOPES, _STATES = frozenset(Scope), frozenset(State)


def condition_of(where: Filter, tables: BuildTables) -> Condition:
    """Condition on a table that has the columns of a filter and the number of a row."""
    conditions: list[str] = ["tenant = %s"]
    values: list[Any] = [where.tenant]

    def add(text: str, *more: Any) -> None:
        conditions.append(text)
        values.extend(more)

    if frozenset(where.states) != _STATES:
        add("state = ANY(%s::text[])", list(where.states))
    if frozenset(where.scopes) != _SCOPES:
        add("scope = ANY(%s::text[])", list(where.scopes))
    if where.namespace is not None:
        add(*_reach(where, where.namespace))
    for column in ("outcome", "agent", "task_type"):
        if (value := getattr(where, column)) is not None:
            add(f"{column} = %s", value)
    # As lists that are found once: a table that is looked into for each row could not be searched by its graph.
    for tag in where.tags:
        add(f"num = ANY(ARRAY(SELECT num FROM {tables.tags} WHERE tenant = %s AND tag = %s))", where.tenant, tag)
    if where.without_tags:
        with_any = f"SELECT num FROM {tables.tags} WHERE tenant = %s AND tag = ANY(%s::text[])"
        add(f"num <> ALL(ARRAY({with_any}))", where.tenant, list(where.without_tags))
    return " AND ".join(conditions), values


def _reach(where: Filter, namespace: str) -> tuple[Any, ...]:
    in_team, mates = "scope = 'team'", []
    if where.team is not None:
        in_team += f" AND {'' if where.team.inside else 'NOT '}namespace = ANY(%s::text[])"
        mates = [list(where.team.namespaces)]
    return f"(namespace = %s OR scope = 'org' OR ({in_team}))", namespace, *mates
