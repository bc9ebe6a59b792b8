"""The questions of the memory graph's document, asked of the conversations of a marketing team: a table.

The conversations (`fixtures/marketing.json`) are made up in the shape of the document: budgets, returns, the launch of the
Kia EV9, bots in July, the review of the fourth quarter, what the CFO office asks and what the VP Digital prefers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.bank.bank import Bank
from reasoningbank.core.types import NodeLabel
from reasoningbank.graph.subgraph import GraphHit, GraphPath, Walk

MARKETING: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "fixtures" / "marketing.json").read_text("utf-8")
)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    path = tmp_path_factory.mktemp("marketing") / "bank.db"
    with ReasoningBank.open(path, embedder="hash", namespace="marketing") as bank:
        bank.graph.add(**MARKETING)
        yield bank


def names(found: list[GraphHit] | Walk) -> list[str]:
    """What is reached, in order: the seeds of a walk, then what its paths lead to."""
    if not isinstance(found, Walk):
        return [hit.vertex.name if hit.vertex is not None else hit.edge.name for hit in found if hit.vertex or hit.edge]
    reached = [*names(list(found.seeds))]
    for path in found.paths:
        reached += [path.seed.name, *(hop.vertex.name for hop in path.hops)]
    return list(dict.fromkeys(reached))


def sentences(path: GraphPath) -> list[str]:
    return [hop.edge.text for hop in path.hops]


def test_about_sixty_nodes_of_all_labels_come_in_and_all_of_it_resolves(team: Bank) -> None:
    status = team.status()
    assert sum(status.nodes.values()) == len(MARKETING["nodes"])
    assert set(status.nodes) == set(NodeLabel)
    assert team.graph.check() == []
    assert {lesson["rb_id"]: sorted(lesson["link_nodes"]) for lesson in team.graph.lessons()} == {
        lesson["rb_id"]: sorted(lesson["link_nodes"]) for lesson in MARKETING["lessons"]
    }


SEARCHED: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "why did metrics change in July": ("Why did metrics change in July?", {}, {"N1002"}),
    "what happened in August": ("What happened in August?", {}, {"N1010", "N1021", "N1028"}),
    "events of a window": (
        "what happened",
        {"labels": ("Event",), "since": "2025-09-01", "until": "2025-09-10"},
        {"N1028", "N1034", "N1049"},
    ),
    "what the VP Digital prefers": ("What does the VP Digital prefer?", {}, {"RB-04", "N1038", "N1039"}),
    "what the VP Digital prefers, preferences only": (
        "preferences of the VP Digital",
        {"labels": ("UserPreference",)},
        {"N1038", "N1039"},
    ),
    "what the CFO office asks about returns": (
        "return on investment of print and search",
        {"roles": ("CFO office",)},
        {"N1022", "N1035"},
    ),
    "bridges by their tag": ("solution", {"tags": ("solution",)}, {"E3026", "E3017", "E3035", "E3054"}),
    "within one conversation": ("the budget deck", {"conv_id": "2025-09-12_Q4Budget_01"}, {"N1033"}),
    "the lesson before the same mistake": ("join channel spend with sales", {}, {"RB-01"}),
}


@pytest.mark.parametrize(("question", "filters", "wanted"), SEARCHED.values(), ids=SEARCHED)
def test_a_search_finds_what_the_document_asks_for(
    team: Bank, question: str, filters: dict[str, Any], wanted: set[str]
) -> None:
    found = names(team.graph.search(question, limit=8, **filters))
    assert wanted <= set(found), found


WALKED: dict[str, tuple[Callable[[Any], Walk], set[str]]] = {
    "why did metrics change in July": (
        lambda graph: graph.walk("Why did metrics change in July?"),
        {"N1002", "N1005", "N1006", "RB-02"},
    ),
    "what came of the launch": (
        lambda graph: graph.walk("the launch weeks of the Kia EV9 with test drives"),
        {"N1010", "N1009", "N1016"},
    ),
    "which slide the split of the quarter rests on": (
        lambda graph: graph.rests_on("N1032"),
        {"N1033", "N1025", "N1026"},
    ),
    "which slide the launch plan rests on": (lambda graph: graph.rests_on("N1013"), {"N1011", "N1015"}),
    "what led to the split of the quarter": (
        lambda graph: graph.led_to("N1032"),
        {"N1030", "N1031", "N1024", "N1023", "N1027"},
    ),
    "what contradicts the agency": (lambda graph: graph.contradicting("N1047"), {"N1046"}),
}


@pytest.mark.parametrize(("ask", "wanted"), WALKED.values(), ids=WALKED)
def test_a_walk_reaches_what_the_document_asks_for(team: Bank, ask: Callable[[Any], Walk], wanted: set[str]) -> None:
    found = ask(team.graph)
    assert wanted <= set(names(found)), names(found)
    assert ask(team.graph) == found, "the same question twice is walked the same way"


def test_all_solution_bridges_are_told_with_their_sentences(team: Bank) -> None:
    found = team.graph.bridges("solution")
    tagged = {edge["id"]: edge["text"] for edge in MARKETING["edges"] if "solution" in edge["tags"]}
    assert {hop.edge.name: hop.edge.text for path in found.paths for hop in path.hops} == tagged
    assert len(tagged) == 5


def test_why_metrics_changed_in_july_is_answered_by_sentences_that_say_why(team: Bank) -> None:
    walk = team.graph.walk("Why did metrics change in July?")
    said = {sentence for path in walk.paths for sentence in sentences(path)}
    assert "The flood of bots is the cause that the answer names for the jump in July." in said
    assert walk.paths[0].seed.name == "N1002"


def test_the_slide_is_named_to_the_part(team: Bank) -> None:
    first = team.graph.rests_on("N1032").paths[0].hops[-1].vertex
    fields = team.graph.seed_fields(first)
    assert (fields["doc_pointer"], fields["relevant_parts"]) == ("decks/q4_budget.pptx", "Slide 4")


def test_what_the_cfo_office_asks_often_is_told_by_topic(team: Bank) -> None:
    often = {topic.tag: [vertex.name for vertex in topic.requests] for topic in team.graph.asked_often("CFO office")}
    assert next(iter(often.items())) == ("roi", ["N1035", "N1022"])
    assert often["cpl"] == ["N1001"]
    assert "ev9" not in often
    assert team.graph.asked_often()[0].tag == "ev9"
    assert team.graph.asked_often("Nobody") == []


def test_the_refund_of_november_is_traced_to_the_bots_of_july(team: Bank) -> None:
    path = team.graph.path("N1002", "N1054")
    assert path is not None
    assert [hop.vertex.name for hop in path.hops] == ["N1005", "N1008", "N1054"]
    assert sentences(path)[-1] == "The refund that was asked for in July is the difference."
