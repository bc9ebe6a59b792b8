"""Converts a claude-flow row, whatever its layout: a mapping of fields in, a draft or a reason out.

Pure. The layouts differ in their column names only, so one table of names reads them all. Nothing here
knows SQLite, files, or which rows are the newest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reasoningbank.core.types import Draft, EdgeKind, Outcome
from reasoningbank.core.wording import clip_title
from reasoningbank.exchange.coerce import (
    json_or_text,
    moment_of,
    number_of,
    outcome_of,
    share_of,
    small,
    tags_of,
    text_of,
)
from reasoningbank.exchange.items import IncomingEdge

ORIGIN = "import:claude-flow"
LONGEST_TITLE = 300

_SHAPES: tuple[tuple[str, frozenset[str]], ...] = (
    ("claude-flow-patterns", frozenset({"pattern_data"})),
    ("documented", frozenset({"title", "content"})),
    ("domain-expert", frozenset({"problem", "solution"})),
    ("problem-solving", frozenset({"memory_id", "content"})),
    ("rust", frozenset({"task_description", "strategy"})),
    ("google-research", frozenset({"description", "strategy_type"})),
    ("safla", frozenset({"description", "context"})),
    ("claude-flow-3-patterns", frozenset({"name", "action"})),
)
_ENTRY_SHAPES: tuple[tuple[str, frozenset[str]], ...] = (
    ("claude-flow-2-entries", frozenset({"key", "value"})),
    ("claude-flow-3-entries", frozenset({"key", "content"})),
)

_TITLE = ("title", "original_key", "key", "name")
_SUBJECT = ("problem", "task_description", "description", "content", "value")
_ADVICE = ("content", "value", "original_value", "solution", "strategy", "action", "description")
_WHEN = ("description", "problem", "task_description", "condition", "context")
_ADDENDA = (("rationale", "Why"), ("reasoning_steps", "Steps"), ("outcome_analysis", "Result"))
_USED = frozenset(
    {
        *(*_TITLE, *_SUBJECT, *_ADVICE, *_WHEN, *(name for name, _ in _ADDENDA)),
        *(
            "",
            "id",
            "memory_id",
            "pattern_data",
            "data",
            "components",
            "metadata",
            "source",
            "outcome",
            "tags",
        ),
        *("namespace", "domain", "agent", "agent_id", "owner_id", "task_type", "task_category", "status"),
        *("confidence", "reliability", "usage_count", "n_uses", "access_count", "redacted"),
        *("created_at", "timestamp", "updated_at", "last_used", "accessed_at", "last_accessed_at"),
        *("expires_at", "ttl", "cognitive_pattern", "cognitive_type"),
        *("embedding_model", "embedding_dimensions"),
    }
)
_TRUSTED = frozenset({"agent", "task_type", "tags"})

_KINDS = {
    **{kind.value: kind for kind in EdgeKind},
    "depends_on": EdgeKind.REQUIRES,
    "prerequisite": EdgeKind.REQUIRES,
    "conflicts_with": EdgeKind.CONFLICTS,
    "contradicts": EdgeKind.CONFLICTS,
    "improves": EdgeKind.ENHANCES,
    "alternative_to": EdgeKind.ALTERNATIVE,
    "replaces": EdgeKind.SUPERSEDES,
    "derived": EdgeKind.DERIVED_FROM,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One row that became a draft, with what is needed to choose among rows of the same key."""

    own_id: str
    draft: Draft
    used_at: float | None
    changed_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    own_id: str
    why: str


def shape_of(table: str, columns: frozenset[str]) -> str | None:
    """The name of the layout that these columns belong to, or None when the table holds no memories."""
    shapes = _SHAPES if table == "patterns" else _ENTRY_SHAPES
    return next((name for name, key_columns in shapes if key_columns <= columns), None)


def read_memory(row: Mapping[str, Any], shape: str, now: float) -> Reading | Unreadable:
    own_id = text_of(row.get("id")) or text_of(row.get("memory_id")) or f"row-{row.get('')}"
    fields = _flatten(row)
    if isinstance(fields, str):
        return Unreadable(own_id=own_id, why=fields)
    advice = _first(fields, _ADVICE)
    if not advice:
        return Unreadable(own_id=own_id, why="it has no content")
    reason = _retirement(row, now)
    if reason:
        return Unreadable(own_id=own_id, why=reason)
    tags = tags_of(fields.get("tags"))
    outcome, word = _outcome(fields, tags)
    if outcome is None:
        return Unreadable(own_id=own_id, why=f"its outcome '{clip_title(word, 40)}' is neither success nor failure")
    draft = _draft(fields, shape, advice, outcome, tags)
    created_at = draft.created_at or 0.0
    return Reading(
        own_id=own_id,
        draft=replace(draft, source=own_id),
        used_at=_moment(fields, "last_used", "accessed_at", "last_accessed_at"),
        changed_at=max(created_at, _moment(fields, "updated_at") or 0.0),
    )


def _draft(fields: Mapping[str, Any], shape: str, advice: str, outcome: Outcome, tags: tuple[str, ...]) -> Draft:
    title = clip_title(_first(fields, _TITLE), LONGEST_TITLE)
    subject = title or clip_title(_first(fields, _SUBJECT) or advice)
    key = text_of(fields.get("original_key")) or text_of(fields.get("key"))
    if shape == "documented":
        key = title  # seed 000: the title is the key under which the value was stored
    return Draft(
        title=subject,
        description=_when(fields, without=(advice, subject)),
        content=_with_addenda(fields, advice),
        outcome=outcome,
        key=key or None,
        namespace=_first(fields, ("namespace", "domain")) or None,
        tags=tags,
        agent=_first(fields, ("agent", "agent_id", "owner_id")) or None,
        task_type=_first(fields, ("task_type", "task_category")) or None,
        cognitive_pattern=_first(fields, ("cognitive_pattern", "cognitive_type")) or None,
        origin=ORIGIN,
        metadata=_metadata(fields, shape),
        initial_confidence=_confidence(fields, outcome),
        created_at=_moment(fields, "created_at", "timestamp"),
    )


def _when(fields: Mapping[str, Any], without: tuple[str, ...]) -> str:
    texts = (text_of(fields.get(name)) for name in _WHEN if isinstance(json_or_text(fields.get(name)), str))
    return next((text for text in texts if text and text not in without), "")


def _flatten(row: Mapping[str, Any]) -> dict[str, Any] | str:
    """The row and its JSON documents as one level; a column outranks a document, since it is kept current."""
    fields: dict[str, Any] = {}
    if "pattern_data" in row:
        document = json_or_text(row["pattern_data"])
        if not isinstance(document, dict):
            return "its pattern_data is not a JSON object"
        fields |= document
    for name in ("data", "components", "metadata"):
        document = json_or_text(row.get(name, fields.get(name)))
        if isinstance(document, dict):
            # A user's own metadata may hold any word; it must not pass for a column ("status": "completed").
            entries = {k: v for k, v in document.items() if name != "metadata" or k in _TRUSTED or k not in _USED}
            fields = {**entries, **fields}
    source = fields.get("source")
    if isinstance(source, dict):
        fields = {**fields, "outcome": fields.get("outcome", source.get("outcome"))}
        fields.setdefault("agent", source.get("agent_id"))
        fields["source_task_id"] = source.get("task_id")
        fields["evidence"] = source.get("evidence")
    # A counter that the components repeat is older than the column.
    return {**fields, **{name: value for name, value in row.items() if value is not None}}


def _retirement(fields: Mapping[str, Any], now: float) -> str:
    status = text_of(fields.get("status")).lower()
    if status and status != "active":
        return f"its status is '{clip_title(status, 40)}', not active"
    expires_at = _moment(fields, "expires_at")
    ttl_seconds = number_of(fields.get("ttl"))
    created_at = _moment(fields, "created_at")
    if expires_at is None and ttl_seconds and created_at is not None:
        expires_at = created_at + ttl_seconds
    return "it has expired" if expires_at is not None and expires_at <= now else ""


def _outcome(fields: Mapping[str, Any], tags: tuple[str, ...]) -> tuple[Outcome | None, str]:
    """The outcome, or None and the word not understood. A row that says nothing is advice to follow."""
    value = json_or_text(fields.get("outcome"))
    if isinstance(value, dict):
        value = value.get("success", value.get("outcome"))
    outcome = outcome_of(value) or outcome_of(fields.get("strategy_type"))
    if outcome is not None:
        return outcome, ""
    word = text_of(value)
    if word and " " not in word:
        return None, word  # a sentence describes what came out; a single word was meant as a verdict
    words = {tag.lower() for tag in tags}
    return (Outcome.FAILURE if "failure" in words and "success" not in words else Outcome.SUCCESS), ""


def _with_addenda(fields: Mapping[str, Any], advice: str) -> str:
    parts = [advice]
    for name, heading in _ADDENDA:
        value = json_or_text(fields.get(name))
        if isinstance(value, list):
            value = "\n".join(f"{number}. {text_of(step)}" for number, step in enumerate(value, 1) if text_of(step))
            parts += [f"{heading}:\n{value}"] if value else []
        elif text_of(value):
            parts.append(f"{heading}: {text_of(value)}")
    outcome = fields.get("outcome")
    if isinstance(outcome, str) and " " in outcome.strip() and not isinstance(json_or_text(outcome), dict):
        parts.append(f"Result: {text_of(outcome)}")
    return "\n\n".join(parts)


def _confidence(fields: Mapping[str, Any], outcome: Outcome) -> float | None:
    names: tuple[str, ...] = ("confidence", "reliability")
    if outcome is Outcome.SUCCESS:
        # The success rate of a warning is low because the warning is right.
        names += ("success_rate", "success_score")
    return next((share for share in map(share_of, map(fields.get, names)) if share is not None), None)


def _metadata(fields: Mapping[str, Any], shape: str) -> dict[str, Any]:
    metadata = small(fields, without=_USED)
    counts = map(number_of, map(fields.get, ("usage_count", "access_count", "n_uses")))
    usage = next((count for count in counts if count), None)
    if usage is not None:
        metadata["imported_usage_count"] = int(usage)
    namespace, domain = text_of(fields.get("namespace")), text_of(fields.get("domain"))
    if namespace and domain not in ("", namespace):
        metadata["domain"] = domain
    if fields.get("redacted") is True:
        metadata["imported_redacted"] = True
    metadata["imported_layout"] = shape
    return metadata


def read_link(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Both ends and the relation; empty where the row does not say."""
    return (
        _first(row, ("src_id", "source_pattern_id", "from_id", "source_id")),
        _first(row, ("dst_id", "target_pattern_id", "to_id", "target_id")),
        _first(row, ("relation", "link_type", "relationship", "relation_type")),
    )


def edge_between(source: str, target: str, word: str, row: Mapping[str, Any]) -> IncomingEdge:
    kind = _kind(word)
    weight = next((w for w in map(share_of, (row.get("weight"), row.get("strength"))) if w is not None), 0.5)
    return IncomingEdge(
        source_identity=source,
        target_identity=target,
        kind=kind.value,
        weight=weight,
        text="" if word == kind.value else word,
        evidence=text_of(row.get("evidence")),
        created_at=_moment(row, "created_at"),
    )


def _kind(word: str) -> EdgeKind:
    plain = word.lower().replace("-", "_").replace(" ", "_")
    if "analog" in plain:
        return EdgeKind.ARCHITECTURAL_ANALOGY if "architectur" in plain else EdgeKind.ANALOGY
    # `duplicate_of` lands here too: their detector compares synthetic vectors, too weak to retire a memory.
    return _KINDS.get(plain, EdgeKind.RELATES)


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((text for text in map(text_of, map(fields.get, names)) if text), "")


def _moment(fields: Mapping[str, Any], *names: str) -> float | None:
    return next((moment for moment in map(moment_of, map(fields.get, names)) if moment is not None), None)
