"""Server-sent events: every change of one's own tenant, once, in order, also after a break."""

from __future__ import annotations

import json

from reasoningbank import ReasoningBank
from reasoningbank_server import events, tokens
from reasoningbank_server.limits import Limits
from tests.server.conftest import served


def test_changes_arrive_as_they_happen(api, stream):
    listening = stream(api)
    made = api.record()
    api("PATCH", f"/v1/memories/{made['id']}", {"title": "new"})
    first, second = listening.event(), listening.event()
    assert [(one["kind"], one["op"], one["id"]) for one in (first, second)] == [
        ("memory", "add", made["id"]),
        ("memory", "revise", made["id"]),
    ]


def test_a_change_by_another_process_arrives_too(api, stream, path):
    listening = stream(api)
    with ReasoningBank.open(path, namespace="n") as other:
        made = other.record(title="from elsewhere", content="x")
    assert listening.event()["id"] == made.id


def test_who_comes_back_with_the_last_id_misses_nothing(api, stream):
    listening = stream(api)
    ids = [api.record(str(n), "x")["id"] for n in range(3)]
    first = listening.event()
    listening.close()
    ids += [api.record(str(n), "x")["id"] for n in range(3, 6)]
    again = stream(api, last_event_id=first["cursor"])
    assert [again.event()["id"] for _ in range(5)] == ids[1:]
    by_parameter = stream(api, f"/v1/changes/stream?after={first['cursor']}")
    assert by_parameter.event()["id"] == ids[1]
    from_start = stream(api, "/v1/changes/stream?after=0")
    assert [from_start.event()["id"] for _ in range(6)] == ids


def test_the_feed_by_pages_and_the_stream_are_the_same(api, stream):
    made = [api.record(str(n), "x")["id"] for n in range(5)]
    page = api("GET", "/v1/changes?limit=2").json
    assert ([one["id"] for one in page["changes"]], page["more"]) == (made[:2], True)
    rest = api("GET", f"/v1/changes?after={page['next']}").json
    assert ([one["id"] for one in rest["changes"]], rest["more"]) == (made[2:], False)
    assert api("GET", f"/v1/changes?after={rest['next']}").json["changes"] == []
    assert stream(api, f"/v1/changes/stream?after={page['next']}").event()["id"] == made[2]


def test_a_stream_tells_one_tenant_nothing_of_another(api, stream, token_for):
    acme, rival = api.as_(token_for("acme")), api.as_(token_for("rival"))
    listening = stream(acme)
    for number in range(30):
        rival.record(f"secret {number}", "x")
    mine = acme.record()["id"]
    assert listening.event()["id"] == mine, "the first thing it hears is its own"
    page = acme("GET", "/v1/changes?limit=1").json
    assert [one["id"] for one in page["changes"]] == [mine]
    assert rival("GET", f"/v1/changes?after={page['next']}").status == 400, "a cursor is its tenant's own"
    assert "seq" not in json.dumps(page)


def test_a_burst_arrives_whole(api, stream):
    listening = stream(api)
    ids = api("POST", "/v1/memories/bulk", {"memories": [{"title": str(n), "content": "x"} for n in range(2500)]}).json[
        "ids"
    ]
    assert [listening.event()["id"] for _ in range(2500)] == ids


def test_a_quiet_stream_says_that_it_is_there_and_ends_when_its_token_does(bank, stream, token_for, monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.05)
    token = token_for("acme", "read")
    with served(bank) as api:
        listening = stream(api.as_(token))
        listening.until(": still here")
        tokens.revoke(bank.context.store, token.split("_")[1], 0.0)
        assert listening.ended()


def test_there_are_only_so_many_streams_and_who_has_most_gives_one_up(bank, stream, token_for):
    with served(bank, limits=Limits(streams=3, streams_each=2)) as api:
        client = api.as_(token_for("acme", "read"))
        oldest, newest = stream(client), stream(client)
        assert stream(client).status == 429, "of one caller there are two at most"
        other, rival = stream(api), stream(api.as_(token_for("rival", "read")))
        assert (other.status, rival.status) == (200, 200)
        assert oldest.ended(), "acme had two of three"
        assert stream(api.as_(token_for("third", "read"))).status == 429, "now each has one"
        mine = client.as_(token_for("acme")).record()["id"]
        assert newest.event()["id"] == mine


def test_streams_end_when_the_server_does(bank, stream):
    with served(bank) as api:
        listening = stream(api)
    assert listening.ended()
