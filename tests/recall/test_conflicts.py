"""Hits that contradict each other are shown together and say so."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank

DO = {"title": "Force push after a rebase", "content": "Use --force when pushing a rebased branch"}
NEVER = {"title": "No forced pushes", "content": "Never use --force when pushing a rebased branch"}


@pytest.fixture
def clashing(bank) -> tuple[str, str]:
    ids = bank.record(**DO).id, bank.record(**NEVER).id
    bank.link(*ids, "conflicts", text="They say the opposite.")
    return ids


def test_both_sides_name_the_other(bank, clashing):
    one, other = clashing
    found = {hit.id: [clash.id for clash in hit.conflicts] for hit in bank.search("pushing a rebased branch --force")}
    assert found == {one: [other], other: [one]}


def test_a_side_that_was_not_found_is_named_all_the_same(bank, clashing):
    one, _ = clashing
    (hit,) = bank.search("pushing a rebased branch --force", exclude=[clashing[1]])
    assert hit.id == one
    assert [clash.title for clash in hit.conflicts] == [NEVER["title"]]
    text = bank.inject("pushing a rebased branch --force", exclude=[clashing[1]])
    assert f"Conflicts with “{NEVER['title']}”" in text


def test_they_stand_side_by_side(bank, clashing):
    for number in range(4):
        bank.record(
            title=f"Push {number}", content=f"Pushing a rebased branch --force, case {number}", agent=str(number)
        )
    order = [hit.id for hit in bank.search("pushing a rebased branch --force", limit=10)]
    assert abs(order.index(clashing[0]) - order.index(clashing[1])) == 1


def test_what_is_out_of_force_is_not_named(bank, clashing):
    bank.forget(clashing[1])
    (hit,) = bank.search("pushing a rebased branch --force")
    assert hit.conflicts == ()


def test_a_strangers_title_is_not_quoted_outside_of_its_envelope(bank):
    one = bank.record(**DO).id
    other = bank.record(**NEVER, origin="tool:web").id
    bank.link(one, other, "conflicts")
    found = {hit.id: hit for hit in bank.search("pushing a rebased branch --force")}
    assert found.keys() == {one, other}
    assert found[one].conflicts == ()
    assert "Conflicts" not in bank.inject("pushing a rebased branch --force").split("[DO]")[1].split("\n\n")[0]


def test_hits_without_a_contradiction_stay_as_they_were(bank):
    bank.record(**DO)
    (hit,) = bank.search("pushing a rebased branch --force")
    assert hit.conflicts == ()
    assert "Conflicts" not in bank.inject("pushing a rebased branch --force")


def test_a_contradiction_that_another_process_finds_after_a_search_is_told_by_the_next(bank, path):
    one, other = bank.record(**DO).id, bank.record(**NEVER).id
    assert not any(hit.conflicts for hit in bank.search("pushing a rebased branch --force"))
    with ReasoningBank.open(path, namespace="n") as beside:
        beside.link(one, other, "conflicts")
    assert all(hit.conflicts for hit in bank.search("pushing a rebased branch --force"))


def test_a_contradiction_is_told_by_a_bank_that_cannot_follow_the_feed(bank, path):
    one, other = bank.record(**DO).id, bank.record(**NEVER).id
    bank.search("pushing a rebased branch --force")
    with ReasoningBank.open(path, namespace="n", read_only=True) as reader:
        assert not any(hit.conflicts for hit in reader.search("pushing a rebased branch --force"))
        bank.link(one, other, "conflicts")
        assert all(hit.conflicts for hit in reader.search("pushing a rebased branch --force"))
