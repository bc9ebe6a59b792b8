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
