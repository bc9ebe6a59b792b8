"""What the page asks for: trends by day, the account of a session, where a memory was shown, a part of the graph."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.serve.workers import Staffing
from tests.server.conftest import served

DAY_S = 86_400.0
NOW = 1_790_000_000.0 - 1_790_000_000.0 % DAY_S + DAY_S / 2


class Clock:
    now = NOW - 3 * DAY_S

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A memory that was shown in two sessions on two days: one went well, one did not."""
    path, clock = tmp_path_factory.mktemp("back") / "bank.db", Clock()
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock, config="none") as bank:
        memory = bank.record(title="Wrap errors in Go", content="Use fmt.Errorf with %w.", key="wrap")
        bank.record(title="Never rebase a shared branch", content="Others lose work.", outcome="failure")
        ids = []
        for outcome in ("success", "failure"):
            clock.now += DAY_S
            run = bank.start_session("wrap errors in Go")
            bank.search("wrap errors in Go", session=run.id)
            bank.add_step(run.id, "go test ./...", "ok")
            bank.end_session(run.id, outcome, used=["wrap"])
            ids.append(run.id)
        clock.now = NOW
        bank.graph.add(
            [
                {"id": name, "label": "UserRequest", "conv_id": "c", "text": f"question {name}", "user_role": "r"}
                for name in "abcd"
            ],
            [
                {"id": f"e{one}", "source": one, "target": other, "text": "leads to", "weight": 0.5}
                for one, other in ("ab", "bc", "cd")
            ],
        )
        # Nobody learns from the sessions meanwhile: the days are counted as they are told here.
        with served(bank, staffing=Staffing(workers=0)) as api:
            yield api, memory.id, ids


def test_trends_tell_each_day_what_was_learned_how_tasks_went_and_how_sure_it_was(told):
    api, _, _ = told
    trends = api("GET", "/v1/trends?days=4").json
    days = trends["days"]
    assert [day["learned"] for day in days] == [2, 0, 0, 0]
    assert [day["warnings"] for day in days] == [1, 0, 0, 0]
    assert [(day["succeeded"], day["failed"]) for day in days] == [(0, 0), (1, 0), (0, 1), (0, 0)]
    middle = [day["confidence"]["middle"] for day in days]
    assert middle[1] > middle[0] > middle[2]
    assert trends["followed"] == 1
    assert api("GET", "/v1/trends?days=0").status == 400


def test_a_sessions_account_names_what_was_shown_and_what_it_said_of_it(told):
    api, memory, ids = told
    account = api("GET", f"/v1/sessions/{ids[0]}/account").json
    [shown] = [one for one in account["shown"] if one["id"] == memory]
    assert shown["signals"][0]["positive"] is True
    assert shown["signals"][0]["used"] is True
    assert account["jobs"][0]["subject"] == ids[0]
    assert api("GET", "/v1/sessions/nothing/account").status == 404


def test_a_memory_tells_the_sessions_it_was_shown_in_the_latest_first(told):
    api, memory, ids = told
    sessions = api("GET", f"/v1/memories/{memory}/sessions").json["sessions"]
    assert [one["id"] for one in sessions] == [ids[1], ids[0]]
    assert [one["outcome"] for one in sessions] == ["failure", "success"]
    assert [one["id"] for one in api("GET", f"/v1/memories/{memory}/sessions?limit=1").json["sessions"]] == [ids[1]]


def test_a_search_that_is_not_to_be_noted_leaves_no_trace(told):
    api, memory, _ = told
    before = api("GET", f"/v1/memories/{memory}").json["shown"]
    assert api.search("wrap errors in Go", noted=False)["memories"]
    api.search("how are the moons of Jupiter called", noted=False)
    api.bank.flush_shown()
    assert api("GET", f"/v1/memories/{memory}").json["shown"] == before
    assert api("GET", "/v1/gaps").json["gaps"] == []


def test_jobs_come_with_the_names_of_what_they_are_about(told):
    api, _, ids = told
    assert api("GET", "/v1/jobs").json["names"][ids[0]] == "wrap errors in Go"


def test_a_part_of_the_graph_is_the_newest_or_what_lies_around_a_node(told):
    api, _, _ = told
    whole = api("GET", "/v1/graph").json
    assert {node["id"] for node in whole["nodes"]} == {"a", "b", "c", "d"}
    assert len(whole["links"]) == 3
    assert len(api("GET", "/v1/graph?limit=2").json["nodes"]) == 2
    around = api("GET", "/v1/graph?around=a").json
    assert {node["id"] for node in around["nodes"]} == {"a", "b", "c", "d"}
    near = api("GET", "/v1/graph?around=a&limit=3").json
    assert {node["id"] for node in near["nodes"]} == {"a", "b", "c"}
    assert api("GET", "/v1/graph?around=nothing").status == 404


def test_trends_that_were_asked_for_before_tell_of_what_came_since(told):
    api, _, _ = told
    before = api("GET", "/v1/trends?days=5").json["days"]
    api("POST", "/v1/memories", {"title": "Read the error first", "content": "Then the code."})
    after = api("GET", "/v1/trends?days=5").json["days"]
    assert sum(day["learned"] for day in after) == 1 + sum(day["learned"] for day in before)


def test_texts_are_cut_for_who_asks_for_excerpts_and_their_lengths_are_told(told):
    api, memory, _ = told
    made = api("POST", "/v1/memories", {"title": "Long", "content": 500 * "x", "namespace": "n", "key": "long"}).json
    listed = api("GET", "/v1/memories?limit=1&excerpt=100").json["memories"][0]
    assert (listed["content"], listed["cut"]) == (100 * "x" + "…", {"content": 500})
    found = api("POST", "/v1/search?excerpt=100", {"query": "wrap errors in Go", "noted": False}).json["memories"]
    assert "cut" not in next(one for one in found if one["id"] == memory)
    assert api("GET", f"/v1/memories/{made['id']}").json["content"] == 500 * "x"
    assert api("GET", "/v1/memories?excerpt=10").status == 400
    assert api("PATCH", f"/v1/memories/{made['id']}?excerpt=100", {"title": "Longer"}).status == 400
