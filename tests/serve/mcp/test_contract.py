"""The three tools that the project promised from the start, word for word, and what the whole list costs a prompt."""

from __future__ import annotations

import json
import re

import pytest

from reasoningbank.core.tokens import count_tokens
from reasoningbank.serve.mcp import greeting
from reasoningbank.serve.mcp.tools import HIT_FIELDS

MOST_TOOLS = 8
MOST_TOKENS = 2_150
MOST_INSTRUCTION_TOKENS = 160

PROMISED = {
    "memory_search": {
        "properties": {
            "query": {"type": "string"},
            "scope": {"type": "string", "enum": ["project", "team", "org", "all"], "default": "all"},
            "outcome": {"type": "string", "enum": ["success", "failure", "all"], "default": "all"},
            "limit": {"type": "integer", "default": 5, "maximum": 20},
            "min_confidence": {"type": "number", "default": 0.3},
        },
        "required": ["query"],
        "reply": ["memories", "total_found", "tokens_used"],
    },
    "memory_record": {
        "properties": {
            "title": {"type": "string"},
            "description": {"type": "string"},
            "content": {"type": "string"},
            "outcome": {"type": "string", "enum": ["success", "failure"]},
            "tags": {"type": "array"},
        },
        "required": ["title", "description", "content", "outcome"],
        "reply": ["id", "message", "initial_confidence"],
    },
    "memory_feedback": {
        "properties": {
            "memory_id": {"type": "string"},
            "helpful": {"type": "boolean"},
            "comment": {"type": "string"},
        },
        "required": ["memory_id", "helpful"],
        "reply": ["success", "new_confidence", "message"],
    },
}
HIT = {"id", "title", "description", "content", "outcome", "confidence", "usage_count", "relevance", "scope"}


@pytest.fixture(scope="module")
def listed(shared) -> list[dict]:
    return shared.ask("tools/list")["result"]["tools"]


@pytest.mark.parametrize("name", PROMISED)
def test_a_promised_tool_takes_and_gives_what_was_promised(listed, name):
    tool = next(tool for tool in listed if tool["name"] == name)
    promised = PROMISED[name]
    for argument, rule in promised["properties"].items():
        shown = tool["inputSchema"]["properties"][argument]
        assert {key: shown.get(key) for key in rule} == rule
    assert tool["inputSchema"]["required"] == promised["required"]
    assert set(promised["reply"]) <= set(tool["outputSchema"]["required"])


def test_a_hit_has_every_promised_field(listed):
    search = next(tool for tool in listed if tool["name"] == "memory_search")
    assert set(search["outputSchema"]["properties"]["memories"]["items"]["required"]) >= HIT
    assert set(HIT_FIELDS) >= HIT


def test_the_list_of_tools_is_short_and_cheap(listed, record_property):
    tokens = count_tokens(json.dumps({"tools": listed}, separators=(",", ":")))
    record_property("tools_list_tokens", tokens)
    print(f"tools/list: {len(listed)} tools, {tokens} tokens")
    assert len(listed) <= MOST_TOOLS
    assert tokens <= MOST_TOKENS


def test_the_instructions_alone_say_which_tool_to_call_when(listed):
    """Clients that defer tools show a model nothing else."""
    named = set(re.findall(r"\bmemory_\w+", greeting.INSTRUCTIONS))
    assert named == {"memory_search", "memory_outcome", "memory_feedback", "memory_record"}
    assert named <= {tool["name"] for tool in listed}
    assert count_tokens(greeting.INSTRUCTIONS) <= MOST_INSTRUCTION_TOKENS


def test_the_description_of_a_tool_says_when_to_call_it(listed):
    assert [tool["name"] for tool in listed if not tool["description"].startswith("Call ")] == []


def test_every_tool_says_what_it_does_to_the_world(listed):
    for tool in listed:
        assert tool["description"]
        assert tool["annotations"].keys() == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert tool["inputSchema"]["additionalProperties"] is False
    reading = {tool["name"] for tool in listed if tool["annotations"]["readOnlyHint"]}
    assert reading == {"memory_search", "memory_get", "graph_search"}


def test_lists_that_never_change_do_not_claim_to(shared):
    fresh = shared.ask(
        "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    )
    capabilities = fresh["result"]["capabilities"]
    assert capabilities["tools"]["listChanged"] is False
    assert capabilities["resources"] == {"subscribe": False, "listChanged": False}
