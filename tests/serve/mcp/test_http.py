"""MCP over HTTP on a real socket: both eras, refusals with their codes, sessions and tenants that stay apart."""

from __future__ import annotations

import json
import random

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from reasoningbank.serve.allowed_hosts import LOOPBACK, hosts_named
from reasoningbank.serve.mcp.frames import MOST_BYTES
from reasoningbank.serve.mcp.http import MOST_SESSIONS_EACH

from .conftest import HELLO, MODERN, WAIT_S, legacy_body, legacy_headers, modern_body, modern_headers

LESSON = {"title": "A title", "description": "When", "content": "Do this", "outcome": "success"}
TOOL = {"name": "memory_search", "arguments": {"query": "x"}}


def session_of(server, who: str = "t/n/write") -> str:
    status, headers, body = server.send("POST", legacy_body("initialize", HELLO), legacy_headers(who))
    assert status == 200, body
    assert body["result"]["protocolVersion"] == "2025-11-25"
    session = headers["mcp-session-id"]
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    assert server.send("POST", ready, legacy_headers(who, session))[0] == 202
    return session


def called(server, who: str, tool: str, arguments: dict) -> dict:
    body = modern_body("tools/call", {"name": tool, "arguments": arguments})
    status, _, answer = server.send("POST", body, modern_headers("tools/call", tool, who))
    assert status == 200, answer
    return answer["result"]


# ---------------------------------------------------------------- the SDK's own client


@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
def test_the_client_of_the_sdk_uses_every_part(http_server, mode):
    async def use() -> None:
        who = {"Authorization": f"Bearer sdk-{mode}/n/write"}
        async with (
            httpx2.AsyncClient(headers=who) as http,
            Client(streamable_http_client(http_server.url, http_client=http), mode=mode) as client,
        ):
            assert len((await client.list_tools()).tools) == 8
            made = await client.call_tool("memory_record", LESSON)
            assert made.structured_content["initial_confidence"] == 0.8
            found = await client.call_tool("memory_search", {"query": "a title"})
            assert [hit["id"] for hit in found.structured_content["memories"]] == [made.structured_content["id"]]
            assert json.loads(found.content[0].text) == found.structured_content
            read = await client.read_resource(f"memory://{made.structured_content['id']}")
            assert json.loads(read.contents[0].text)["title"] == "A title"
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["recall", "reflect"]
            refused = await client.call_tool("memory_record", {**LESSON, "outcome": "maybe"})
            assert refused.is_error

    async def bounded() -> None:
        with anyio.fail_after(WAIT_S):
            await use()

    anyio.run(bounded)


# ---------------------------------------------------------------- refusals


def _without(headers: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in headers.items() if key != name}


CALL = modern_headers("tools/call", "memory_search")
LIST = modern_headers("tools/list")
REFUSED = {
    "GET": ("GET", b"", LIST, 405, None),
    "DELETE of the newest revision": ("DELETE", b"", LIST, 405, None),
    "PUT": ("PUT", b"", LIST, 405, None),
    "GET of an older revision": ("GET", b"", legacy_headers(), 405, None),
    "nobody": ("POST", modern_body("tools/list"), _without(LIST, "Authorization"), 401, -32600),
    "malformed JSON": ("POST", b"{", LIST, 400, -32700),
    "malformed JSON of an older client": ("POST", b"{", legacy_headers(), 400, -32700),
    "an empty body": ("POST", b"", LIST, 400, -32700),
    "invalid UTF-8": ("POST", b'{"a": "\xff"}', LIST, 400, -32700),
    "NaN": ("POST", b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":NaN}}', LIST, 400, -32700),
    "deep nesting": ("POST", b"[" * 5_000 + b"]" * 5_000, LIST, 400, -32700),
    "a batch": ("POST", b"[" + modern_body("tools/list") + b"]", LIST, 400, -32600),
    "a batch of an older client": ("POST", b"[" + legacy_body("ping") + b"]", legacy_headers(), 400, -32600),
    "no jsonrpc": ("POST", b'{"id":1,"method":"tools/list"}', LIST, 400, -32600),
    "an id that is a list": ("POST", b'{"jsonrpc":"2.0","id":[1],"method":"tools/list"}', LIST, 400, -32600),
    "a reply": ("POST", b'{"jsonrpc":"2.0","id":1,"result":{}}', LIST, 400, -32600),
    "plain text": ("POST", modern_body("tools/list"), {**LIST, "Content-Type": "text/plain"}, 400, None),
    "a form": ("POST", b"a=b", {**LIST, "Content-Type": "application/x-www-form-urlencoded"}, 400, None),
    "a reply that is not taken": ("POST", modern_body("tools/list"), {**LIST, "Accept": "text/html"}, 406, None),
    "a declared length that is too long": ("POST", b"{}", {**LIST, "Content-Length": str(MOST_BYTES + 1)}, 413, None),
    "no envelope": ("POST", legacy_body("tools/list"), LIST, 400, -32602),
    "half an envelope": (
        "POST",
        legacy_body("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}),
        LIST,
        400,
        -32602,
    ),
    "another version in the header": (
        "POST",
        modern_body("tools/list"),
        {**LIST, "MCP-Protocol-Version": "2031-01-01"},
        400,
        -32020,
    ),
    "a version nobody knows": (
        "POST",
        modern_body("tools/list").replace(MODERN.encode(), b"2031-01-01"),
        {**LIST, "MCP-Protocol-Version": "2031-01-01"},
        400,
        -32022,
    ),
    "no method in the header": ("POST", modern_body("tools/list"), _without(LIST, "Mcp-Method"), 400, -32020),
    "another method in the header": (
        "POST",
        modern_body("tools/list"),
        {**LIST, "Mcp-Method": "prompts/list"},
        400,
        -32020,
    ),
    "no name in the header": ("POST", modern_body("tools/call", TOOL), _without(CALL, "Mcp-Name"), 400, -32020),
    "another name in the header": (
        "POST",
        modern_body("tools/call", TOOL),
        {**CALL, "Mcp-Name": "memory_get"},
        400,
        -32020,
    ),
    "a broken name in the header": (
        "POST",
        modern_body("tools/call", TOOL),
        {**CALL, "Mcp-Name": "=?base64?!!!?="},
        400,
        -32020,
    ),
    "an unknown method": ("POST", modern_body("memory/all"), modern_headers("memory/all"), 404, -32601),
    "a method of an older revision": (
        "POST",
        modern_body("initialize", HELLO),
        modern_headers("initialize"),
        404,
        -32601,
    ),
    "an unknown tool": (
        "POST",
        modern_body("tools/call", {"name": "drop", "arguments": {}}),
        modern_headers("tools/call", "drop"),
        400,
        -32602,
    ),
    "an unknown resource": (
        "POST",
        modern_body("resources/read", {"uri": "file:///etc/passwd"}),
        modern_headers("resources/read", "file:///etc/passwd"),
        400,
        -32602,
    ),
    "an older client without a session": (
        "POST",
        legacy_body("tools/list"),
        {**legacy_headers(), "MCP-Protocol-Version": "2025-11-25"},
        400,
        -32600,
    ),
    "an older client with a session that is not there": (
        "POST",
        legacy_body("tools/list"),
        legacy_headers(session="0" * 32),
        404,
        -32600,
    ),
    "the end of a session that is not there": ("DELETE", b"", legacy_headers(session="0" * 32), 404, -32600),
    "a foreign host": ("POST", modern_body("tools/list"), {**LIST, "Host": "evil.example"}, 421, -32600),
    "a foreign origin": ("POST", modern_body("tools/list"), {**LIST, "Origin": "https://evil.example"}, 403, -32600),
    "an origin that is null": ("POST", modern_body("tools/list"), {**LIST, "Origin": "null"}, 403, -32600),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_request_is_refused_with_its_code(http_server, case):
    method, body, headers, status, code = REFUSED[case]
    got, _, answer = http_server.send(method, body, headers)
    assert got == status, answer
    if code is not None:
        assert answer["error"]["code"] == code
    text = json.dumps(answer, default=str)
    assert "Traceback" not in text
    assert str(http_server.folder) not in text


def test_a_doubled_routing_header_is_refused(http_server):
    headers = [*modern_headers("tools/list").items(), ("Mcp-Method", "prompts/list")]
    status, _, answer = http_server.send("POST", modern_body("tools/list"), headers)
    assert (status, answer["error"]["code"]) == (400, -32020)


def test_two_hosts_are_refused(http_server):
    headers = [
        *modern_headers("tools/list").items(),
        ("Host", "evil.example"),
        ("Host", f"127.0.0.1:{http_server.port}"),
    ]
    assert http_server.send("POST", modern_body("tools/list"), headers)[0] in (400, 421)


def test_an_endless_body_is_cut_off(http_server):
    chunk = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
    body = chunk * (MOST_BYTES // 65_536 + 1) + b"0\r\n\r\n"
    headers = {**modern_headers("tools/list"), "Transfer-Encoding": "chunked"}
    assert http_server.send("POST", body, headers)[0] == 413


def test_a_session_id_means_nothing_to_the_newest_revision(http_server):
    headers = {**modern_headers("tools/list"), "Mcp-Session-Id": "0" * 32, "Last-Event-ID": "5"}
    status, got, answer = http_server.send("POST", modern_body("tools/list"), headers)
    assert status == 200
    assert len(answer["result"]["tools"]) == 8
    assert "mcp-session-id" not in got
    assert "access-control-allow-origin" not in got


GOOD_HOSTS = ["127.0.0.1", "127.0.0.1:80", "localhost:65535", "LOCALHOST:8080", "[::1]", "[::1]:9000"]
BAD_HOSTS = [
    "",
    "evil.example",
    "localhost.evil",
    "localhost.evil:80",
    "127.0.0.1.nip.io",
    "127.0.0.1.nip.io:80",
    "evil.localhost",
    "localhost.",
    "localhost:",
    "localhost:0",
    "localhost:99999",
    "localhost:80:80",
    "localhost:80@evil.example",
    "localhost:*",
    "localhost:evil.example",
    "127.0.0.1:evil.example:80",
    "user@localhost",
    "localhost/evil",
    "localhost\\evil",
    "localhost evil",
    "localhost,evil.example",
    " localhost",
    "127.0.0.2",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0.0.0.0",
    "::1",
    "[::1",
    "[::1].evil",
    "[::ffff:127.0.0.1]",
    "[::1]:x",
    "ⓛocalhost",
    "localhost\n",
    "null",
]


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_a_name_of_this_machine_is_taken(host):
    allowed = hosts_named(LOOPBACK)
    assert allowed.has_host(host.encode())
    assert allowed.has_origin(f"http://{host}".encode())
    assert allowed.has_origin(f"https://{host}".encode())


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_any_other_name_is_refused(host):
    assert not hosts_named(LOOPBACK).has_host(host.encode())
    assert not hosts_named(LOOPBACK).has_origin(f"http://{host}".encode())


@pytest.mark.parametrize(
    "origin",
    ["null", "", "localhost", "file://localhost", "chrome-extension://localhost", "http://localhost/", "//localhost"],
)
def test_an_origin_is_a_scheme_and_a_name(origin):
    assert not hosts_named(LOOPBACK).has_origin(origin.encode())


def test_a_named_port_is_that_port_only():
    allowed = hosts_named(["bank.example:8443"])
    assert allowed.has_host(b"bank.example:8443")
    assert not allowed.has_host(b"bank.example:8444")
    assert not allowed.has_host(b"bank.example")


# ---------------------------------------------------------------- who may do what


def test_a_session_belongs_to_whoever_opened_it(http_server):
    session = session_of(http_server, "a/alice/write")
    listing = legacy_body("tools/list")
    assert http_server.send("POST", listing, legacy_headers("a/alice/write", session))[0] == 200
    strangers = ["a/bob/write", "b/alice/write"]
    for who in strangers:
        status, _, answer = http_server.send("POST", listing, legacy_headers(who, session))
        missing = http_server.send("POST", listing, legacy_headers(who, "0" * 32))
        assert (status, answer) == (missing[0], missing[2])
        assert http_server.send("DELETE", b"", legacy_headers(who, session))[0] == 404
    assert http_server.send("DELETE", b"", legacy_headers("a/alice/write", session))[0] == 200
    assert http_server.send("POST", listing, legacy_headers("a/alice/write", session))[0] == 404


def test_nobody_can_use_up_the_sessions_of_the_others(http_server):
    listing = legacy_body("tools/list")
    bob = session_of(http_server, "a/bob/write")
    first, *_, last = [session_of(http_server, "a/greedy/write") for _ in range(MOST_SESSIONS_EACH + 1)]
    assert http_server.send("POST", listing, legacy_headers("a/greedy/write", first))[0] == 404
    assert http_server.send("POST", listing, legacy_headers("a/greedy/write", last))[0] == 200
    assert http_server.send("POST", listing, legacy_headers("a/bob/write", bob))[0] == 200


def test_a_reader_sees_and_uses_only_what_reads(http_server):
    _, _, answer = http_server.send("POST", modern_body("tools/list"), modern_headers("tools/list", who="t/n/read"))
    assert [tool["name"] for tool in answer["result"]["tools"]] == ["memory_search", "memory_get", "graph_search"]
    refused = called(http_server, "t/n/read", "memory_record", LESSON)
    assert refused["isError"]
    assert "scope write" in refused["content"][0]["text"]


def test_a_foreign_memory_is_a_missing_one(http_server):
    made = called(http_server, "mine/n/write", "memory_record", LESSON)["structuredContent"]["id"]
    nothing = made[:-4] + "0000"
    for tool, arguments in (
        ("memory_get", {}),
        ("memory_feedback", {"helpful": True}),
        ("memory_outcome", {"succeeded": True}),
    ):
        foreign = called(http_server, "theirs/n/write", tool, {"memory_id": made, **arguments})
        missing = called(http_server, "theirs/n/write", tool, {"memory_id": nothing, **arguments})
        assert foreign["isError"]
        assert foreign["content"][0]["text"] == missing["content"][0]["text"].replace(nothing, made)


@pytest.mark.parametrize(("many", "calls"), [(15, 150), pytest.param(50, 5_000, marks=pytest.mark.storm)])
def test_tenants_never_see_a_byte_of_each_other(http_server, many, calls):
    rng = random.Random(calls)
    tenants = [f"tenant{calls}-{number:02}" for number in range(many)]
    canary = {tenant: f"CANARY{rng.getrandbits(64):016x}" for tenant in tenants}
    ids: dict[str, list[str]] = {}
    sessions: dict[str, str] = {}
    for tenant in tenants:
        lesson = {**LESSON, "title": f"Deploy {canary[tenant]}", "content": f"the shared words, and {canary[tenant]}"}
        who = f"{tenant}/n/write"
        ids[tenant] = [called(http_server, who, "memory_record", lesson)["structuredContent"]["id"] for _ in range(2)]
        task = {"action": "start", "task": f"deploy {canary[tenant]}"}
        sessions[tenant] = called(http_server, who, "session", task)["structuredContent"]["session_id"]
    for _ in range(calls):
        tenant, other = rng.sample(tenants, 2)
        status, _, answer = http_server.send(*_random_call(rng, tenant, ids[other][0], sessions[other], canary[other]))
        assert status in (200, 400), answer
        text = json.dumps(answer)
        for stranger in tenants:
            # A search for a canary may be told back to whoever searched; nothing else of it may come.
            if stranger != tenant and stranger != other:
                assert canary[stranger] not in text
        assert f"Deploy {canary[other]}" not in text
        assert "the shared words, and " + canary[other] not in text


def _random_call(rng: random.Random, tenant: str, foreign: str, session: str, canary: str):
    choices = [
        ("tools/call", "memory_search", {"query": f"deploy the shared words {canary}", "min_confidence": 0}),
        ("tools/call", "memory_search", {"query": "shared words", "namespace": "*", "limit": 20}),
        ("tools/call", "memory_search", {"query": "deploy", "session_id": session}),
        ("tools/call", "memory_get", {"memory_id": foreign}),
        ("tools/call", "memory_feedback", {"memory_id": foreign, "helpful": False}),
        ("tools/call", "memory_outcome", {"memory_id": foreign, "succeeded": False, "session_id": session}),
        ("tools/call", "session", {"action": "step", "session_id": session, "did": "x"}),
        ("tools/call", "session", {"action": "end", "session_id": session, "outcome": "success", "used": [foreign]}),
        ("resources/list", None, None),
        ("resources/read", f"memory://{foreign}", None),
        ("resources/read", "memory://recent", None),
        ("resources/read", "memory://statistics", None),
        ("prompts/get", "reflect", {"session_id": session}),
        ("prompts/get", "recall", {"task": "deploy the shared words"}),
    ]
    method, name, arguments = rng.choice(choices)
    key = "uri" if method == "resources/read" else "name"
    params = {} if name is None else {key: name} if arguments is None else {key: name, "arguments": arguments}
    return "POST", modern_body(method, params), modern_headers(method, name, f"{tenant}/n/write")
