"""The handshake is answered before the SDK is there; it must be the very answer that the SDK gives."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from reasoningbank.serve.mcp import greeting
from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.server import build

from .conftest import HELLO

SERVER = build(lambda _: None, lambda _: LOCAL)
TEXT = st.text(max_size=8)
FLAGS = st.recursive(
    st.just({}) | st.fixed_dictionaries({"listChanged": st.booleans()}),
    lambda inner: st.dictionaries(
        st.sampled_from(["roots", "sampling", "tools", "experimental", "x"]), inner, max_size=2
    ),
    max_leaves=4,
)
ODD = (
    st.none()
    | st.booleans()
    | st.integers()
    | TEXT
    | st.lists(TEXT, max_size=2)
    | st.dictionaries(TEXT, TEXT, max_size=2)
)
VERSIONS = st.sampled_from([*greeting.HANDSHAKE_VERSIONS, "2026-07-28", "2031-01-01", "1", ""])
PARAMS = st.fixed_dictionaries(
    {
        "protocolVersion": VERSIONS | ODD,
        "capabilities": FLAGS
        | st.dictionaries(
            st.sampled_from(["roots", "sampling", "elicitation", "tasks", "experimental"]), FLAGS | ODD, max_size=3
        )
        | ODD,
        "clientInfo": st.fixed_dictionaries(
            {"name": TEXT | ODD, "version": TEXT | ODD}, optional={"title": TEXT | ODD, "icons": ODD}
        )
        | ODD,
    },
    optional={"_meta": ODD, "extra": ODD},
)


class Asked:
    """The little that the SDK wants to know of a message's way."""

    message_metadata, request_id, can_send_request = None, 1, False


def answer_of_the_sdk(params: dict) -> dict | None:
    """What the SDK says to the same request; None when it refuses."""

    async def ask() -> dict | None:
        runner = ServerRunner(SERVER, Connection.for_loop(None), None)
        try:
            return await runner.on_request(Asked(), "initialize", params)
        except (MCPError, ValidationError):
            return None

    return anyio.run(ask)


@settings(max_examples=100)
@given(PARAMS)
def test_a_greeting_is_what_the_sdk_would_have_said(params):
    said = greeting.answer_to({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    if said is not None:
        assert said["result"] == answer_of_the_sdk(params)


@pytest.mark.parametrize(
    "capabilities",
    [
        {"experimental": {"listChanged": False}},
        {"extensions": {"listChanged": True}},
        {"roots": {"listChanged": {}}},
        {"roots": {"listChanged": None}},
        {"sampling": {"listChanged": True}},
        {"roots": True},
        {"listChanged": True},
    ],
)
def test_a_switch_where_the_sdk_knows_none_is_left_to_the_sdk(capabilities):
    params = {**HELLO, "capabilities": capabilities}
    said = greeting.answer_to({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    assert said is None or said["result"] == answer_of_the_sdk(params)


@pytest.mark.parametrize("version", [*greeting.HANDSHAKE_VERSIONS, "2031-01-01"])
def test_every_revision_is_greeted_at_once(version):
    message = {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {**HELLO, "protocolVersion": version}}
    said = greeting.answer_to(message)
    assert said["id"] == "a"
    assert said["result"] == answer_of_the_sdk(message["params"])
    expected = version if version in greeting.HANDSHAKE_VERSIONS else "2025-11-25"
    assert said["result"]["protocolVersion"] == expected


@pytest.mark.parametrize("version", greeting.HANDSHAKE_VERSIONS)
@pytest.mark.parametrize("method", ["ping", "tools/list", "prompts/list", "resources/templates/list"])
def test_a_list_that_is_told_early_is_the_list_that_the_sdk_tells(version, method):
    told = greeting.listing_for({"jsonrpc": "2.0", "id": 5, "method": method}, version)
    if version not in greeting.LISTING_VERSIONS:
        assert told is None
        return

    async def ask() -> dict:
        connection = Connection.for_loop(None)
        runner = ServerRunner(SERVER, connection, None)
        await runner.on_request(Asked(), "initialize", {**HELLO, "protocolVersion": version})
        return await runner.on_request(Asked(), method, None)

    assert told == {"jsonrpc": "2.0", "id": 5, "result": anyio.run(ask)}
    assert (
        greeting.listing_for({"jsonrpc": "2.0", "id": 5, "method": method, "params": {"cursor": "x"}}, version) is None
    )


def test_what_needs_the_bank_is_not_told_early():
    for method in ("tools/call", "resources/list", "resources/read", "prompts/get", "initialize", "nonsense"):
        assert greeting.listing_for({"jsonrpc": "2.0", "id": 5, "method": method}, "2025-11-25") is None


def test_the_revisions_are_those_of_the_sdk():
    assert greeting.HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    "info",
    [
        {"name": "claude-code", "title": "Claude Code", "version": "2.1.0", "websiteUrl": "https://example.org"},
        {"name": "codex-mcp-client", "title": "Codex", "version": "0.99.0"},
        {"name": "cursor-vscode", "version": "1.0.0"},
    ],
)
def test_the_clients_that_people_use_are_greeted_at_once(info):
    capabilities = {"roots": {"listChanged": True}, "elicitation": {"form": {}}, "sampling": {}}
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
    said = greeting.answer_to({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    assert said is not None
    assert said["result"] == answer_of_the_sdk(params)
