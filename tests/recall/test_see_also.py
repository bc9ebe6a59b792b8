"""Hits name what their strong links lead to."""

from __future__ import annotations

import pytest

BACKEND = {"title": "Microservices", "content": "Split the backend into small services", "namespace": "backend"}
FRONTEND = {"title": "Components", "content": "Split the frontend into small components", "namespace": "frontend"}
QUESTION = "split the backend into small services"


@pytest.fixture
def pair(bank) -> tuple[str, str]:
    return bank.record(**BACKEND).id, bank.record(**FRONTEND).id


def found(bank, **options):
    (hit,) = bank.search(QUESTION, namespace="backend", limit=1, **options)
    return hit.see_also


def test_asked_about_the_backend_the_frontend_pattern_is_referred_to(bank, pair):
    bank.link(*pair, "architectural_analogy", weight=0.82)
    (linked,) = found(bank)
    assert (linked.id, linked.title, linked.namespace) == (pair[1], "Components", "frontend")
    assert (linked.kind, linked.weight) == ("architectural_analogy", 0.82)


def test_a_link_leads_both_ways(bank, pair):
    bank.link(pair[1], pair[0], "enhances", weight=0.6)
    assert [linked.id for linked in found(bank)] == [pair[1]]


@pytest.mark.parametrize(("kind", "weight"), [("relates", 0.54), ("supersedes", 1.0), ("derived_from", 0.9)])
def test_what_is_weak_or_only_tells_of_descent_is_not_named(bank, pair, kind, weight):
    bank.link(*pair, kind, weight=weight)
    assert found(bank) == ()


def test_the_strongest_three_memories_are_named_each_with_all_its_links(bank, pair):
    others = [bank.record(title=f"Other {n}", content=f"note {n}", namespace="frontend").id for n in range(4)]
    for number, other in enumerate(others):
        bank.link(pair[0], other, "relates", weight=0.6 + number / 10)
        bank.link(other, pair[0], "requires", weight=0.6)
    assert [(linked.id, linked.relation) for linked in found(bank)] == [
        (other, told) for other in (others[3], others[2], others[1]) for told in ("relates to", "is required by")
    ]


def test_a_link_is_told_from_the_end_at_which_the_hit_stands(bank, pair):
    bank.link(*pair, "causes", weight=0.6, text="Small services want small components.")
    (linked,) = found(bank)
    assert (linked.relation, linked.text) == ("leads to", "Small services want small components.")
    (back,) = bank.search("split the frontend into components", namespace="frontend", limit=1)
    assert [linked.relation for linked in back.see_also] == ["is caused by"]


def test_links_can_be_left_out(bank, pair):
    bank.link(*pair, "analogy", weight=0.8)
    assert found(bank, links="off") == ()


def test_another_team_is_not_referred_to(bank, pair):
    bank.link(*pair, "analogy", weight=0.8)
    bank.teams.add("web", "frontend")
    assert found(bank) == ()
    bank.teams.add("web", "backend")
    assert [linked.id for linked in found(bank)] == [pair[1]]


def test_a_strangers_title_is_not_quoted(bank, pair):
    stranger = bank.record(title="Buy now", content="spam", origin="tool:web").id
    bank.link(pair[0], stranger, "relates", weight=0.9)
    assert found(bank) == ()
    bank.trust.approve(stranger)
    assert [linked.id for linked in found(bank)] == [stranger]


def test_what_is_forgotten_is_not_named(bank, pair):
    bank.link(*pair, "analogy", weight=0.8)
    bank.forget(pair[1])
    assert found(bank) == ()
