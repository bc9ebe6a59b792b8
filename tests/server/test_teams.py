"""Teams, steps under a memory, lists of edges and other names of the namespace, over HTTP."""

from __future__ import annotations

import json

import pytest

from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.tools import call


def test_teams_are_made_and_left_by_whoever_may(api, token_for):
    made = api("POST", "/v1/teams", {"team": "core", "namespaces": ["api", "billing"]})
    assert made.json == {"teams": [{"name": "core", "namespaces": ["api", "billing"]}]}
    assert api("GET", "/v1/teams").json == made.json
    assert api("POST", "/v1/teams", {"team": None, "namespaces": ["api"]}).json["teams"][0]["namespaces"] == ["billing"]
    assert api("POST", "/v1/teams", {"team": None, "namespaces": ["api"]}).status == 404
    writer = api.as_(token_for("acme"))
    assert writer("POST", "/v1/teams", {"team": "core", "namespaces": ["api"]}).status == 403
    assert writer("GET", "/v1/teams").json == {"teams": []}


def test_a_search_over_http_keeps_to_the_team(api):
    api.record("Rotate keys", "rotate the signing keys", scope="team", namespace="shop")
    api("POST", "/v1/teams", {"team": "core", "namespaces": ["api"]})
    assert api.search("rotate the signing keys", namespace="api", floor=0)["memories"] == []
    assert len(api.search("rotate the signing keys", namespace="lab", floor=0)["memories"]) == 1
    assert api("GET", "/v1/memories?team=core").json["memories"] == []
    assert api("GET", "/v1/memories?team=ops").status == 404


def test_steps_are_kept_under_a_memory(api):
    memory_id = api.record()["id"]
    step = api("POST", f"/v1/memories/{memory_id}/steps", {"action": "Design", "result": "JWT"})
    assert (step.status, step.json["number"]) == (201, 1)
    assert [one["action"] for one in api("GET", f"/v1/memories/{memory_id}/steps").json["steps"]] == ["Design"]
    assert api("GET", "/v1/memories/mem_none/steps").status == 404


def test_steps_of_another_tenant_come_in_under_their_memory(api, token_for):
    memory_id = api.record()["id"]
    api("POST", f"/v1/memories/{memory_id}/steps", {"action": "Design"})
    lines = api("GET", "/v1/export").body
    other = api.as_(token_for("acme"))
    assert other("POST", "/v1/import", lines, content_type="application/x-ndjson").json["added"]["step"] == 1
    (copied,) = other("GET", "/v1/memories?every_namespace=true").json["memories"]
    assert len(other("GET", f"/v1/memories/{copied['id']}/steps").json["steps"]) == 1


def test_edges_are_listed_a_page_at_a_time(api):
    ids = [api.record(f"M{n}", f"content {n}")["id"] for n in range(3)]
    for kind in ("analogy", "architectural_analogy", "relates"):
        edge = api("POST", "/v1/links", {"source": ids[0], "target": ids[1], "kind": kind, "tags": ["bridge"]})
        assert edge.status == 201
    page = api("GET", "/v1/links?limit=2&tag=bridge").json
    rest = api("GET", f"/v1/links?limit=2&tag=bridge&cursor={page['next']}").json
    kinds = [edge["kind"] for edge in (*page["edges"], *rest["edges"])]
    assert kinds == ["relates", "architectural_analogy", "analogy"]
    assert rest["next"] is None
    (edge,) = api("GET", "/v1/links?kind=architectural_analogy").json["edges"]
    assert (edge["source_title"], edge["target_title"]) == ("M0", "M1")
    told = {one["edge"]["kind"] for one in api("GET", f"/v1/memories/{ids[0]}/neighbours").json["neighbours"]}
    assert told == set(kinds)


@pytest.mark.parametrize("name", ["project_id", "domain"])
def test_the_namespace_has_other_names(api, name):
    memory = api.record("Bind", "bind every parameter", **{name: "security"})
    assert memory["namespace"] == "security"
    assert len(api.search("bind every parameter", **{name: "security"})["memories"]) == 1
    assert api("POST", "/v1/sessions", {"task": "t", name: "security"}).json["namespace"] == "security"
    assert len(api("GET", f"/v1/memories?{name}=security").json["memories"]) == 1
    both = api("POST", "/v1/search", {"query": "x", "namespace": "a", name: "b"})
    assert (both.status, both.code) == (400, "invalid_input")
    assert api("POST", "/v1/search", {"query": "x", "projectid": "b"}).status == 400


def test_an_export_is_had_in_other_names(api):
    api.record("Wrap errors", "use %w", key="7")
    (line,) = api("GET", "/v1/export?as=lessons").body.splitlines()
    assert json.loads(line) == {
        "rb_id": 7, "key_lesson": "use %w", "context_to_prefer": "", "tags": [], "title": "Wrap errors",
    }  # fmt: skip
    assert api("GET", "/v1/export?as=csv").status == 400


def test_lessons_come_in_as_lines_and_the_answer_says_what_is_untrusted(api, token_for):
    line = json.dumps({"rb_id": 1003, "key_lesson": "Adjust by Rundown", "context_to_prefer": "ROI"}).encode()
    writer = api.as_(token_for("acme"))
    said = writer("POST", "/v1/import", line, content_type="application/x-ndjson").json
    assert (said["added"], said["untrusted"], said["quarantined"]) == ({"memory": 1}, 1, 0)
    assert writer("GET", "/v1/memories/1003").json["content"] == "Adjust by Rundown"


def done(bank, tool: str, **arguments):
    reply = call(tool, arguments, bank, LOCAL)
    assert reply.values is not None, reply.failure
    return reply.values


def test_over_mcp_a_project_id_is_the_namespace(bank):
    lesson = {"title": "Bind", "description": "SQL", "content": "bind every parameter", "outcome": "success"}
    done(bank, "memory_record", **lesson, project_id="api")
    assert bank.list(namespace="api")[0].title == "Bind"
    found = done(bank, "memory_search", query="bind every parameter", project_id="api", k=1, minConfidence=0.3)
    assert len(found["memories"]) == 1
    assert (
        "There is no argument 'project'" in call("memory_search", {"query": "x", "project": "a"}, bank, LOCAL).failure
    )
    assert "disagree" in call("memory_search", {"query": "x", "project_id": "a", "namespace": "b"}, bank, LOCAL).failure
    assert (
        "There is no argument 'project_id'"
        in call("memory_feedback", {"memory_id": "m", "helpful": True, "project_id": "a"}, bank, LOCAL).failure
    )


def test_over_mcp_a_hit_names_its_links_and_a_memory_its_steps(bank):
    one, other = (bank.store(key, f"split the {key} into parts").id for key in ("backend", "frontend"))
    bank.link(one, other, "architectural_analogy", weight=0.82)
    bank.track(one, "Split it", "Fewer bugs")
    found = done(bank, "memory_search", query="split the backend into parts", limit=1)
    assert [linked["title"] for linked in found["memories"][0]["see_also"]] == ["frontend"]
    assert done(bank, "memory_get", memory_id=one)["steps"] == [{"did": "Split it", "result": "Fewer bugs"}]
    assert "steps" not in done(bank, "memory_get", memory_id=other)
