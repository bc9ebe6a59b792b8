"""Search and walks over one small graph: two conversations about a campaign, a lesson, and what may not be shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.graph.subgraph import GraphHit, Walk
from tests.conftest import Clock

NODES: list[dict[str, Any]] = [
    {"id": "N1", "label": "UserRequest", "conv_id": "c1", "text": "Why did ROI drop for the EV9 campaign?",
     "tags": ["roi", "ev9"], "user_role": "CFO office", "user_id": "u1"},
    {"id": "N2", "label": "AgentAction", "conv_id": "c1", "text": "Merged media spend with sales on the campaign id",
     "tags": ["join"], "status": "complete", "parameter_field": "SELECT * FROM spend JOIN sales USING (campaign_id)"},
    {"id": "N3", "label": "AgentAnswer", "conv_id": "c1", "text": "ROI dropped because bots inflated the clicks",
     "tags": ["roi", "answer"], "analysis_types": ["attribution"], "metrics": ["roi"]},
    {"id": "N4", "label": "Event", "conv_id": "c1", "text": "Bot traffic spike on the landing page",
     "tags": ["incident"], "source_type": "System Incident", "start_date": "2025-07-08", "end_date": "2025-07-14"},
    {"id": "N5", "label": "DataSource", "conv_id": "c1", "text": "Quarterly media deck",
     "tags": ["deck"], "source_type": "pptx", "doc_pointer": "decks/q3.pptx", "relevant_parts": "Slide 4"},
    {"id": "N6", "label": "UserRequest", "conv_id": "c2", "text": "Which ROI should the report show?",
     "tags": ["roi"], "user_role": "VP Digital", "user_id": "u2"},
    {"id": "N7", "label": "AgentAnswer", "conv_id": "c2", "text": "Filter bot sessions before ROI is computed",
     "tags": ["roi"], "analysis_types": [], "metrics": ["roi"]},
    {"id": "N8", "label": "Event", "conv_id": "c2", "text": "Business review of the quarter",
     "tags": ["meeting"], "source_type": "Calendar", "start_date": "2025-11-03", "end_date": "2025-11-03"},
]  # fmt: skip
EDGES: list[dict[str, Any]] = [
    {"id": "E1", "source": "N1", "target": "N2", "text": "The request triggers the merge", "weight": 0.95},
    {"id": "E2", "source": "N2", "target": "N3", "text": "The merged table leads to the conclusion", "weight": 0.9},
    {"id": "E3", "source": "N4", "target": "N3", "text": "The spike explains the drop", "weight": 0.9},
    {"id": "E4", "source": "N3", "target": "N5", "text": "The conclusion rests on slide 4", "weight": 0.7},
    {"id": "E5", "source": "N7", "target": "N3", "text": "Filtering is the cure for inflated clicks", "weight": 0.65,
     "tags": ["bridge", "solution"]},
    {"id": "E6", "source": "N7", "target": "N1", "text": "Refutes that spend was cut", "weight": 0.6,
     "tags": ["contradicts"]},
    {"id": "E7", "source": "N6", "target": "N7", "text": "The question is answered by a filter", "weight": 0.95},
    {"id": "E8", "source": "N7", "target": "rundown", "text": "The answer taught the lesson", "weight": 0.9,
     "kind": "teaches"},
    {"id": "E9", "source": "N8", "target": "N6", "text": "Both are about the quarter", "weight": 0.3,
     "tags": ["bridge", "solution"]},
]  # fmt: skip


@pytest.fixture(scope="module", params=["hash", "local"])
def campaign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReasoningBank]:
    path = tmp_path_factory.mktemp("graph") / "bank.db"
    with ReasoningBank.open(path, embedder=request.param, namespace="ads", clock=Clock()) as bank:
        bank.record(
            title="Adjust for the rundown",
            content="Never compute ROI without adjusting it for the rundown of stock.",
            description="Tasks that combine channel data with sales",
            key="rundown",
        )
        bank.graph.add(NODES, EDGES)
        yield bank


def names(hits: list[GraphHit]) -> list[str]:
    return [hit.vertex.name if hit.vertex else hit.edge.name if hit.edge else "" for hit in hits]


def told(walk: Walk) -> list[str]:
    return [" ".join((path.seed.name, *(hop.vertex.name for hop in path.hops))) for path in walk.paths]


def test_nodes_edges_and_lessons_are_found_on_one_scale(campaign: ReasoningBank) -> None:
    assert names(campaign.graph.search("Why did ROI drop for the EV9 campaign?"))[0] == "N1"
    assert "E3" in names(campaign.graph.search("the spike explains the drop"))
    found = campaign.graph.search("tasks that combine channel data with sales", labels=["Lesson"])
    assert names(found) == ["rundown"]
    assert found[0].parts["context"] > found[0].parts["lesson"]
    assert found.not_yet_indexed == 0


def test_the_words_of_special_fields_find_their_node(campaign: ReasoningBank) -> None:
    assert names(campaign.graph.search("decks/q3.pptx"))[0] == "N5"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"labels": ["UserRequest"]}, {"N1", "N6"}),
        ({"labels": ["AgentAnswer", "Lesson"]}, {"N3", "N7", "rundown"}),
        ({"roles": ["VP Digital"]}, {"N6"}),
        ({"roles": ["VP Digital", "CFO office"]}, {"N1", "N6"}),
        ({"conv_id": "c2", "labels": ["UserRequest", "AgentAnswer"]}, {"N6", "N7"}),
        ({"tags": ["roi", "answer"]}, {"N3"}),
        ({"tags": ["roi", "answer"], "tags_first": False}, {"N3"}),
        ({"exclude": ["c1"], "labels": ["UserRequest"]}, {"N6"}),
        ({"namespace": "other"}, set()),
    ],
)
def test_filters(campaign: ReasoningBank, filters: dict[str, Any], found: set[str]) -> None:
    assert set(names(campaign.graph.search("ROI", floor=0.0, **filters))) == found


def test_events_are_found_by_their_window_whatever_their_words(campaign: ReasoningBank) -> None:
    asked = campaign.graph.search("what happened in July 2025?")
    assert asked.words_of_time == "July 2025"
    assert names(asked)[0] == "N4"
    assert "N8" not in names(asked)
    ids = names(campaign.graph.search("happened", since="2025-07-14", until="2025-07-20", labels=["Event"], floor=0.0))
    assert ids == ["N4"]
    assert names(campaign.graph.search("review", since="2025-07-15", until="2025-07-20", floor=0.0)) == []


def test_a_month_without_a_year_is_the_latest_in_which_something_was(campaign: ReasoningBank) -> None:
    assert names(campaign.graph.search("why did metrics change in July?"))[0] == "N4"


def test_a_walk_goes_from_what_matches_to_what_explains_it(campaign: ReasoningBank) -> None:
    walk = campaign.graph.walk("why did metrics change in July?")
    assert told(walk)[0].startswith("N4 N3")
    best = walk.paths[0]
    assert best.score == pytest.approx(sum(part for name, part in best.parts.items() if name != "match"))
    assert walk.paths == campaign.graph.walk("why did metrics change in July?").paths


def test_a_walk_from_names_needs_no_question_and_comes_to_lessons_too(campaign: ReasoningBank) -> None:
    walk = campaign.graph.walk(seeds=["N6"])
    assert told(walk)[0].startswith("N6 N7")
    assert any("rundown" in path for path in told(walk))
    assert told(campaign.graph.walk(seeds=["N6"], depth=1)) == ["N6 N7", "N6 N8"]


def test_typed_questions(campaign: ReasoningBank) -> None:
    graph = campaign.graph
    assert told(graph.led_to("N3")) == ["N3 N2 N1", "N3 N4"]
    assert told(graph.led_to("rundown")) == ["rundown N7 N6"]
    assert told(graph.rests_on("N3")) == ["N3 N5"]
    assert told(graph.contradicting("N1")) == ["N1 N7"]
    assert told(graph.contradicting("N3")) == ["N3 N2 N1 N7"]
    assert told(graph.bridges("solution")) == ["N7 N3", "N8 N6"]
    assert told(graph.bridges("solution", limit=1)) == ["N7 N3"]
    assert graph.bridges("solution", limit=1).cut_off == {"paths": 1}


def test_the_strongest_and_the_shortest_path(campaign: ReasoningBank) -> None:
    strongest, shortest = (campaign.graph.path("N1", "N3", by=by) for by in ("strongest", "shortest"))
    assert strongest is not None
    assert [hop.edge.name for hop in strongest.hops] == ["E1", "E2"]
    assert strongest.score == pytest.approx(0.95 * 0.9)
    assert shortest is not None
    assert len(shortest.hops) == 2
    assert campaign.graph.path("N1", "N8") is not None
    assert campaign.graph.path("N1", "N8", depth=2) is None


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda graph: graph.search(""), "empty"),
        (lambda graph: graph.search("roi", labels=["Wish"]), "Wish"),
        (lambda graph: graph.search("roi", limit=0), "limit"),
        (lambda graph: graph.search("roi", since="soon"), "since"),
        (lambda graph: graph.search("roi", colour="red"), "colour"),
        (lambda graph: graph.walk("roi", depth=99), "depth"),
        (lambda graph: graph.walk("roi", branching=0), "branching"),
        (lambda graph: graph.walk(), "empty"),
        (lambda graph: graph.path("N1", "N3", by="luck"), "luck"),
        (lambda graph: graph.bridges(""), "tag"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(campaign: ReasoningBank, ask: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        ask(campaign.graph)


def test_other_tenants_namespaces_forgotten_and_revoked_things_are_never_come_to(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        kept = bank.record(title="Kept", content="Kept advice about invoices").id
        gone = bank.record(title="Gone", content="Gone advice about invoices").id
        nodes = [
            {"id": f"N{i}", "label": "AgentAnswer", "conv_id": "c", "text": f"Answer {i} about invoices"}
            for i in (1, 2)
        ]
        bank.graph.add([nodes[0]], origin="user")
        bank.graph.add([nodes[1]], origin="tool:crawler")
        bank.graph.add(edges=[
            {"id": f"E{i}", "source": "N1", "target": end, "text": f"Sentence {i} about invoices", "weight": 0.9}
            for i, end in enumerate(("N2", gone, kept))
        ])  # fmt: skip
        bank.graph.add([{**nodes[0], "text": "Foreign answer about invoices"}], namespace="foreign")
        seen = set(names(bank.graph.search("invoices", limit=50, floor=0.0)))
        assert {"N1", "N2", gone, kept, "E0", "E1", "E2"} <= seen
        assert all(
            "Foreign" not in hit.vertex.text
            for hit in bank.graph.search("foreign answer invoices", floor=0.0)
            if hit.vertex
        )
        bank.forget(gone)
        bank.trust.revoke("tool:crawler")
        assert set(names(bank.graph.search("invoices", limit=50, floor=0.0))) == {"N1", kept, "E2"}
        assert told(bank.graph.walk(seeds=["N1"])) == [f"N1 {kept}"]
        assert told(bank.graph.walk(seeds=[kept])) == [f"{kept} N1"]
        assert bank.graph.walk(seeds=["N1"]).cut_off == {"hidden": 2}
        with pytest.raises(NotFound):
            bank.graph.walk(seeds=["N2"])
        other = bank.for_tenant("stranger")
        assert other.graph.search("invoices", floor=0.0) == []
        with pytest.raises(NotFound):
            other.graph.walk(seeds=["N1"])


def test_the_index_of_the_graph_is_made_for_nodes_alone_and_follows_the_records(path: Path) -> None:
    def indexes() -> list[Path]:
        return list(Path(f"{path}.index").glob("*-graph"))

    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.record(title="Only a lesson", content="Pay invoices in time")
        assert len(bank.graph.search("pay invoices", floor=0.0)) == 1
        assert not indexes()
        bank.graph.add([{"id": "N1", "label": "AgentAnswer", "conv_id": "c", "text": "Invoices were paid late"}])
        assert names(bank.graph.search("invoices paid late"))[0] == "N1"
        assert indexes()
        bank.graph.add([{"id": "N1", "label": "AgentAnswer", "conv_id": "c", "text": "Penguins were fed early"}])
        assert names(bank.graph.search("penguins"))[0] == "N1"
        bank.graph.remove("N1")
        assert names(bank.graph.search("penguins", labels=["AgentAnswer"], floor=0.0)) == []


def test_a_damaged_index_of_the_graph_is_told_of_and_mended_and_another_embedder_finds_the_same(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        lesson = bank.record(title="Feeding", content="Feed the penguins early", key="feeding").id
        other = bank.record(title="Feeding late", content="Feed the walrus late", key="late").id
        bank.graph.add([{"id": "N1", "label": "AgentAnswer", "conv_id": "c", "text": "Penguins were fed early"}])
        bank.link(lesson, other, "conflicts", text="Early and late exclude each other")
        assert names(bank.graph.search("penguins"))[0] == "N1"
        assert bank.verify() == []
    (folder,) = Path(f"{path}.index").glob("*-graph")
    for part in folder.glob("gen-*/*"):
        part.write_bytes(b"\xff" * part.stat().st_size)
    with ReasoningBank.open(path, namespace="n") as bank:
        assert bank.verify() != []
        bank.graph.search("penguins")
        assert names(bank.graph.search("penguins"))[0] == "N1"
        assert bank.verify() == []
        bank.edit(lesson, namespace="m")
        bank.edit(other, namespace="m")
        assert bank.verify() == []
        found = bank.graph.search("early and late exclude", labels=["Edge"], namespace="m", floor=0.0)
        assert [hit.edge.text for hit in found if hit.edge] == ["Early and late exclude each other"]
        assert bank.graph.search("early and late exclude", labels=["Edge"], floor=0.0) == []
        bank.reindex(embedder="local")
        assert names(bank.graph.search("what did the penguins eat?"))[0] == "N1"


def test_a_bank_that_may_only_be_read_is_searched_and_walked(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.graph.add(
            [{"id": f"N{i}", "label": "AgentAnswer", "conv_id": "c", "text": f"Penguins {i}"} for i in range(2)],
            [{"id": "E1", "source": "N0", "target": "N1", "text": "Both are about penguins", "weight": 0.6}],
        )
    with ReasoningBank.open(path, namespace="n", read_only=True) as bank:
        assert {"N0", "N1", "E1"} <= set(names(bank.graph.search("penguins")))
        assert told(bank.graph.walk(seeds=["N0"])) == ["N0 N1"]


def test_a_hub_costs_no_more_than_its_strongest_few_edges(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        spokes = [
            {"id": f"S{i}", "label": "UserRequest", "conv_id": "c", "text": f"Request {i}", "user_role": "r"}
            for i in range(600)
        ]
        hub = {"id": "HUB", "label": "DataSource", "conv_id": "c", "text": "The one sheet", "source_type": "csv",
               "doc_pointer": "a.csv", "relevant_parts": ""}  # fmt: skip
        bank.graph.add([hub, *spokes], [
            {"id": f"E{i}", "source": f"S{i}", "target": "HUB", "text": "reads", "weight": 0.25 + i / 1000} for i in range(600)
        ])  # fmt: skip
        walk = bank.graph.walk(seeds=["HUB"])
        assert told(walk) == ["HUB S599", "HUB S598", "HUB S597"]
        assert walk.visited == 4
        assert walk.cut_off["branching"] < 40
