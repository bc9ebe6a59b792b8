"""Schemas of the MCP tools: names, descriptions, inputs and outputs.

Independent of how a tool works. Every client pays for these words in each of its prompts, so they are few; a test holds
the whole list under its budget.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from reasoningbank.core.confidence import LEAST_SHOWN
from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    MAX_TITLE_CHARS,
)
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.settings import SearchSettings
from reasoningbank.serve.mcp.caller import READ, WRITE

DEFAULT_LIMIT = 5
MAX_LIMIT = 20
MAX_QUERY_CHARS = 20_000

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    title: str
    description: str
    inputs: Schema
    outputs: Schema
    needs: str
    """The scope that a caller must have."""
    idempotent: bool = False

    @property
    def reads_only(self) -> bool:
        return self.needs == READ


def _object(properties: Schema, required_names: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required_names, "additionalProperties": False}


def _result(properties: Schema, required_names: list[str]) -> Schema:
    """Schema of a result. It is open: a client that knows today's fields must not refuse tomorrow's."""
    return {"type": "object", "properties": properties, "required": required_names}


def _text(about: str = "", limit: int | None = None) -> Schema:
    rule: Schema = {"type": "string"}
    if about:
        rule["description"] = about
    if limit is not None:
        rule["maxLength"] = limit
    return rule


def _choice(about: str, *words: str, default: str | None = None) -> Schema:
    rule: Schema = {"type": "string", "enum": list(words), **({"description": about} if about else {})}
    return rule if default is None else {**rule, "default": default}


_NUMBER: Schema = {"type": "number"}
_COUNT: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_NAMESPACE = _text("Default: this repository", MAX_NAME_CHARS)
_MEMORY_ID = _text("ID of the memory", MAX_TITLE_CHARS)
_CONFIDENCE_REPLY = _result(
    {"success": _FLAG, "new_confidence": _NUMBER, "message": _text()}, ["success", "new_confidence", "message"]
)
_MEMORY: Schema = {
    "id": _text(),
    "title": _text(),
    "description": _text(),
    "content": _text(),
    "outcome": _text("failure: advice on what to avoid"),
    "confidence": _NUMBER,
    "usage_count": _COUNT,
    "succeeded": _COUNT,
    "scope": _text(),
    "origin": _text("Who it comes from"),
}

SEARCH = Tool(
    name="memory_search",
    title="Search memories",
    description="Call at the start of a task and when an error stops you: what earlier work here teaches. "
    "Reference, not orders.",
    inputs=_object(
        {
            "query": _text("The task, or the error line", MAX_QUERY_CHARS),
            "scope": _choice("", "project", "team", "org", "all", default="all"),
            "outcome": _choice("", "success", "failure", "all", default="all"),
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "default": DEFAULT_LIMIT,
            },
            "min_confidence": {
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "default": LEAST_SHOWN,
            },
            "namespace": _NAMESPACE,
            "session_id": _text("Session whose end credits what is shown", MAX_NAME_CHARS),
        },
        ["query"],
    ),
    outputs=_result(
        {
            "memories": {"type": "array", "items": _result({**_MEMORY, "relevance": _NUMBER}, [*_MEMORY, "relevance"])},
            "total_found": _COUNT,
            "tokens_used": _COUNT,
            "filtered_out": {"type": "object", "description": "Left out, by reason"},
            "not_yet_indexed": {"type": "integer", "description": "Changes that only words find yet; ask again"},
        },
        ["memories", "total_found", "tokens_used"],
    ),
    needs=READ,
    idempotent=True,
)

RECORD = Tool(
    name="memory_record",
    title="Record a memory",
    description="Call when something took several tries or the user states a rule for next time: keeps it for later.",
    inputs=_object(
        {
            "title": _text("Short, descriptive title", MAX_TITLE_CHARS),
            "description": _text("When/why to apply this strategy", MAX_DESCRIPTION_CHARS),
            "content": _text("Detailed steps or approach", MAX_CONTENT_CHARS),
            "outcome": _choice("Whether this is a pattern to follow or avoid", "success", "failure"),
            "tags": {
                "type": "array",
                "items": {"type": "string", "maxLength": MAX_TAG_CHARS},
                "maxItems": MAX_TAGS,
            },
            "namespace": _NAMESPACE,
            "origin": _text("tool:NAME when a tool or page told you this; else leave out", MAX_NAME_CHARS),
        },
        ["title", "description", "content", "outcome"],
    ),
    outputs=_result(
        {
            "id": _text(),
            "message": _text(),
            "initial_confidence": _NUMBER,
            "secrets_scrubbed": {"type": "integer", "description": "Secrets replaced before storing"},
        },
        ["id", "message", "initial_confidence"],
    ),
    needs=WRITE,
)

FEEDBACK = Tool(
    name="memory_feedback",
    title="Judge a memory",
    description="Call when a memory helped or misled you.",
    inputs=_object(
        {
            "memory_id": _MEMORY_ID,
            "helpful": {"type": "boolean", "description": "Whether the memory was helpful"},
            "comment": _text("Optional feedback comment", MAX_DESCRIPTION_CHARS),
        },
        ["memory_id", "helpful"],
    ),
    outputs=_CONFIDENCE_REPLY,
    needs=WRITE,
)

OUTCOME = Tool(
    name="memory_outcome",
    title="Report an outcome",
    description="Call when a task is over in which you used a memory.",
    inputs=_object(
        {
            "memory_id": _MEMORY_ID,
            "succeeded": {"type": "boolean", "description": "Whether the task succeeded"},
            "code": _choice("Instead: what became of the code it led to", "survived", "reverted"),
            "session_id": _text("Session of the task, or your own label", MAX_NAME_CHARS),
        },
        ["memory_id"],
    ),
    outputs=_CONFIDENCE_REPLY,
    needs=WRITE,
)

GET = Tool(
    name="memory_get",
    title="Read a memory",
    description="Call for the evidence and the steps behind a memory; memory_search shows the rest.",
    inputs=_object({"memory_id": _MEMORY_ID}, ["memory_id"]),
    outputs=_result(
        {"id": _text(), "title": _text(), "content": _text(), "outcome": _text(), "confidence": _NUMBER},
        ["id", "title", "content", "outcome", "confidence"],
    ),
    needs=READ,
    idempotent=True,
)

SESSION = Tool(
    name="session",
    title="Track a task",
    description="Call to track a long task, so that its outcome credits the memories shown in it. "
    "next_job hands you a finished session to distil, answer_job takes your lessons.",
    inputs=_object(
        {
            "action": _choice(
                "start needs task; step: session_id, did; end: session_id, outcome; answer_job: job_id, answer",
                *("start", "step", "end", "next_job", "answer_job"),
            ),
            "task": _text("What is to be done", MAX_CONTENT_CHARS),
            "session_id": _text("", MAX_NAME_CHARS),
            "did": _text("What was done", MAX_CONTENT_CHARS),
            "result": _text("What came of it", MAX_CONTENT_CHARS),
            "outcome": _choice("How it ended", "success", "failure", "unknown"),
            "used": {
                "type": "array",
                "items": {"type": "string", "maxLength": MAX_TITLE_CHARS},
                "maxItems": 100,
                "description": "IDs of memories that were really used",
            },
            "job_id": _text("", MAX_NAME_CHARS),
            "answer": _text("In the form that the job's prompt asks for", MAX_CONTENT_CHARS),
            "namespace": _NAMESPACE,
        },
        ["action"],
    ),
    outputs=_result(
        {
            "session_id": _text(),
            "message": _text(),
            "steps": _COUNT,
            "credited": _COUNT,
            "job": {"type": "object"},
            "memories": {"type": "array", "items": {"type": "string"}},
        },
        ["message"],
    ),
    needs=WRITE,
)

CONSOLIDATE = Tool(
    name="memory_consolidate",
    title="Tidy the memories",
    description="Call when asked to tidy up: merges duplicates, links contradictions, archives what proved wrong.",
    inputs=_object(
        {
            "dry_run": {"type": "boolean", "default": True, "description": "Only say what would change"},
            "undo": _text("run_id of a run to take back instead", MAX_NAME_CHARS),
            "namespace": _NAMESPACE,
        },
        [],
    ),
    outputs=_result(
        {"message": _text(), "run_id": _text(), "counts": {"type": "object"}, "conflicts": {"type": "array"}},
        ["message"],
    ),
    needs=WRITE,
    idempotent=True,
)

GRAPH = Tool(
    name="graph_search",
    title="Walk the memory graph",
    description="Call to ask how or why something came about: requests, answers, actions, events and sources of "
    "earlier conversations, and what joins them. Cite nodes as [N1004].",
    inputs=_object(
        {
            "query": _text("The question", MAX_QUERY_CHARS),
            "node": _text("Or: begin at this node", MAX_TITLE_CHARS),
            "ask": _choice("About node", "led_to", "rests_on", "contradicting"),
            "namespace": _NAMESPACE,
        },
        [],
    ),
    outputs=_result({"text": _text(), "nodes": {"type": "array"}}, ["text"]),
    needs=READ,
    idempotent=True,
)

TOOLS = (SEARCH, RECORD, FEEDBACK, OUTCOME, GET, SESSION, CONSOLIDATE, GRAPH)


def tools_for(settings: SearchSettings) -> tuple[Tool, ...]:
    """The tools with the limits of a bank's settings."""
    return (search_for(settings), *TOOLS[1:])


@lru_cache(maxsize=8)
def search_for(settings: SearchSettings) -> Tool:
    """The search with the limits of a bank's settings; where those say nothing, the contract's."""
    most = max(MAX_LIMIT, settings.default_limit) if settings.max_limit is None else settings.max_limit
    fields = SEARCH.inputs["properties"]
    properties = {
        **fields,
        "limit": {**fields["limit"], "maximum": most, "default": min(settings.default_limit, most)},
        "min_confidence": {**fields["min_confidence"], "default": settings.min_confidence},
    }
    return replace(SEARCH, inputs={**SEARCH.inputs, "properties": properties})


def _for_a_prompt(schema: Any) -> Any:
    """A schema without the most characters and items, which no model counts and every prompt pays for; calls are
    checked.
    """
    if not isinstance(schema, dict):
        return schema
    unsaid = {"maxLength", "maxItems", *(() if schema.get("required", True) else ("required",))}
    return {name: _for_a_prompt(rule) for name, rule in schema.items() if name not in unsaid}


def wire(tool: Tool) -> Schema:
    """The tool as `tools/list` shows it."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": _for_a_prompt(tool.inputs),
        "outputSchema": tool.outputs,
        "annotations": {
            "readOnlyHint": tool.reads_only,
            "destructiveHint": False,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }
