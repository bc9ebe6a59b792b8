"""Filters of memories as Qdrant's conditions on payloads: what `recall.reach.is_allowed` means, inside the engine."""

from __future__ import annotations

from collections.abc import Sequence

from qdrant_client import models

from reasoningbank.core.types import Scope
from reasoningbank.ports import Filter


def conditions_of(where: Filter) -> models.Filter:
    must: list[models.Condition] = [_is("tenant", where.tenant), _is_any("state", where.states)]
    if set(where.scopes) != set(Scope):
        must.append(_is_any("scope", where.scopes))
    if where.namespace is not None:
        must.append(_reach(where, where.namespace))
    plain = {"outcome": where.outcome, "agent": where.agent, "task_type": where.task_type}
    must.extend(_is(field, value) for field, value in plain.items() if value is not None)
    must.extend(_is("tags", tag) for tag in where.tags)
    exclusions: list[models.Condition] = [_is_any("tags", where.without_tags)] if where.without_tags else []
    return models.Filter(must=must, must_not=exclusions or None)


def of_tenant(tenant: str) -> models.FieldCondition:
    return _is("tenant", tenant)


def has_term(key: int) -> models.FieldCondition:
    return models.FieldCondition(key="terms", match=models.MatchValue(value=key))


def _reach(where: Filter, namespace: str) -> models.Filter:
    """Its own namespace, what belongs to the whole tenant, and of what belongs to teams that of its own."""
    of_team: list[models.Condition] = [_is("scope", Scope.TEAM)]
    outside: list[models.Condition] = []
    if where.team is not None:
        (of_team if where.team.inside else outside).append(_is_any("namespace", where.team.namespaces))
    return models.Filter(
        should=[
            _is("namespace", namespace),
            _is("scope", Scope.ORG),
            models.Filter(must=of_team, must_not=outside or None),
        ]
    )


def _is(field: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchValue(value=str(value)))


def _is_any(field: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=[str(value) for value in values]))
