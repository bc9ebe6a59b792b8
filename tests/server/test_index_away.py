"""What clients of a server get while the engine that keeps the index is away: answers by words, and the truth of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.qdrant_edge_server import EdgeServer
from reasoningbank import ReasoningBank
from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.tools import call
from tests.server.conftest import Api, served

QUESTION = "the payment timed out"


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[ReasoningBank]:
    """A bank whose engine has gone, with a memory that came before it went and one that came after."""
    server = EdgeServer(tmp_path / "qdrant")
    path = tmp_path / "bank.db"
    with ReasoningBank.open(path, embedder="hash", namespace="n", index=server.url, config="none") as opened:
        opened.record(title="Payments", content="A payment that timed out is never sent again.")
        assert opened.search(QUESTION).memories
        server.close()
        opened.record(title="Queues", content="Drain the queue before a deploy.")
        yield opened


@pytest.fixture
def api(bank: ReasoningBank) -> Iterator[Api]:
    with served(bank) as server:
        yield server


def test_over_http_a_search_is_answered_by_words_and_says_so_and_what_cannot_be_is_no_fault_of_the_bank(api: Api):
    found = api("POST", "/v1/search", {"query": QUESTION})
    assert (found.status, found.json["index_away"]) == (200, True), found.body
    assert [hit["title"] for hit in found.json["memories"]] == ["Payments"]
    advice = api("POST", "/v1/inject", {"task": "drain the queue"})
    assert (advice.status, "before a deploy" in advice.json["text"]) == (200, True), advice.body
    nothing = api("POST", "/v1/inject", {"task": "bake a cake with strawberries"})
    assert (nothing.json["text"], "the index is away" in nothing.json["reason"]) == ("", True), nothing.body
    gaps = api("POST", "/v1/graph/search", {"query": "drain the queue"})
    assert (gaps.status, gaps.headers["retry-after"]) == (503, "1"), gaps.body
    assert "The index cannot be reached; stores and reads go on" in gaps.json["detail"]
    assert "127.0.0.1" not in (found.body + nothing.body + gaps.body).decode()


def test_a_model_is_given_what_words_find_and_told_that_it_is_no_more(bank: ReasoningBank):
    reply = call("memory_search", {"query": QUESTION}, bank, LOCAL)
    assert reply.values is not None, reply.failure
    assert [hit["title"] for hit in reply.values["memories"]] == ["Payments"]
    assert reply.values["not_yet_indexed"] == 2, "which says that only words find what is there"
