"""The settings of a bank over MCP: the contract where the file says nothing, the file where it does."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.tools import call, offered_tools


def search_tool(client) -> dict:
    tools = client.ask("tools/list")["result"]["tools"]
    return next(tool for tool in tools if tool["name"] == "memory_search")["inputSchema"]["properties"]


def test_without_a_file_the_contract_holds(path):
    with ReasoningBank.open(path, embedder="hash") as bank:
        asked = offered_tools(LOCAL, bank.settings.search)[0].inputs["properties"]
    assert (asked["limit"]["default"], asked["limit"]["maximum"], asked["min_confidence"]["default"]) == (5, 20, 0.3)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("max_limit = 50", (5, 50, 0.3)),
        ("max_limit = 3", (3, 3, 0.3)),
        ("default_limit = 30", (30, 30, 0.3)),
        ("default_limit = 7\nmin_confidence = 0.2", (7, 20, 0.2)),
    ],
)
def test_what_the_file_says_of_searching_is_what_the_tool_offers(path, text, limits):
    path.with_name("config.toml").write_text(f"[search]\n{text}\n", "utf-8")
    with ReasoningBank.open(path, embedder="hash") as bank:
        asked = offered_tools(LOCAL, bank.settings.search)[0].inputs["properties"]
    assert (asked["limit"]["default"], asked["limit"]["maximum"], asked["min_confidence"]["default"]) == limits


def test_a_call_has_the_defaults_and_limits_of_the_file(path):
    path.with_name("config.toml").write_text(
        "[search]\ndefault_limit = 2\nmax_limit = 30\nmin_confidence = 0.2\nfloor = 0\n"
        "[confidence]\ninitial_explicit = 0.3\n",
        "utf-8",
    )
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        for number in range(25):
            fields = {"title": f"Retry {number}", "description": "d", "content": "retry a request"}
            made = call("memory_record", {**fields, "outcome": "success"}, bank, LOCAL)
            assert made.values["initial_confidence"] == 0.3
        found = call("memory_search", {"query": "retry a request"}, bank, LOCAL).values
        assert len(found["memories"]) == 2
        assert len(call("memory_search", {"query": "retry", "limit": 25}, bank, LOCAL).values["memories"]) > 20
        assert "from 1 to 30" in call("memory_search", {"query": "retry", "limit": 31}, bank, LOCAL).failure


def test_a_server_on_a_pipe_reads_the_file_beside_its_bank(stdio, path):
    path.with_name("config.toml").write_text("[search]\nmax_limit = 7\nmin_confidence = 0.9\nfloor = 0\n", "utf-8")
    client = stdio().hello()
    early = search_tool(client)
    assert (early["limit"]["maximum"], early["min_confidence"]["default"]) == (7, 0.9)
    lesson = {"title": "Retry", "description": "d", "content": "retry a request", "outcome": "success"}
    client.call("memory_record", **lesson)
    assert client.call("memory_search", query="retry a request")["structuredContent"]["memories"] == []
    found = client.call("memory_search", query="retry a request", min_confidence=0.5)["structuredContent"]
    assert len(found["memories"]) == 1
    late = search_tool(client)
    assert late == early, "what was told before the library was loaded is what it tells"


def test_a_server_on_a_pipe_takes_a_named_file(stdio, path, tmp_path):
    named = tmp_path / "named.toml"
    named.write_text("[search]\nmax_limit = 9\n", "utf-8")
    client = stdio("--bank", str(path), "--config", str(named), "serve", "--mcp").hello()
    assert search_tool(client)["limit"]["maximum"] == 9
