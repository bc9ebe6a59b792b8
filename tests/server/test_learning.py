"""Jobs, episodes, transcripts, trust, gaps and secrets over REST, as their verbs do them."""

from __future__ import annotations

import json

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.serve.workers import Staffing
from tests.learn.test_agent_jobs import GOOD
from tests.server.conftest import new_token, served
from tests.server.test_workers import end_session

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def quiet(bank):
    """A server without workers of its own."""
    with served(bank, staffing=Staffing(workers=0)) as api:
        yield api


def test_jobs_are_listed_retried_and_discarded(quiet):
    end_session(quiet)
    [job] = quiet("GET", "/v1/jobs").json["jobs"]
    assert (job["standing"], job["attempts"], job["kind"]) == ("waiting", 0, "distill")
    assert quiet("GET", f"/v1/jobs/{job['id']}").json == job
    assert quiet("POST", f"/v1/jobs/{job['id']}/discard").json["standing"] == "discarded"
    assert quiet("GET", "/v1/jobs?state=discarded").json["tally"] == {"discarded": 1}
    assert quiet("POST", f"/v1/jobs/{job['id']}/retry").json["standing"] == "waiting"
    told = quiet("POST", "/v1/distill", {"limit": 5}).json
    assert (told["jobs"]["done"], told["waiting"], told["distiller"]) == (1, 0, "offline")
    assert quiet("GET", f"/v1/memories/{told['memories'][0]}").status == 200
    assert quiet("POST", f"/v1/jobs/{job['id']}/retry").code == "conflict"
    assert quiet("GET", "/v1/jobs/job_none").code == "not_found"
    assert quiet("GET", "/v1/jobs?namespace=another").json == {"jobs": [], "tally": {}, "names": {}}
    assert quiet("GET", "/v1/jobs?namespace=another&every_namespace=true").json["tally"] == {"done": 1}
    assert quiet("GET", "/v1/spending").json == {"llm": "off", "spending": []}


def test_an_agent_takes_a_job_and_answers_it(quiet):
    end_session(quiet)
    job = quiet("POST", "/v1/jobs/next", {}).json["job"]
    assert "foo.h" in job["record"]
    assert quiet("POST", "/v1/jobs/next", {}).json["job"] is None, "it is in hand"
    bad = quiet("POST", f"/v1/jobs/{job['id']}/answer", {"answer": "I think it went well"})
    assert (bad.status, bad.code) == (400, "invalid_input")
    assert "Answer again (4 left)" in bad.json["detail"]
    assert quiet("GET", "/v1/memories").json["memories"] == [], "a bad answer is never a memory"
    [memory] = quiet("POST", f"/v1/jobs/{job['id']}/answer", {"answer": GOOD}).json["memories"]
    assert "libfoo-dev" in quiet("GET", f"/v1/memories/{memory}").json["content"]
    assert quiet("POST", f"/v1/jobs/{job['id']}/answer", {"answer": GOOD}).code == "conflict"


def test_a_keyed_answer_is_taken_once_and_told_again(quiet):
    end_session(quiet)
    job = quiet("POST", "/v1/jobs/next", {}, idempotency_key="n").json["job"]
    assert quiet("POST", "/v1/jobs/next", {}, idempotency_key="n").json["job"] == job
    path, body = f"/v1/jobs/{job['id']}/answer", {"answer": GOOD}
    first = quiet("POST", path, body, idempotency_key="a")
    again = quiet("POST", path, body, idempotency_key="a")
    assert (again.body, again.headers["idempotency-replayed"]) == (first.body, "true")


def test_a_finished_session_is_kept_as_a_whole_once(quiet):
    episode = {
        "task": "build the client",
        "steps": [
            {"action": "make", "result": "error: missing header foo.h", "ok": False},
            {"action": "apt install libfoo-dev", "result": "done", "ok": True},
        ],
        "reward": 1.0,
    }
    first = quiet("POST", "/v1/episodes", episode)
    assert (first.status, first.json["known"], first.json["steps_added"]) == (201, False, 2)
    again = quiet("POST", "/v1/episodes", episode).json
    assert (again["known"], again["changed"], again["job"]) == (True, False, None)
    assert quiet("POST", "/v1/distill", {}).json["jobs"]["done"] == 1


def test_an_episode_in_which_nothing_was_done_is_refused_with_the_reason(quiet):
    answer = quiet("POST", "/v1/episodes", {"task": "build the client", "outcome": "success"})
    assert answer.status == 400
    assert "nothing to learn from" in answer.json["detail"]
    assert quiet("GET", "/v1/sessions").json["sessions"] == []


def test_an_episode_is_believed_no_more_than_who_sends_it(bank, quiet):
    agent = quiet.as_(new_token(bank, "acme"))
    done = {"task": "t", "steps": [{"action": "ls"}]}
    assert agent("POST", "/v1/episodes", {**done, "origin": "user"}).code == "forbidden"
    assert agent("POST", "/v1/episodes", {**done, "origin": "tool:web"}).status == 201
    [kept] = bank.for_tenant("acme").sessions(namespace="*")
    assert kept.origin == "tool:web"
    assert quiet("POST", "/v1/episodes", {**done, "task": "mine"}).status == 201
    [mine] = bank.sessions()
    assert mine.origin == "agent", "what an agent did is not the user's word"


def test_a_transcript_is_taken_over_once(quiet):
    chat = {
        "messages": [
            {"role": "user", "content": "build the client"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "bash", "arguments": '{"command": "make"}'}}]},
            {"role": "tool", "content": "done"},
        ]
    }
    body = {"text": json.dumps(chat)}
    assert quiet("POST", "/v1/ingest", {**body, "dry_run": True}).json["added"] == 1
    assert quiet("GET", "/v1/sessions").json["sessions"] == []
    assert quiet("POST", "/v1/ingest", body).json["added"] == 1
    assert quiet("POST", "/v1/ingest", body).json["known"] == 1
    broken = quiet("POST", "/v1/ingest", {"text": '{"what": "is this"}'})
    assert broken.code == "invalid_input"
    assert "/tmp" not in broken.json["detail"]
    talk = quiet("POST", "/v1/ingest", {"text": json.dumps({"messages": chat["messages"][:1]})})
    assert (talk.status, talk.code) == (400, "invalid_input")
    assert talk.json["detail"].startswith("The text has nothing to learn from: read as openai-chat, it has 1 message")


def test_trust_is_told_and_decided(quiet):
    quiet = quiet.as_user()
    made = quiet.record("From the web", "run curl", origin="tool:web")
    told = quiet("GET", f"/v1/memories/{made['id']}/trust").json
    assert (told["trust"], told["descendants"], told["rulings"]) == ("untrusted", 0, [])
    [source] = quiet("GET", "/v1/origins").json["origins"]
    assert (source["origin"], source["memories"]) == ("tool:web", 1)
    rehearsed = quiet(
        "POST", "/v1/rulings", {"kind": "revoke", "target": "tool:web", "dry_run": True}, idempotency_key="k"
    )
    assert (rehearsed.status, rehearsed.json["dry_run"]) == (201, True)
    assert quiet("GET", "/v1/rulings").json["rulings"] == []
    revoked = quiet("POST", "/v1/rulings", {"kind": "revoke", "target": "tool:web"}, idempotency_key="r").json
    assert quiet("GET", f"/v1/memories/{made['id']}").json["state"] == "quarantined"
    quiet("POST", "/v1/rulings", {"kind": "undo", "target": revoked["id"]})
    assert quiet("GET", f"/v1/memories/{made['id']}").json["state"] == "active"
    quiet("POST", "/v1/rulings", {"kind": "approve", "target": made["id"], "comment": "I read it"})
    assert quiet("GET", f"/v1/memories/{made['id']}").json["trust"] == "trusted"
    assert quiet("POST", "/v1/rulings", {"kind": "reject", "target": "mem_none"}).code == "not_found"
    assert [ruling["kind"] for ruling in quiet("GET", "/v1/rulings").json["rulings"]] == ["approve", "undo", "revoke"]


def test_an_agents_token_decides_nothing_for_the_user(bank, quiet):
    agent = quiet.as_(new_token(bank, "local", "admin"))
    made = quiet.record("From the web", "run curl", origin="tool:web")
    for kind, target in (("revoke", "tool:web"), ("reject", made["id"]), ("undo", "rul_x")):
        assert agent("POST", "/v1/rulings", {"kind": kind, "target": target}).code == "forbidden"
    assert agent("POST", "/v1/rulings", {"kind": "approve", "target": made["id"]}).status == 201
    assert quiet("GET", f"/v1/memories/{made['id']}").json["trust"] == "untrusted", "one voice is not enough"
    writer = quiet.as_(new_token(bank, "local", "write"))
    assert writer("POST", "/v1/rulings", {"kind": "approve", "target": made["id"]}).code == "forbidden"


def test_gaps_are_listed_and_dropped(quiet):
    assert quiet.search("how do I reticulate splines")["abstained"]
    assert quiet.search("where do the penguins live")["abstained"]
    found = quiet("GET", "/v1/gaps?days=1").json
    assert {gap["question"] for gap in found["gaps"]} == {"how do I reticulate splines", "where do the penguins live"}
    first = found["gaps"][0]["id"]
    assert quiet("DELETE", f"/v1/gaps/{first}", idempotency_key="g").json == {"dropped": 1}
    assert quiet("DELETE", f"/v1/gaps/{first}", idempotency_key="g").json == {"dropped": 1}, "told again"
    assert quiet("DELETE", f"/v1/gaps/{first}").code == "not_found"
    assert quiet("DELETE", "/v1/gaps").json == {"dropped": 1}


def test_secrets_are_counted_found_and_removed(bank, quiet):
    assert quiet("POST", "/v1/secrets", {"value": {"note": SECRET}}).json == {"found": {"github-pat": 1}}
    assert quiet("POST", "/v1/scrub", {}).json["found"] == {}
    assert quiet("PATCH", "/v1/scrubbing", {"allow": [SECRET]}).json["allowed"]
    kept = quiet.record("With a token", f"use {SECRET}")
    assert SECRET in kept["content"]
    fingerprint = quiet("GET", "/v1/scrubbing").json["allowed"][0]
    quiet("PATCH", "/v1/scrubbing", {"disallow": [fingerprint], "personal": ["email"]})
    found = quiet("POST", "/v1/scrub", {}).json
    assert (found["applied"], found["found"], found["places"][0]["id"]) == (False, {"github-pat": 1}, kept["id"])
    assert quiet("POST", "/v1/scrub", {"apply": True}).json["applied"] is True
    assert quiet("POST", "/v1/scrub", {}).json["found"] == {}
    assert quiet("PATCH", "/v1/scrubbing", {}).code == "invalid_input"
    reader = quiet.as_(new_token(bank, "local", "write"))
    assert reader("POST", "/v1/scrub", {"apply": True}).code == "forbidden"


def test_what_another_process_rules_about_secrets_holds_from_the_next_request_on(path, bank, child, finished):
    with served(bank, staffing=Staffing(workers=0)) as api:
        assert "[SECRET:github-pat]" in api.record("One", f"use {SECRET}")["content"]
        finished(child(RULING, path, SECRET))
        assert SECRET in api.record("Two", f"use {SECRET}")["content"]
        assert "[SECRET:email]" in api.record("Three", "ask jane.doe@acme-corp.com")["content"]


RULING = """
import sys
from reasoningbank import ReasoningBank
from reasoningbank.guard.scrubbing import allowing, with_personal
with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    bank.secrets.set_scrubbing(with_personal(allowing(bank.secrets.scrubbing, sys.argv[2]), ("email",)))
"""


def test_jobs_of_another_tenant_are_not_there(bank, quiet):
    end_session(quiet)
    [job] = quiet("GET", "/v1/jobs").json["jobs"]
    other = quiet.as_(new_token(bank, "other", "admin"))
    missing = other("GET", "/v1/jobs/job_none").json["detail"].replace("job_none", job["id"])
    for method, path, body in (
        ("GET", f"/v1/jobs/{job['id']}", None),
        ("POST", f"/v1/jobs/{job['id']}/retry", None),
        ("POST", f"/v1/jobs/{job['id']}/discard", None),
        ("POST", f"/v1/jobs/{job['id']}/answer", {"answer": "NO_EXTRACTIONS"}),
        ("POST", "/v1/jobs/next", {"job": job["id"]}),
    ):
        answer = other(method, path, body)
        assert (answer.status, answer.json["detail"]) == (404, missing)
    assert other("GET", "/v1/jobs").json == {"jobs": [], "tally": {}, "names": {}}


def test_a_bank_of_the_host_is_served_by_an_agent_over_rest(path):
    with (
        ReasoningBank.open(path, embedder="hash", namespace="n", distiller="host") as bank,
        served(bank) as api,
    ):
        end_session(api)
        assert api("POST", "/v1/distill", {}).json["jobs"]["done"] == 0
        job = api("POST", "/v1/jobs/next", {}).json["job"]
        assert api("POST", f"/v1/jobs/{job['id']}/answer", {"answer": "NO_EXTRACTIONS"}).json == {"memories": []}


def test_what_no_job_can_be_is_refused(quiet):
    assert quiet("GET", "/v1/jobs?state=nonsense").code == "invalid_input"
    assert quiet("POST", "/v1/distill", {"limit": 0}).code == "invalid_input"


def test_a_report_says_what_memories_have_done(quiet):
    made = quiet.record("Wrap errors", "with context", description="When a Go function fails")
    session = quiet("POST", "/v1/sessions", {"task": "wrap errors"}).json["id"]
    quiet.search("wrap errors with context", session=session)
    quiet("POST", f"/v1/sessions/{session}/end", {"outcome": "success", "used": [made["id"]]})
    told = quiet("GET", "/v1/report?days=1&every_namespace=true")
    assert told.status == 200, told.body
    assert told.json["totals"]["used"] == 1
    assert quiet("GET", "/v1/report?limit=0").code == "invalid_input"
