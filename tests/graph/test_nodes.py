"""Nodes and named edges of the memory graph: what comes in, under which names, and what of it is refused."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import BankError, Conflict, InvalidInput, NotFound
from reasoningbank.core.types import Edge, Node, NodeLabel
from reasoningbank.graph.node_fields import FIELDS

REQUEST = {
    "id": "N1",
    "label": "UserRequest",
    "conv_id": "c1",
    "text": "Why did the cost per lead rise in July?",
    "tags": ["cpl", "july"],
    "user_role": "CFO office",
    "user_id": "u-7",
}
EVENT = {
    "id": "N2",
    "label": "Event",
    "conv_id": "c1",
    "text": "Bots flooded the landing page.",
    "source_type": "System Incident",
    "start_date": "2025-07-03",
    "end_date": "2025-07-09",
}
ACTION = {
    "id": "N3",
    "label": "AgentAction",
    "conv_id": "c1",
    "text": "Left the bots out.",
    "status": "complete",
    "parameter_field": "SELECT * FROM visits WHERE NOT bot",
}
PREFERENCE = {"id": "N4", "label": "UserPreference", "conv_id": "c2", "text": "Tables.", "preference_type": "report"}
ANSWER = {"id": "N5", "label": "AgentAnswer", "conv_id": "c2", "text": "Bots.", "metrics": ["cpl"]}
SOURCE = {
    "id": "N6",
    "label": "DataSource",
    "conv_id": "c2",
    "text": "The July deck.",
    "source_type": "pptx",
    "doc_pointer": "decks/july.pptx",
    "relevant_parts": "Slide 4",
}
NODES = [REQUEST, EVENT, ACTION, PREFERENCE, ANSWER, SOURCE]
EDGE = {
    "id": "E1",
    "source": "N2",
    "target": "N1",
    "text": "The bots explain the rise.",
    "weight": 0.9,
    "tags": ["why"],
}
LESSON = {
    "rb_id": "RB-01",
    "key_lesson": "Leave bot traffic out before a cost per lead is compared.",
    "context_to_prefer": "Cost per lead over months",
    "tags": ["cpl"],
    "link_nodes": ["N2", "N3"],
}


@pytest.fixture
def graph(bank: Bank) -> Bank:
    bank.graph.add(NODES, [EDGE], [LESSON])
    return bank


def without(entry: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != name}


def held(bank: Bank) -> tuple[int, int, int]:
    with bank.context.store.read(bank.tenant) as reader:
        return reader.count(Node, {}), reader.count(Edge, {}), len(bank.list())


def test_the_page_says_which_fields_of_a_label_are_required() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "graph.md").read_text("utf-8")
    for label, fields in FIELDS.items():
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{label}` |")]
        told = [re.findall(r"`(\w+)`", cell) for cell in row.split("|")[3:5]]
        required = [name for name, field in fields.items() if field.is_required]
        assert told == [required, [name for name in fields if name not in required]]


# ---------------------------------------------------------------- in and out again


def test_a_node_of_each_label_comes_back_with_the_fields_of_its_label(graph: Bank) -> None:
    for entry in NODES:
        vertex = graph.graph.node(entry["id"])
        view = graph.graph.seed_fields(vertex)
        assert {name: view[name] for name in entry} == entry
        assert vertex.label == entry["label"]
        assert vertex.record.revision == 1
    assert {NodeLabel(entry["label"]) for entry in NODES} == set(NodeLabel)


def test_pointers_resolve_both_ways_and_the_check_finds_nothing_wrong(graph: Bank) -> None:
    assert graph.graph.seed_fields(graph.graph.node("N2"))["reasoning_pointer_ids"] == ["RB-01"]
    assert graph.graph.lessons() == [
        {**LESSON, "title": "Leave bot traffic out before a cost per lead is compared.", "outcome": "success"}
    ]
    graph.graph.add([{**ANSWER, "reasoning_pointer_ids": ["RB-01"]}])
    assert graph.graph.lessons()[0]["link_nodes"] == ["N2", "N3", "N5"]
    assert graph.graph.check() == []
    assert graph.get("RB-01").content == LESSON["key_lesson"]
    assert graph.get("RB-01").description == LESSON["context_to_prefer"]


def test_the_same_again_changes_nothing_and_what_differs_is_revised(graph: Bank) -> None:
    head = graph.context.store.head()
    again = graph.graph.add(NODES, [EDGE], [LESSON])
    assert again.counts == {"nodes unchanged": 6, "edges unchanged": 3, "lessons unchanged": 1}
    assert graph.context.store.head() == head
    changed = graph.graph.add([{**ANSWER, "text": "Bots, for one week."}], [{**EDGE, "weight": 0.95}])
    assert changed.counts == {"nodes revised": 1, "edges revised": 1}
    node = graph.graph.node("N5").record
    with graph.context.store.read(graph.tenant) as reader:
        assert [one.text for one in reader.revisions(Node, node.id)] == ["Bots."]
        assert [one.weight for one in reader.revisions(Edge, changed.edges[0])] == [0.9]


def test_what_has_no_id_is_known_again_by_what_it_says(bank: Bank) -> None:
    nodes = [without(entry, "id") for entry in (REQUEST, EVENT, REQUEST, {**EVENT, "start_date": "2025-07-04"})]
    lessons = [{"key_lesson": "Ask twice.", "context_to_prefer": when} for when in ("Always", "Mondays")]
    first = bank.graph.add(nodes, (), lessons)
    assert (len(set(first.nodes)), len(set(first.lessons))) == (4, 2), "said twice in one file, it was said twice"
    again = bank.graph.add(nodes, (), lessons)
    assert (again.nodes, again.lessons) == (first.nodes, first.lessons)
    assert again.counts == {"nodes unchanged": 4, "lessons unchanged": 2}
    tagged = bank.graph.add([{**nodes[1], "tags": ["bots"]}], (), [{**lessons[0], "tags": ["asking"]}])
    assert tagged.counts == {"nodes revised": 1, "lessons revised": 1}
    for other in ({"namespace": "other"}, {"origin": "agent"}):
        assert bank.graph.add([nodes[0]], (), [lessons[0]], **other).counts == {"nodes added": 1, "lessons added": 1}
    assert bank.graph.node(first.nodes[0]).name == first.nodes[0], "its id is its name"


def test_a_conversation_is_shown_with_its_edges_and_lessons_and_what_is_written_out_comes_in_elsewhere(
    graph: Bank, tmp_path: Any
) -> None:
    shown = graph.graph.conversation("c1")
    assert [vertex.name for vertex in shown.vertices] == ["N1", "N2", "N3", "RB-01"]
    assert [edge.name or edge.kind.value for edge in shown.edges] == ["E1", "teaches", "teaches"]
    view = graph.graph.seed_fields(shown)
    head = graph.context.store.head()
    graph.graph.add(**view)
    assert graph.context.store.head() == head
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other:
        other.graph.add(**view)
        there = other.graph.seed_fields(other.graph.conversation("c1"))
    for noun, entries in view.items():
        assert [without(entry, "embedding_id") for entry in there[noun]] == [
            without(entry, "embedding_id") for entry in entries
        ]


def test_several_edges_of_one_kind_join_the_same_two_nodes_when_each_has_a_name(graph: Bank) -> None:
    graph.graph.add(edges=[{**EDGE, "id": "E2", "text": "They came in the week that was asked about.", "weight": 0.3}])
    assert [edge.name for edge in graph.graph.conversation("c1").edges if edge.name] == ["E1", "E2"]
    with pytest.raises(
        InvalidInput, match=r"edges\[1\].source and target: N1 → N3 → relates is also that of edges\[0\]"
    ):
        graph.graph.add(edges=[{"source": "N1", "target": "N3", "text": said, "weight": 0.5} for said in "ab"])


def test_a_name_belongs_to_its_namespace(graph: Bank) -> None:
    graph.graph.add([{**REQUEST, "text": "Another one."}, EVENT], [{**EDGE, "text": "Elsewhere."}], namespace="b")
    assert graph.graph.node("N1").text == REQUEST["text"]
    assert graph.graph.node("N1", namespace="b").text == "Another one."
    assert {edge.text for edge in graph.graph.conversation("c1", namespace="b").edges} == {"Elsewhere."}


@pytest.mark.parametrize(
    ("given", "kept", "first", "last"),
    [
        ("2025-07-03", "2025-07-03", datetime(2025, 7, 3, tzinfo=UTC), datetime(2025, 7, 3, 23, 59, 59, 999000, UTC)),
        (
            date(2025, 7, 3),
            "2025-07-03",
            datetime(2025, 7, 3, tzinfo=UTC),
            datetime(2025, 7, 3, 23, 59, 59, 999000, UTC),
        ),
        ("2025-07-03T10:00:00+02:00", "2025-07-03T08:00:00Z", *[datetime(2025, 7, 3, 8, tzinfo=UTC)] * 2),
        ("2025-07-03T08:00:00", "2025-07-03T08:00:00Z", *[datetime(2025, 7, 3, 8, tzinfo=UTC)] * 2),
        (datetime(2025, 7, 3, 8, tzinfo=UTC), "2025-07-03T08:00:00Z", *[datetime(2025, 7, 3, 8, tzinfo=UTC)] * 2),
    ],
)
def test_dates_come_in_as_iso_and_go_out_as_iso(
    bank: Bank, given: object, kept: str, first: datetime, last: datetime
) -> None:
    bank.graph.add([{**without(EVENT, "end_date"), "start_date": given}])
    node = bank.graph.node("N2").record
    assert isinstance(node, Node)
    assert node.fields["start_date"] == kept
    assert (node.start_at, node.end_at) == (first.timestamp(), last.timestamp())


def test_the_moments_of_a_node_and_an_edge_are_kept_as_they_were_said(bank: Bank) -> None:
    at = "2025-09-12T08:00:00Z"
    node = {**REQUEST, "ingestion_time": at, "update_time": "2025-09-13T08:00:00Z", "embedding_id": "emb_N1"}
    bank.graph.add([node, EVENT], [{**EDGE, "created_time": at}])
    view = bank.graph.seed_fields(bank.graph.conversation("c1"))
    assert (view["nodes"][0]["ingestion_time"], view["nodes"][0]["update_time"]) == (at, "2025-09-13T08:00:00Z")
    assert view["edges"][0]["created_time"] == at
    assert view["edges"][0]["band"] == "core"


# ---------------------------------------------------------------- what is refused

BAD_NODES: dict[str, tuple[Any, str]] = {
    "no list": ("N1", "nodes must be a list of objects"),
    "an object": ({"id": "N1"}, "nodes must be a list of objects"),
    "no object": ([REQUEST, 3], r"nodes\[1\] must be an object"),
    "unknown label": (
        [{**REQUEST, "label": "Question"}],
        r"nodes\[0\].label 'Question' is unknown: use one of UserRequest",
    ),
    "no label": ([without(REQUEST, "label")], r"nodes\[0\].label is missing"),
    "two labels": (
        [{**without(EVENT, "label"), "labels": ["Event", "DataSource"]}],
        r"nodes\[0\].label: a node has exactly one",
    ),
    "a label and another": ([{**EVENT, "labels": ["DataSource"]}], r"nodes\[0\].label: a node has exactly one"),
    "a label that is a number": ([{**EVENT, "label": 3}], r"nodes\[0\].label 3 is unknown"),
    "no conversation": ([EVENT, without(REQUEST, "conv_id")], r"nodes\[1\].conv_id is missing"),
    "no text": ([{**REQUEST, "text": "  "}], r"nodes\[0\].text is empty"),
    "text that is none": ([{**REQUEST, "text": b"bytes"}], r"nodes\[0\].text must be text, not bytes"),
    "an id that is a number": ([{**REQUEST, "id": 1001}], r"nodes\[0\].id must be text, not int"),
    "tags that are one word": ([{**REQUEST, "tags": "cpl"}], r"nodes\[0\].tags must be a list"),
    "a field of another label": (
        [{**REQUEST, "status": "done"}],
        r"nodes\[0\].status: a UserRequest has no such field",
    ),
    "a field of nobody": ([{**EVENT, "colour": "red"}], r"nodes\[0\].colour: an Event has no such field"),
    "no role": ([without(REQUEST, "user_role")], r"nodes\[0\].user_role is missing"),
    "no status": ([without(ACTION, "status")], r"nodes\[0\].status is missing"),
    "no parameters": ([without(ACTION, "parameter_field")], r"nodes\[0\].parameter_field is missing"),
    "parameters of no kind": ([{**ACTION, "parameter_field": 3}], r"nodes\[0\].parameter_field must be text or JSON"),
    "parameters beyond JSON": (
        [{**ACTION, "parameter_field": {"x": {1}}}],
        r"nodes\[0\].parameter_field cannot be written",
    ),
    "no preference": ([without(PREFERENCE, "preference_type")], r"nodes\[0\].preference_type is missing"),
    "metrics that are one word": ([{**ANSWER, "metrics": "cpl"}], r"nodes\[0\].metrics must be a list of words"),
    "no pointer": ([without(SOURCE, "doc_pointer")], r"nodes\[0\].doc_pointer is missing"),
    "parts that are a number": ([{**SOURCE, "relevant_parts": 4}], r"nodes\[0\].relevant_parts must be text or a list"),
    "a date that is none": ([{**EVENT, "start_date": "July"}], r"nodes\[0\].start_date: 'July' is no ISO date"),
    "a date out of reach": ([{**EVENT, "end_date": "2025-13-01"}], r"nodes\[0\].end_date: '2025-13-01' is no ISO date"),
    "an end before the beginning": (
        [{**EVENT, "end_date": "2025-07-01"}],
        r"nodes\[0\].end_date: 2025-07-01 is before start_date",
    ),
    "a moment that is none": ([{**REQUEST, "ingestion_time": [1]}], r"nodes\[0\].ingestion_time must be an ISO date"),
    "one name twice": ([REQUEST, EVENT, {**ANSWER, "id": "N1"}], r"nodes\[2\].id: N1 is also that of nodes\[0\]"),
    "pointers that are one word": (
        [{**REQUEST, "reasoning_pointer_ids": "RB-01"}],
        r"nodes\[0\].reasoning_pointer_ids must be a list",
    ),
    "a pointer to nothing": (
        [EVENT, {**REQUEST, "reasoning_pointer_ids": ["RB-9"]}],
        r"nodes\[1\].reasoning_pointer_ids: there is no lesson 'RB-9'",
    ),
    "a pointer to a node": (
        [EVENT, {**REQUEST, "reasoning_pointer_ids": ["N2"]}],
        r"nodes\[1\].reasoning_pointer_ids: there is no lesson 'N2'",
    ),
}
BAD_EDGES: dict[str, tuple[Any, str]] = {
    "no list": ("E1", "edges must be a list of objects"),
    "too strong": ([{**EDGE, "weight": 1.01}], r"edges\[0\].weight must be a number from 0 to 1, not 1.01"),
    "less than nothing": ([{**EDGE, "weight": -0.1}], r"edges\[0\].weight must be a number from 0 to 1"),
    "no number": ([{**EDGE, "weight": float("nan")}], r"edges\[0\].weight must be a number from 0 to 1"),
    "a weight in words": ([{**EDGE, "weight": "strong"}], r"edges\[0\].weight must be a number from 0 to 1"),
    "no weight": ([without(EDGE, "weight")], r"edges\[0\].weight is missing"),
    "no sentence": ([{**EDGE, "text": ""}], r"edges\[0\].text is empty"),
    "text that is none": ([{**EDGE, "text": ["why"]}], r"edges\[0\].text must be text, not list"),
    "a loop": ([{**EDGE, "target": "N2"}], r"edges\[0\].target: N2 cannot be joined to itself"),
    "no source": ([without(EDGE, "source")], r"edges\[0\].source is missing"),
    "a source that is nowhere": ([{**EDGE, "source": "N99"}], r"edges\[0\].source: there is no node or lesson 'N99'"),
    "a target that is nowhere": (
        [EDGE, {**EDGE, "id": "E2", "target": "N99"}],
        r"edges\[1\].target: there is no node or lesson 'N99'",
    ),
    "an unknown kind": ([{**EDGE, "kind": "likes"}], r"edges\[0\].kind 'likes' is unknown"),
    "an unknown field": ([{**EDGE, "colour": "red"}], r"edges\[0\].colour: an edge has no such field"),
    "one name twice": ([EDGE, {**EDGE, "source": "N3"}], r"edges\[1\].id: E1 is also that of edges\[0\]"),
}
BAD_LESSONS: dict[str, tuple[Any, str]] = {
    "no lesson": ([without(LESSON, "key_lesson")], r"lessons\[0\].key_lesson is missing"),
    "text that is none": ([{**LESSON, "key_lesson": 3}], r"lessons\[0\].key_lesson must be text"),
    "an unknown field": ([{**LESSON, "colour": "red"}], r"lessons\[0\].colour: a lesson has no such field"),
    "a link to nothing": ([{**LESSON, "link_nodes": ["N99"]}], r"lessons\[0\].link_nodes: there is no node 'N99'"),
    "one name twice": ([LESSON, LESSON], r"lessons\[1\].rb_id: RB-01 is also that of lessons\[0\]"),
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with ReasoningBank.open(tmp_path_factory.mktemp("strict") / "bank.db", embedder="hash", namespace="n") as bank:
        yield bank


@pytest.mark.parametrize(
    ("noun", "given", "said"),
    [
        pytest.param(noun, given, said, id=f"{noun}: {name}")
        for noun, table in (("nodes", BAD_NODES), ("edges", BAD_EDGES), ("lessons", BAD_LESSONS))
        for name, (given, said) in table.items()
    ],
)
def test_what_is_wrong_is_named_by_its_field_and_nothing_is_half_written(
    strict: Bank, noun: str, given: Any, said: str
) -> None:
    good: dict[str, Any] = {"nodes": NODES, "edges": [EDGE], "lessons": [LESSON]}
    before = strict.context.store.head()
    with pytest.raises(InvalidInput, match=said):
        strict.graph.add(**{**good, noun: given})
    assert strict.context.store.head() == before
    assert held(strict) == (0, 0, 0)


def test_a_circle_of_edges_is_no_mistake(graph: Bank) -> None:
    ring = [("N1", "N2"), ("N2", "N3"), ("N3", "N1")]
    graph.graph.add(edges=[{"source": a, "target": b, "text": "Then.", "weight": 0.5} for a, b in ring])
    assert len(graph.graph.conversation("c1").edges) == 6
    assert graph.graph.check() == []


def test_a_weight_between_two_bands_is_taken_as_it_is(graph: Bank) -> None:
    for weight, band in ((1.0, "core"), (0.8, "bridge"), (0.5, "topical"), (0.1, "faint"), (0.0, "faint")):
        graph.graph.add(edges=[{**EDGE, "weight": weight}])
        shown = graph.graph.seed_fields(graph.graph.conversation("c1"))["edges"][0]
        assert (shown["weight"], shown["band"]) == (weight, band)


# ---------------------------------------------------------------- links by hand


def test_a_memory_and_a_node_can_be_linked_by_hand(graph: Bank) -> None:
    edge = graph.link("N6", "RB-01", "requires", text="The deck says which visits were bots.")
    assert edge.kind == "requires"
    listed = {(joined.source, joined.target) for joined in graph.edges(kind="requires")}
    assert listed == {("N6 DataSource: The July deck.", "Leave bot traffic out before a cost per lead is compared.")}
    with pytest.raises(NotFound):
        graph.link("N6", "N77", "requires")
    with pytest.raises(InvalidInput, match="cannot be linked to itself"):
        graph.link("N6", graph.graph.node("N6").id, "requires")


def test_a_node_is_found_by_a_piece_of_its_id_and_one_that_is_not_there_is_told_so(graph: Bank) -> None:
    node = graph.graph.node("N6")
    assert graph.graph.node(node.id).name == graph.graph.node(node.id[-9:]).name == "N6"
    with pytest.raises(NotFound, match="no node or lesson 'N66' in namespace 'n'"):
        graph.graph.node("N66")
    assert graph.graph.conversation("c9").vertices == ()


# ---------------------------------------------------------------- trust


def test_a_strangers_node_is_marked_and_a_revoked_strangers_is_not_shown(graph: Bank) -> None:
    page = {**SOURCE, "id": "W1", "text": "A page says the bots are customers."}
    graph.graph.add([page], [{**EDGE, "id": "E9", "source": "W1", "target": "N1"}], origin="tool:web")
    assert graph.graph.node("N6").trusted
    assert not graph.graph.node("W1").trusted
    assert "W1" in {vertex.name for vertex in graph.graph.conversation("c2").vertices}
    assert [(one.origin, one.nodes, one.memories) for one in graph.trust.origins()] == [
        ("tool:web", 1, 0),
        ("user", 6, 1),
    ]
    with pytest.raises(InvalidInput, match="Only nodes of the memory graph came from 'tool:web'"):
        graph.trust.approve("tool:web")
    ruling = graph.trust.revoke("tool:web")
    assert "W1" not in {vertex.name for vertex in graph.graph.conversation("c2").vertices}
    with pytest.raises(NotFound, match="origin was revoked"):
        graph.graph.node("W1")
    graph.trust.undo(ruling.id)
    assert not graph.graph.node("W1").trusted
    graph.graph.add([page])
    assert graph.graph.node("W1").trusted, "the user says the same"


@pytest.mark.parametrize(
    "forged",
    [
        {"nodes": [{**REQUEST, "text": "Buy more bots."}]},
        {"edges": [{**EDGE, "text": "The bots are customers."}]},
        {"edges": [{**EDGE, "id": "E8", "source": "N3", "target": "N1"}]},
        {"lessons": [{**LESSON, "key_lesson": "Bots are customers."}]},
    ],
    ids=["a node", "an edge", "a new edge", "a lesson"],
)
def test_a_stranger_may_not_change_what_is_believed_more_than_it(graph: Bank, forged: dict[str, Any]) -> None:
    head = graph.context.store.head()
    with pytest.raises(Conflict):
        graph.graph.add(**forged, origin="tool:web")
    assert graph.context.store.head() == head


def test_an_agent_may_join_what_the_user_said_and_not_change_how_the_user_joined_it(graph: Bank) -> None:
    graph.graph.add(edges=[{**EDGE, "id": "E8", "source": "N3", "target": "N1"}], origin="agent")
    head = graph.context.store.head()
    with pytest.raises(Conflict, match=r"E1 joins N1 and N2|E1 joins N2 and N1"):
        graph.graph.add(edges=[{**EDGE, "text": "They do not."}], origin="agent")
    with pytest.raises(Conflict, match=r"nodes\[0\]: N1, .* agent may not change it"):
        graph.graph.add([{**REQUEST, "text": "They do not."}], origin="agent")
    assert graph.context.store.head() == head


def test_another_tenant_sees_and_reaches_none_of_it(graph: Bank) -> None:
    other = graph.for_tenant("other")
    node = graph.graph.node("N1")
    for reference in ("N1", node.id, node.id[-9:], "RB-01"):
        with pytest.raises(NotFound):
            other.graph.node(reference)
        with pytest.raises(BankError):
            other.graph.remove(reference)
    assert other.graph.conversation("c1").vertices == ()
    assert other.graph.lessons() == []
    with pytest.raises(InvalidInput, match="there is no node or lesson"):
        other.graph.add([EVENT], [{**EDGE, "target": node.id}])
    other.graph.add([REQUEST, EVENT], [EDGE])
    assert held(other)[:2] == (2, 1)
    assert held(graph)[:2] == (6, 3)
