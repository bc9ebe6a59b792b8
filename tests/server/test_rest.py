"""Everything that the library does, over HTTP, with the same words and shapes."""

from __future__ import annotations

import json

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.bank.json_view import found_json, history_json, remembered_json
from reasoningbank.core.learning import Episode, EpisodeStep
from tests.server.conftest import served


def test_a_recorded_memory_is_found_and_looks_as_the_library_shows_it(api, bank):
    made = api.record("Wrap errors", "use fmt.Errorf", description="in Go", tags=["go"], outcome="failure")
    assert made == {**json.loads(json.dumps(remembered_json(bank.get(made["id"])))), "scrubbed": {}}
    found = api.search("wrap errors in go")
    assert [hit["id"] for hit in found["memories"]] == [made["id"]]
    expected = json.loads(json.dumps(found_json(bank.search("wrap errors in go"))))
    assert found.keys() == expected.keys()
    assert found["memories"][0].keys() == expected["memories"][0].keys()


def test_every_option_of_a_search_is_passed_on(api):
    api.record("Deploy slowly", "one region first", tags=["ops"], agent="builder", task_type="deploy", scope="team")
    api.record("Deploy quickly", "all at once", outcome="failure")
    hits = lambda **options: [hit["title"] for hit in api.search("deploy", floor=0.0, **options)["memories"]]  # noqa: E731
    assert set(hits()) == {"Deploy slowly", "Deploy quickly"}
    assert (
        hits(tags=["ops"])
        == hits(agent="builder")
        == hits(task_type="deploy")
        == hits(scope="team")
        == ["Deploy slowly"]
    )
    assert hits(outcome="failure") == ["Deploy quickly"]
    assert hits(limit=1, profile="semantic") != []
    assert hits(min_confidence=0.99) == []
    assert hits(namespace="elsewhere") == ["Deploy slowly"], "team memories belong to the whole tenant"
    assert "why" not in api.search("deploy", explain=False)["memories"][0]


def test_scopes_cascade_with_their_weights(api):
    for scope in ("project", "team", "org"):
        api.record(f"Rotate keys {scope}", "rotate keys yearly", scope=scope)
    hits = api.search("rotate keys yearly", limit=3)["memories"]
    assert {hit["scope"]: hit["why"]["scope_weight"] for hit in hits} == {"project": 1.0, "team": 0.9, "org": 0.8}


def test_inject_gives_text_within_its_budget_or_nothing(api):
    api.record("Wrap errors", "use fmt.Errorf")
    text = api("POST", "/v1/inject", {"task": "wrap errors", "max_tokens": 200}).json["text"]
    assert "Wrap errors" in text
    silent = api("POST", "/v1/inject", {"task": "wrap errors", "max_tokens": 1}).json
    assert (silent["text"], "not within max_tokens 1" in silent["reason"]) == ("", True)


def test_a_page_goes_on_where_the_last_one_ended_also_when_its_last_memory_was_erased(api):
    made = [api.record(f"lesson {number}", "x")["id"] for number in range(5)][::-1]
    first = api("GET", "/v1/memories?limit=2").json
    assert [item["id"] for item in first["memories"]] == made[:2]
    assert api("DELETE", f"/v1/memories/{made[1]}?erase=true").status < 300
    second = api("GET", f"/v1/memories?limit=2&cursor={first['next']}").json
    assert [item["id"] for item in second["memories"]] == made[2:4]
    assert api("GET", f"/v1/memories/{made[0][-8:]}").json["id"] == made[0]


def test_an_edit_makes_a_revision_and_an_old_etag_is_refused(api):
    made = api.record()
    path = f"/v1/memories/{made['id']}"
    read = api("GET", path)
    edited = api("PATCH", path, {"title": "Better"}, if_match=read.headers["etag"])
    assert (edited.status, edited.json["revision"], edited.headers["etag"]) == (200, 2, '"2"')
    late = api("PATCH", path, {"title": "Worse"}, if_match=read.headers["etag"])
    assert (late.status, late.code) == (412, "precondition_failed")
    stale = api("PATCH", path, {"title": "Worse", "expected_revision": 1})
    assert (stale.status, stale.code) == (409, "conflict")
    revisions = api("GET", f"{path}/revisions").json["revisions"]
    assert [one["title"] for one in revisions] == ["Wrap errors", "Better"]


def test_forget_restore_and_erase(api):
    made = api.record(content="quite unusual words")
    path = f"/v1/memories/{made['id']}"
    assert api("DELETE", path).json["state"] == "forgotten"
    assert api.search("quite unusual words")["memories"] == []
    assert api("POST", f"{path}/restore").json["state"] == "active"
    assert len(api.search("quite unusual words")["memories"]) == 1
    assert api("DELETE", f"{path}?erase=true").status == 204
    assert api("GET", path).status == 404
    assert api.search("quite unusual words")["memories"] == []


def test_a_key_keeps_one_memory_with_revisions(api):
    assert api("PUT", "/v1/keys/go/errors", {"content": "first"}).json["revision"] == 1
    again = api("PUT", "/v1/keys/go/errors", {"content": "second"})
    assert (again.json["revision"], again.json["content"]) == (2, "second")
    assert api("GET", "/v1/keys/go/errors").json["id"] == again.json["id"]
    assert api("GET", "/v1/keys/go/errors?namespace=other").status == 404
    assert api("GET", "/v1/memories/go%2Ferrors").status == 404, "a slash is part of the path"


def test_bulk_is_all_or_nothing(api, bank):
    good = {"title": "a", "content": "b"}
    assert len(api("POST", "/v1/memories/bulk", {"memories": [good] * 1200}).json["ids"]) == 1200
    before = bank.context.store.head()
    refused = api(
        "POST", "/v1/memories/bulk", {"memories": [*[good] * 600, {**good, "key": "k"}, {**good, "key": "k"}]}
    )
    assert (refused.status, refused.code) == (409, "conflict")
    assert "UNIQUE" not in refused.json["detail"]
    assert bank.context.store.head() == before


def test_pages_of_a_list_hold_every_memory_once(api):
    made = [api.record(f"number {i}", "x")["id"] for i in range(7)]
    seen, cursor = [], ""
    while True:
        page = api("GET", f"/v1/memories?limit=3{cursor}").json
        seen += [one["id"] for one in page["memories"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == made[::-1]
    other = api("GET", f"/v1/memories?limit=3&outcome=failure{cursor}")
    assert other.status == 400, "a cursor belongs to the list that it came from"


def test_a_page_of_long_memories_ends_early_and_leads_on(api):
    made = [api.record(str(n), "x" * 900_000)["id"] for n in range(8)]
    first = api("GET", "/v1/memories?limit=100").json
    assert 4 <= len(first["memories"]) < 8
    rest = api("GET", f"/v1/memories?limit=100&cursor={first['next']}").json
    assert [one["id"] for one in (*first["memories"], *rest["memories"])] == made[::-1]
    assert rest["next"] is None


def test_lists_can_be_narrowed(api):
    api.record("one", "x", tags=["a", "b"], agent="smith")
    api.record("two", "x", tags=["a"], namespace="far")
    titles = lambda query: [one["title"] for one in api("GET", f"/v1/memories?{query}").json["memories"]]  # noqa: E731
    assert titles("") == ["one"]
    assert titles("namespace=far") == ["two"]
    assert titles("every_namespace=true") == ["two", "one"]
    assert titles("tag=a&tag=b") == titles("agent=smith") == ["one"]
    assert titles("state=forgotten") == []


def test_feedback_and_outcomes_move_the_confidence(api):
    made = api.record()
    path = f"/v1/memories/{made['id']}"
    up = api("POST", f"{path}/feedback", {"helpful": True, "comment": "yes"}).json["new_confidence"]
    assert up > made["confidence"]
    down = api("POST", f"{path}/outcome", {"succeeded": False}).json["new_confidence"]
    assert down < up
    history = api("GET", f"{path}/history").json
    assert [point["signal"]["kind"] for point in history["curve"][1:]] == ["feedback", "completion"]
    assert history["curve"][1]["signal"]["source"] == "agent:local"


def test_an_edit_says_what_becomes_of_the_evidence(api):
    made = api.record("Hash passwords", "Use MD5 for passwords.")
    path = f"/v1/memories/{made['id']}"
    api("POST", f"{path}/outcome", {"succeeded": False, "session": "a label of mine"})
    changed = api("PATCH", path, {"content": "Use argon2id for passwords."}).json
    assert (changed["usage_count"], changed["set_aside"], changed["last_failure"]) == (0, 1, None)
    assert api("PATCH", path, {"evidence": "keep"}).code == "forbidden", "an agent makes no evidence count"
    user = api.as_user()
    kept = user("PATCH", path, {"evidence": "keep"}).json
    assert (kept["usage_count"], kept["set_aside"], kept["revision"]) == (1, 0, 2)
    assert user("PATCH", path, {"content": "Use scrypt.", "evidence": "keep"}).json["usage_count"] == 1
    assert api("PATCH", path, {"evidence": "reset"}).json["usage_count"] == 0
    assert api("PATCH", path, {"evidence": "perhaps"}).status == 400
    curve = api("GET", f"{path}/history").json["curve"]
    assert [(point["signal"] is None, point["counts"]) for point in curve] == [
        (True, True),
        (False, False),
        (True, True),
        (True, True),
    ]


def test_code_that_was_taken_back_is_evidence_and_another_policy_can_be_asked(api):
    path = f"/v1/memories/{api.record()['id']}"
    assert api("POST", f"{path}/stability", {"survived": False, "comment": "reverted"}).json["new_confidence"] < 0.8
    assert api("GET", f"{path}/history?policy=ratchet").json["confidence"] == pytest.approx(0.8 * 0.85)
    assert api("GET", f"{path}/history?policy=guess").status == 400
    assert api("GET", "/v1/status").json["policy"] == "bayes"


def test_the_history_is_the_librarys(api, bank):
    made = api.record()
    api("POST", f"/v1/memories/{made['id']}/feedback", {"helpful": True})
    shown = api("GET", f"/v1/memories/{made['id']}/history").json
    expected = json.loads(json.dumps(history_json(bank.history(made["id"]))))
    assert shown.keys() == expected.keys()
    assert shown["revisions"] == expected["revisions"]


def test_a_session_credits_what_was_shown_in_it(api):
    made = api.record("Retry with jitter", "retry with jitter when a service is busy")
    session = api("POST", "/v1/sessions", {"task": "retry a busy service", "agent": "a"}).json
    api.search("retry with jitter", session=session["id"])
    path = f"/v1/sessions/{session['id']}"
    assert api("POST", f"{path}/steps", {"action": "retried", "result": "worked"}).json["number"] == 1
    ended = api("POST", f"{path}/end", {"outcome": "success"}, idempotency_key="end-1").json
    assert [signal["memory_id"] for signal in ended["signals"]] == [made["id"]]
    assert ended["step_count"] == 1
    assert (api("POST", f"{path}/end", {"outcome": "failure"}).status) == 409
    shown = api("GET", path).json
    assert (shown["outcome"], [step["action"] for step in shown["steps"]]) == ("success", ["retried"])
    assert [one["id"] for one in api("GET", "/v1/sessions").json["sessions"]] == [session["id"]]


def test_pages_of_sessions_hold_every_session_once(api):
    made = [api("POST", "/v1/sessions", {"task": f"t{i}"}).json["id"] for i in range(5)]
    first = api("GET", "/v1/sessions?limit=3").json
    rest = api("GET", f"/v1/sessions?limit=3&cursor={first['next']}").json
    assert [one["id"] for one in (*first["sessions"], *rest["sessions"])] == made[::-1]
    assert rest["next"] is None


def test_links_are_made_walked_and_removed(api):
    one, other = api.record("one", "x")["id"], api.record("other", "y")["id"]
    edge = api("POST", "/v1/links", {"source": one, "target": other, "kind": "requires", "weight": 0.9, "text": "why"})
    assert edge.status == 201
    near = api("GET", f"/v1/memories/{one}/neighbours?direction=out&depth=2").json["neighbours"]
    assert [(n["memory"]["id"], n["edge"]["text"], n["direction"]) for n in near] == [(other, "why", "out")]
    assert api("DELETE", f"/v1/links/{edge.json['id']}").status == 200
    assert api("GET", f"/v1/memories/{one}/neighbours").json["neighbours"] == []
    assert api("DELETE", f"/v1/links/{edge.json['id']}").status == 404


def test_an_export_comes_back_by_an_import(api, tmp_path):
    api = api.as_user()
    made = api.record("Wrap errors", "with context", tags=["é"])
    api("POST", f"/v1/memories/{made['id']}/feedback", {"helpful": True})
    export = api("GET", "/v1/export")
    assert export.headers["content-type"] == "application/x-ndjson"
    lines = {"content_type": "application/x-ndjson"}
    again = api("POST", "/v1/import?restore=true", export.body, **lines)
    assert (again.status, again.json["added"], again.json["unchanged"]) == (200, {}, 2)
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other, served(other) as anybodys:
        elsewhere = anybodys.as_user()
        rehearsed = elsewhere("POST", "/v1/import?dry_run=true&restore=true", export.body, **lines)
        assert rehearsed.json["added"] == {"memory": 1, "signal": 1}
        assert elsewhere("GET", "/v1/status").json["memories"] == {}
        taken = elsewhere("POST", "/v1/import?restore=true", export.body, **lines, idempotency_key="once")
        assert taken.json["added"] == {"memory": 1, "signal": 1}
        replayed = elsewhere("POST", "/v1/import?restore=true", export.body, **lines, idempotency_key="once")
        assert (replayed.json, replayed.headers["idempotency-replayed"]) == (taken.json, "true")
        assert elsewhere("GET", f"/v1/memories/{made['id']}").json["tags"] == ["é"]


def test_bad_lines_are_named_and_the_good_ones_taken(api):
    lines = b'{"title": "good", "content": "x"}\nnot json\n{"type": "memory"}\n[1]\n\xff\xfe\n'
    answer = api("POST", "/v1/import", lines, content_type="application/x-ndjson")
    assert answer.json["added"] == {"memory": 1}
    assert len(answer.json["skipped"]) == 4
    assert "/tmp" not in answer.body.decode()


def test_a_backup_is_a_bank(api, tmp_path):
    made = api.record()
    copy = tmp_path / "copy.db"
    copy.write_bytes(api("GET", "/v1/backup").body)
    with ReasoningBank.open(copy, namespace="n") as bank:
        assert bank.get(made["id"]).title == "Wrap errors"


def test_status_verify_compare_and_embed(api):
    api.record()
    status = api("GET", "/v1/status").json
    assert (status["memories"], status["tenant"], status["namespace"]) == ({"active": 1}, "local", "n")
    untouched = "no index is there: the next search builds it"
    assert api("POST", "/v1/verify").json == {"intact": True, "damage": [], "index": untouched}
    assert api("POST", "/v1/search", {"query": "wrap errors"}).json["memories"]
    assert api("POST", "/v1/verify").json["index"] == "the index matches the rows"
    assert api("POST", "/v1/compare", {"one": "same words", "other": "same words"}).json["value"] == pytest.approx(1.0)
    vectors = api("POST", "/v1/embed", {"texts": ["a word", "another"]}).json["vectors"]
    assert (len(vectors), len(vectors[0])) == (2, 1024)


def test_a_reindex_with_another_size_serves_on(api):
    api.record("Wrap errors", "with context")
    assert (
        api("POST", "/v1/reindex", {"embedder": "hash", "dimension": 256})
        .json["embedder"]
        .startswith("hash/ngram-1-2-3/256")
    )
    assert len(api.search("wrap errors with context")["memories"]) == 1


def test_a_vector_of_the_callers_own_is_used(api):
    vector = [0.0] * 1024
    vector[7] = 1.0
    made = api("POST", "/v1/memories", {"title": "t", "content": "c", "vector": vector})
    assert made.status == 201
    for wrong in ([1.0], [0.0] * 1024, [1e300] * 1024, [10**400, *[0.0] * 1023]):
        assert api("POST", "/v1/memories", {"title": "t", "content": "c", "vector": wrong}).status == 400


def test_text_of_every_kind_comes_back_as_it_went_in(api):
    for text in (
        "naïve – 測試 – 🜁",
        "line\nbreak\ttab",
        "</script><b>",
        "a" * 100_000,
        "\u202eright to left",
        "'; DROP TABLE",
    ):
        made = api.record("t", text)
        assert api("GET", f"/v1/memories/{made['id']}").json["content"] == text


def test_head_is_get_without_a_body(api):
    made = api.record()
    answer = api("HEAD", f"/v1/memories/{made['id']}")
    assert (answer.status, answer.body) == (200, b"")


def test_sessions_and_links_that_were_taken_over_are_listed_newest_first_page_by_page(api):
    for day in (3, 0, 4, 1, 2):
        at = 1_700_000_000.0 + day * 86_400
        told = {"namespace": "n", "source": f"log:{day}", "outcome": "success", "started_at": at}
        api.bank.keep(Episode(task=f"day {day}", steps=(EpisodeStep(action="ls"),), **told))
    tasks, cursor = [], ""
    while cursor is not None:
        page = api("GET", f"/v1/sessions?limit=2{cursor and f'&cursor={cursor}'}").json
        tasks += [one["task"] for one in page["sessions"]]
        cursor = page["next"]
    assert tasks == [f"day {day}" for day in (4, 3, 2, 1, 0)]
    ids = [api.record(f"m{number}", "x")["id"] for number in range(4)]
    made = [api.bank.link(ids[0], other, "requires").id for other in ids[1:]]
    first = api("GET", "/v1/links?limit=1").json
    api.bank.unlink(first["edges"][0]["id"])
    rest = api("GET", f"/v1/links?cursor={first['next']}").json
    assert [one["id"] for one in (*first["edges"], *rest["edges"])] == made[::-1], "a page that is gone ends no list"
