"""The memory graph on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reasoningbank.cli.commands.graph_files import FORMATS, LAYOUTS
from reasoningbank.exchange.graph_files.graph_export import GRAPH_FORMATS
from reasoningbank.exchange.graph_files.graph_import import GRAPH_LAYOUTS

GRAPH = {
    "nodes": [
        {"id": "N1001", "label": "UserRequest", "conv_id": "budget", "text": "Why did CPA rise?", "user_role": "CFO"},
        {"id": "N1002", "label": "AgentAnswer", "conv_id": "budget", "text": "Supply volatility.", "metrics": ["cpa"]},
    ],
    "edges": [
        {
            "id": "E3001",
            "source": "N1001",
            "target": "N1002",
            "text": "Is answered by the analysis of supply.",
            "weight": 0.9,
            "tags": ["solution"],
        }
    ],
}


@pytest.fixture
def graph(rb) -> Path:
    path = Path("graph.json")
    path.write_text(json.dumps(GRAPH))
    assert rb("graph", "add", path).out == "1 edge added, 2 nodes added\n"
    return path


def test_formats_in_the_help_are_those_that_there_are():
    assert FORMATS == GRAPH_FORMATS
    assert tuple(GRAPH_LAYOUTS) == LAYOUTS


def test_one_node_is_added_by_its_fields(rb):
    said = ("--label", "AgentAnswer", "--id", "N1", "--conversation", "c", "--text", "So.", "--field", "metrics=roi")
    assert rb("graph", "add", *said).out == "1 node added\n"
    assert rb("graph", "add", *said).out == "1 node unchanged\n"
    [node] = rb("graph", "conversation", "c", "--json").json["nodes"]
    assert (node["id"], node["metrics"], node["origin"]) == ("N1", ["roi"], "user")


def test_what_cannot_be_added_is_refused_with_the_field(rb):
    assert "Name a FILE" in rb("graph", "add").err
    missing = rb("graph", "add", "--label", "Event", "--conversation", "c", "--text", "x")
    assert (missing.code, "source_type is missing" in missing.err) == (2, True)
    Path("bad.json").write_text("{")
    assert "is not JSON" in rb("graph", "add", "bad.json").err
    Path("bad.json").write_text('{"nodes": [], "links": []}')
    assert "graph import" in rb("graph", "add", "bad.json").err
    assert "NAME=VALUE" in rb("graph", "add", "--label", "Event", "--field", "x").err


def test_a_conversation_is_shown_as_nodes_and_edges(rb, graph):
    shown = rb("graph", "conversation", "budget").out
    assert "N1001" in shown
    assert "Is answered by the analysis of supply." in shown
    assert rb("graph", "conversation").out.split() == ["NODES", "CONVERSATION", "2", "budget"]
    assert "There is no conversation 'x'" in rb("graph", "conversation", "x").err


def test_a_graph_that_holds_together_says_so(rb, graph):
    assert rb("graph", "check").out.startswith("Every edge and every pointer leads somewhere")
    assert rb("graph", "check", "--json").json == {"intact": True, "damage": []}


def test_an_empty_graph_says_how_to_fill_it(rb):
    assert "graph add FILE" in rb("graph", "conversation").err


def test_edges_with_nodes_at_their_ends_are_listed_by_tag(rb, graph):
    [edge] = rb("graph", "edges", "--tag", "solution", "--json").json["edges"]
    assert edge["name"] == "E3001"
    assert "UserRequest: Why did CPA rise?" in rb("graph", "edges", "--tag", "solution").out


def test_a_graph_goes_to_a_file_and_comes_back(rb, graph):
    for name, beginning in (("g.graphml", "<?xml"), ("g.cypher", "CREATE CONSTRAINT"), ("g.json", "{")):
        assert rb("graph", "export", name).code == 0
        assert Path(name).read_text("utf-8").startswith(beginning)
    assert "exists already" in rb("graph", "export", "g.json").err
    assert rb("graph", "export", "--as", "cypher").out.count("MERGE (n:") == 2
    other = ("--bank", "other.db")
    assert rb("graph", "import", "g.graphml", "--dry-run", *other).out.startswith(
        "would be: 1 edge added, 2 nodes added"
    )
    assert not Path("other.db").exists()
    came = rb("graph", "import", "g.graphml", "--name", "friend", *other)
    assert came.out == "1 edge added, 2 nodes added (graphml)\n"
    assert "trust revoke import:friend" in came.err
    assert rb("graph", "import", "g.graphml", "--name", "friend", *other).out.startswith("1 edge unchanged")
    [first, *_] = rb("graph", "conversation", "budget", "--json", *other).json["nodes"]
    assert (first["trusted"], first["origin"]) == (False, "import:friend")


def test_a_graph_of_an_agent_in_its_shell_is_the_agents(rb, monkeypatch, graph):
    monkeypatch.setenv("CLAUDECODE", "1")
    rb("graph", "add", "--label", "AgentAnswer", "--id", "N7", "--conversation", "c", "--text", "So.")
    [node] = rb("graph", "conversation", "c", "--json").json["nodes"]
    assert node["origin"] == "agent"
    rb("graph", "export", "g.json")
    assert "Only the user may import a graph as the user's own" in rb("graph", "import", "g.json", "--restore").err
