"""Anything a schema allows is served, anything it forbids is refused, and nothing else ever happens."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasoningbank import ReasoningBank
from reasoningbank.serve.mcp import schemas
from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.errors import UNEXPECTED
from reasoningbank.serve.mcp.frames import FrameRefused, read_message
from reasoningbank.serve.mcp.tools import call

TEXT = st.text(st.characters(codec=None), max_size=40)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    with ReasoningBank.open(tmp_path_factory.mktemp("fuzz") / "bank.db", embedder="hash", namespace="n") as bank:
        bank.record(title="a", content="b", description="c")
        yield bank


def values(rule: dict) -> st.SearchStrategy:
    if "enum" in rule:
        return st.sampled_from(rule["enum"])
    match rule["type"]:
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(rule["minimum"], rule["maximum"])
        case "number":
            return st.floats(rule["minimum"], rule["maximum"])
        case "array":
            return st.lists(values(rule["items"]), max_size=4)
        case _:
            return TEXT


def arguments(tool: schemas.Tool) -> st.SearchStrategy:
    properties, required = tool.inputs["properties"], tool.inputs["required"]
    return st.fixed_dictionaries(
        {name: values(properties[name]) for name in required},
        optional={name: values(rule) for name, rule in properties.items() if name not in required},
    )


def sound(reply, tool: schemas.Tool) -> None:
    assert reply.failure != UNEXPECTED
    assert "Traceback" not in reply.failure
    assert "bank.db" not in reply.failure
    if reply.values is None:
        assert reply.failure.rstrip("…")
        json.dumps(reply.failure).encode()
    else:
        jsonschema.validate(dict(reply.values), tool.outputs)
        json.dumps(dict(reply.values), allow_nan=False, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("tool", schemas.TOOLS, ids=lambda tool: tool.name)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_what_a_schema_allows_is_answered(kept, tool, data):
    given_arguments = data.draw(arguments(tool))
    sound(call(tool.name, given_arguments, kept, LOCAL), tool)


@pytest.mark.parametrize("tool", schemas.TOOLS, ids=lambda tool: tool.name)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_what_a_schema_forbids_is_refused(kept, tool, data):
    before = kept.changes(after=0, limit=1_000_000)
    given_arguments = data.draw(
        st.dictionaries(st.sampled_from(list(tool.inputs["properties"])) | TEXT, ANYTHING, max_size=5)
    )
    reply = call(tool.name, given_arguments, kept, LOCAL)
    sound(reply, tool)
    if not jsonschema.Draft202012Validator(tool.inputs).is_valid(given_arguments):
        assert reply.values is None
        assert len(kept.changes(after=0, limit=1_000_000)) == len(before)


@given(st.binary(max_size=300))
def test_any_bytes_make_a_message_or_a_refusal(data):
    message = read_message(data)
    assert isinstance(message, FrameRefused) or message["jsonrpc"] == "2.0"


@given(ANYTHING)
def test_any_json_makes_a_message_or_a_refusal(value):
    message = read_message(json.dumps({"jsonrpc": "2.0", "method": value, "id": value}).encode())
    assert isinstance(message, FrameRefused) or isinstance(message["method"], str)


def test_any_arguments_over_the_wire_get_an_answer(shared):
    """The same through the whole of the protocol: the server is never lost and never shows a stack."""

    @settings(max_examples=40)
    @given(st.sampled_from([tool.name for tool in schemas.TOOLS]), st.dictionaries(TEXT, ANYTHING, max_size=4))
    def asked(name, given_arguments):
        text = json.dumps({"name": name, "arguments": given_arguments}, allow_nan=True)
        if "NaN" in text or "Infinity" in text:
            return
        answer = shared.ask("tools/call", json.loads(text))
        assert answer["result"]["isError"] is True or "structuredContent" in answer["result"]
        assert "Traceback" not in json.dumps(answer)

    asked()
    assert shared.errors == ""
