"""Graphs as files of other tools: what is written is well-formed whatever the texts hold, and comes back equal."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.types import NodeLabel
from reasoningbank.exchange.graph_files.cypher_writer import cypher_lines
from reasoningbank.exchange.graph_files.entries import IncomingGraph, incoming_graph
from reasoningbank.exchange.graph_files.graph_json_reader import read_graph_json
from reasoningbank.exchange.graph_files.graphml_reader import read_graphml
from reasoningbank.exchange.graph_files.graphml_writer import graphml_lines
from reasoningbank.exchange.graph_files.node_link_writer import count_links, node_link_json, node_link_lines
from reasoningbank.graph.node_fields import FIELDS

HOSTILE = (
    "'; MATCH (n) DETACH DELETE n; // \\u0027 \\\\ \"</data>&amp;&lol;<![CDATA[ ]]> \x1b[31m\x07\x7f \u2028\r\n\t\ufffe "
    "ünï 🦊 `x` {a: 1} \\"
)
ONE_LINE = 'it\'s, "quoted" & <b> \\ 🦊'
NODES: list[dict[str, Any]] = [
    {
        "id": "N1001", "label": "UserRequest", "conv_id": 'c<1>&"', "text": HOSTILE, "tags": ["a", "b,c", ONE_LINE],
        "ingestion_time": "2025-09-12T08:00:00.25Z", "user_role": "CFO", "user_id": "u'1",
    },
    {
        "id": "N1002", "label": "AgentAction", "conv_id": "c", "text": "Merged", "tags": [], "status": "complete",
        "parameter_field": {"sql": "SELECT '1'", "limits": [1, 2]},
    },
    {
        "id": "N 3", "label": "AgentAction", "conv_id": "c", "text": "Ran", "tags": [], "status": "failed",
        "parameter_field": "SELECT '\\' FROM x;\nGO",
    },
    {
        "id": "N1004", "label": "DataSource", "conv_id": "c", "text": "Deck", "tags": ["x"], "source_type": "pptx",
        "doc_pointer": "C:\\decks\\q3.pptx", "relevant_parts": ["Slide 4", "Slide 5"],
    },
    {"id": "N1005", "label": "AgentAnswer", "conv_id": "c", "text": "So", "tags": [], "metrics": ["roi"]},
    {"id": "RB-01", "label": "Lesson", "key_lesson": "Never", "context_to_prefer": "ROI", "tags": ["roi"]},
]  # fmt: skip
EDGES: list[dict[str, Any]] = [
    {
        "id": "E1", "source": "N1001", "target": "N1002", "kind": "relates", "text": HOSTILE, "weight": 0.9,
        "tags": ["t"], "created_time": "2025-09-12T08:00:00Z",
    },
    {"id": "E2", "source": "N1001", "target": "N1002", "kind": "causes", "text": "Parallel.", "weight": 1.0, "tags": []},
    {"id": "E3", "source": "N1004", "target": "RB-01", "kind": "teaches", "text": "It.", "weight": 0.1, "tags": []},
]  # fmt: skip
_COMMON = ("conv_id", "text", "tags", "ingestion_time")
FIELDS_OF = {
    **{label.value: (*_COMMON, *FIELDS[label]) for label in NodeLabel},
    "Lesson": ("key_lesson", "context_to_prefer", "tags"),
}


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read(path: Path) -> IncomingGraph:
    reader = read_graphml if path.suffix == ".graphml" else read_graph_json
    return incoming_graph(reader(path), FIELDS_OF)


def plain(found: IncomingGraph) -> tuple[list[Any], list[Any]]:
    lessons = [{"id": lesson.pop("rb_id"), "label": "Lesson", **lesson} for _, lesson in found.lessons]
    nodes = sorted([*(node for _, node in found.nodes), *lessons], key=lambda node: node["id"])
    return nodes, [edge for _, edge in found.edges]


IN_ORDER = sorted(NODES, key=lambda node: node["id"])


def test_graphml_comes_back_as_it_was_whatever_the_texts_hold(tmp_path):
    text = "\n".join(graphml_lines(NODES, EDGES))
    tree = ET.fromstring(text)
    assert len(tree.findall(".//{*}node")) == len(NODES)
    found = read(written(tmp_path, "g.graphml", text))
    assert plain(found) == (IN_ORDER, EDGES)
    assert not found.left_out


def test_graphml_declares_every_key_that_it_uses_with_its_type():
    tree = ET.fromstring("\n".join(graphml_lines(NODES, EDGES)))
    keys = {key.get("id"): key.get("attr.type") for key in tree.findall("{*}key")}
    assert {data.get("key") for data in tree.findall(".//{*}data")} <= keys.keys()
    assert keys["edge.weight"] == "double"
    assert set(keys.values()) == {"string", "double"}


def test_nodes_and_links_are_one_json_document_for_a_drawing(tmp_path):
    text = "\n".join(node_link_lines(NODES, EDGES, count_links(EDGES)))
    drawn = json.loads(text)
    first = drawn["nodes"][0]
    assert {"id", "label", "text", "tags", "conv_id", "group", "size"} <= first.keys()
    assert (first["group"], first["size"]) == ("UserRequest", 2)
    assert {"source", "target", "text", "weight", "kind", "tags"} <= drawn["links"][0].keys()
    assert node_link_json(NODES, EDGES) == {"nodes": drawn["nodes"], "links": drawn["links"]}
    assert plain(read(written(tmp_path, "g.json", text))) == (IN_ORDER, EDGES)


# ---------------------------------------------------------------- Cypher, by a reader of its own

_TEXT = r"'(?:[^'\\\x00-\x1f\u2028\u2029]|\\[\\'nrtbf]|\\u[0-9a-f]{4})*'"
_VALUE = rf"(?:{_TEXT}|datetime\({_TEXT}\)|-?\d+(?:\.\d+)?(?:e-?\d+)?|true|false|\[(?:{_TEXT}(?:, {_TEXT})*)?\])"
_MAP = rf"\{{(?:\w+: {_VALUE}(?:, \w+: {_VALUE})*)?\}}"
_LABEL = r"[A-Z][A-Za-z]+"
STATEMENTS = (
    rf"CREATE CONSTRAINT [a-z_]+ IF NOT EXISTS FOR \(n:{_LABEL}\) REQUIRE n\.id IS UNIQUE;",
    rf"MERGE \(n:{_LABEL} \{{id: {_TEXT}\}}\) SET n \+= {_MAP};",
    rf"MATCH \(s:{_LABEL} \{{id: {_TEXT}\}}\), \(t:{_LABEL} \{{id: {_TEXT}\}}\) MERGE \(s\)-\[r:[A-Z_]+ \{{id: {_TEXT}\}}\]->\(t\) SET r \+= {_MAP};",
)
_ESCAPES = {"\\\\": "\\", "\\'": "'", "\\n": "\n", "\\r": "\r", "\\t": "\t", "\\b": "\b", "\\f": "\f"}


def unescape(literal: str) -> str:
    def letter(found: re.Match[str]) -> str:
        return _ESCAPES.get(found[0]) or chr(int(f"0x{found[0][2:]}", 0))

    return re.sub(r"\\(?:u[0-9a-f]{4}|.)", letter, literal[1:-1])


def test_cypher_is_statements_of_its_grammar_that_no_text_can_end():
    lines = list(cypher_lines(NODES, EDGES, NodeLabel))
    assert [line for line in lines if not any(re.fullmatch(one, line) for one in STATEMENTS)] == []
    assert len(lines) == len(NodeLabel) + 1 + len(NODES) + len(EDGES)
    request = next(line for line in lines if "N1001" in line and line.startswith("MERGE"))
    assert unescape(re.search(rf" text: ({_TEXT})", request)[1]) == HOSTILE
    assert "ingestion_time: datetime('2025-09-12T08:00:00.25Z')" in request
    relationship = next(line for line in lines if "'E1'" in line)
    assert relationship.startswith(
        "MATCH (s:UserRequest {id: 'N1001'}), (t:AgentAction {id: 'N1002'}) MERGE (s)-[r:RELATES "
    )


# ---------------------------------------------------------------- files of others

NETWORKX = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="d3" for="edge" attr.name="weight" attr.type="double" />
  <key id="d2" for="node" attr.name="rank" attr.type="long" />
  <key id="d1" for="node" attr.name="conv_id" attr.type="string"><default>c1</default></key>
  <key id="d0" for="node" attr.name="label" attr.type="string" />
  <graph edgedefault="directed">
    <node id="a"><data key="d0">Event</data><data key="d2">3</data></node>
    <node id="b"><data key="d0">Event</data><data key="d1">c2</data></node>
    <edge source="a" target="b" id="0"><data key="d3">0.25</data></edge>
  </graph>
</graphml>"""


def test_graphml_of_networkx_is_read_with_its_types_and_defaults(tmp_path):
    found = read(written(tmp_path, "n.graphml", NETWORKX))
    assert [(where, node["id"], node["conv_id"]) for where, node in found.nodes] == [
        ("line 9", "a", "c1"),
        ("line 10", "b", "c2"),
    ]
    assert found.edges == [("line 11", {"source": "a", "target": "b", "kind": "relates", "weight": 0.25})]
    assert found.left_out == {"rank": 1}


CYPHER_LIKE = {
    "nodes": [
        {"id": 0, "labels": ["Event"], "properties": {"id": "N1", "text": "x"}},
        {"identity": 1, "labels": ["UserRequest"], "properties": {"id": "N2", "tags": "a, b"}},
    ],
    "relationships": [
        {"id": 7, "type": "LED_TO", "start": 0, "end": 1, "properties": {"id": "E1"}},
        {"type": "CAUSES", "startNode": "1", "endNode": "0", "properties": {"text": "Because."}},
    ],
}


def test_json_of_cypher_is_read_by_the_ids_that_the_properties_give(tmp_path):
    found = read(written(tmp_path, "c.json", json.dumps(CYPHER_LIKE)))
    assert [node["id"] for _, node in found.nodes] == ["N1", "N2"]
    assert found.nodes[1][1]["tags"] == ["a", "b"]
    assert found.edges == [
        ("relationships[0]", {"id": "E1", "source": "N1", "target": "N2", "kind": "relates", "text": "led to"}),
        ("relationships[1]", {"source": "N2", "target": "N1", "kind": "causes", "text": "Because."}),
    ]


def test_lines_of_apoc_are_read(tmp_path):
    lines = [
        {"type": "node", "id": "0", "labels": ["Event"], "properties": {"id": "N1", "text": "x"}},
        {"type": "node", "id": "1", "labels": ["Event"], "properties": {"id": "N2"}},
        {"type": "relationship", "id": "0", "label": "CAUSES", "start": {"id": "0"}, "end": {"id": "1"}},
    ]
    whole = {"id": None, "source": "N1", "target": "N2", "kind": "causes"}
    for text in ("\n".join(map(json.dumps, lines)), json.dumps(lines)):
        found = read(written(tmp_path, "a.json", text))
        assert {"id": None, **found.edges[0][1]} == whole


def test_links_that_number_the_nodes_are_read(tmp_path):
    drawing = {
        "nodes": [{"id": name, "label": "Event", "x": 1.5} for name in "ab"],
        "links": [{"source": 1, "target": 0}],
    }
    found = read(written(tmp_path, "d.json", json.dumps(drawing)))
    assert (found.edges[0][1]["source"], found.edges[0][1]["target"]) == ("b", "a")
    assert not found.left_out


BOMB = '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><graphml><graph><node id="&b;"/></graph></graphml>'
OUTSIDE = '<!DOCTYPE g SYSTEM "file:///etc/passwd"><graphml/>'
KEYED = '<graphml><key id="w" for="all" attr.name="weight" attr.type="double"/><graph>{}</graph></graphml>'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (BOMB, "line 1: a document type"),
        (OUTSIDE, "line 1: a document type"),
        ("<graphml><graph><node id='a'>", "line 1: not well-formed"),
        ("<html/>", "line 1: the document is <html>"),
        ("<graphml><graph>\n<node/></graph></graphml>", "line 2: a node without an id"),
        ("<graphml><graph><node id='a'><data key='z'>1</data></node></graph></graphml>", "key 'z'"),
        (
            KEYED.format("\n<edge source='a' target='b'><data key='w'>heavy</data></edge>"),
            "line 2: weight must be a num",
        ),
        (KEYED.format("<edge source='a'/>"), "an edge without a target"),
        (KEYED.format("<node id='a'><graph><node id='b'/></graph></node>"), "a graph within a node"),
        (KEYED.format("<hyperedge/>"), "a hyperedge"),
        (KEYED.format("<node id='a'/>"), "node 'a' has no label"),
    ],
)
def test_bad_graphml_is_refused_with_its_line(tmp_path, text, complaint):
    with pytest.raises(ImportRejected, match=re.escape(complaint)):
        read(written(tmp_path, "b.graphml", text))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"nodes": [{"id": 1, "labels": ["Event", "Person"]}]}, "nodes[0]: node '1' has the labels Event, Person"),
        ({"nodes": [{"id": 1, "labels": ["Person"]}]}, "nodes[0]: node '1' has the label 'Person'"),
        ({"nodes": [{"labels": ["Event"]}]}, "nodes[0]: a node without an id"),
        ({"nodes": [7]}, "nodes[0]: must be an object"),
        (
            {"nodes": [{"id": "a", "label": "Event"}, {"id": "a", "label": "Event"}]},
            "nodes[1]: the id 'a' stands at nodes[0]",
        ),
        ({"nodes": [], "links": [{"source": "a"}]}, "links[0]: target must name a node"),
        ({"nodes": [], "links": {}}, "links must be a list"),
        ({"nodes": [{"id": "a", "labels": ["Event"], "properties": []}]}, "nodes[0].properties: must be an object"),
        ([{"type": "thing"}], "[0]: neither a node nor a relationship"),
        ({"nodes": [{"id": "a", "label": "Event", "tags": "[1"}]}, "nodes[0]: tags is not JSON"),
    ],
)
def test_bad_json_is_refused_with_its_place(tmp_path, value, complaint):
    with pytest.raises(ImportRejected, match=re.escape(complaint)):
        read(written(tmp_path, "b.json", json.dumps(value)))
