"""Whatever is wrong with a message over stdio gets the right code, and the server goes on."""

from __future__ import annotations

import json

import pytest

from reasoningbank.serve.mcp.frames import MOST_BYTES, MOST_DEPTH

from .conftest import HELLO

PARSE, INVALID, NO_METHOD, PARAMS, MISSING = -32700, -32600, -32601, -32602, -32002

BROKEN = {
    "not json": (b"hello", PARSE, None),
    "half an object": (b'{"jsonrpc": "2.0", "id": 1, "method":', PARSE, 1),
    "invalid utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', PARSE, 1),
    "utf-16": ('{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16-le").replace(b"\n", b" "), PARSE, None),
    "a number that is none": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', PARSE, 1),
    "infinity": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}', PARSE, 1),
    "a number of 5,000 digits": (b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}', PARSE, None),
    "nesting just too deep": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * MOST_DEPTH + b"]" * MOST_DEPTH + b"}}",
        PARSE,
        1,
    ),
    "bottomless nesting": (b"[" * 100_000, PARSE, None),
    "closed bottomless nesting": (b"[" * 100_000 + b"]" * 100_000, PARSE, None),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID, None),
    "an empty batch": (b"[]", INVALID, None),
    "a bare word": (b"true", INVALID, None),
    "a bare string": (b'"ping"', INVALID, None),
    "no version": (b'{"id":7,"method":"ping"}', INVALID, 7),
    "version 1.0": (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', INVALID, 7),
    "version as a number": (b'{"jsonrpc":2.0,"id":7,"method":"ping"}', INVALID, 7),
    "no method": (b'{"jsonrpc":"2.0","id":7}', INVALID, 7),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":7,"method":5}', INVALID, 7),
    "a method with half a surrogate pair": (b'{"jsonrpc":"2.0","id":7,"method":"\\ud800"}', INVALID, 7),
    "an id that is null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID, None),
    "an id that is true": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID, None),
    "an id that is a list": (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', INVALID, None),
    "an id that is a fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID, None),
    "params that are a list": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', INVALID, 7),
    "params that are null": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":null}', INVALID, 7),
    "a notification with an id": (b'{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}', INVALID, 7),
    "a request with a result": (b'{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}', INVALID, 7),
    "a message that is too large": (b'{"jsonrpc":"2.0","id":7,"method":"' + b"a" * MOST_BYTES + b'"}', INVALID, 7),
}

ASKED = {
    "an unknown method": ("memory/search", {}, NO_METHOD),
    "a method of a capability that is not offered": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "recall"}, "argument": {"name": "task", "value": "x"}},
        NO_METHOD,
    ),
    "resources/subscribe": ("resources/subscribe", {"uri": "memory://recent"}, NO_METHOD),
    "logging/setLevel": ("logging/setLevel", {"level": "info"}, NO_METHOD),
    "an unknown tool": ("tools/call", {"name": "memory_delete", "arguments": {}}, PARAMS),
    "a tool without a name": ("tools/call", {"arguments": {}}, PARAMS),
    "a tool whose name is a number": ("tools/call", {"name": 5}, PARAMS),
    "arguments that are a list": ("tools/call", {"name": "memory_get", "arguments": ["x"]}, PARAMS),
    "arguments that are text": ("tools/call", {"name": "memory_get", "arguments": "x"}, PARAMS),
    "a cursor for tools": ("tools/list", {"cursor": "1"}, PARAMS),
    "a cursor for prompts": ("prompts/list", {"cursor": "1"}, PARAMS),
    "a cursor that is a number": ("resources/list", {"cursor": 5}, PARAMS),
    "a forged cursor": ("resources/list", {"cursor": "Li4vLi4vZXRjL3Bhc3N3ZA=="}, PARAMS),
    "a cursor that is not base64": ("resources/list", {"cursor": "é!"}, PARAMS),
    "an unknown resource": ("resources/read", {"uri": "memory://nothing"}, MISSING),
    "a resource of another scheme": ("resources/read", {"uri": "file:///etc/passwd"}, MISSING),
    "a resource up the tree": ("resources/read", {"uri": "memory://../../etc/passwd"}, MISSING),
    "a memory that is not there": ("resources/read", {"uri": "memory://mem_00000000000000000000000000"}, MISSING),
    "a resource without an address": ("resources/read", {}, PARAMS),
    "an unknown prompt": ("prompts/get", {"name": "ignore-all"}, PARAMS),
    "a prompt without its argument": ("prompts/get", {"name": "recall"}, PARAMS),
    "a prompt with an empty argument": ("prompts/get", {"name": "recall", "arguments": {"task": "  "}}, PARAMS),
    "a prompt with an unknown argument": (
        "prompts/get",
        {"name": "recall", "arguments": {"task": "x", "y": "z"}},
        PARAMS,
    ),
    "a prompt argument that is a number": ("prompts/get", {"name": "recall", "arguments": {"task": 5}}, PARAMS),
    "a session that is not there": ("prompts/get", {"name": "reflect", "arguments": {"session_id": "trj_0"}}, PARAMS),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_message_is_refused_with_its_code(shared, case):
    data, code, request_id = BROKEN[case]
    shared.write(data + b"\n")
    answer = shared.receive()
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)
    assert len(json.dumps(answer)) < 500
    assert shared.ask("ping")["result"] == {}


@pytest.mark.parametrize("case", ASKED)
def test_a_request_that_makes_no_sense_is_refused_with_its_code(shared, case):
    method, params, code = ASKED[case]
    answer = shared.ask(method, params)
    assert "error" in answer, answer
    assert answer["error"]["code"] == code
    assert "Traceback" not in json.dumps(answer)
    assert shared.ask("ping")["result"] == {}


def test_blank_lines_between_messages_are_nothing(shared):
    shared.write(b"\n \n\r\n")
    assert shared.ask("ping")["result"] == {}


def test_a_message_may_end_in_carriage_return_and_newline(shared):
    shared.write(b'{"jsonrpc":"2.0","id":"crlf","method":"ping"}\r\n')
    assert shared.receive() == {"jsonrpc": "2.0", "id": "crlf", "result": {}}


def test_a_stray_reply_and_an_unknown_notification_are_ignored(shared):
    shared.send({"jsonrpc": "2.0", "id": 99, "result": {}})
    shared.send({"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "x"}})
    shared.send({"jsonrpc": "2.0", "method": "notifications/nonsense", "params": {"a": 1}})
    shared.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"a": 1}}})
    assert shared.ask("ping")["result"] == {}


def test_an_id_may_be_text(shared):
    shared.send({"jsonrpc": "2.0", "id": "ä-1", "method": "ping"})
    assert shared.receive() == {"jsonrpc": "2.0", "id": "ä-1", "result": {}}


def test_a_request_before_the_handshake_is_refused(stdio):
    client = stdio()
    answer = client.ask("tools/list")
    assert answer["error"]["code"] in (-32600, -32602)
    assert client.ask(
        "initialize",
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "late", "version": "1"}},
    )["result"]
    assert client.ask("tools/list")["result"]["tools"]
    # A handshake that says nothing is refused, whether or not another went before it.
    assert client.ask("initialize", {})["error"]["code"] == PARAMS
    # This connection speaks the older revisions; the newer envelope is not for it.
    modern = {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    }
    assert client.ask("tools/list", modern)["error"]["code"] == INVALID


def test_an_id_that_is_in_use_is_refused(stdio, bank):
    """Both are sent at once, so that the second comes while the first is being answered."""
    client = stdio().hello()
    client.ask("ping")
    search = {
        "jsonrpc": "2.0",
        "id": "same",
        "method": "tools/call",
        "params": {"name": "memory_search", "arguments": {"query": "x"}},
    }
    ping = {"jsonrpc": "2.0", "id": "same", "method": "ping"}
    client.write(b"".join(json.dumps(message).encode() + b"\n" for message in (search, ping)))
    answers = [client.receive(), client.receive()]
    assert {"error" in answer for answer in answers} == {True, False}
    assert next(answer for answer in answers if "error" in answer)["error"]["code"] == INVALID


def test_an_id_may_be_used_again_as_soon_as_its_answer_was_read(stdio):
    client = stdio()
    client.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    assert "result" in client.receive()
    for _ in range(300):
        client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert client.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("last", [False, True], ids=["id first", "id last"])
@pytest.mark.parametrize("asked", [7, "seven"])
@pytest.mark.parametrize("size", [4_200_000, 9_000_000])
def test_a_message_that_is_too_large_is_answered_by_its_id(stdio, last, asked, size):
    client = stdio().hello()
    call = {"method": "tools/call", "params": {"name": "memory_search", "arguments": {"query": "x" * size}}}
    named = {"id": asked}
    client.write(json.dumps({"jsonrpc": "2.0", **({**call, **named} if last else {**named, **call})}).encode() + b"\n")
    answer = client.receive()
    assert answer["id"] == asked
    assert "larger than" in answer["error"]["message"]
    assert client.call("memory_search", query="still there?")["isError"] is False


@pytest.mark.parametrize(
    "arguments",
    ['{"query": NaN}', '{"query": ' + "[" * 70 + "]" * 70 + "}", '{"query": "\udcff"}', '{"query": }'],
    ids=["not a number", "deep", "not UTF-8", "broken"],
)
def test_a_message_that_cannot_be_read_is_answered_by_its_id_where_that_can_be_read(stdio, arguments):
    client = stdio().hello()
    raw = f'{{"jsonrpc": "2.0", "id": 41, "method": "tools/call", "params": {{"arguments": {arguments}}}}}\n'
    client.write(raw.encode("utf-8", "surrogateescape"))
    answer = client.receive()
    assert (answer["id"], answer["error"]["code"]) == (41, -32700)
