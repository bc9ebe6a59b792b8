from __future__ import annotations

import pytest


@pytest.fixture
def chain(rb):
    for key in "abc":
        rb("store", key, f"value {key}")
    rb("link", "a", "b", "--kind", "requires", "--weight", "0.9", "--text", "b first")
    rb("link", "b", "c", "--kind", "causes")


def test_neighbours_are_found_both_ways_and_further_away(rb, chain):
    def titles(*words):
        return [near["memory"]["title"] for near in rb("graph", "neighbours", *words, "--json").json["neighbours"]]

    assert titles("b") == ["a", "c"]
    assert titles("b", "--direction", "out") == ["c"]
    assert titles("b", "--kind", "requires") == ["a"]
    assert titles("a", "--depth", "2") == ["b", "c"]
    shown = rb("graph", "neighbours", "b").out
    assert "← requires" in shown
    assert "causes →" in shown
    assert "b first" in shown


def test_evidence_says_why_where_no_sentence_does(rb, chain):
    rb("link", "a", "c", "--kind", "enhances", "--evidence", "c fails without a")
    assert "c fails without a" in rb("graph", "neighbours", "c").out


def test_an_edge_can_be_taken_away(rb, chain):
    edge = rb("link", "a", "c", "--kind", "conflicts", "--evidence", "seen", "--tag", "t", "--json").json
    assert (edge["kind"], edge["evidence"], edge["tags"]) == ("conflicts", "seen", ["t"])
    assert rb("unlink", edge["id"]).code == 0
    assert rb("unlink", edge["id"]).code == 3


def test_edges_that_make_no_sense_are_refused(rb, chain):
    assert rb("link", "a", "a").code == 2
    assert rb("link", "a", "nope").code == 3
    assert rb("link", "a", "b", "--kind", "likes").code == 2
    assert rb("link", "a", "b", "--weight", "1.5").code == 2
    assert rb("graph", "neighbours", "a", "--depth", "0").code == 2
    assert rb("graph", "neighbours", "a", "--depth", "99").code == 2


def test_a_lonely_memory_has_no_neighbours(rb, memory):
    result = rb("graph", "neighbours", memory)
    assert (result.code, result.out) == (0, "")
    assert "No edges" in result.err


def test_parallel_edges_are_all_shown(rb, chain):
    rb("link", "a", "b", "--kind", "architectural_analogy", "--weight", "0.82")
    shown = rb("graph", "neighbours", "a").out
    assert "requires →" in shown
    assert "architectural_analogy →" in shown


def test_edges_are_listed_by_tag_and_kind(rb, chain):
    rb("link", "a", "c", "--kind", "enhances", "--tag", "solution", "--tag", "bridge")
    (edge,) = rb("graph", "edges", "--tag", "solution", "--json").json["edges"]
    assert (edge["source_title"], edge["target_title"], edge["kind"]) == ("a", "c", "enhances")
    assert len(rb("graph", "edges", "--json").json["edges"]) == 3
    assert "b first" in rb("graph", "edges", "--kind", "requires").out
    assert "No such edges" in rb("graph", "edges", "--tag", "none").err
    assert "--before edg_" in rb("graph", "edges", "--limit", "2").err


def test_a_hit_says_where_its_strong_links_lead(rb):
    rb("store", "services", "Split the backend into services", "--namespace", "backend")
    other = rb("store", "components", "Split the page into components", "--namespace", "frontend").id
    rb("link", "services", other, "--kind", "architectural_analogy", "--weight", "0.82", "--namespace", "backend")
    said = rb("query", "split the backend into services", "--namespace", "backend")
    assert f"is built like: components (0.82, in frontend) {other}" in said.out
    hit = rb("query", "split the backend into services", "--namespace", "backend", "--json").json["memories"][0]
    assert [linked["kind"] for linked in hit["see_also"]] == ["architectural_analogy"]


def test_an_edge_is_removed_by_the_two_memories_that_only_it_joins(rb):
    for key in ("one", "two", "three"):
        rb("store", key, f"The advice called {key}.")
    edge = rb("link", "one", "two").id
    assert rb("unlink", "two", "one").id == edge
    rb("link", "one", "two")
    rb("link", "one", "two", "--kind", "causes")
    assert "Several edges join one and two: name one of edg_" in rb("unlink", "one", "two").err
    assert "`reasoningbank graph edges` lists" in rb("unlink", "one", "three").err
    assert "`graph edges` lists them with their ids" in rb("unlink", "one").err


def test_another_spelling_of_neighbours_is_understood(rb):
    assert "Did you mean `graph neighbours`?" in rb("graph", "neighbors", "one").err


def test_getting_a_memory_shows_every_link_of_it_from_its_own_end(rb, chain):
    rb("link", "b", "a", "--kind", "enhances")
    rb("link", "a", "b", "--kind", "analogy")
    said = rb("get", "b").out
    for told in ("is required by: a (0.9)", "improves: a (0.5)", "is analogous to: a (0.5)", "leads to: c (0.5)"):
        assert told in said
    assert "· b first" in said
    links = rb("get", "a", "--json").json["links"]
    assert {(link["relation"], link["title"]) for link in links} == {
        ("requires", "b"),
        ("is improved by", "b"),
        ("is analogous to", "b"),
    }
