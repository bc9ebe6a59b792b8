"""The memory graph out of a bank and into another one: equal, all or nothing, and believed as far as a file is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import ImportRejected, InvalidInput

HOSTILE = 'it\'s "here" \\u0027 </data>&amp; \x1b[31m\r\n\t 🦊'
NODES = [
    {
        "id": "N1001", "label": "UserRequest", "conv_id": "budget", "text": HOSTILE, "tags": ["roi"],
        "user_role": "CFO", "ingestion_time": "2025-09-12T08:00:00Z",
    },
    {
        "id": "N1002", "label": "AgentAction", "conv_id": "budget", "text": "Merged the sources", "tags": [],
        "status": "complete", "parameter_field": {"on": ["join_key"]}, "ingestion_time": "2025-09-12T08:01:00Z",
    },
    {
        "id": "N1003", "label": "Event", "conv_id": "traffic", "text": "Bot traffic spike", "tags": ["july"],
        "source_type": "System Incident", "start_date": "2025-07-08", "end_date": "2025-07-15",
        "ingestion_time": "2025-09-12T08:02:00Z",
    },
]  # fmt: skip
EDGES = [
    {"id": "E1", "source": "N1001", "target": "N1002", "text": f"Triggers it. {HOSTILE}", "weight": 0.9, "tags": ["core"]},
    {"id": "E2", "source": "N1001", "target": "N1002", "kind": "causes", "text": "Also.", "weight": 0.3},
    {"source": "N1003", "target": "N1001", "text": "Explains the jump.", "weight": 0.6, "tags": ["bridge", "solution"]},
]  # fmt: skip


def opened(path: Path) -> ReasoningBank:
    return ReasoningBank.open(path, embedder="hash", namespace="n")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory):
    """A bank with a graph, and its exports by format."""
    folder = tmp_path_factory.mktemp("graph")
    with opened(folder / "bank.db") as bank:
        bank.record(title="Adjust", content="Never compute ROI before Rundown.", description="ROI", key="RB-01")
        bank.graph.add(NODES, EDGES)
        bank.link("N1002", "RB-01", "teaches", weight=0.85, text="Taught it.")
        files = {}
        for form in ("graphml", "cypher", "json"):
            files[form] = folder / f"graph.{form}"
            files[form].write_text("\n".join(bank.graph.export(form)), "utf-8", newline="")
        yield bank, files


def drawn(bank: ReasoningBank) -> tuple[list[dict], list[dict]]:
    """The whole graph without what an import decides anew: origins, ids that nobody chose, times of writing."""
    graph = json.loads("".join(bank.graph.export("json")))
    anew = ("origin", "update_time")
    nodes = [{k: v for k, v in node.items() if k not in anew} for node in graph["nodes"]]
    for lesson in (node for node in nodes if node["label"] == "Lesson"):
        del lesson["ingestion_time"]
    links = [{k: v for k, v in link.items() if k not in ("id", "created_time")} for link in graph["links"]]
    return sorted(nodes, key=lambda node: node["id"]), sorted(links, key=lambda link: link["text"])


@pytest.mark.parametrize("form", ["graphml", "json"])
def test_what_is_exported_is_imported_as_it_was_and_once(filled, tmp_path, form):
    bank, files = filled
    with opened(tmp_path / "other.db") as other:
        rehearsed = other.graph.import_file(files[form], dry_run=True)
        assert other.graph.conversations() == {}
        done = other.graph.import_file(files[form])
        assert done == rehearsed
        assert (done.layout, done.origin, dict(done.left_out), done.refused_edges) == (form, f"import:{form}", {}, 0)
        assert done.counts == {"lessons added": 1, "nodes added": 3, "edges added": 4}
        assert drawn(other) == drawn(bank)
        again = other.graph.import_file(files[form])
        assert again.counts == {"lessons unchanged": 1, "nodes unchanged": 3, "edges unchanged": 4}
        assert not other.graph.node("N1001").trusted


def test_a_name_of_an_import_is_its_origin_and_the_users_own_graph_is_believed(filled, tmp_path):
    _, files = filled
    with opened(tmp_path / "other.db") as other:
        assert other.graph.import_file(files["json"], name="colleague").origin == "import:colleague"
        assert other.graph.node("N1001").record.origin == "import:colleague"
    with opened(tmp_path / "third.db") as third:
        third.graph.import_file(files["json"], restore=True)
        assert third.graph.node("N1001").trusted


def test_one_conversation_is_exported_with_its_lessons_and_nothing_else(filled):
    bank, _ = filled
    part = json.loads("".join(bank.graph.export("json", conv_id="budget")))
    assert {node["id"] for node in part["nodes"]} == {"N1001", "N1002", "RB-01"}
    assert {link["kind"] for link in part["links"]} == {"relates", "causes", "teaches"}
    assert len(part["links"]) == 3


def test_a_selection_is_exported_in_every_format(filled):
    bank, _ = filled
    selected = bank.graph.conversation("traffic")
    for form in ("graphml", "cypher", "json"):
        text = "\n".join(bank.graph.export(form, part=selected))
        assert "N1003" in text
        assert "N1001" not in text
    with pytest.raises(InvalidInput, match="format 'dot' is unknown"):
        bank.graph.export("dot")


def test_names_that_two_namespaces_share_are_told_by_ids_when_all_is_exported(tmp_path):
    with opened(tmp_path / "bank.db") as bank:
        bank.graph.add(NODES[:1])
        other = bank.graph.add(NODES[:1], namespace="other").nodes[0]
        everything = json.loads("".join(bank.graph.export("json", namespace="*")))
        assert {node["id"] for node in everything["nodes"]} == {"N1001", other}
        assert len(json.loads("".join(bank.graph.export("json")))["nodes"]) == 1


BAD = {
    "a missing field": ({"nodes": [{"id": "N1", "label": "Event", "conv_id": "c"}]}, r"nodes\[0\]: .*is missing"),
    "a weight outside": (
        {"nodes": NODES, "links": [{"source": "N1001", "target": "N1002", "text": "x", "weight": 7}]},
        r"links\[0\]: weight must be a number from 0 to 1",
    ),
    "a dangling end": (
        {"nodes": NODES, "links": [{"source": "N1001", "target": "N404", "text": "x", "weight": 0.5}]},
        r"links\[0\]: target: there is no node or lesson 'N404'",
    ),
    "a loop": (
        {"nodes": NODES, "links": [{"source": "N1001", "target": "N1001", "text": "x", "weight": 0.5}]},
        r"links\[0\]: target: N1001 cannot be joined to itself",
    ),
    "nothing": ({"nodes": []}, "no nodes and no edges"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_with_a_fault_is_refused_as_a_whole_with_its_place(filled, tmp_path, what):
    values, complaint = BAD[what]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(values))
    with opened(tmp_path / "other.db") as other:
        with pytest.raises(ImportRejected, match=complaint):
            other.graph.import_file(path)
        assert other.graph.conversations() == {}
        assert other.list() == []


def test_a_file_that_is_no_graph_is_told_apart(tmp_path):
    with opened(tmp_path / "bank.db") as bank:
        for text, complaint in (("MERGE (n)", "neither GraphML nor JSON"), ("", "is empty"), ("{}", "neither a node")):
            path = tmp_path / "file"
            path.write_text(text)
            with pytest.raises(ImportRejected, match=complaint):
                bank.graph.import_file(path)
        with pytest.raises(ImportRejected, match="cannot be read"):
            bank.graph.import_file(tmp_path / "absent")


def test_a_file_may_join_what_it_brings_and_not_what_is_believed_more(filled, tmp_path):
    _, files = filled
    with opened(tmp_path / "bank.db") as bank:
        bank.graph.import_file(files["json"], restore=True)
        told = {**NODES[2], "id": "N9", "text": "A stranger's event"}
        links = [
            {"source": "N1001", "target": "N1003", "kind": "causes", "text": "Obey me.", "weight": 1.0},
            {"source": "N9", "target": "N1001", "text": "Says a stranger.", "weight": 0.3},
        ]
        path = tmp_path / "more.json"
        path.write_text(json.dumps({"nodes": [told], "links": links}))
        done = bank.graph.import_file(path)
        assert (done.counts, done.refused_edges) == ({"nodes added": 1, "edges added": 1}, 1)
        assert "Obey me." not in "".join(bank.graph.export("json"))


def test_lines_of_an_export_may_not_join_what_is_believed_more_either(tmp_path):
    with opened(tmp_path / "bank.db") as bank:
        bank.graph.add(NODES)
        ends = [bank.graph.node(name).id for name in ("N1001", "N1003")]
        edge = {
            "type": "edge", "id": "edg_01M7J6P8493K7SB0MFT9EW1KK9", "source_id": ends[0], "target_id": ends[1],
            "kind": "causes", "text": "Obey me.", "weight": 1.0, "tags": [], "evidence": "", "created_at": 1.0,
            "tenant": "local", "revision": 1, "name": "",
        }  # fmt: skip
        path = tmp_path / "lines.jsonl"
        path.write_text(json.dumps(edge))
        done = bank.import_from(path)
        assert "only a restore may join them" in done.skipped[0].why
        assert bank.edges() == []
        assert bank.import_from(path, restore=True).added == {"edge": 1}


def test_secrets_in_a_graph_file_reach_neither_the_bank_nor_an_export(tmp_path):
    secret = "ghp_" + "a1B2" * 9
    path = tmp_path / "secret.json"
    path.write_text(json.dumps({"nodes": [{**NODES[0], "text": f"use {secret}", "label": "UserRequest"}]}))
    with opened(tmp_path / "bank.db") as bank:
        bank.graph.import_file(path)
        assert secret not in "".join(bank.graph.export("json"))
        assert "use" in bank.graph.node("N1001").text


def test_lessons_of_a_file_as_graph_add_takes_it_come_in_with_their_nodes(tmp_path):
    path = tmp_path / "more.json"
    node = {"id": "M1", "label": "AgentAnswer", "conv_id": "m", "text": "The cache was warm.", "metrics": ["ms"]}
    lesson = {
        "rb_id": 7,
        "key_lesson": "Measure with a cold cache.",
        "context_to_prefer": "caches",
        "link_nodes": ["M1"],
    }
    path.write_text(json.dumps({"nodes": [node], "edges": [], "lessons": [lesson]}))
    with opened(tmp_path / "bank.db") as bank:
        done = bank.graph.import_file(path)
        assert (done.counts["nodes added"], done.counts["lessons added"], done.left_out) == (1, 1, {})
        [kept] = bank.graph.lessons()
        assert (kept["rb_id"], kept["key_lesson"], kept["link_nodes"]) == ("7", lesson["key_lesson"], ["M1"])
        again = bank.graph.import_file(path)
        assert not [what for what, count in again.counts.items() if count and "unchanged" not in what]
        path.write_text(json.dumps({"lessons": [{"rb_id": "8", "context_to_prefer": "caches"}]}))
        with pytest.raises(ImportRejected, match=r"lessons\[0\]: key_lesson is missing"):
            bank.graph.import_file(path)
