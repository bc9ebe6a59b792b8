"""Reads nodes and edges as a caller writes them down, in the field names of the memory graph; errors name the field.

    node   id label conv_id text tags ingestion_time update_time embedding_id reasoning_pointer_ids + those of its label
    edge   id source target text weight tags created_time kind evidence

An `embedding_id` is taken and not kept: vectors are a view of the text and found by the id of the node. Neither is the
`band` of an edge, which follows from its weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    clean_fraction,
    clean_name,
    clean_tags,
    clean_text,
    one_of,
    required_text,
)
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import EdgeKind, NodeLabel
from reasoningbank.graph.moments import parse_moment
from reasoningbank.graph.node_fields import read_fields, window_of

_COMMON = frozenset(
    {
        "id", "label", "labels", "conv_id", "text", "tags", "ingestion_time", "update_time", "embedding_id",
        "reasoning_pointer_ids",
    }
)  # fmt: skip
_SOURCE = ("source", "source_id", "from")
_TARGET = ("target", "target_id", "to")
_OF_AN_EDGE = frozenset(
    {"id", "text", "weight", "tags", "band", "created_time", "kind", "evidence", *_SOURCE, *_TARGET}
)


class Placed(Protocol):
    @property
    def place(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDraft:
    place: str
    """Its place in what was handed over, such as nodes[3]."""
    name: str
    """"": it is named by the id that it gets, which follows from what it says."""
    conv_id: str
    label: NodeLabel
    fields: Mapping[str, Any]
    text: str
    tags: tuple[str, ...]
    pointers: tuple[str, ...]
    """The lessons that it taught."""
    start_at: float | None
    end_at: float | None
    created_at: float | None
    updated_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeDraft:
    place: str
    name: str
    source: str
    target: str
    kind: EdgeKind
    text: str
    weight: float
    tags: tuple[str, ...]
    evidence: str
    created_at: float | None


def read_nodes(items: object) -> list[NodeDraft]:
    drafts = [_node(place, values) for place, values in read_entries("nodes", items)]
    refuse_twice(drafts, [(draft.name,) for draft in drafts], "id")
    return drafts


def read_edges(items: object) -> list[EdgeDraft]:
    drafts = [_edge(place, values) for place, values in read_entries("edges", items)]
    refuse_twice(drafts, [(draft.name,) for draft in drafts], "id")
    nameless = [draft for draft in drafts if not draft.name]
    refuse_twice(nameless, [(draft.source, draft.target, draft.kind.value) for draft in nameless], "source and target")
    return drafts


def read_entries(noun: str, items: object) -> list[tuple[str, Mapping[str, Any]]]:
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise InvalidInput(f"{noun} must be a list of objects.")
    entries = []
    for number, values in enumerate(items):
        place = f"{noun}[{number}]"
        if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
            raise InvalidInput(f"{place} must be an object with named fields, not {type(values).__name__}.")
        entries.append((place, values))
    return entries


def refuse_twice(drafts: Sequence[Placed], names: Sequence[tuple[str, ...]], field: str) -> None:
    places: dict[tuple[str, ...], str] = {}
    for draft, name in zip(drafts, names, strict=True):
        if name == ("",):
            continue
        if name in places:
            raise InvalidInput(f"{draft.place}.{field}: {' → '.join(name)} is also that of {places[name]}.")
        places[name] = draft.place


def _node(place: str, values: Mapping[str, Any]) -> NodeDraft:
    try:
        label = _label(values)
        fields = read_fields(label, {name: value for name, value in values.items() if name not in _COMMON})
        start_at, end_at = window_of(fields)
        return NodeDraft(
            place=place,
            name=_name(values),
            label=label,
            conv_id=clean_name(require(values, "conv_id"), "conv_id"),
            text=required_text(require(values, "text"), "text", MAX_CONTENT_CHARS),
            tags=read_tags(values),
            fields=fields,
            start_at=start_at,
            end_at=end_at,
            created_at=_time(values, "ingestion_time"),
            updated_at=_time(values, "update_time"),
            pointers=read_names(values.get("reasoning_pointer_ids"), "reasoning_pointer_ids"),
        )
    except InvalidInput as error:
        raise InvalidInput(f"{place}.{error}") from None


def _edge(place: str, values: Mapping[str, Any]) -> EdgeDraft:
    try:
        source, target = _ends(values)
        return EdgeDraft(
            place=place,
            name=_name(values),
            source=source,
            target=target,
            kind=one_of(EdgeKind, values.get("kind", EdgeKind.RELATES), "kind"),
            text=required_text(require(values, "text"), "text", MAX_DESCRIPTION_CHARS),
            weight=clean_fraction(require(values, "weight"), "weight"),
            tags=read_tags(values),
            evidence=clean_text(values.get("evidence", ""), "evidence", MAX_DESCRIPTION_CHARS),
            created_at=_time(values, "created_time"),
        )
    except InvalidInput as error:
        raise InvalidInput(f"{place}.{error}") from None


def require(values: Mapping[str, Any], name: str) -> Any:
    if values.get(name) is None:
        raise InvalidInput(f"{name} is missing.")
    return values[name]


def _name(values: Mapping[str, Any]) -> str:
    value = values.get("id")
    return "" if value is None else clean_name(value, "id")


def _label(values: Mapping[str, Any]) -> NodeLabel:
    value = values.get("labels")
    names = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset)):
        raise InvalidInput(f"labels must be a list with one label, not {type(names).__name__}.")
    labels = {*map(_checked_label, names), *([_checked_label(values["label"])] if "label" in values else [])}
    if len(labels) > 1:
        raise InvalidInput(f"label: a node has exactly one, not {' and '.join(sorted(labels))}.")
    if not labels:
        raise InvalidInput(f"label is missing: use one of {', '.join(NodeLabel)}.")
    return labels.pop()


def _checked_label(value: object) -> NodeLabel:
    return one_of(NodeLabel, value, "label")


def read_tags(values: Mapping[str, Any]) -> tuple[str, ...]:
    value = values.get("tags")
    return () if value is None else clean_tags(value)


def _time(values: Mapping[str, Any], name: str) -> float | None:
    value = values.get(name)
    return None if value is None else parse_moment(value, name).first


def _ends(values: Mapping[str, Any]) -> tuple[str, str]:
    if unknown := sorted(values.keys() - _OF_AN_EDGE):
        raise InvalidInput(f"{unknown[0]}: an edge has no such field; it has {', '.join(sorted(_OF_AN_EDGE))}.")
    source, target = _end(values, _SOURCE), _end(values, _TARGET)
    if source == target:
        raise InvalidInput(f"target: {target} cannot be joined to itself.")
    return source, target


def _end(values: Mapping[str, Any], names: tuple[str, ...]) -> str:
    present = [name for name in names if values.get(name) is not None]
    if not present:
        raise InvalidInput(f"{names[0]} is missing.")
    return clean_name(values[present[0]], present[0])


def read_names(value: object, name: str) -> tuple[str, ...]:
    """Ids of what something points at; that of a lesson may be a number (INT64) where it comes from."""
    if value is None:
        return ()
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of ids.")
    ids = [str(item) if isinstance(item, int) and not isinstance(item, bool) else item for item in value]
    return tuple(dict.fromkeys(clean_name(item, name) for item in ids))
