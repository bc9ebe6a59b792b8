"""Consolidating over HTTP."""

from __future__ import annotations


def test_a_run_is_rehearsed_done_listed_and_undone(api):
    first = api.record("Wrap errors", "Wrap errors with context")["id"]
    second = api.record("Wrap errors", "Wrap the errors with context")["id"]
    rehearsed = api("POST", "/v1/consolidate", {"dry_run": True}).json
    assert (rehearsed["run"], rehearsed["applied"], len(rehearsed["merges"])) == (None, 0, 1)
    done = api("POST", "/v1/consolidate", {}).json
    assert done["merges"][0]["kept"] == first
    assert done["merges"][0]["merged"][0]["id"] == second
    assert api("GET", f"/v1/memories/{second}").json["state"] == "superseded"
    (run,) = api("GET", "/v1/consolidations").json["runs"]
    assert (run["id"], run["counts"]["merged"], run["undone"]) == (done["run"], 1, False)
    account = api("GET", f"/v1/consolidations/{run['id']}").json
    assert [(act["act"], act["kept"], act["merged"]) for act in account["acts"]] == [("merge", first, [second])]
    assert account["names"] == {first: "Wrap errors", second: "Wrap errors"}
    assert api("GET", "/v1/consolidations/con_nothing").status == 404
    undone = api("POST", f"/v1/consolidations/{done['run']}/undo", {}).json
    assert set(undone["memories"]) == {first, second}
    assert undone["left"] == []
    assert api("POST", f"/v1/consolidations/{done['run']}/undo", {}).status == 409
    assert api("POST", "/v1/consolidations/con_nothing/undo", {}).status == 404
    assert api("GET", f"/v1/memories/{second}").json["state"] == "active"


def test_hits_that_contradict_each_other_say_so(api):
    one = api.record("Squash", "Use squash when merging a feature branch")["id"]
    two = api.record("No squash", "Never use squash when merging a feature branch")["id"]
    assert len(api("POST", "/v1/consolidate", {"only": ["conflicts"]}).json["conflicts"]) == 1
    hits = api.search("merging a feature branch squash")["memories"]
    assert {hit["id"]: [clash["id"] for clash in hit["conflicts"]] for hit in hits} == {one: [two], two: [one]}


def test_an_unknown_part_is_refused(api):
    assert api("POST", "/v1/consolidate", {"only": ["everything"]}).status == 400
    assert api("GET", "/v1/faded").json == {"faded": []}
