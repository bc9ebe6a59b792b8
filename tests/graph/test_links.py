"""Edges join memories, are seen from both ends, and go when an end goes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.graph import walk


@pytest.fixture
def chain(bank: ReasoningBank) -> list[str]:
    """a → b → c → d, each half as strong as the one before."""
    ids = [bank.store(name, f"value {name}").id for name in "abcd"]
    for number, (source, target) in enumerate(pairwise(ids)):
        bank.link(source, target, "causes", weight=0.5**number, text=f"step {number}")
    return ids


def reached(bank: ReasoningBank, start: str, **options: object) -> list[tuple[str, bool, int]]:
    found = bank.neighbours(start, **options)  # type: ignore[arg-type]
    return [(n.memory.key or "", n.outward, n.steps) for n in found]


def test_an_edge_is_seen_from_both_ends(bank: ReasoningBank, chain: list[str]) -> None:
    assert reached(bank, "b") == [("a", False, 1), ("c", True, 1)]
    assert reached(bank, "b", direction="out") == [("c", True, 1)]
    assert reached(bank, "b", direction="in") == [("a", False, 1)]


def test_a_walk_goes_as_deep_as_asked_and_weakens_on_the_way(bank: ReasoningBank, chain: list[str]) -> None:
    assert reached(bank, "a", depth=2) == [("b", True, 1), ("c", True, 2)]
    assert [n.strength for n in bank.neighbours("a", depth=10)] == [1.0, 0.5, 0.125]
    assert reached(bank, "d", depth=10, direction="out") == []
    bank.link(chain[3], chain[0], "causes")
    assert len(reached(bank, "a", depth=10)) == 3


def test_a_kind_narrows_the_walk(bank: ReasoningBank, chain: list[str]) -> None:
    bank.link("a", "c", "conflicts")
    assert reached(bank, "a", kind="conflicts") == [("c", True, 1)]
    assert reached(bank, "a", kind="analogy") == []


def test_a_link_made_again_takes_the_new_values(bank: ReasoningBank, chain: list[str]) -> None:
    first = bank.link("a", "d", "relates", weight=0.2)
    second = bank.link("a", "d", "relates", weight=0.9, text="because", evidence="seen", tags=["x"])
    assert second.id == first.id
    assert (second.weight, second.text, second.evidence, second.tags) == (0.9, "because", "seen", ("x",))
    assert bank.status().edges == 4
    assert bank.link("d", "a", "relates").id != first.id


def test_a_memory_cannot_be_linked_to_itself_or_to_nothing(bank: ReasoningBank, chain: list[str]) -> None:
    with pytest.raises(InvalidInput, match="itself"):
        bank.link("a", chain[0], "relates")
    for ends in (("a", "none"), ("none", "a"), ("a", None)):
        with pytest.raises((NotFound, InvalidInput)):
            bank.link(*ends, "relates")  # type: ignore[arg-type]
    for options in ({"weight": 1.5}, {"weight": "strong"}, {"tags": "x"}, {"text": 5}):
        with pytest.raises(InvalidInput):
            bank.link("a", "b", "relates", **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="kind"):
        bank.link("a", "b", "likes")
    assert bank.status().edges == 3


def test_edges_go_with_their_ends_when_those_are_erased(bank: ReasoningBank, chain: list[str]) -> None:
    bank.erase("b")
    assert bank.status().edges == 1
    assert reached(bank, "a") == []
    assert reached(bank, "c") == [("d", True, 1)]


def test_forgotten_memories_are_passed_over_and_come_back(bank: ReasoningBank, chain: list[str]) -> None:
    bank.forget("b")
    assert reached(bank, "a", depth=3) == []
    bank.restore(chain[1])
    assert len(reached(bank, "a", depth=3)) == 3


def test_an_edge_can_be_taken_away(bank: ReasoningBank, chain: list[str]) -> None:
    edge = bank.neighbours("a")[0].edge
    assert bank.unlink(edge.id) == edge
    assert bank.neighbours("a") == []
    for reference in (edge.id, "edg_none", None, "\udc80"):
        with pytest.raises((NotFound, InvalidInput)):
            bank.unlink(reference)  # type: ignore[arg-type]
    assert bank.link("a", "b", "causes").id != edge.id


@pytest.mark.parametrize(
    "options", [{"depth": 0}, {"depth": 11}, {"depth": True}, {"depth": "2"}, {"direction": "up"}, {"kind": "likes"}]
)
def test_a_walk_that_makes_no_sense_is_refused(
    bank: ReasoningBank, chain: list[str], options: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput):
        bank.neighbours("a", **options)  # type: ignore[arg-type]


def test_parallel_edges_are_all_shown(bank: ReasoningBank, chain: list[str]) -> None:
    for kind, weight in (("analogy", 0.3), ("architectural_analogy", 0.9), ("conflicts", 0.6)):
        bank.link("d", "a", kind, weight=weight)
    bank.link("a", "d", "relates", weight=0.1)
    told = [(n.edge.kind.value, n.outward) for n in bank.neighbours("a") if n.memory.id == chain[3]]
    assert told == [("architectural_analogy", False), ("conflicts", False), ("analogy", False), ("relates", True)]


def test_edges_are_listed_by_kind_tag_and_strength(bank: ReasoningBank, chain: list[str]) -> None:
    bank.link("a", "d", "enhances", weight=0.7, tags=["bridge", "solution"])
    bank.link("b", "d", "enhances", weight=0.3, tags=["bridge"])
    ends = lambda **where: [(j.source, j.target) for j in bank.edges(**where)]  # noqa: E731
    assert ends(tags=["solution"]) == [("a", "d")]
    assert ends(tags=["bridge"]) == [("b", "d"), ("a", "d")]
    assert ends(kind="enhances", least_weight=0.5) == [("a", "d")]
    assert len(ends()) == 5
    first = bank.edges(limit=2)
    assert len(bank.edges(before=first[-1].edge.id)) == 3
    with pytest.raises(InvalidInput, match="kind"):
        bank.edges(kind="likes")
    with pytest.raises(InvalidInput, match="limit"):
        bank.edges(limit=0)


def test_the_edges_of_another_tenant_are_not_listed(bank: ReasoningBank, chain: list[str]) -> None:
    assert bank.for_tenant("acme").edges() == []


def test_the_neighbours_of_a_hub_are_its_strongest_and_the_others_are_not_read(
    bank: ReasoningBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "_MOST_EDGES", 8)
    monkeypatch.setattr(walk, "_FEWEST_EDGES", 4)
    hub = bank.store("hub", "the hub").id
    for number in range(30):
        leaf = bank.store(f"leaf{number}", f"value {number}").id
        bank.link(leaf, hub, "requires", weight=number / 30)
    assert reached(bank, "hub") == [(f"leaf{number}", False, 1) for number in range(29, 21, -1)]
