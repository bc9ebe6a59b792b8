"""A write with a key is done once: sent again, at the same time, after a crash, on another server."""

from __future__ import annotations

import threading

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import NotFound, StoreError
from reasoningbank.core.types import Memory
from reasoningbank.serve.workers import Staffing
from tests.server.conftest import Api, served

MEMORY = {"title": "t", "content": "c"}


def count(bank) -> int:
    with bank.context.store.read(bank.tenant) as reader:
        return reader.count(Memory, {})


def test_the_same_request_again_gets_the_same_answer_and_changes_nothing(api, bank):
    first = api("POST", "/v1/memories", MEMORY, idempotency_key="k")
    again = api("POST", "/v1/memories", MEMORY, idempotency_key="k")
    assert (again.status, again.body, again.headers["etag"]) == (first.status, first.body, first.headers["etag"])
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert count(bank) == 1


def test_another_request_with_the_same_key_is_refused(api, bank):
    made = api("POST", "/v1/memories", MEMORY, idempotency_key="k").json
    for method, path, body in (
        ("POST", "/v1/memories", {**MEMORY, "title": "other"}),
        ("POST", "/v1/memories?namespace=far", MEMORY),
        ("POST", f"/v1/memories/{made['id']}/feedback", {"helpful": True}),
    ):
        refused = api(method, path, body, idempotency_key="k")
        assert (refused.status, refused.code) == (422, "idempotency_mismatch")
    assert count(bank) == 1


def test_every_write_takes_a_key(bank):
    # Without workers: what they learn is written when they come to it.
    with served(bank, staffing=Staffing(workers=0)) as api:
        made, other = api.record()["id"], api.record("o", "o")["id"]
        session = api("POST", "/v1/sessions", {"task": "t"}).json["id"]
        edge = {"source": made, "target": other, "kind": "requires"}
        writes = [
            ("POST", "/v1/memories/bulk", {"memories": [MEMORY]}),
            ("PUT", "/v1/keys/k", {"content": "v"}),
            ("PATCH", f"/v1/memories/{made}", {"title": "new"}),
            ("POST", f"/v1/memories/{made}/feedback", {"helpful": True}),
            ("POST", f"/v1/memories/{made}/outcome", {"succeeded": True}),
            ("POST", "/v1/sessions", {"task": "t"}),
            ("POST", f"/v1/sessions/{session}/steps", {"action": "a"}),
            ("POST", f"/v1/sessions/{session}/end", {"outcome": "success"}),
            ("POST", "/v1/links", edge),
            ("DELETE", f"/v1/memories/{other}", None),
            ("POST", f"/v1/memories/{other}/restore", None),
        ]
        for number, (method, path, body) in enumerate(writes):
            first = api(method, path, body, idempotency_key=f"w{number}")
            assert first.status in (200, 201), first.body
            head = bank.context.store.head()
            again = api(method, path, body, idempotency_key=f"w{number}")
            assert (again.body, again.headers.get("idempotency-replayed")) == (first.body, "true"), path
            assert bank.context.store.head() == head, f"{path} was done twice"


def test_an_erasure_with_a_key_is_answered_again_and_leaves_nothing(api, bank, path):
    made = api("POST", "/v1/memories", {"title": "t", "content": "unrepeatable-canary"}, idempotency_key="made").json
    for _ in range(2):
        assert api("DELETE", f"/v1/memories/{made['id']}?erase=true", idempotency_key="gone").status == 204
    assert api.search("unrepeatable-canary")["memories"] == []
    bank.context.store.backup(path.parent / "copy.db")
    assert b"unrepeatable-canary" not in (path.parent / "copy.db").read_bytes(), (
        "a kept answer must not outlive what it tells of"
    )


def test_what_was_refused_may_be_tried_again_with_its_key(api):
    missing = api("POST", "/v1/memories/k1/feedback", {"helpful": True}, idempotency_key="k")
    assert missing.status == 404
    api("PUT", "/v1/keys/k1", {"content": "now it is here"})
    assert api("POST", "/v1/memories/k1/feedback", {"helpful": True}, idempotency_key="k").status == 200


def test_sent_by_many_at_once_it_is_done_once(api, bank):
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(api("POST", "/v1/memories", MEMORY, idempotency_key="same")))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.body for answer in answers}) == 1
    assert {answer.status for answer in answers} == {201}
    assert count(bank) == 1


def test_a_key_outlives_the_server_and_holds_on_another_one(path):
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank, served(bank) as api:
        first = api("POST", "/v1/memories", MEMORY, idempotency_key="k").body
        with ReasoningBank.open(path, namespace="n") as second, served(second) as other:
            assert other("POST", "/v1/memories", MEMORY, idempotency_key="k").body == first
    with ReasoningBank.open(path, namespace="n") as bank, served(bank) as api:
        assert api("POST", "/v1/memories", MEMORY, idempotency_key="k").body == first
        assert count(bank) == 1


def test_a_key_is_its_callers_own(bank, token_for):
    with served(bank) as api:
        one, two, other = (api.as_(token_for(tenant)) for tenant in ("acme", "acme", "rival"))
        bodies = {client("POST", "/v1/memories", MEMORY, idempotency_key="k").body for client in (one, two, other, api)}
        assert len(bodies) == 4


def test_a_key_is_forgotten_after_a_day(path, clock):
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank, served(bank) as api:
        first = api("POST", "/v1/memories", MEMORY, idempotency_key="k").json["id"]
        clock.forward(days=0.9)
        assert api("POST", "/v1/memories", MEMORY, idempotency_key="k").json["id"] == first
        clock.forward(days=0.2)
        assert api("POST", "/v1/memories", MEMORY, idempotency_key="k").json["id"] != first


def test_the_answer_is_kept_with_the_change_or_not_at_all(bank):
    """The promise behind it: what runs as a unit is there as a whole or not at all."""

    def fails(inner, writer):
        inner.record(title="a", content="b")
        inner.feedback(inner.record(title="c", content="d").id, helpful=True)
        raise NotFound("after all")

    with pytest.raises(NotFound):
        bank.atomically(fails)
    assert count(bank) == 0
    ids = bank.atomically(lambda inner, _: [inner.record(title=str(n), content="x").id for n in range(3)])
    assert [bank.get(one).title for one in ids] == ["0", "1", "2"]
    with pytest.raises(StoreError):
        bank.atomically(lambda inner, _: inner.search("anything"))
    with pytest.raises(StoreError):
        bank.atomically(lambda inner, _: inner.verify())


def test_a_read_ignores_a_key(api: Api):
    made = api.record()
    assert api("GET", f"/v1/memories/{made['id']}", idempotency_key="k").status == 200
    assert api("POST", "/v1/search", {"query": "x"}, idempotency_key="k").status == 200
