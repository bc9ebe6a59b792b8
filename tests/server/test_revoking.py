"""Credentials that end, end what was begun with them: at once, whoever took them back, busy or idle."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import reasoningbank
from reasoningbank_server import events, request, tokens
from reasoningbank_server.oauth import LEEWAY_S, OAuthSettings
from tests.server.conftest import served
from tests.server.test_oauth import AUDIENCE, ISSUER, RSA_KEY, jwks, signed

SOURCE = Path(reasoningbank.__file__).parent.parent


@pytest.fixture(autouse=True)
def _patient_streams(monkeypatch):
    """What ends a stream here is no heartbeat: the next one is an hour away. And every request counts as an old one."""
    monkeypatch.setattr(events, "HEARTBEAT_S", 3600.0)
    monkeypatch.setattr(request, "CONFIRM_AFTER_S", -1.0, raising=False)


def _id(token: str) -> str:
    return token.split("_")[1]


def test_an_idle_stream_ends_when_its_token_is_revoked(bank, stream, token_for):
    token = token_for("acme", "read")
    with served(bank) as api:
        listening = stream(api.as_(token))
        tokens.revoke(bank.context.store, _id(token), 0.0)
        assert listening.ended()


def test_an_idle_stream_ends_when_another_process_revokes_its_token(bank, path, stream, token_for):
    token = token_for("acme", "read")
    with served(bank) as api:
        listening = stream(api.as_(token))
        revoke = [sys.executable, "-m", "reasoningbank", "--bank", str(path), "token", "revoke", _id(token)]
        subprocess.run(revoke, env={**os.environ, "PYTHONPATH": str(SOURCE)}, check=True, capture_output=True)
        assert listening.ended()


def test_a_busy_stream_hears_of_nothing_that_was_written_after_its_token_was_revoked(bank, stream, token_for):
    reading, writing = token_for("acme", "read"), token_for("acme")
    with served(bank) as api:
        listening, writer = stream(api.as_(reading)), api.as_(writing)
        over, revoked, wrote_late, late = threading.Event(), threading.Event(), threading.Event(), []

        def write() -> None:
            number = 0
            while not over.is_set():
                number += 1
                was_revoked = revoked.is_set()
                made = writer.record(f"{number}", "x")["id"]
                if was_revoked:
                    late.append(made)
                    wrote_late.set()

        thread = threading.Thread(target=write)
        thread.start()
        try:
            heard = [listening.event()["id"] for _ in range(20)]
            tokens.revoke(bank.context.store, _id(reading), 0.0)
            revoked.set()
            while (line := listening.line()) is not None:
                if line.startswith("data: "):
                    heard.append(json.loads(line[6:])["id"])
            assert wrote_late.wait(300), "writing went on"
        finally:
            over.set()
            thread.join(300)
        assert not set(heard).intersection(late)


def test_a_stream_ends_when_its_token_expires(bank, stream, token_for):
    token = token_for("acme", "read", lifetime_s=1.5)
    with served(bank) as api:
        assert stream(api.as_(token)).ended()


def test_a_stream_ends_when_its_token_is_given_to_another_tenant_or_to_nobody(bank, stream, token_for):
    moved, stripped = token_for("acme", "read"), token_for("acme", "read")
    store = bank.context.store
    with served(bank) as api:
        first, second = stream(api.as_(moved)), stream(api.as_(stripped))
        store.keep_token(replace(store.token(_id(moved)), tenant="rival"))
        store.keep_token(replace(store.token(_id(stripped)), scopes=()))
        assert first.ended()
        assert second.ended()


def test_a_stream_goes_on_when_its_token_may_do_less_but_still_read(bank, stream, token_for):
    token = token_for("acme", "admin")
    store = bank.context.store
    with served(bank) as api:
        listening = stream(api.as_(token))
        store.keep_token(replace(store.token(_id(token)), scopes=("read",)))
        made = api.as_(token_for("acme")).record()["id"]
        assert listening.event()["id"] == made


def test_a_stream_ends_with_the_access_token_of_an_issuer(bank, stream, tmp_path):
    keys = tmp_path / "jwks.json"
    keys.write_text(jwks(one=RSA_KEY))
    settings = OAuthSettings(issuer=ISSUER, audience=AUDIENCE, keys=str(keys))
    with served(bank, oauth=settings) as api:
        # Clocks may differ by a little, so a token is believed that much longer.
        assert stream(api.as_(signed(exp=time.time() - LEEWAY_S + 2.0))).ended()


def test_a_stream_that_nobody_reads_is_broken_off(bank, token_for):
    """Its end cannot be told, because what came before was never read."""
    token = token_for("acme", "read")
    with served(bank) as api, socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(300)
        sock.connect(("127.0.0.1", api.port))
        head = f"GET /v1/changes/stream HTTP/1.1\r\nhost: 127.0.0.1:{api.port}\r\nauthorization: Bearer {token}\r\n\r\n"
        sock.sendall(head.encode())
        assert sock.recv(64).startswith(b"HTTP/1.1 200")
        drafts = [{"title": str(n), "content": "x"} for n in range(1000)]
        for _ in range(12):
            api.as_(token_for("acme"))("POST", "/v1/memories/bulk", {"memories": drafts})
        tokens.revoke(bank.context.store, _id(token), 0.0)
        deadline = time.monotonic() + 300
        while "reasoningbank_streams 0\n" not in api("GET", "/metrics").body.decode():
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_body_that_arrives_after_its_token_was_revoked_changes_nothing(bank, token_for):
    token = token_for("acme")
    with served(bank) as api:
        body = json.dumps({"title": "late", "content": "x"}).encode()
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=300)
        connection.putrequest("POST", "/v1/memories")
        for name, value in {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "content-length": str(len(body)),
        }.items():
            connection.putheader(name, value)
        connection.endheaders(body[:5])
        deadline = time.monotonic() + 300
        while "reasoningbank_requests_in_flight 2\n" not in api("GET", "/metrics").body.decode():
            assert time.monotonic() < deadline
        tokens.revoke(bank.context.store, _id(token), 0.0)
        connection.send(body[5:])
        assert connection.getresponse().status == 401
        connection.close()
        assert bank.for_tenant("acme").list() == []


def test_lines_of_an_import_that_arrive_after_its_token_was_revoked_change_nothing(bank, token_for):
    token = token_for("acme")
    with served(bank) as api:
        line = json.dumps({"title": "late", "content": "x"}).encode() + b"\n"
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=300)
        connection.putrequest("POST", "/v1/import")
        connection.putheader("authorization", f"Bearer {token}")
        connection.putheader("content-type", "application/x-ndjson")
        connection.putheader("content-length", str(2 * len(line)))
        connection.endheaders(line)
        tokens.revoke(bank.context.store, _id(token), 0.0)
        connection.send(line)
        assert connection.getresponse().status == 401
        connection.close()
        assert bank.for_tenant("acme").list() == []
