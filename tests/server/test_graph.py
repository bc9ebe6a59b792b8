"""The memory graph over HTTP, on a socket."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

NODES = [
    {"id": "N1001", "label": "UserRequest", "conv_id": "budget", "text": "Why did CPA rise?", "user_role": "CFO"},
    {"id": "N1002", "label": "AgentAnswer", "conv_id": "budget", "text": "Supply volatility.", "metrics": ["cpa"]},
]
EDGES = [{"id": "E3001", "source": "N1001", "target": "N1002", "text": "Is answered by it.", "weight": 0.9}]


@pytest.fixture(scope="module")
def graph(shared):
    answer = shared("POST", "/v1/graph?namespace=graph", {"nodes": NODES, "edges": EDGES})
    assert answer.status == 201
    assert answer.json["counts"] == {"nodes added": 2, "edges added": 1}
    return shared


def test_a_node_and_a_conversation_are_read(graph):
    node = graph("GET", "/v1/graph/nodes/N1002?namespace=graph").json
    assert (node["label"], node["metrics"], node["trusted"]) == ("AgentAnswer", ["cpa"], True)
    assert graph("GET", "/v1/graph/nodes/N1002").status == 404
    part = graph("GET", "/v1/graph/conversations/budget?namespace=graph").json
    assert [node["id"] for node in part["nodes"]] == ["N1001", "N1002"]
    assert part["links"][0]["text"] == "Is answered by it."
    assert graph("GET", "/v1/graph/conversations?namespace=graph").json == {"conversations": {"budget": 2}}


def test_the_graph_is_checked_and_its_lessons_are_listed(graph):
    assert graph("GET", "/v1/graph/check").json == {"intact": True, "damage": []}
    key = graph.record("Adjust", "Adjust by rundown first.", key="RB-01", namespace="taught")["key"]
    node = {**NODES[0], "reasoning_pointer_ids": [key]}
    assert graph("POST", "/v1/graph?namespace=taught", {"nodes": [node]}).status == 201
    [lesson] = graph("GET", "/v1/graph/lessons?namespace=taught").json["lessons"]
    assert (lesson["rb_id"], lesson["link_nodes"]) == ("RB-01", ["N1001"])


def test_a_search_a_walk_a_path_and_a_question_are_answered(graph):
    def asked(what, **body):
        answer = graph("POST", f"/v1/graph/{what}?namespace=graph", body)
        assert answer.status == 200, answer.body
        return answer.json

    assert asked("search", query="why did CPA rise?")["hits"][0]["node"]["id"] == "N1001"
    assert asked("search", query="is answered by it", labels=["Edge"])["hits"][0]["edge"]["source"] == "N1001"
    walk = asked("walk", query="why did CPA rise?")
    assert "N1001" in walk["seeds"]
    assert "→ Is answered by it. (0.90)" in walk["text"]
    assert {node["id"] for node in walk["nodes"]} == {"N1001", "N1002"}
    assert asked("walk", seeds=["N1002"], depth=1)["paths"][0]["nodes"] == ["N1002", "N1001"]
    assert asked("path", source="N1001", target="N1002")["paths"][0]["edges"] == ["E3001"]
    assert asked("questions", ask="led_to", about="N1002")["paths"][0]["nodes"][-1] == "N1001"
    assert graph("POST", "/v1/graph/walk", {"depth": 2}).status == 400
    assert graph("POST", "/v1/graph/questions", {"ask": "led_to", "about": "N404"}).status == 404
    assert graph("POST", "/v1/graph/walk", {"seeds": ["N1001"]}).status == 404, "of another namespace"


def test_lessons_come_in_with_the_nodes_that_taught_them(graph):
    lesson = {"rb_id": "RB-02", "key_lesson": "Filter bots first.", "link_nodes": ["N1002"]}
    answer = graph("POST", "/v1/graph?namespace=lessons", {"nodes": NODES, "lessons": [lesson]})
    assert answer.json["counts"] == {"lessons added": 1, "nodes added": 2, "edges added": 1}


def test_a_bad_graph_is_refused_with_the_field_and_leaves_nothing(graph):
    for body, complaint in (
        ({"nodes": [*NODES, {**NODES[0], "id": "X", "user_role": None}]}, "nodes[2].user_role"),
        ({"nodes": NODES, "edges": [{**EDGES[0], "target": "N404"}]}, "edges[0].target"),
        ({"nodes": [{**NODES[0], "label": "Person"}]}, "label"),
        ({"edges": [{**EDGES[0], "weight": 7}]}, "weight"),
    ):
        answer = graph("POST", "/v1/graph?namespace=elsewhere", body)
        assert (answer.status, complaint in answer.json["detail"]) == (400, True), answer.body
    assert graph("GET", "/v1/graph/conversations?namespace=elsewhere").json == {"conversations": {}}


def test_a_keyed_addition_is_done_once(graph):
    body = {"nodes": [{"id": "K1", **NODES[0], "conv_id": "keyed"}]}
    first = graph("POST", "/v1/graph?namespace=keyed", body, idempotency_key="k-graph")
    again = graph("POST", "/v1/graph?namespace=keyed", body, idempotency_key="k-graph")
    assert (first.status, again.status, again.json) == (201, 201, first.json)
    assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("form", ["graphml", "cypher", "json"])
def test_an_export_is_streamed_and_comes_back_by_an_import(graph, form):
    answer = graph("GET", f"/v1/graph/export?namespace=graph&format={form}")
    assert answer.status == 200
    text = answer.body.decode()
    if form == "cypher":
        assert text.count("MERGE (n:") == 2
        return
    assert len(ET.fromstring(text).findall(".//{*}node") if form == "graphml" else json.loads(text)["nodes"]) == 2
    for dry in (True, False):
        done = graph("POST", f"/v1/graph/import?namespace=in-{form}", {"text": text, "dry_run": dry}).json
        assert (done["origin"], done["counts"]) == (f"import:{form}", {"nodes added": 2, "edges added": 1})
    assert graph("GET", f"/v1/graph/nodes/N1001?namespace=in-{form}").json["trusted"] is False


def test_an_import_with_a_fault_names_its_place_and_no_path_of_ours(graph):
    bomb = '<!DOCTYPE g [<!ENTITY a "ha">]><graphml/>'
    for text, complaint in ((bomb, "line 1: a document type"), ('{"nodes": []}', "The text has no nodes")):
        answer = graph("POST", "/v1/graph/import", {"text": text})
        assert (answer.status, complaint in answer.json["detail"]) == (400, True), answer.body
        assert "/proc" not in answer.json["detail"]
