"""A bug of ours reaches the log, and not the client."""

from __future__ import annotations

import anyio
import pytest
from mcp import Client, MCPError

from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.errors import UNEXPECTED
from reasoningbank.serve.mcp.server import build


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("asked", ["list_tools", "list_resources"])
def test_the_text_of_an_unexpected_exception_stays_here(mode, asked, caplog):
    def broken(_):
        raise RuntimeError("/home/somebody/secret.py: no such thing")

    async def use() -> None:
        async with Client(build(broken, broken), mode=mode) as client:
            with pytest.raises(MCPError) as caught:
                await getattr(client, asked)()
            assert (caught.value.code, caught.value.message) == (-32603, UNEXPECTED)

    anyio.run(use)
    assert "/home/somebody" in caplog.text


def test_a_broken_bank_is_an_error_of_the_call(caplog):
    def broken(_):
        raise RuntimeError("/home/somebody/secret.py")

    async def use() -> None:
        async with Client(build(broken, lambda _: LOCAL), mode="legacy") as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("memory_search", {"query": "x"})
            assert caught.value.message == UNEXPECTED

    anyio.run(use)
