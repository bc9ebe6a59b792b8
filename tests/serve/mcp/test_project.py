"""The project of a client over HTTP: its own, from its roots or its address, and never the folder of the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests import forked
from tests.clones import a_clone

from .conftest import MODERN, WAIT_S

LESSON = {"title": "A title", "description": "When", "content": "Do this", "outcome": "success"}


def repository(folder: Path, remote: str) -> Path:
    return a_clone(folder, f"git@example.com:{remote}.git")


@pytest.fixture
def serve(tmp_path) -> Iterator:
    """`serve(*words)` starts a server that stands in a repository of its own; gives its address."""
    running = []

    def start(*words: str) -> str:
        home = repository(tmp_path / "servers", "acme/server")
        command = ("-m", "reasoningbank", "--bank", str(tmp_path / "bank.db"), *words, "serve", "--port", "0")
        process = forked.python(*command, cwd=home, text=True, REASONINGBANK_EMBEDDER="hash")
        running.append(process)
        for line in process.stderr:
            found = re.search(r"http://\S+/mcp", line)
            if found:
                return found[0]
        raise AssertionError("the server has not said where it is")

    yield start
    for process in running:
        process.terminate()
        process.communicate(timeout=WAIT_S)


def record(url: str, *roots: Path, mode: str = "legacy", **given: str) -> types.CallToolResult:
    async def list_roots(_: object) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=root.as_uri()) for root in roots])

    async def use() -> types.CallToolResult:
        telling = {"list_roots_callback": list_roots} if roots else {}
        with anyio.fail_after(WAIT_S):
            async with Client(streamable_http_client(url), mode=mode, **telling) as client:
                assert (await client.list_tools()).tools
                made = await client.call_tool("memory_record", {**LESSON, **given})
                if not made.is_error:
                    found = await client.call_tool("memory_search", {"query": "a title", **given})
                    assert [hit["title"] for hit in found.structured_content["memories"]] == ["A title"]
                return made

    return anyio.run(use)


def namespaces(tmp_path: Path) -> list[str]:
    from reasoningbank import ReasoningBank

    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        return [memory.memory.namespace for memory in bank.list(namespace="*")]


def test_the_project_comes_from_the_roots_of_the_client(serve, tmp_path) -> None:
    mine = repository(tmp_path / "mine", "acme/mine")
    assert not record(serve(), mine, mine / ".git").is_error
    assert namespaces(tmp_path) == ["example.com/acme/mine"]


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_a_client_without_roots_is_not_given_the_project_of_the_server(serve, tmp_path, mode) -> None:
    url = serve()
    refused = record(url, mode=mode)
    assert refused.is_error
    assert "namespace" in refused.content[0].text
    assert not record(url, mode=mode, namespace="example.com/acme/named").is_error
    assert namespaces(tmp_path) == ["example.com/acme/named"]


def test_of_two_projects_none_is_chosen(serve, tmp_path) -> None:
    roots = repository(tmp_path / "one", "acme/one"), repository(tmp_path / "two", "acme/two")
    assert record(serve(), *roots).is_error
    assert namespaces(tmp_path) == []


def test_a_client_may_name_its_project_in_the_address(serve, tmp_path) -> None:
    assert not record(f"{serve()}?namespace=example.com/acme/mine").is_error
    assert namespaces(tmp_path) == ["example.com/acme/mine"]


def test_a_server_that_was_given_a_project_keeps_it_for_whoever_comes(serve, tmp_path) -> None:
    assert not record(serve("--namespace", "everybody")).is_error
    assert namespaces(tmp_path) == ["everybody"]
