"""At most one place in five goes to memories that nobody vouches for, however many of them fit."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.origins import Trust

QUERY = "configure the retry policy"


def flood(bank: ReasoningBank, count: int, origin: str = "tool:web") -> None:
    bank.record_many(
        {"title": f"note {n}", "content": f"{QUERY} variant {n} of many", "origin": origin} for n in range(count)
    )


def own(bank: ReasoningBank, count: int) -> list[str]:
    return bank.record_many(
        {"title": f"own {n}", "content": f"{QUERY} carefully and note what the user wanted in case {n}"}
        for n in range(count)
    )


def untrusted(found: object) -> int:
    return sum(hit.trust is Trust.UNTRUSTED for hit in found)


@pytest.mark.parametrize(("limit", "allowed"), [(5, 1), (9, 1), (10, 2), (20, 4), (100, 20)])
def test_one_in_five_and_no_more_even_when_nothing_else_fits(bank: ReasoningBank, limit: int, allowed: int) -> None:
    flood(bank, limit + 10)
    found = bank.search(QUERY, limit=limit, floor=0.0)
    assert untrusted(found) == len(found) == allowed
    assert found.filtered_out["trust_quota"] > 0


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_below_five_places_the_untrusted_get_one_only_when_nobody_else_wants_it(
    bank: ReasoningBank, limit: int
) -> None:
    flood(bank, 10)
    assert untrusted(bank.search(QUERY, limit=limit, floor=0.0)) == 1
    own(bank, 4)
    found = bank.search(QUERY, limit=limit, floor=0.0)
    assert (untrusted(found), len(found)) == (0, limit)


def test_a_flood_pushes_nobody_out(bank: ReasoningBank) -> None:
    mine = own(bank, 5)
    before = {hit.id for hit in bank.search(QUERY, limit=6, floor=0.0)}
    flood(bank, 60)
    found = bank.search(QUERY, limit=6, floor=0.0)
    assert before == set(mine)
    assert before <= {hit.id for hit in found}
    assert untrusted(found) <= 1


def test_an_answer_can_be_asked_to_hold_nothing_below_a_level(bank: ReasoningBank) -> None:
    own(bank, 1)
    flood(bank, 1)
    bank.record(title="agent", content=f"{QUERY} as the agent found out", origin="agent")
    levels = lambda **options: sorted(str(hit.trust) for hit in bank.search(QUERY, floor=0.0, **options))  # noqa: E731
    assert levels() == ["trusted", "untrusted", "working"]
    assert levels(trust="working") == ["trusted", "working"]
    assert levels(trust="trusted") == ["trusted"]
    with pytest.raises(InvalidInput, match="trust 'much' is unknown"):
        bank.search(QUERY, trust="much")


def test_quarantine_is_searched_only_when_asked_for(bank: ReasoningBank) -> None:
    peer = bank.record(title="peer", content=QUERY, origin="peer:k")
    assert len(bank.search(QUERY, floor=0.0)) == 0
    assert [hit.id for hit in bank.search(QUERY, floor=0.0, states=("quarantined",))] == [peer.id]
    with pytest.raises(InvalidInput):
        bank.search(QUERY, states="active")


def test_an_approval_counts_at_the_next_search(bank: ReasoningBank) -> None:
    flood(bank, 5)
    bank.trust.approve("tool:web")
    found = bank.search(QUERY, limit=5, floor=0.0)
    assert (len(found), untrusted(found)) == (5, 0)
