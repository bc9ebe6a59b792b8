"""JSON Schemas of requests and answers: one table for checking requests and for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from reasoningbank.core.aliases import NAMESPACE_ALIASES
from reasoningbank.core.confidence import LEAST_SHOWN
from reasoningbank.core.drafts import (
    AUTO,
    EVIDENCE_WISHES,
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    MAX_TITLE_CHARS,
)
from reasoningbank.core.settings import LINKS, NAMED
from reasoningbank.core.types import (
    ConsolidationKind,
    EdgeKind,
    JobState,
    Outcome,
    RuleState,
    RulingKind,
    Scope,
    SignalKind,
    State,
)
from reasoningbank.learn.sessions import OUTCOMES
from reasoningbank.recall.query import DEFAULT_LIMIT, MAX_LIMIT, MAX_QUERY_CHARS

Schema = dict[str, Any]

# At least one character that shows, and nothing that drives a terminal.
_NAME_PATTERN = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"


def obj(required_names: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required_names)} if required_names else schema


def out(**properties: Schema) -> Schema:
    """An answer: every field is there, and later versions may add some."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def listing(name: str, item: Schema) -> Schema:
    """A page: `next` is the cursor of the page that follows, null on the last."""
    return out(**{name: {"type": "array", "items": item}, "next": NULL_TEXT})


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def text(most: int, **rest: Any) -> Schema:
    return {"type": "string", "maxLength": most, **rest}


def text_schema(most: int) -> Schema:
    """Text that says something."""
    return text(most, minLength=1, pattern=r"\S")


def one_of(values: Any, **rest: Any) -> Schema:
    return {"type": "string", "enum": [str(value) for value in values], **rest}


NAME: Schema = text(MAX_NAME_CHARS, minLength=1, pattern=_NAME_PATTERN)
# A namespace that is stored in; "*" means all of them and can only be asked for.
NAMESPACE: Schema = text(
    MAX_NAME_CHARS, minLength=1, pattern=r"^(?!\s*\*\s*$)[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
)
_SAME_AS_NAMESPACE: dict[str, Schema] = {
    name: {**NAMESPACE, "description": "another name of namespace"} for name in NAMESPACE_ALIASES
}
NULL_NAME: Schema = {**NAME, "type": ["string", "null"]}
NULL_TEXT: Schema = {"type": ["string", "null"]}
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FRACTION: Schema = {"type": "number", "minimum": 0, "maximum": 1}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
TAG: Schema = text(MAX_TAG_CHARS, minLength=1, pattern=_NAME_PATTERN)
# How many there may be is checked where tags are cleaned, together with how long they are in all.
TAGS: Schema = {"type": "array", "items": TAG, "description": f"at most {MAX_TAGS:,}"}
NAMES: Schema = {"type": "array", "items": TEXT}
METADATA: Schema = {"type": "object"}
COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}
REFERENCES: Schema = {"type": "array", "items": text_schema(MAX_TITLE_CHARS), "maxItems": 1000}
_TITLE, _CONTENT = text_schema(MAX_TITLE_CHARS), text_schema(MAX_CONTENT_CHARS)
_DESCRIPTION = text(MAX_DESCRIPTION_CHARS)

_EDITABLE: dict[str, Schema] = {
    "title": _TITLE,
    "description": _DESCRIPTION,
    "content": _CONTENT,
    "outcome": one_of(Outcome),
    "scope": one_of(Scope),
    "tags": TAGS,
    "agent": NULL_NAME,
    "task_type": NULL_NAME,
    "cognitive_pattern": NULL_NAME,
    "metadata": METADATA,
}

DRAFT: Schema = obj(
    ("title", "content"),
    **_EDITABLE,
    key=_TITLE,
    namespace=NAMESPACE,
    **_SAME_AS_NAMESPACE,
    origin=NAME,
    parents={"type": "array", "items": NAME, "maxItems": 1000},
    source=NULL_NAME,
    initial_confidence=FRACTION,
)
RECORD: Schema = {
    **DRAFT,
    "properties": {**DRAFT["properties"], "vector": {"type": "array", "items": NUMBER, "maxItems": 65_536}},
}
BULK: Schema = obj(("memories",), memories={"type": "array", "items": DRAFT, "minItems": 1, "maxItems": 5_000})
_KEPT_EVIDENCE: Schema = {
    **one_of(EVIDENCE_WISHES, default=AUTO),
    "description": "What becomes of the evidence about the text before",
}
KEYED: Schema = obj(("content",), **_EDITABLE, origin=NAME, source=NULL_NAME, evidence=_KEPT_EVIDENCE)
EDIT: Schema = {
    **obj(
        (),
        **_EDITABLE,
        namespace=NAMESPACE,
        state=one_of(State),
        expected_revision={"type": "integer", "minimum": 1},
        evidence=_KEPT_EVIDENCE,
    ),
    "minProperties": 1,
}
_ASKED: dict[str, Schema] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    "scope": one_of((*Scope, "all"), default="all"),
    "outcome": one_of((*Outcome, "all"), default="all"),
    "min_confidence": {**FRACTION, "default": LEAST_SHOWN},
    "namespace": {**NAME, "description": '"*" is every one'},
    **{name: {**NAME, "description": "another name of namespace"} for name in NAMESPACE_ALIASES},
    "tags": TAGS,
    "agent": NULL_NAME,
    "task_type": NULL_NAME,
    "floor": {**FRACTION, "type": ["number", "null"]},
    "links": {
        **one_of(LINKS, default=NAMED),
        "description": "required: what a hit requires is pulled in; followed: and what its other strong links lead to",
    },
    "session": NULL_NAME,
    "exclude": {"type": "array", "items": NAME, "maxItems": 1000},
}
_PROFILE: Schema = one_of(("balanced", "four-factor", "semantic", "boosted"), default="balanced")
_BUDGET: Schema = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
SEARCH: Schema = obj(
    ("query",),
    query=text_schema(MAX_QUERY_CHARS),
    **_ASKED,
    profile=_PROFILE,
    max_tokens={**_BUDGET, "type": ["integer", "null"]},
    explain={**FLAG, "default": True},
    noted={**FLAG, "default": True, "description": "false leaves no line in the log of what was shown or missed"},
)
INJECT: Schema = obj(
    ("task",), task=text_schema(MAX_QUERY_CHARS), **_ASKED, profile=_PROFILE, max_tokens={**_BUDGET, "default": 500}
)
COMPARE: Schema = obj(
    ("one", "other"), one=_CONTENT, other=_CONTENT, metric=one_of(("cosine", "euclidean"), default="cosine")
)
EMBED: Schema = obj(("texts",), texts={"type": "array", "items": _CONTENT, "minItems": 1, "maxItems": 256})
FEEDBACK: Schema = obj(("helpful",), helpful=FLAG, comment=_DESCRIPTION)
OUTCOME: Schema = obj(("succeeded",), succeeded=FLAG, session=NULL_NAME, comment=_DESCRIPTION)
STABILITY: Schema = obj(("survived",), survived=FLAG, session=NULL_NAME, comment=_DESCRIPTION)
SESSION: Schema = obj(
    ("task",), task=_CONTENT, namespace=NAMESPACE, **_SAME_AS_NAMESPACE, agent=NULL_NAME, metadata=METADATA
)
STEP: Schema = obj(("action",), action=_CONTENT, result=text(MAX_CONTENT_CHARS), metadata=METADATA)
END: Schema = obj(("outcome",), outcome=one_of(OUTCOMES), used=REFERENCES)
LINK: Schema = obj(
    ("source", "target", "kind"),
    source=text_schema(MAX_TITLE_CHARS),
    target=text_schema(MAX_TITLE_CHARS),
    kind=one_of(EdgeKind),
    weight={**FRACTION, "default": 0.5},
    text=_DESCRIPTION,
    evidence=_DESCRIPTION,
    tags=TAGS,
)
REINDEX: Schema = obj(
    (),
    embedder={**text_schema(MAX_NAME_CHARS), "description": "local, hash, openai or openai/MODEL"},
    dimension={"type": "integer", "minimum": 1, "maximum": 65_536},
)
CONSOLIDATE: Schema = obj(
    (),
    dry_run={**FLAG, "default": False},
    only={"type": "array", "items": one_of(("merge", "conflicts", "links", "prune", "promote")), "maxItems": 5},
    if_due={**FLAG, "default": False},
    every_namespace={**FLAG, "default": False},
)

# ---------------------------------------------------------------- what comes out

_CONFIDENCE = {"confidence": FRACTION, "confidence_low": FRACTION, "confidence_high": FRACTION}
_MEMORY = {
    "id": TEXT,
    "tenant": TEXT,
    "namespace": TEXT,
    "scope": one_of(Scope),
    "title": TEXT,
    "description": TEXT,
    "content": TEXT,
    "outcome": one_of(Outcome),
    "key": NULL_TEXT,
    "tags": NAMES,
    "agent": NULL_TEXT,
    "task_type": NULL_TEXT,
    "cognitive_pattern": NULL_TEXT,
    "origin": TEXT,
    "parents": NAMES,
    "source": NULL_TEXT,
    "metadata": METADATA,
    "initial_confidence": FRACTION,
    "created_at": NULL_TEXT,
    "updated_at": NULL_TEXT,
    "revision": COUNT,
    "state": one_of(State),
    "advice_id": TEXT,
}
_EARNED = {
    **_CONFIDENCE,
    "usage_count": COUNT,
    "succeeded": COUNT,
    "record": TEXT,
    "last_used_at": NULL_TEXT,
    "last_success": NULL_TEXT,
    "last_failure": NULL_TEXT,
    "trust": TEXT,
    "warnings": NAMES,
}
_SIGNAL = {
    "id": TEXT,
    "memory_id": TEXT,
    "kind": one_of(SignalKind),
    "positive": FLAG,
    "weight": NUMBER,
    "used": FLAG,
    "source": TEXT,
    "trajectory_id": NULL_TEXT,
    "comment": TEXT,
    "at": NULL_TEXT,
    "advice_id": TEXT,
}
_EDGE = {
    "id": TEXT,
    "source_id": TEXT,
    "target_id": TEXT,
    "kind": one_of(EdgeKind),
    "text": TEXT,
    "weight": FRACTION,
    "tags": NAMES,
    "evidence": TEXT,
    "created_at": NULL_TEXT,
    "name": TEXT,
    "origin": TEXT,
}
_STEP = {"id": TEXT, "trajectory_id": TEXT, "number": COUNT, "action": TEXT, "result": TEXT, "metadata": METADATA}
_SESSION = {
    "id": TEXT,
    "namespace": TEXT,
    "task": TEXT,
    "agent": NULL_TEXT,
    "outcome": {"type": ["string", "null"], "enum": [*OUTCOMES, None]},
    "metadata": METADATA,
    "started_at": NULL_TEXT,
    "ended_at": NULL_TEXT,
}
_JOB = {
    "id": TEXT,
    "namespace": TEXT,
    "kind": TEXT,
    "subject": TEXT,
    "state": one_of(JobState),
    "standing": TEXT,
    "attempts": COUNT,
    "error": TEXT,
    "results": NAMES,
    "metadata": METADATA,
    "created_at": NULL_TEXT,
    "ended_at": NULL_TEXT,
}
_RULING = {
    "id": TEXT,
    "kind": one_of(RulingKind),
    "target": TEXT,
    "memories": {"type": "object"},
    "source": TEXT,
    "comment": TEXT,
    "at": NULL_TEXT,
}
_SIGNALS: Schema = {"type": "array", "items": ref("Signal")}
_CURVE = out(
    signal={"anyOf": [ref("Signal"), {"type": "null"}]}, **_CONFIDENCE, at=NULL_TEXT, revision=COUNT, counts=FLAG
)
_LINK: dict[str, Schema] = {
    "source": TEXT,
    "target": TEXT,
    "titles": NAMES,
    "kind": one_of(EdgeKind),
    "weight": FRACTION,
    "text": TEXT,
    "evidence": TEXT,
}

COMPONENTS: dict[str, Schema] = {
    "Problem": out(type=TEXT, title=TEXT, status={"type": "integer"}, code=TEXT, detail=TEXT),
    "Revision": out(**_MEMORY),
    "Memory": out(**_MEMORY, **_EARNED, shown=COUNT, set_aside=COUNT),
    "Stored": out(**_MEMORY, **_EARNED, shown=COUNT, set_aside=COUNT, scrubbed=COUNTS),
    "Hit": out(
        **_MEMORY,
        **_EARNED,
        relevance=FRACTION,
        tokens=COUNT,
        conflicts={"type": "array", "items": out(id=TEXT, title=TEXT)},
        see_also={
            "type": "array",
            "items": out(
                id=TEXT, title=TEXT, namespace=TEXT, kind=one_of(EdgeKind), relation=TEXT, weight=FRACTION, text=TEXT
            ),
        },
        pulled_in={
            "anyOf": [
                out(id=TEXT, title=TEXT, kind=one_of(EdgeKind), relation=TEXT, weight=FRACTION),
                {"type": "null"},
            ],
            "description": "the hit whose link led here; null: found by itself",
        },
    ),
    "Found": out(
        memories={"type": "array", "items": ref("Hit")},
        total_found=COUNT,
        filtered_out=COUNTS,
        tokens_used=COUNT,
        abstained=FLAG,
        embedder=TEXT,
        profile=TEXT,
        not_yet_indexed={
            **COUNT,
            "description": "Changes that the index still owes: until it has them, only words find what is new.",
        },
        index_away={
            **FLAG,
            "description": "The index cannot be reached: these were found by words, among the newest memories.",
        },
    ),
    "Consolidated": out(
        run=NULL_TEXT,
        dry_run=FLAG,
        due=FLAG,
        considered=COUNT,
        applied=COUNT,
        left=NAMES,
        namespace=TEXT,
        merges={
            "type": "array",
            "items": out(
                kept=TEXT,
                title=TEXT,
                merged={"type": "array", "items": out(id=TEXT, cosine=NUMBER, words_in_common=NUMBER)},
                why=TEXT,
                rewritten=FLAG,
            ),
        },
        conflicts={"type": "array", "items": ref("PlannedLink")},
        links={"type": "array", "items": ref("PlannedLink")},
        reweighed={"type": "array", "items": out(edge=TEXT, before=FRACTION, **_LINK)},
        unlinked={"type": "array", "items": out(edge=TEXT, **_LINK)},
        archivals={"type": "array", "items": out(id=TEXT, title=TEXT, confidence=FRACTION, why=TEXT)},
        promotions={
            "type": "array",
            "items": out(
                id=TEXT,
                title=TEXT,
                before=one_of(Scope),
                after=one_of(Scope),
                sessions=COUNT,
                confidence=FRACTION,
                why=TEXT,
            ),
        },
    ),
    "PlannedLink": out(**_LINK),
    "Upkeep": out(
        id=TEXT,
        kind=one_of(ConsolidationKind),
        namespace=TEXT,
        at=NULL_TEXT,
        source=TEXT,
        counts=COUNTS,
        undone=FLAG,
    ),
    "Undone": out(run=TEXT, memories=NAMES, edges=COUNT, signals=COUNT, left=NAMES, links=COUNT),
    "Faded": out(
        id=TEXT, title=TEXT, namespace=TEXT, confidence_before=FRACTION, confidence=FRACTION, idle_days=NUMBER
    ),
    "Signal": out(**_SIGNAL),
    "Edge": out(**_EDGE),
    "Joined": out(**_EDGE, source_title=TEXT, target_title=TEXT),
    "Neighbour": out(
        memory={"anyOf": [ref("Revision"), {"type": "null"}]},
        node={"type": ["object", "null"]},
        edge=ref("Edge"),
        direction=one_of(("in", "out")),
        steps=COUNT,
        strength=NUMBER,
    ),
    "History": out(
        **_MEMORY,
        **_EARNED,
        policy=TEXT,
        revisions={"type": "array", "items": ref("Revision")},
        curve={"type": "array", "items": _CURVE},
    ),
    "Step": out(**_STEP),
    "Account": out(
        **_SESSION,
        verdict={"type": ["object", "null"]},
        shown={"type": "array", "items": out(**_MEMORY, **_EARNED, rank=COUNT, shown_at=NULL_TEXT, signals=_SIGNALS)},
        lessons={"type": "array", "items": ref("Memory")},
        jobs={"type": "array", "items": {"type": "object"}},
    ),
    "Appearance": out(**_SESSION, shown_at=NULL_TEXT, signals=_SIGNALS),
    "Day": out(
        day=TEXT,
        learned=COUNT,
        warnings=COUNT,
        succeeded=COUNT,
        failed=COUNT,
        supported=COUNT,
        contradicted=COUNT,
        confidence={"anyOf": [out(low=FRACTION, middle=FRACTION, high=FRACTION, memories=COUNT), {"type": "null"}]},
    ),
    "Session": out(**_SESSION),
    "SessionWithSteps": out(**_SESSION, steps={"type": "array", "items": ref("Step")}),
    "SessionEnded": out(**_SESSION, step_count=COUNT, signals={"type": "array", "items": ref("Signal")}),
    "Change": out(cursor=TEXT, kind=TEXT, op=one_of(("add", "revise", "remove")), id=TEXT, at=NULL_TEXT),
    "Evidence": out(new_confidence=FRACTION, confidence_low=FRACTION, confidence_high=FRACTION),
    "Imported": out(
        layout=TEXT,
        added=COUNTS,
        revised=COUNT,
        unchanged=COUNT,
        untrusted=COUNT,
        quarantined=COUNT,
        origins=COUNTS,
        left_out=COUNTS,
        skipped={"type": "array", "items": out(what=TEXT, why=TEXT)},
    ),
    "Team": out(name=TEXT, namespaces=NAMES),
    "Job": out(**_JOB),
    "Handed": out(
        id=TEXT,
        kind=TEXT,
        namespace=TEXT,
        session=TEXT,
        task=TEXT,
        outcome=one_of(OUTCOMES),
        reason=TEXT,
        prompt=TEXT,
        record=TEXT,
    ),
    "Distilled": out(
        jobs=COUNTS,
        memories=NAMES,
        waiting=COUNT,
        errors={"type": "object"},
        nothing_learned={"type": "object"},
        distiller=TEXT,
    ),
    "Spending": out(day=TEXT, model=TEXT, purpose=TEXT, calls=COUNT, tokens_in=COUNT, tokens_out=COUNT, reserved=COUNT),
    "Kept": out(session=TEXT, steps_added=COUNT, known=FLAG, changed=FLAG, job=NULL_TEXT),
    "Ingested": out(
        added=COUNT,
        grown=COUNT,
        known=COUNT,
        steps=COUNT,
        skipped={"type": "array", "items": out(what=TEXT, why=TEXT)},
        jobs=NAMES,
    ),
    "Origin": out(
        origin=TEXT, trust=TEXT, memories=COUNT, quarantined=COUNT, approved=COUNT, revoked=FLAG, nodes=COUNT
    ),
    "Rule": out(
        id=TEXT,
        namespace=TEXT,
        text=TEXT,
        state=one_of(RuleState),
        heard_in=TEXT,
        created_at=NULL_TEXT,
        updated_at=NULL_TEXT,
        revision=COUNT,
    ),
    "Ruling": out(**_RULING),
    "Provenance": out(
        **_MEMORY | {"parents": {"type": "array", "items": out(id=TEXT, title=TEXT, origin=TEXT, trust=TEXT)}},
        **_EARNED,
        missing_parents=NAMES,
        descendants=COUNT,
        rulings={"type": "array", "items": ref("Ruling")},
    ),
    "Gap": out(
        id=TEXT, question=TEXT, others=NAMES, times=COUNT, first_at=NULL_TEXT, last_at=NULL_TEXT, namespaces=NAMES
    ),
    "Swept": out(
        looked_at=COUNT,
        applied=FLAG,
        found=COUNTS,
        places={"type": "array", "items": out(kind=TEXT, id=TEXT, found=COUNTS)},
        more_places=COUNT,
    ),
    "Status": out(
        version=TEXT,
        tenant=TEXT,
        namespace=TEXT,
        embedder=TEXT,
        policy=TEXT,
        distiller=TEXT,
        durability=TEXT,
        settings={"type": "object", "description": "What is not at its default, by name: value and source"},
        memories=COUNTS,
        namespaces=COUNTS,
        signals=COUNT,
        sessions=COUNT,
        nodes=COUNTS,
        edges=COUNT,
        jobs=COUNTS,
    ),
}
