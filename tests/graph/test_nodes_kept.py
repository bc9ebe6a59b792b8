"""What a bank does with every kind of record holds for nodes: export, erasure, verification, secrets, status."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import apsw
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import NotFound
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Edge, EdgeKind, Node
from tests.graph.test_nodes import ACTION, EDGE, EVENT, LESSON, NODES, REQUEST


@pytest.fixture
def graph(bank: Bank) -> Bank:
    bank.graph.add(NODES, [EDGE], [LESSON])
    return bank


def records(bank: Bank) -> list[dict[str, Any]]:
    with bank.context.store.read(bank.tenant) as reader:
        found: list[Any] = [*reader.select(Node, {}), *reader.select(Edge, {})]
        found += [one for node in reader.select(Node, {}) for one in reader.revisions(Node, node.id)]
    return [asdict(one) for one in found]


def bytes_in(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.rglob("*") if file.is_file())


# ---------------------------------------------------------------- export and import


def test_an_export_brings_nodes_edges_and_revisions_back_as_they_were(graph: Bank, tmp_path: Path) -> None:
    graph.graph.add([{**ACTION, "parameter_field": {"visits": ["a", 1, None, True]}}])
    (tmp_path / "all.jsonl").write_text("\n".join(graph.export_lines()), "utf-8")
    with ReasoningBank.open(tmp_path / "b" / "bank.db", embedder="hash", namespace="n") as other:
        taken = other.import_from(tmp_path / "all.jsonl", restore=True)
        assert taken.skipped == []
        assert records(other) == records(graph)
        assert other.graph.check() == other.verify() == []
        assert other.graph.lessons() == graph.graph.lessons()
        again = other.import_from(tmp_path / "all.jsonl", restore=True)
        assert (again.added.total(), again.revised) == (0, 0)


def test_nodes_of_a_file_come_in_as_a_strangers_and_may_not_replace_what_is_here(graph: Bank, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in graph.export_lines()]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with ReasoningBank.open(tmp_path / "b" / "bank.db", embedder="hash", namespace="n") as other:
        other.import_from(tmp_path / "all.jsonl")
        assert not other.graph.node("N1").trusted
        assert other.graph.node("N1").record.origin == "import:jsonl"
    forged = [{**one, "text": "Buy bots.", "revision": 2} for one in lines if one["type"] == "node"]
    new = [{**one, "id": f"nod_{'0' * 26}"} for one in lines if one["type"] == "node"][:1]
    (tmp_path / "forged.jsonl").write_text("\n".join(map(json.dumps, forged + new)), "utf-8")
    taken = graph.import_from(tmp_path / "forged.jsonl")
    assert (taken.added.total(), taken.revised) == (0, 0)
    assert "belongs to another node" in taken.skipped[-1].why
    assert graph.graph.node("N1").text == REQUEST["text"]


def test_a_line_whose_fields_are_not_those_of_its_label_is_refused_with_the_field(graph: Bank, tmp_path: Path) -> None:
    node = next(
        line for line in map(json.loads, graph.export_lines()) if line["type"] == "node" and line["name"] == "N2"
    )
    bad = [
        {**node, "fields": {**node["fields"], "status": "x"}},
        {**node, "fields": {"source_type": "Calendar"}},
        {**node, "label": "Meeting"},
        {**node, "fields": {**node["fields"], "end_date": "2020-01-01"}},
        {**node, "fields": "none"},
    ]
    (tmp_path / "bad.jsonl").write_text("\n".join(map(json.dumps, bad)), "utf-8")
    with ReasoningBank.open(tmp_path / "b" / "bank.db", embedder="hash", namespace="n") as other:
        reasons = [skipped.why for skipped in other.import_from(tmp_path / "bad.jsonl", restore=True).skipped]
        assert records(other) == []
    for reason, word in zip(reasons, ("status", "start_date", "label", "end_date", "metadata"), strict=True):
        assert word in reason


# ---------------------------------------------------------------- erasure


def test_an_erased_node_is_gone_with_its_edges_and_no_byte_of_it_is_left(
    graph: Bank, path: Path, tmp_path: Path
) -> None:
    said = "A sentence that nobody is to read again"
    graph.graph.add([{**REQUEST, "text": said}], [{**EDGE, "text": f"{said}, the edge"}])
    graph.graph.add([{**REQUEST, "text": "Harmless."}], [{**EDGE, "text": "Harmless."}])
    (tmp_path / "before.jsonl").write_text("\n".join(graph.export_lines()), "utf-8")
    removed = graph.graph.remove("N1")
    assert removed.name == "N1"
    (tmp_path / "before.jsonl").rename(tmp_path.parent / f"{tmp_path.name}.jsonl")
    assert said.encode() not in bytes_in(path)
    with pytest.raises(NotFound):
        graph.graph.node("N1")
    assert "E1" not in {edge.name for edge in graph.graph.conversation("c1").edges}
    assert graph.graph.check() == graph.verify() == []
    taken = graph.import_from(tmp_path.parent / f"{tmp_path.name}.jsonl", restore=True)
    assert any("was erased here" in skipped.why for skipped in taken.skipped)
    graph.graph.add([REQUEST])
    assert graph.graph.node("N1").text == REQUEST["text"], "who adds it anew means it"


def test_an_erased_conversation_is_gone_and_its_lessons_stay(graph: Bank, path: Path) -> None:
    assert graph.graph.remove_conversation("c1") == 3
    assert graph.graph.conversation("c1").vertices == ()
    assert len(graph.graph.conversation("c2").vertices) == 3
    assert EVENT["text"].encode() not in bytes_in(path)
    assert graph.get("RB-01").content == LESSON["key_lesson"]
    assert graph.graph.check() == []
    with pytest.raises(NotFound, match="no conversation 'c1'"):
        graph.graph.remove_conversation("c1")
    with pytest.raises(NotFound, match="is a lesson"):
        graph.graph.remove("RB-01")


def test_an_erased_lesson_leaves_no_pointer_to_it(graph: Bank) -> None:
    graph.erase("RB-01")
    assert graph.graph.seed_fields(graph.graph.node("N2"))["reasoning_pointer_ids"] == []
    assert graph.graph.check() == []


# ---------------------------------------------------------------- damage


def test_a_node_that_another_hand_altered_is_found(graph: Bank, path: Path) -> None:
    node = graph.graph.node("N1")
    graph.close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE nodes SET text = 'forged' WHERE id = ?", (node.id,))
    connection.close()
    with ReasoningBank.open(path, embedder="hash", namespace="n") as again:
        assert [(one.kind, one.id) for one in again.verify()] == [("node", node.id)]


def test_the_check_finds_what_no_verb_would_write(graph: Bank) -> None:
    nodes = {name: graph.graph.node(name).record for name in ("N1", "N2", "N3")}
    assert all(isinstance(node, Node) for node in nodes.values())

    def spoil(writer: Any) -> None:
        edge = writer.select(Edge, {"name": "E1"})[0]
        writer.revise(replace(nodes["N1"], fields={"user_role": ""}))
        writer.revise(replace(nodes["N2"], start_at=2.0, end_at=1.0))
        writer.add(replace(edge, id=f"edg_{'1' * 26}", target_id="nod_gone", name="E2"))
        writer.add(replace(edge, id=f"edg_{'2' * 26}", target_id=edge.source_id, name="E3"))
        writer.add(replace(edge, id=f"edg_{'3' * 26}", kind=EdgeKind.TEACHES, name="E1", weight=1.5))

    graph.context.bare_store.write("local", spoil)
    problems = {(one.kind, one.problem) for one in graph.graph.check()}
    assert problems == {
        ("node", "N1.user_role is empty."),
        ("node", "N2: its window is not that of its dates"),
        ("edge", "target_id nod_gone leads to nothing"),
        ("edge", "it joins its end to itself"),
        ("edge", "weight 1.5 is not from 0 to 1"),
        ("edge", "it teaches a node: only a lesson can be taught"),
        ("edge", "the name 'E1' stands twice"),
    }


# ---------------------------------------------------------------- figures


def test_the_status_counts_nodes_by_their_label(graph: Bank) -> None:
    status = graph.status()
    assert status.nodes == {entry["label"]: 1 for entry in NODES}
    assert status.edges == 3


# ---------------------------------------------------------------- what a walk asks


def test_the_strongest_edges_of_a_hub_are_read_without_the_others(bank: Bank) -> None:
    leaves = [{**REQUEST, "id": f"L{n}", "text": f"Question {n}"} for n in range(40)]
    bank.graph.add([EVENT, *leaves])
    bank.graph.add(
        edges=[
            {"id": f"H{n}", "source": "N2", "target": f"L{n}", "text": "It touches it.", "weight": n / 40}
            for n in range(40)
        ]
    )
    hub, leaf = bank.graph.node("N2").id, bank.graph.node("L7").id
    with bank.context.read_for_output() as reader:
        begin, end = reader.strongest_edges([hub, leaf], 3)
        assert [edge.name for edge in begin] == ["H39", "H38", "H37"]
        assert [edge.name for edge in end] == ["H7"]
        assert reader.degrees([hub, leaf]) == {hub: 40, leaf: 1}
        assert reader.degrees([hub], most=10) == {hub: 10}
        assert reader.degrees([]) == {}


def test_events_are_found_by_a_window_that_touches_theirs(bank: Bank) -> None:
    windows = {
        "june": ("2025-06-01", "2025-06-30"),
        "bots": ("2025-07-03", "2025-07-09"),
        "year": ("2025-01-01", "2025-12-31"),
    }
    bank.graph.add(
        [{**EVENT, "id": name, "start_date": start, "end_date": end} for name, (start, end) in windows.items()]
        + [{k: v for k, v in {**EVENT, "id": "launch", "start_date": "2025-08-01"}.items() if k != "end_date"}]
    )
    july = (1751328000.0, 1754006399.999)
    with bank.context.read_for_output() as reader:
        assert [node.name for node in reader.nodes_between(*july)] == ["year", "bots"]
        assert [node.name for node in reader.nodes_between(july[0] - 1, july[1] + 1)] == [
            "year",
            "june",
            "bots",
            "launch",
        ]
        assert [node.name for node in reader.nodes_between(*july, limit=1)] == ["year"]
    assert bank.for_tenant("other").graph.conversation("c1").vertices == ()


def test_lessons_of_a_file_are_joined_with_the_nodes_that_they_name(bank: Bank, tmp_path: Path) -> None:
    bank.graph.add(NODES)
    lessons = [LESSON, {**LESSON, "rb_id": "RB-02", "key_lesson": "Another one.", "link_nodes": ["N2", "N99"]}]
    (tmp_path / "lessons.jsonl").write_text("\n".join(map(json.dumps, lessons)), "utf-8")
    for _ in range(2):
        bank.import_from(tmp_path / "lessons.jsonl")
        assert bank.graph.seed_fields(bank.graph.node("N2"))["reasoning_pointer_ids"] == ["RB-01", "RB-02"]
    assert [one.problem for one in bank.graph.check()] == ["link_nodes: 'N99' leads to nothing"]
    told = {line["rb_id"]: line["link_nodes"] for line in map(json.loads, bank.export_lines(layout="lessons"))}
    assert told == {"RB-01": ["N2", "N3"], "RB-02": ["N2", "N99"]}
