"""LangGraph's rules for filters and for namespaces that match. Pure, and without its library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from reasoningbank.core.errors import InvalidInput

ANY_LABEL = "*"


class FilterRule(Protocol):
    @property
    def match_type(self) -> str: ...

    @property
    def path(self) -> Sequence[str]: ...


def matches(rule: FilterRule, namespace: tuple[str, ...]) -> bool:
    path = tuple(rule.path)
    if len(namespace) < len(path):
        return False
    if rule.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"A namespace is matched by its prefix or suffix, not by {rule.match_type!r}.")
    part = namespace[: len(path)] if rule.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(rule_label in (ANY_LABEL, label) for label, rule_label in zip(part, path, strict=True))


def passes(value: Mapping[str, Any], rules: Mapping[str, Any] | None) -> bool:
    return not rules or all(_fits(value.get(name), rule) for name, rule in rules.items())


def _fits(value: Any, rule: Any) -> bool:
    if isinstance(rule, Mapping):
        if any(str(name).startswith("$") for name in rule):
            return all(_compares(value, str(operator), other) for operator, other in rule.items())
        return isinstance(value, Mapping) and all(_fits(value.get(name), inner) for name, inner in rule.items())
    if isinstance(rule, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(rule)
            and all(_fits(item, other) for item, other in zip(value, rule, strict=True))
        )
    return bool(value == rule)


def _compares(value: Any, operator: str, other: Any) -> bool:
    match operator:
        case "$eq":
            return bool(value == other)
        case "$ne":
            return bool(value != other)
        case "$gt" | "$gte" | "$lt" | "$lte":
            return _compare(value, operator, other)
        case _:
            raise InvalidInput(f"A filter knows no {operator}: use $eq, $ne, $gt, $gte, $lt or $lte.")


def _compare(value: Any, operator: str, other: Any) -> bool:
    try:
        number, limit = float(value), float(other)
    except (TypeError, ValueError):
        return False
    return {"$gt": number > limit, "$gte": number >= limit, "$lt": number < limit, "$lte": number <= limit}[operator]
