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
    assert rb("graph", "check").out == "Every edge and every pointer leads somewhere.\n"
    assert rb("graph", "check", "--json").json == {"intact": True, "damage": []}


def test_an_empty_graph_says_how_to_fill_it(rb):
    for words in (("conversation",), ("search", "x"), ("walk", "x")):
        assert "graph add FILE" in rb("graph", *words).err


def test_edges_with_nodes_at_their_ends_are_listed_by_tag(rb, graph):
    [edge] = rb("graph", "edges", "--tag", "solution", "--json").json["edges"]
    assert edge["name"] == "E3001"
    listed = rb("graph", "edges", "--tag", "solution").out
    assert "E3001" in listed
    assert "N1001 UserRequest: Why did CPA rise?" in listed


def test_parallel_edges_from_a_node_are_all_shown_with_the_names_of_what_they_lead_to(rb, graph):
    rb("link", "N1001", "N1002", "--kind", "causes", "--text", "It was asked first.")
    near = rb("graph", "neighbours", "N1001")
    assert near.out.count("N1002 AgentAnswer: Supply volatility.") == 2
    assert [item["node"]["name"] for item in rb("graph", "neighbours", "N1001", "--json").json["neighbours"]] == [
        "N1002",
        "N1002",
    ]


def test_a_search_and_a_walk_find_what_was_added(rb, graph):
    found = rb("graph", "search", "why did CPA rise")
    assert "N1001" in found.out
    hits = rb("graph", "search", "why did CPA rise", "--label", "AgentAnswer", "--json").json["hits"]
    assert {hit["node"]["label"] for hit in hits} <= {"AgentAnswer"}
    walked = rb("graph", "walk", "why did CPA rise?").out
    assert "* [N1001] UserRequest by CFO: Why did CPA rise?" in walked
    assert "→ Is answered by the analysis of supply. (0.90)" in walked
    assert "[N1002] AgentAnswer: Supply volatility." in walked
    drawn = rb("graph", "walk", "--from", "N1002", "--json").json
    assert {node["id"] for node in drawn["nodes"]} == {"N1001", "N1002"}
    assert "[N1002]" in drawn["text"]


def test_typed_questions_and_paths_are_asked_by_name(rb, graph):
    assert "[N1001]" in rb("graph", "walk", "--led-to", "N1002").out
    assert "[N1001]" in rb("graph", "walk", "--bridges", "solution").out
    assert rb("graph", "walk", "--contradicting", "N1002").err == "Nothing contradicts N1002.\n"
    assert "Is answered by" in rb("graph", "path", "N1001", "N1002").out
    rb("store", "lonely", "Joined to nothing.")
    assert rb("graph", "path", "N1001", "lonely").err == "No path leads there.\n"
    assert "Ask one thing" in rb("graph", "walk").err
    assert "Ask one thing" in rb("graph", "walk", "x", "--led-to", "N1002").err
    assert rb("graph", "walk", "--led-to", "N404").code == 3
    assert "too little" in rb("graph", "walk", "--from", "N1001", "--max-tokens", "20").err


def test_what_a_walk_finds_is_exported(rb, graph):
    assert rb("graph", "export", "--walk", "why did CPA rise", "--as", "cypher").out.count("MERGE (n:") == 2
    assert "one thing" in rb("graph", "export", "--walk", "x", "--all-namespaces").err


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


CHAT = [
    {"role": "user", "content": "Why did the cost per lead rise in July?"},
    {"role": "assistant", "content": "It rose because bots inflated the sessions from 8 to 15 July 2025."},
]


def test_a_conversation_is_ingested_once_and_walked(rb):
    given = json.dumps(CHAT).encode()
    done = rb("graph", "ingest", "-", "--conversation", "july", "--role", "CFO", stdin=given)
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].split()[0] == "july"
    again = rb("graph", "ingest", "-", "--conversation", "july", "--json", stdin=given)
    assert again.json["conversations"][0]["nodes_added"] == 0
    assert (
        "by CFO: Why did the cost per lead rise in July?" in rb("graph", "walk", "why did the cost per lead rise?").out
    )
    assert "need --conversation" in rb("graph", "ingest", "-", stdin=given).err
    Path("chat.json").write_text(json.dumps({"messages": CHAT}))
    assert rb("graph", "ingest", "chat.json", "--json").json["conversations"][0]["nodes_added"] > 0
    shown = rb("graph", "conversation", "july", "--json").json["nodes"]
    assert {node["origin"] for node in shown} == {"agent"}


def test_a_graph_of_an_agent_in_its_shell_is_the_agents(rb, monkeypatch, graph):
    monkeypatch.setenv("CLAUDECODE", "1")
    rb("graph", "add", "--label", "AgentAnswer", "--id", "N7", "--conversation", "c", "--text", "So.")
    [node] = rb("graph", "conversation", "c", "--json").json["nodes"]
    assert node["origin"] == "agent"
    rb("graph", "export", "g.json")
    assert "Only the user may import a graph as the user's own" in rb("graph", "import", "g.json", "--restore").err
    assert "Only the user may erase nodes for good" in rb("graph", "remove", "N7", "--yes").err


def test_a_named_edge_is_removed_by_the_name_it_is_listed_under(rb, graph):
    assert "E3001" in rb("graph", "edges").out
    assert "removed" in rb("unlink", "E3001").err
    assert rb("graph", "edges", "--json").json["edges"] == []
    assert rb("unlink", "E3001").code == 3


def test_a_node_is_erased_with_its_edges_after_a_yes(rb, graph):
    rehearsed = rb("graph", "remove", "N1002", "--dry-run")
    assert rehearsed.out == "would be erased: 1 node, 1 edge\n"
    unasked = rb("graph", "remove", "N1002")
    assert (unasked.code, "Nothing was erased" in unasked.err) == (2, True)
    assert rb("graph", "conversation", "--json").json == {"conversations": {"budget": 2}}
    assert rb("graph", "remove", "N1002", "--yes").out == "erased: 1 node, 1 edge\n"
    assert [node["id"] for node in rb("graph", "conversation", "budget", "--json").json["nodes"]] == ["N1001"]
    assert rb("graph", "edges", "--json").json["edges"] == []
    assert rb("graph", "search", "Supply volatility", "--json").json["hits"] == []
    assert rb("graph", "remove", "N1002", "--yes").code == 3
    assert "Name a NODE, or --conversation ID" in rb("graph", "remove", "--yes").err
    assert "Name a NODE, or --conversation ID" in rb("graph", "remove", "N1001", "--conversation", "budget").err


def test_a_conversation_is_erased_with_every_edge_of_its_nodes_and_its_lessons_stay(rb, graph):
    other = {"id": "N9", "label": "AgentAnswer", "conv_id": "other", "text": "Elsewhere."}
    joining = {"source": "N9", "target": "N1001", "text": "Answers it too.", "weight": 0.6}
    lesson = {"rb_id": "RB-01", "key_lesson": "Ask supply first.", "link_nodes": ["N1001"]}
    Path("more.json").write_text(json.dumps({"nodes": [other], "edges": [joining], "lessons": [lesson]}))
    rb("graph", "add", "more.json")
    would = rb("graph", "remove", "--conversation", "budget", "--dry-run", "--json").json
    assert would == {"nodes": 2, "edges": 3, "erased": False}
    assert rb("graph", "remove", "--conversation", "budget", "--yes", "--json").json == {**would, "erased": True}
    assert rb("graph", "conversation", "--json").json == {"conversations": {"other": 1}}
    assert rb("get", "RB-01").code == 0
    assert rb("graph", "check").code == 0
    assert rb("graph", "remove", "--conversation", "budget", "--yes").code == 3


def test_a_question_without_an_answer_names_what_was_asked(rb, graph):
    assert rb("graph", "walk", "--led-to", "N1001").err == "Nothing led to N1001.\n"
    assert rb("graph", "walk", "--rests-on", "N1001").err == "N1001 rests on no source.\n"
    assert rb("graph", "walk", "--contradicting", "N1001").err == "Nothing contradicts N1001.\n"
    assert rb("graph", "walk", "--bridges", "zebra").err == "No edge has the tag zebra.\n"


def test_a_long_text_is_cut_in_a_listing_and_whole_in_json(rb):
    text = "volatile supply " * 20_000
    Path("long.json").write_text(
        json.dumps({"nodes": [{"id": "L1", "label": "AgentAnswer", "conv_id": "long", "text": text}]})
    )
    rb("graph", "add", "long.json")
    for listing in (("search", "volatile supply"), ("conversation", "long")):
        assert len(rb("graph", *listing).out) < 1_000
        assert text.strip() in rb("graph", *listing, "--json").out


def test_a_conversation_in_which_nobody_said_anything_is_called_empty(rb):
    Path("empty.json").write_text('{"messages": []}')
    refused = rb("graph", "ingest", "empty.json")
    assert (refused.code, "empty.json: the conversation is empty" in refused.err) == (2, True)
