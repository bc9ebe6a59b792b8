"""Whatever one tenant sends, and however long it takes, the next one is served."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from reasoningbank.guard.secrets import Scrubber
from reasoningbank.serve.turns import Turns
from reasoningbank_server import oauth
from reasoningbank_server.gate import Gate
from reasoningbank_server.limits import Limits
from reasoningbank_server.oauth import checked_settings
from reasoningbank_server.problems import Problem
from reasoningbank_server.thread_pools import WIDTHS, Lane, Width, searching_width
from tests.serve.mcp.conftest import modern_body, modern_headers
from tests.server.conftest import served
from tests.server.test_oauth import AUDIENCE, ISSUER, OTHER_KEY, RSA_KEY, jwks, signed


def test_tenants_come_in_turn_and_none_has_more_than_its_share_under_way():
    turns: Turns[int] = Turns(each=2)
    for number in range(5):
        turns.put("many", number)
    turns.put("few", 10)
    begun = [turns.begin() for _ in range(4)]
    assert begun == [("many", 0), ("few", 10), ("many", 1), None], "three of many wait, and nobody may begin"
    turns.end("few")
    assert turns.begin() is None
    turns.end("many")
    assert (turns.begin(), turns.begin(), turns.waiting) == (("many", 2), None, 2)
    turns.put("few", 11)
    assert turns.take_along(2) == [3, 11], "what is done along with another counts for nothing"


LANES = {**WIDTHS, **{f"searching, {name}": searching_width(name) for name in ("hash", "local", "openai")}}


@pytest.mark.parametrize("name", LANES)
def test_work_that_does_not_end_leaves_a_thread_for_the_next_tenant(name):
    width = LANES[name]
    lane = Lane("test", width, most_waiting=1_000, most_waiting_each=1_000)
    released, entered = threading.Event(), threading.Semaphore(0)

    def endless() -> None:
        entered.release()
        assert released.wait(300)

    async def attack() -> str:
        stuck = [lane.submit(endless, tenant="greedy") for _ in range(3 * width.most)]
        for _ in range(width.each):
            await asyncio.to_thread(entered.acquire, timeout=300)
        answer: str = await asyncio.wait_for(lane.submit(lambda: "served", tenant="modest"), 60)
        released.set()
        await asyncio.gather(*stuck)
        return answer

    try:
        assert asyncio.run(attack()) == "served"
    finally:
        released.set()
        lane.close()


def test_a_tenant_that_lets_too_much_wait_is_told_so_and_others_are_not():
    lane = Lane("test", Width(each=1, most=2), most_waiting=10, most_waiting_each=3)
    released = threading.Event()

    async def attack() -> None:
        taken = [lane.submit(lambda: released.wait(300), tenant="greedy") for _ in range(4)]
        with pytest.raises(Problem, match="this tenant") as refused:
            lane.submit(lambda: None, tenant="greedy")
        assert (refused.value.status, refused.value.code) == (429, "tenant_busy")
        assert refused.value.headers == ((b"retry-after", b"1"),)
        await lane.submit(lambda: None, tenant="modest")
        released.set()
        await asyncio.gather(*taken)

    try:
        asyncio.run(attack())
    finally:
        released.set()
        lane.close()


def test_a_gate_forgets_who_went_away_while_waiting():
    async def attack() -> int:
        gate = Gate(each=1, most=2, wait_s=60.0)

        async def pass_through() -> None:
            async with gate.passed("acme"):
                pass

        async with gate.passed("acme"):
            waiting = [asyncio.create_task(pass_through()) for _ in range(5)]
            await asyncio.sleep(0)
            for task in waiting[:4]:
                task.cancel()
            await asyncio.gather(*waiting[:4], return_exceptions=True)
        await waiting[4]
        return gate.inside

    assert asyncio.run(attack()) == 0


def _half_sent(api, token: str, size: int) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=300)
    connection.putrequest("POST", "/v1/memories")
    connection.putheader("authorization", f"Bearer {token}")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(size))
    connection.endheaders(b"{")
    return connection


def test_large_bodies_of_one_tenant_wait_unread_and_keep_no_other_waiting(bank, token_for, caplog):
    greedy, modest = token_for("greedy"), token_for("modest")
    text = "word " * 30_000
    with served(bank, limits=Limits(large=3, large_each=2, body_wait_s=1.0)) as api:
        slow = [_half_sent(api, greedy, 3_000_000) for _ in range(6)]
        try:
            assert api.as_(modest)("POST", "/v1/memories", {"title": "t", "content": text}).status == 201
            statuses = sorted(connection.getresponse().status for connection in slow)
            assert set(statuses) == {408, 429}, "too slow, or told to come back"
            assert [record.getMessage() for record in caplog.records if "tenant" in record.getMessage()] == [
                "tenant greedy sends more than its share: what is too much is told to come back (429)"
            ]
        finally:
            for connection in slow:
                connection.close()
        assert api.as_(greedy)("POST", "/v1/memories", {"title": "t", "content": text}).status == 201


def test_an_issuer_that_does_not_answer_keeps_nobody_waiting(bank, token_for, monkeypatch):
    monkeypatch.setattr(oauth, "KEYS_AGAIN_AFTER_S", 0.0)
    monkeypatch.setattr(oauth, "FETCH_WITHIN_S", 60.0)
    released, asked = threading.Event(), threading.Semaphore(0)
    answers = iter([jwks(one=RSA_KEY)])

    class Issuer(BaseHTTPRequestHandler):
        def do_GET(self):
            text = next(answers, None)
            asked.release()
            if text is None:
                released.wait(300)
                text = jwks(one=RSA_KEY)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    issuer = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    thread = threading.Thread(target=issuer.serve_forever)
    thread.start()
    settings = checked_settings(ISSUER, AUDIENCE, f"http://127.0.0.1:{issuer.server_port}/keys", "tenant")
    try:
        with served(bank, oauth=settings) as api, ThreadPoolExecutor(8) as others:
            assert api.as_(signed())("GET", "/v1/status").status == 200
            assert asked.acquire(timeout=300)
            strangers = [
                others.submit(api.as_(signed(OTHER_KEY, kid=f"unknown {n}")), "GET", "/v1/status") for n in range(8)
            ]
            assert asked.acquire(timeout=300), "the issuer is asked for a key that is not known"
            assert api.as_(signed(sub="svc-2"))("GET", "/v1/status").status == 200, "its key is at hand"
            assert api.as_(token_for("rival"))("GET", "/v1/export").status == 200
            released.set()
            assert [one.result(60).status for one in strangers] == [401] * 8
            assert not asked.acquire(blocking=False), "and asked once for all of them"
    finally:
        released.set()
        issuer.shutdown()
        issuer.server_close()
        thread.join()


def test_an_access_token_is_checked_once_and_believed_no_longer_than_it_lasts(bank, tmp_path, monkeypatch):
    keys = tmp_path / "jwks.json"
    keys.write_text(jwks(one=RSA_KEY))
    settings = oauth.OAuthSettings(issuer=ISSUER, audience=AUDIENCE, keys=str(keys))
    checked = []
    whole = oauth.OAuth._claims
    monkeypatch.setattr(oauth.OAuth, "_claims", lambda self, token: checked.append(token) or whole(self, token))
    with served(bank, oauth=settings) as api:
        client = api.as_(signed())
        assert [client("GET", "/v1/status").status for _ in range(3)] == [200] * 3
        assert len(checked) == 1
        assert api("GET", "/v1/status", authorization=f"Secret {signed()}").status == 401
        # The issuer withdraws the key: what was signed with it ends with the keys that are at hand.
        keys.write_text(jwks(two=OTHER_KEY))
        monkeypatch.setattr(oauth, "KEYS_LAST_S", 0.0)
        deadline = time.monotonic() + 300
        while client("GET", "/v1/status").status != 401:
            assert time.monotonic() < deadline, "the keys that are at hand stay the old ones"


TEXT = "\0the password=Zx8qLm2Rt5Vw9Kp3 is in line one. " + "word " * 1_000
LOOKED_OVER = {
    "a new memory": ("POST", "/v1/memories", {"title": "t", "content": TEXT}, {"idempotency_key": "k"}),
    "many at once": ("POST", "/v1/memories/bulk", {"memories": [{"title": "t", "content": TEXT}]}, {}),
    "a value under a key": ("PUT", "/v1/keys/k", {"content": TEXT}, {"idempotency_key": "k"}),
    "another text": ("PATCH", "/v1/memories/{id}", {"content": TEXT}, {}),
}


@pytest.mark.parametrize("name", LOOKED_OVER)
def test_a_text_is_looked_over_before_the_turn_to_write_is_taken(bank, token_for, monkeypatch, name):
    entered, released = threading.Event(), threading.Event()
    places = Scrubber.places

    def slowly(self, text):
        if len(text) > 4_096:
            entered.set()
            assert released.wait(300)
        return places(self, text)

    method, path, body, headers = LOOKED_OVER[name]
    with served(bank) as api, ThreadPoolExecutor(1) as other:
        greedy, modest = api.as_(token_for("greedy")), api.as_(token_for("modest"))
        path = path.format(id=greedy.record()["id"])
        monkeypatch.setattr(Scrubber, "places", slowly)
        try:
            looked_over = other.submit(greedy, method, path, body, **headers)
            assert entered.wait(300)
            modest.record()
        finally:
            released.set()
        assert looked_over.result(60).status in (200, 201)
        kept = json.dumps(greedy("GET", "/v1/memories").json)
    assert "Zx8qLm2Rt5Vw9Kp3" not in kept
    assert "[SECRET:" in kept


def test_a_tool_call_over_mcp_runs_in_the_share_of_its_tenant(bank, token_for):
    from reasoningbank.serve.mcp.http import mcp_asgi_app
    from reasoningbank_server.dispatch import tenant_bank

    threads = []

    def bank_for(caller):
        threads.append(threading.current_thread().name)
        return tenant_bank(bank, caller.tenant)

    app = mcp_asgi_app(bank_for, lambda scope: scope["state"]["principal"], allowed_hosts=None)
    with served(bank, {"/mcp": app}) as api:
        for query in ("x", "x" * 100_000):
            body = modern_body("tools/call", {"name": "memory_search", "arguments": {"query": query}})
            headers = {**modern_headers("tools/call", "memory_search"), "authorization": f"Bearer {token_for('acme')}"}
            answer = api("POST", "/mcp", body, **{name.lower(): value for name, value in headers.items()})
            assert answer.status == 200, answer.body
    assert [name.rpartition("-")[0] for name in threads] == ["reasoningbank-tools", "reasoningbank-large"]
