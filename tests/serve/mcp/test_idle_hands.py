"""What a server over stdio does while its client has nothing to ask: distil finished sessions, one at a time."""

from __future__ import annotations

import time

import pytest

from reasoningbank import ReasoningBank


def a_finished_session(client) -> None:
    session = client.call("session", action="start", task="build the client")["structuredContent"]["session_id"]
    for did, result in (("make", "error: missing header foo.h"), ("apt install libfoo-dev", "done"), ("make", "ok")):
        client.call("session", action="step", session_id=session, did=did, result=result)
    assert not client.call("session", action="end", session_id=session, outcome="success")["isError"]


def tally(path, wanted: dict[str, int]) -> None:
    end = time.monotonic() + 300
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        while (found := bank.jobs.tally()) != wanted:
            assert time.monotonic() < end, found


def test_a_session_is_learned_from_while_the_client_is_silent(stdio, path):
    client = stdio().hello()
    a_finished_session(client)
    tally(path, {"done": 1})
    [hit, *_] = client.call("memory_search", query="missing header foo.h")["structuredContent"]["memories"]
    assert "libfoo-dev" in hit["content"]
    client.process.stdin.close()
    assert client.ended() == 0
    assert client.errors == ""


@pytest.mark.parametrize("silent", ["--workers 0", "host"])
def test_jobs_wait_where_nobody_is_to_work(stdio, path, silent):
    words = ("--bank", str(path), "--namespace", "n", "serve", "--mcp")
    client = (
        stdio(*words, *silent.split()).hello() if silent != "host" else stdio(REASONINGBANK_DISTILLER="host").hello()
    )
    a_finished_session(client)
    client.process.stdin.close()
    assert client.ended() == 0
    tally(path, {"waiting": 1})


def test_another_tenants_jobs_are_left_alone(stdio, path):
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        other = bank.for_tenant("other")
        other.end_session(other.start_session("theirs").id, "success")
    client = stdio().hello()
    a_finished_session(client)
    tally(path, {"done": 1})
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        assert bank.for_tenant("other").jobs.tally() == {"waiting": 1}


def test_what_is_written_in_bulk_elsewhere_is_indexed_while_the_client_is_silent(stdio, path):
    client = stdio().hello()
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.record_many({"title": f"Note {n}", "content": f"shelf {n} holds box {n * 7}"} for n in range(200))
        end = time.monotonic() + 300
        while bank.index_lag():
            assert time.monotonic() < end
    [hit, *_] = client.call("memory_search", query="shelf 199 holds box 1393", min_confidence=0)["structuredContent"][
        "memories"
    ]
    assert hit["title"] == "Note 199"
    client.process.stdin.close()
    assert client.ended() == 0
    assert client.errors == ""
