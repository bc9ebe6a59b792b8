"""Fifty tenants on one server, each with a canary in everything it writes: no foreign byte ever comes back."""

from __future__ import annotations

import http.client
import json
import random

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Memory
from reasoningbank.serve.workers import Staffing
from reasoningbank_server.limits import Limits
from tests.server.conftest import new_token, served

TENANTS = 50
CALLS = 300
EACH = 6


class Tenant:
    def __init__(self, number: int, port: int, token: str) -> None:
        self.name = f"tenant-{number:02}"
        self.canary = f"canary{number:02}x{number * 7919:06}"
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self.token = token
        self.memories: list[str] = []
        self.sessions: list[str] = []
        self.edges: list[str] = []
        self.jobs: list[str] = []
        self.cursors: list[str] = []
        self.said = ""

    def __call__(self, method: str, path: str, body=None, media_type: str = "application/json"):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.token}", **({} if body is None else {"content-type": media_type})}
        self.connection.request(method, path, data, headers)
        reply = self.connection.getresponse()
        return reply.status, reply.read().decode(), str(reply.getheaders())

    def draft(self, rng: random.Random) -> dict:
        c = self.canary
        return {
            "title": f"{c} {rng.choice(['deploy', 'retry', 'cache', 'test'])}", "content": f"{c} shared words about work",
            "description": c, "tags": [c, "shared"], "namespace": rng.choice(["default", c]), "scope": rng.choice(["project", "team", "org"]),
            "agent": c, "metadata": {"note": c}, "source": c,
        }  # fmt: skip

    def populate(self, rng: random.Random) -> None:
        drafts = [self.draft(rng) for _ in range(EACH)]
        drafts[0]["key"] = "the-same-key"
        drafts[0]["namespace"] = "default"
        status, text, _ = self("POST", "/v1/memories/bulk", {"memories": drafts})
        assert status == 201, text
        self.memories = json.loads(text)["ids"]
        self.sessions.append(
            json.loads(self("POST", "/v1/sessions", {"task": self.canary, "agent": self.canary})[1])["id"]
        )
        self("POST", f"/v1/sessions/{self.sessions[0]}/steps", {"action": self.canary})
        link = {"source": self.memories[0], "target": self.memories[1], "kind": "requires", "text": self.canary}
        self.edges.append(json.loads(self("POST", "/v1/links", link)[1])["id"])
        self("POST", f"/v1/memories/{self.memories[0]}/feedback", {"helpful": True, "comment": self.canary})
        steps = [
            {"action": f"make {self.canary}", "result": "error: no header", "ok": False},
            {"action": "make", "ok": True},
        ]
        self.jobs.append(json.loads(self("POST", "/v1/episodes", {"task": self.canary, "steps": steps})[1])["job"])
        page = json.loads(self("GET", "/v1/memories?limit=1&every_namespace=true")[1])
        self.cursors += [page["next"], json.loads(self("GET", "/v1/changes?limit=1")[1])["next"]]


def calls(rng: random.Random, me: Tenant, other: Tenant):
    """A call as `me` that does its best to reach what is `other`'s."""
    mem, trj, edge = rng.choice(other.memories), rng.choice(other.sessions), rng.choice(other.edges)
    job = other.jobs[0]
    own = rng.choice(me.memories)
    word = rng.choice([other.canary, "shared words", "deploy", other.name])
    line = {
        "type": "memory",
        "id": mem,
        "tenant": other.name,
        "namespace": "default",
        "title": me.canary,
        "content": me.canary,
    }
    return rng.choice([
        ("POST", "/v1/search", {"query": word, "namespace": "*", "floor": 0.0, "limit": 50}),
        ("POST", "/v1/search", {"query": word, "namespace": other.canary, "session": trj, "exclude": [mem]}),
        ("POST", "/v1/search", {"query": word, "tags": [other.canary], "agent": other.canary, "floor": 0.0}),
        ("POST", "/v1/inject", {"task": word, "namespace": "*", "max_tokens": 2000}),
        ("GET", f"/v1/memories/{mem}", None),
        ("GET", f"/v1/memories/{mem}/history", None),
        ("GET", f"/v1/memories/{mem}/revisions", None),
        ("GET", f"/v1/memories/{mem}/neighbours?depth=3", None),
        ("GET", f"/v1/memories/{own}/neighbours?depth=10", None),
        ("PATCH", f"/v1/memories/{mem}", {"title": "taken over"}),
        ("DELETE", f"/v1/memories/{mem}", None),
        ("DELETE", f"/v1/memories/{mem}?erase=true", None),
        ("POST", f"/v1/memories/{mem}/restore", None),
        ("POST", f"/v1/memories/{mem}/feedback", {"helpful": False, "comment": me.canary}),
        ("POST", f"/v1/memories/{mem}/outcome", {"succeeded": False, "session": trj}),
        ("POST", "/v1/links", {"source": own, "target": mem, "kind": "causes"}),
        ("DELETE", f"/v1/links/{edge}", None),
        ("GET", f"/v1/sessions/{trj}", None),
        ("POST", f"/v1/sessions/{trj}/steps", {"action": me.canary}),
        ("POST", f"/v1/sessions/{trj}/end", {"outcome": "failure", "used": [mem]}),
        ("POST", f"/v1/sessions/{me.sessions[0]}/end", {"outcome": "failure", "used": [mem]}),
        ("GET", f"/v1/sessions?namespace={other.canary}", None),
        ("GET", "/v1/sessions?every_namespace=true", None),
        ("GET", f"/v1/memories?namespace={other.canary}&state=any", None),
        ("GET", f"/v1/memories?every_namespace=true&tag={other.canary}", None),
        ("GET", f"/v1/memories?limit=1&every_namespace=true&cursor={other.cursors[0]}", None),
        ("GET", f"/v1/changes?after={other.cursors[1]}", None),
        ("GET", "/v1/changes?limit=1000", None),
        ("GET", "/v1/keys/the-same-key", None),
        ("PUT", "/v1/keys/the-same-key", {"content": me.canary}),
        ("GET", "/v1/status", None),
        ("GET", "/v1/export", None),
        ("GET", f"/v1/export?namespace={other.canary}", None),
        ("POST", "/v1/import", (json.dumps(line) + "\n").encode()),
        ("POST", "/v1/memories", {**me.draft(rng), "parents": [mem]}),
        ("GET", "/metrics", None),
        ("GET", "/v1/backup", None),
        ("POST", "/v1/verify", None),
        ("GET", "/v1/jobs?every_namespace=true", None),
        ("GET", f"/v1/jobs/{job}", None),
        ("POST", f"/v1/jobs/{job}/retry", None),
        ("POST", f"/v1/jobs/{job}/discard", None),
        ("POST", f"/v1/jobs/{job}/answer", {"answer": "NO_EXTRACTIONS"}),
        ("POST", "/v1/jobs/next", {"job": job}),
        ("POST", "/v1/jobs/next", {}),
        ("POST", "/v1/distill", {"limit": 1}),
        ("GET", "/v1/spending", None),
        ("POST", "/v1/episodes", {"task": me.canary, "steps": [{"action": "ls"}], "source": trj}),
        ("POST", "/v1/ingest", {"text": f"User: {me.canary}"}),
        ("GET", f"/v1/memories/{mem}/trust", None),
        ("GET", "/v1/origins", None),
        ("GET", "/v1/rulings", None),
        ("POST", "/v1/rulings", {"kind": "approve", "target": mem}),
        ("GET", "/v1/gaps?every_namespace=true", None),
        ("GET", "/v1/scrubbing", None),
        ("POST", "/v1/scrub", {}),
        ("GET", f"/v1/{other.canary}", None),
        ("POST", "/v1/search", {"query": "x", "profile": other.canary}),
    ])  # fmt: skip


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    with ReasoningBank.open(tmp_path_factory.mktemp("bank") / "bank.db", embedder="hash", namespace="n") as opened:
        yield opened


@pytest.fixture(scope="module")
def tenants(bank):
    # Without workers: what is asked twice must be the same twice. Tenants distil by asking for it. Each keeps its one
    # connection, however long a slow machine takes until it is that tenant's turn again.
    with served(bank, limits=Limits(requests_per_s=0, idle_s=3600.0), staffing=Staffing(workers=0)) as api:
        made = [Tenant(n, api.port, new_token(bank, f"tenant-{n:02}", "admin")) for n in range(TENANTS)]
        rng = random.Random(11)
        for tenant in made:
            tenant.populate(rng)
        yield made
        for tenant in made:
            tenant.connection.close()


def test_no_foreign_byte_comes_back(tenants, bank):
    attack(tenants, bank, CALLS, seed=23)


@pytest.mark.storm
def test_no_foreign_byte_comes_back_from_ten_thousand_calls(tenants, bank):
    attack(tenants, bank, 10_000, seed=29)


def attack(tenants, bank, calls_made, seed):
    rng = random.Random(seed)
    truth = _truth(bank, tenants)
    for _ in range(calls_made):
        me, other = rng.sample(tenants, 2)
        method, path, body = calls(rng, me, other)
        media_type = "application/x-ndjson" if path == "/v1/import" else "application/json"
        status, text, headers = me(method, path, body, media_type)
        assert status < 500, (method, path, text)
        # What the caller said himself may be said back; nothing else of anybody.
        me.said += path + ("" if body is None else body.decode() if isinstance(body, bytes) else json.dumps(body))
        for foreign in tenants:
            if foreign is not me:
                for mark in (
                    foreign.canary,
                    foreign.name,
                    *foreign.memories[:EACH],
                    *foreign.sessions,
                    *foreign.edges,
                    *foreign.jobs,
                ):
                    assert mark not in text + headers or mark in me.said, (
                        f"{method} {path} gave {mark} of {foreign.name} to {me.name}"
                    )
    assert _truth(bank, tenants) == truth, "somebody changed what is another's"


def _truth(bank, tenants):
    """What each tenant had at first, as the records have it now; keys and own endings aside."""
    found = {}
    for tenant in tenants:
        with bank.context.store.read(tenant.name) as reader:
            memories = reader.get(Memory, tenant.memories[1:])
            found[tenant.name] = {
                one: (memory.title, memory.revision, memory.state) for one, memory in memories.items()
            }
            assert len(found[tenant.name]) == EACH - 1
    return found


def test_foreign_and_missing_are_answered_alike(tenants):
    me, other = tenants[0], tenants[1]
    for shape, bodies in {
        "/v1/memories/{}": [("GET", None), ("PATCH", {"title": "x"}), ("DELETE", None)],
        "/v1/memories/{}/history": [("GET", None)],
        "/v1/memories/{}/feedback": [("POST", {"helpful": True})],
        "/v1/sessions/{}": [("GET", None)],
        "/v1/links/{}": [("DELETE", None)],
        "/v1/memories/{}/trust": [("GET", None)],
        "/v1/jobs/{}": [("GET", None)],
        "/v1/jobs/{}/retry": [("POST", None)],
        "/v1/jobs/{}/answer": [("POST", {"answer": "NO_EXTRACTIONS"})],
    }.items():
        owned = {"sessions": other.sessions, "links": other.edges, "jobs": other.jobs}
        there = owned.get(shape.split("/")[2], other.memories)[0]
        missing = there[:-6] + "ZZZZZZ"
        for method, body in bodies:
            one, two = me(method, shape.format(there), body), me(method, shape.format(missing), body)
            assert one[0] == two[0] == 404
            assert one[1].replace(there, "X") == two[1].replace(missing, "X")


def test_importing_a_foreign_id_and_a_free_one_are_answered_alike(tenants, bank):
    me, other = tenants[2], tenants[3]
    foreign, free = other.memories[1], "mem_01ZZZZZZZZZZZZZZZZZZZZZZZZ"
    replies = []
    for one in (foreign, free):
        with bank.context.store.read(other.name) as reader:
            whole = reader.get(Memory, [foreign])[foreign]
        line = {**{name: getattr(whole, name) for name in ("namespace", "scope", "outcome", "initial_confidence", "created_at", "updated_at", "revision", "state", "description")},
                "type": "memory", "id": one, "tenant": "x", "title": "taken", "content": "taken", "key": None, "tags": [], "agent": None, "task_type": None,
                "cognitive_pattern": None, "origin": "agent", "parents": [], "source": None, "metadata": {}}  # fmt: skip
        replies.append(me("POST", "/v1/import", (json.dumps(line) + "\n").encode(), "application/x-ndjson")[:2])
    assert replies[0] == replies[1]
    assert json.loads(replies[0][1])["added"] == {"memory": 1}, replies
    assert me("GET", f"/v1/memories/{foreign}")[0] == 404, "it came in under an id of its own"


def test_an_export_moves_from_one_tenant_to_another_and_comes_in_only_once(tenants):
    one, other = tenants[4], tenants[5]
    lines = one("GET", "/v1/export")[1].encode()
    first = json.loads(other("POST", "/v1/import", lines, "application/x-ndjson")[1])
    assert first["added"]["memory"] >= EACH - 1, "all but the key that both have, which stays with its owner"
    assert first["added"]["trajectory"] >= 2
    assert first["added"]["step"] >= 3
    again = json.loads(other("POST", "/v1/import", lines, "application/x-ndjson")[1])
    assert again["added"] == {}
    assert other("GET", f"/v1/memories/{one.memories[1]}")[0] == 404
    back = json.loads(one("POST", "/v1/import", lines, "application/x-ndjson")[1])
    assert back["added"] == {}, "what is here already keeps its id"


def test_totals_and_backlogs_tell_nothing_of_others(tenants):
    me = tenants[6]
    before = json.loads(me("GET", "/v1/status")[1])
    tenants[7]("POST", "/v1/memories/bulk", {"memories": [{"title": "t", "content": "c"}] * 300})
    assert json.loads(me("GET", "/v1/status")[1]) == before
    found = json.loads(me("POST", "/v1/search", {"query": "shared words", "namespace": "*"})[1])
    held = sum(before["memories"].values())
    assert held < 300
    assert found["total_found"] + sum(found["filtered_out"].values()) <= held
    assert found["not_yet_indexed"] <= 1


def test_scores_do_not_tell_which_words_others_use(tenants):
    me, other = tenants[8], tenants[9]
    ask = {"query": "shared words zebrafish", "namespace": "*", "floor": 0.0}

    def shown():
        hits = json.loads(me("POST", "/v1/search", ask)[1])["memories"]
        return [(hit["id"], hit["why"]["keyword"], hit["relevance"]) for hit in hits]

    before = shown()
    assert before
    other("POST", "/v1/memories/bulk", {"memories": [{"title": "zebrafish", "content": "zebrafish " * 5}] * 200})
    assert shown() == before
