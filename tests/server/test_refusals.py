"""What is no good request is refused with the right code, one sentence, and nothing about the inside."""

from __future__ import annotations

import json
import socket

import pytest

from reasoningbank.bank.bank import Bank
from reasoningbank_server.problems import CODES, MEDIA_TYPE
from tests.server.conftest import served

MEMORY = {"title": "t", "content": "c"}
DEEP = b'{"query": "x", "tags": ' + b"[" * 3000 + b"]" * 3000 + b"}"

CASES = {
    "no JSON": ("POST", "/v1/search", b"{", 400, "invalid_json"),
    "an empty body": ("POST", "/v1/search", b"", 400, "invalid_input"),
    "not UTF-8": ("POST", "/v1/search", b'{"query": "\xff"}', 400, "invalid_json"),
    "NaN": ("POST", "/v1/search", b'{"query": "x", "floor": NaN}', 400, "invalid_json"),
    "infinity": ("POST", "/v1/search", b'{"query": "x", "floor": 1e999}', 400, "invalid_json"),
    "a number of five thousand digits": ("POST", "/v1/search", b'{"query": "x", "limit": ' + b"9" * 5000 + b"}", 400, "invalid_json"),
    "nested too deep": ("POST", "/v1/search", DEEP, 400, "invalid_json"),
    "nested a little too deep": ("POST", "/v1/memories", b'{"title":"t","content":"c","metadata":' + b'{"a":' * 70 + b"1" + b"}" * 71, 400, "invalid_json"),
    "a list instead of an object": ("POST", "/v1/search", b"[]", 400, "invalid_input"),
    "a text instead of an object": ("POST", "/v1/search", b'"x"', 400, "invalid_input"),
    "no query": ("POST", "/v1/search", {}, 400, "invalid_input"),
    "an empty query": ("POST", "/v1/search", {"query": " "}, 400, "invalid_input"),
    "a query that is a number": ("POST", "/v1/search", {"query": 5}, 400, "invalid_input"),
    "an unknown field": ("POST", "/v1/search", {"query": "x", "colour": "red"}, 400, "invalid_input"),
    "a limit of nothing": ("POST", "/v1/search", {"query": "x", "limit": 0}, 400, "invalid_input"),
    "a limit that is true": ("POST", "/v1/search", {"query": "x", "limit": True}, 400, "invalid_input"),
    "an unknown outcome": ("POST", "/v1/memories", {**MEMORY, "outcome": "maybe"}, 400, "invalid_input"),
    "an unknown scope": ("POST", "/v1/memories", {**MEMORY, "scope": "world"}, 400, "invalid_input"),
    "no title": ("POST", "/v1/memories", {"content": "c"}, 400, "invalid_input"),
    "a title of a thousand letters": ("POST", "/v1/memories", {**MEMORY, "title": "t" * 1000}, 400, "invalid_input"),
    "every namespace to store in": ("POST", "/v1/memories", {**MEMORY, "namespace": "*"}, 400, "invalid_input"),
    "a tenant of one's own choice": ("POST", "/v1/memories", {**MEMORY, "tenant": "other"}, 400, "invalid_input"),
    "helpful as a word": ("POST", "/v1/memories/x/feedback", {"helpful": "yes"}, 400, "invalid_input"),
    "feedback about nothing": ("POST", "/v1/memories/mem_0/feedback", {"helpful": True}, 404, "not_found"),
    "an unknown memory": ("GET", "/v1/memories/mem_0", None, 404, "not_found"),
    "an edit of nothing": ("PATCH", "/v1/memories/mem_0", {}, 400, "invalid_input"),
    "an edit of what cannot be edited": ("PATCH", "/v1/memories/mem_0", {"origin": "user"}, 400, "invalid_input"),
    "a session that is not there": ("POST", "/v1/sessions/trj_0/steps", {"action": "a"}, 404, "not_found"),
    "an outcome of a session that is none": ("POST", "/v1/sessions/trj_0/end", {"outcome": "good"}, 400, "invalid_input"),
    "a link to nothing": ("POST", "/v1/links", {"source": "a", "target": "b", "kind": "causes"}, 404, "not_found"),
    "a path that is not there": ("GET", "/v1/nothing", None, 404, "not_found"),
    "a path with dots": ("GET", "/v1/../../etc/passwd", None, 404, "not_found"),
    "a method that is not there": ("PUT", "/v1/search", MEMORY, 405, "method_not_allowed"),
    "TRACE": ("TRACE", "/v1/search", None, 405, "method_not_allowed"),
    "an unknown query parameter": ("GET", "/v1/memories?colour=red", None, 400, "invalid_input"),
    "a parameter twice": ("GET", "/v1/memories?limit=1&limit=2", None, 400, "invalid_input"),
    "a limit that is no number": ("GET", "/v1/memories?limit=ten", None, 400, "invalid_input"),
    "a limit with other digits": ("GET", "/v1/memories?limit=%D9%A1", None, 400, "invalid_input"),
    "a parameter that is not UTF-8": ("GET", "/v1/memories?tag=%FF", None, 400, "invalid_input"),
    "a hundred parameters": ("GET", "/v1/memories?" + "&".join(["tag=a"] * 100), None, 400, "invalid_input"),
    "a token in the address": ("GET", "/v1/status?access_token=rbk_x", None, 400, "invalid_input"),
    "a made-up cursor": ("GET", "/v1/memories?cursor=AAAA", None, 400, "invalid_input"),
    "a cursor that is no text": ("GET", "/v1/changes?after=%00%01", None, 400, "invalid_input"),
    "lines as JSON": ("POST", "/v1/import", {"title": "t"}, 415, "unsupported_media_type"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_is_refused(shared, name):
    method, path, body, status, code = CASES[name]
    headers = {"content_type": "application/json"} if isinstance(body, bytes) else {}
    answer = shared(method, path, body, **headers)
    assert (answer.status, answer.code) == (status, code), answer.body
    assert answer.headers["content-type"] == MEDIA_TYPE
    told = answer.json
    assert told.keys() == {"type", "title", "status", "code", "detail"}
    assert told["status"] == status
    assert told["detail"].endswith(".")
    for secret in ("Traceback", ".py", "/tmp", "/home", "sqlite", "SELECT", "bank.db"):
        assert secret not in answer.body.decode().replace("/v1/../../", "")
    assert CODES[code].startswith(str(status))


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"]
)
def test_only_json_is_taken_so_that_a_form_cannot_write(shared, media_type):
    answer = shared("POST", "/v1/memories", json.dumps(MEMORY).encode(), content_type=media_type)
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize("header", ["authorization", "content-type", "idempotency-key", "if-match"])
def test_a_header_that_counts_is_refused_when_sent_twice(shared, header):
    lines = [
        f"GET /v1/status HTTP/1.1\r\nhost: 127.0.0.1:{shared.port}\r\nconnection: close",
        f"{header}: a",
        f"{header}: b",
        "",
        "",
    ]
    assert shared.raw("\r\n".join(lines).encode()).startswith(b"HTTP/1.1 400")


def test_if_match_must_be_an_etag(shared):
    made = shared.record()
    answer = shared("PATCH", f"/v1/memories/{made['id']}", {"title": "x"}, if_match='W/"abc"')
    assert (answer.status, answer.code) == (412, "precondition_failed")


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "tab\there"])
def test_an_idempotency_key_must_be_a_plain_word(shared, key):
    answer = shared("POST", "/v1/memories", MEMORY, idempotency_key=key)
    assert (answer.status, answer.code) == (400, "invalid_input")


@pytest.mark.parametrize(
    "request_",
    [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"HELLO / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
     b"POST /v1/search HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
     b"POST /v1/search HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
     b"POST /v1/search HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
     b"GET / HTTP/1.1\r\nhost: a\r\n : folded\r\n\r\n"],
)  # fmt: skip
def test_what_is_no_http_is_refused_and_the_connection_closed(shared, request_):
    answer = shared.raw(request_)
    assert answer.startswith(b"HTTP/1.1 4"), answer
    assert b"Traceback" not in answer
    assert shared("GET", "/healthz").status == 200


def test_a_websocket_is_not_opened(shared):
    lines = [
        "GET /v1/search HTTP/1.1", f"host: 127.0.0.1:{shared.port}", "connection: Upgrade, close", "upgrade: websocket",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version: 13", "", "",
    ]  # fmt: skip
    with socket.create_connection(("127.0.0.1", shared.port), timeout=300) as sock:
        sock.sendall("\r\n".join(lines).encode())
        assert not sock.recv(100).startswith(b"HTTP/1.1 101")


def test_every_answer_carries_the_headers_that_keep_browsers_out(shared):
    for path in ("/v1/status", "/v1/nothing", "/healthz", "/metrics", "/v1/export"):
        headers = shared("GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_a_fault_of_ours_is_told_as_no_more_than_that(bank, monkeypatch):
    def broken(*_):
        raise RuntimeError(f"secret in {bank.context.store.info.location}")

    with served(bank) as api:
        monkeypatch.setattr(Bank, "status", broken)
        answer = api("GET", "/v1/status")
    assert (answer.status, answer.code) == (500, "internal")
    assert b"secret" not in answer.body
