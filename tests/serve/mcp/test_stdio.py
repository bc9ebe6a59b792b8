"""`reasoningbank serve --mcp` as a client meets it: a process, two pipes, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.guard.scrubbing import allowing

from .conftest import HELLO, WAIT_S

LESSON = {
    "title": "Wrap errors with context",
    "description": "When handling errors in Go services",
    "content": "Use fmt.Errorf with %w so that callers can unwrap the cause.",
    "outcome": "success",
    "tags": ["go"],
}


def line(method: str, params: dict | None = None, request_id: object = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return json.dumps(message if request_id is None else {**message, "id": request_id}).encode() + b"\n"


def test_a_lesson_goes_round_through_the_protocol(stdio):
    client = stdio().hello()
    recorded = client.call("memory_record", **LESSON)
    assert recorded["isError"] is False
    made = recorded["structuredContent"]
    assert made["initial_confidence"] == 0.8
    found = client.call("memory_search", query="how do I handle errors in Go?")
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    hit = found["structuredContent"]["memories"][0]
    assert (hit["id"], hit["title"], hit["scope"], hit["usage_count"]) == (made["id"], LESSON["title"], "project", 0)
    assert 0 < hit["relevance"] <= 1
    judged = client.call("memory_feedback", memory_id=made["id"], helpful=True, comment="it did")["structuredContent"]
    assert judged["success"] is True
    assert judged["new_confidence"] > 0.8
    again = client.call("memory_search", query="how do I handle errors in Go?")["structuredContent"]
    assert again["memories"][0]["confidence"] == pytest.approx(judged["new_confidence"], abs=1e-3)
    assert again["total_found"] == 1
    assert again["tokens_used"] > 0


def test_what_one_server_records_the_next_search_of_another_finds(stdio, path):
    first, second = stdio().hello(), stdio().hello()
    assert second.call("memory_search", query="errors in Go")["structuredContent"]["memories"] == []
    made = first.call("memory_record", **LESSON)["structuredContent"]["id"]
    found = second.call("memory_search", query="errors in Go")["structuredContent"]["memories"]
    assert [hit["id"] for hit in found] == [made]
    with ReasoningBank.open(path, namespace="n", embedder="hash") as bank:
        assert bank.get(made).memory.origin == "agent"


def test_several_servers_write_to_one_bank_at_once(stdio, path):
    servers = [stdio().hello() for _ in range(3)]
    for number in range(25):
        for server in servers:
            server.send(
                {
                    "jsonrpc": "2.0",
                    "id": f"w{number}",
                    "method": "tools/call",
                    "params": {"name": "memory_record", "arguments": LESSON},
                }
            )
    ids = {server.receive()["result"]["structuredContent"]["id"] for server in servers for _ in range(25)}
    assert len(ids) == 75
    with ReasoningBank.open(path, namespace="n", embedder="hash") as bank:
        assert bank.status().memories == {"active": 75}


def test_calls_run_in_parallel_and_each_gets_its_own_answer(stdio):
    client = stdio().hello()
    made = client.call("memory_record", **LESSON)["structuredContent"]["id"]
    for number in range(40):
        tool, arguments = (
            ("memory_search", {"query": "errors in Go"}) if number % 2 else ("memory_get", {"memory_id": made})
        )
        client.write(line("tools/call", {"name": tool, "arguments": arguments}, number))
    answers = {(answer := client.receive())["id"]: answer for _ in range(40)}
    assert answers.keys() == set(range(40))
    assert [n for n in range(40) if "error" in answers[n]] == []
    for number, answer in answers.items():
        assert ("memories" in answer["result"]["structuredContent"]) is bool(number % 2)


def test_a_cancelled_request_gets_no_answer_and_nothing_else_suffers(stdio):
    client = stdio().hello()
    client.ask("ping")
    client.write(
        line("tools/call", {"name": "memory_search", "arguments": {"query": "cold"}}, "cold")
        + line("notifications/cancelled", {"requestId": "cold", "reason": "changed my mind"})
        + line("ping", {}, "after")
    )
    first = client.receive()
    # The answer may have been on its way; what must not happen is an answer after the cancellation was seen.
    if first["id"] == "cold":
        first = client.receive()
    assert first == {"jsonrpc": "2.0", "id": "after", "result": {}}
    assert client.call("memory_search", query="warm")["isError"] is False


def test_a_cancelled_request_does_not_hold_the_server_up_at_the_end(stdio):
    """Not even when the id is sent back as text."""
    client = stdio().hello()
    client.ask("ping")
    client.write(
        line("tools/call", {"name": "memory_search", "arguments": {"query": "cold"}}, 77)
        + line("notifications/cancelled", {"requestId": "77"})
    )
    client.process.stdin.close()
    assert client.ended() == 0


def test_only_a_search_waits_for_the_model(stdio):
    """The first search loads the model. A call that needs none overtakes it."""
    client = stdio(REASONINGBANK_EMBEDDER="local").hello()
    client.write(
        line("tools/call", {"name": "memory_search", "arguments": {"query": "errors in Go"}}, "search")
        + line("tools/call", {"name": "memory_record", "arguments": LESSON}, "record")
    )
    assert [client.receive()["id"], client.receive()["id"]] == ["record", "search"]


def test_a_printing_library_does_not_reach_the_client(stdio, path):
    """Stray output, by Python, by the C library's descriptor and by a child, goes to standard error."""
    code = textwrap.dedent(
        """
        import os, subprocess, sys
        from reasoningbank.serve.mcp import tools
        quiet = tools.call
        def loud(*arguments):
            print("stray print")
            os.write(1, b"stray write\\n")
            subprocess.run([sys.executable, "-c", "print('stray child')"], check=True)
            return quiet(*arguments)
        tools.call = loud
        from reasoningbank.cli.main import main
        sys.exit(main(sys.argv[1:]))
        """
    )
    client = stdio("--bank", str(path), "serve", "--mcp", python=("-c", code)).hello()
    assert client.call("memory_search", query="x")["isError"] is False
    client.process.stdin.close()
    assert client.ended() == 0
    for stray in ("stray print", "stray write", "stray child"):
        assert stray in client.errors


def test_requests_that_were_sent_before_the_end_are_answered(path):
    """A shell may pipe a few requests in and close: each is answered before the server leaves."""
    sent = (
        line("initialize", HELLO, 1)
        + line("notifications/initialized")
        + line("tools/call", {"name": "memory_record", "arguments": LESSON}, 2)
        + line("tools/call", {"name": "memory_search", "arguments": {"query": "errors in Go"}}, 3).rstrip(b"\n")
    )
    done = subprocess.run(
        [sys.executable, "-m", "reasoningbank", "--bank", str(path), "serve", "--mcp"],
        input=sent,
        capture_output=True,
        timeout=WAIT_S,
        env={**os.environ, "REASONINGBANK_EMBEDDER": "hash"},
    )
    assert done.returncode == 0, done.stderr
    assert {json.loads(answer)["id"] for answer in done.stdout.splitlines()} == {1, 2, 3}
    assert done.stderr == b""


def test_nothing_said_at_all_is_a_clean_end(stdio):
    client = stdio()
    client.process.stdin.close()
    assert client.ended() == 0
    assert client.errors == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_in_peace(stdio, path, number):
    client = stdio().hello()
    made = client.call("memory_record", **LESSON)["structuredContent"]["id"]
    client.process.send_signal(number)
    assert client.ended() == 0
    assert client.errors == ""
    with ReasoningBank.open(path, namespace="n", embedder="hash") as bank:
        assert bank.get(made).title == LESSON["title"]
        assert bank.verify() == []


def test_a_signal_while_the_server_is_still_loading_ends_it_in_peace(stdio):
    client = stdio()
    client.ask("initialize", HELLO)
    client.process.terminate()
    assert client.ended() == 0
    assert client.errors == ""


def test_a_signal_lets_a_taken_write_finish(stdio, path):
    client = stdio().hello()
    client.ask("ping")
    for number in range(20):
        client.write(line("tools/call", {"name": "memory_record", "arguments": LESSON}, number))
    client.receive()
    client.process.send_signal(signal.SIGTERM)
    assert client.ended() == 0
    answered = 1
    while (data := client._lines.get(timeout=WAIT_S)) is not None:
        assert "result" in json.loads(data)
        answered += 1
    with ReasoningBank.open(path, namespace="n", embedder="hash") as bank:
        assert bank.status().memories["active"] >= answered


def test_a_client_that_stops_reading_ends_the_server(path):
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "reasoningbank", "--bank", str(path), "serve", "--mcp"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    try:
        process.stdin.write(line("initialize", HELLO, 1))
        process.stdin.flush()
        assert b'"id":1' in os.read(reading, 65_536)
        os.close(reading)
        process.stdin.write(line("ping", {}, 2))
        process.stdin.flush()
        assert process.wait(WAIT_S) == 0
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.wait(WAIT_S)
        process.stdin.close()
        process.stderr.close()


def test_a_killed_server_loses_nothing_that_it_acknowledged(stdio, path):
    client = stdio().hello()
    made = [client.call("memory_record", **LESSON)["structuredContent"]["id"] for _ in range(10)]
    client.process.kill()
    client.ended()
    with ReasoningBank.open(path, namespace="n", embedder="hash") as bank:
        assert {bank.get(memory_id).id for memory_id in made} == set(made)
        assert bank.verify() == []


def test_a_client_of_the_newest_revision_needs_no_handshake(stdio):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"},
    }
    client = stdio()
    seen = client.ask("server/discover", {"_meta": meta})["result"]
    assert seen["supportedVersions"] == ["2026-07-28"]
    asked = {"name": "memory_record", "arguments": LESSON, "_meta": meta}
    assert client.ask("tools/call", asked)["result"]["structuredContent"]["initial_confidence"] == 0.8
    missing = client.ask("resources/read", {"uri": "memory://nothing", "_meta": meta})
    assert missing["error"]["code"] == -32602
    older = {**meta, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    assert client.ask("tools/list", {"_meta": older})["error"]["code"] == -32022
    assert client.ask("initialize", HELLO)["error"]["code"] == -32022


def test_a_missing_extra_is_named(tmp_path):
    code = (
        "import sys, importlib.machinery as m\n"
        "find = m.PathFinder.find_spec\n"
        "m.PathFinder.find_spec = classmethod(lambda cls, name, *a: None if name == 'mcp' else find(name, *a))\n"
        "from reasoningbank.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", code, "--bank", str(tmp_path / "b.db"), "serve", "--mcp"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 8
    assert "pip install 'reasoningbank[mcp]'" in done.stderr
    assert not (tmp_path / "b.db").exists()


def test_greeting_loads_no_sdk_and_no_model(tmp_path):
    """What stands between the start and the first answer stays light."""
    code = (
        "import sys\n"
        "import reasoningbank.cli.commands.serve, reasoningbank.serve.mcp.stdio, reasoningbank.wiring\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=WAIT_S)
    heavy = {"mcp", "pydantic", "starlette", "anyio", "asyncio", "numpy", "onnxruntime"} & set(done.stdout.split())
    assert not heavy, sorted(heavy)


def test_what_another_process_rules_about_secrets_holds_from_the_next_call_on(stdio, path):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    client = stdio().hello()
    draft = {"title": "t", "description": "d", "content": f"use {secret}", "outcome": "success"}
    assert client.call("memory_record", **draft)["structuredContent"]["secrets_scrubbed"] == 1
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.secrets.set_scrubbing(allowing(bank.secrets.scrubbing, secret))
    assert "secrets_scrubbed" not in client.call("memory_record", **draft)["structuredContent"]
