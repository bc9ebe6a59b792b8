"""The configurations of docs/mcp.md start the server, word for word; the SDK's client talks to it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from .conftest import SOURCE, WAIT_S

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text("utf-8")


def block(language: str, holding: str) -> str:
    found = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if holding in text]
    assert len(found) == 1, f"docs/mcp.md should have one {language} block with {holding!r}"
    return found[0]


def claude_code() -> list[str]:
    words = shlex.split(block("bash", "claude mcp add"))
    assert words[:3] == ["claude", "mcp", "add"]
    assert words[4] == "--"
    return words[5:]


def codex() -> list[str]:
    server = tomllib.loads(block("toml", "mcp_servers"))["mcp_servers"]["reasoningbank"]
    return [server["command"], *server["args"]]


def cursor() -> list[str]:
    server = json.loads(block("json", "mcpServers"))["mcpServers"]["reasoningbank"]
    return [server["command"], *server["args"]]


@pytest.fixture
def installed(tmp_path) -> dict[str, str]:
    """An environment in which `reasoningbank` is on the path, as after an installation."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "reasoningbank"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m reasoningbank "$@"\n')
    program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(SOURCE),
        "REASONINGBANK_EMBEDDER": "hash",
    }


@pytest.mark.parametrize("configured", [claude_code, codex, cursor])
def test_a_configuration_of_the_documents_works_as_it_stands(configured, installed, tmp_path):
    command, *words = configured()
    server = StdioServerParameters(command=command, args=words, env=installed, cwd=tmp_path)

    async def use() -> None:
        with anyio.fail_after(WAIT_S):
            async with Client(server, mode="legacy" if configured is claude_code else "auto") as client:
                assert "memory_search" in [tool.name for tool in (await client.list_tools()).tools]
                found = await client.call_tool("memory_search", {"query": "anything"})
                assert found.structured_content["memories"] == []

    anyio.run(use)


def test_the_tools_of_the_page_are_the_tools_of_the_server():
    from reasoningbank.serve.mcp.schemas import TOOLS

    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", PAGE, re.MULTILINE))
    assert list(rows) == [tool.name for tool in TOOLS]
    for tool in TOOLS:
        for argument in tool.inputs["properties"]:
            assert f"`{argument}`" in rows[tool.name] or argument == "namespace", f"{tool.name}: {argument}"
