"""What is known of a memory in tasks like the one at hand decides whether it is shown there, and how high."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank

PROXY = "deploy the gateway behind a proxy for customer {}"
OFFLINE = "deploy the gateway without network access for customer {}"


def lived_through(bank: ReasoningBank, task: str, outcome: str, used: Sequence[str], times: int = 2) -> None:
    for number in range(times):
        session = bank.start_session(task.format(number)).id
        bank.end_session(session, outcome, used=used, distil=False)


@pytest.fixture
def ways(bank: ReasoningBank) -> tuple[str, str]:
    """Two ways that are told alike."""
    return (
        bank.record(title="Deploy the gateway in small batches", content="deploy the gateway in small batches").id,
        bank.record(title="Deploy the gateway in one piece", content="deploy the gateway in one piece").id,
    )


def test_each_kind_of_task_gets_first_what_works_in_it(bank: ReasoningBank, ways: tuple[str, str]) -> None:
    batches, whole = ways
    for task, works, fails in ((PROXY, batches, whole), (OFFLINE, whole, batches)):
        lived_through(bank, task, "success", [works])
        lived_through(bank, task, "failure", [fails], times=1)
    assert bank.get(batches).confidence.mean == pytest.approx(bank.get(whole).confidence.mean, abs=1e-6)
    assert [hit.id for hit in bank.search(PROXY.format(9))] == [batches, whole]
    assert [hit.id for hit in bank.search(OFFLINE.format(9))] == [whole, batches]


def test_what_keeps_failing_in_a_kind_of_task_is_not_shown_for_it_but_elsewhere(
    bank: ReasoningBank, ways: tuple[str, str]
) -> None:
    batches, whole = ways
    lived_through(bank, PROXY, "failure", [whole], times=3)
    found = bank.search(PROXY.format(9))
    assert [hit.id for hit in found] == [batches]
    assert found.filtered_out["min_confidence"] == 1
    assert whole in [hit.id for hit in bank.search("deploy the gateway on a quiet day")]
    assert whole in [hit.id for hit in bank.search(PROXY.format(9), min_confidence=0.0)]
    assert whole in [hit.id for hit in bank.search(PROXY.format(9), experience=False)]


def test_a_hit_says_what_it_is_believed_here_beside_what_it_has_earned(
    bank: ReasoningBank, ways: tuple[str, str]
) -> None:
    lived_through(bank, PROXY, "success", [ways[0]])
    hit = bank.search(PROXY.format(9)).memories[0]
    assert hit.id == ways[0]
    assert hit.parts.confidence > hit.confidence.mean
    assert hit.confidence.mean == pytest.approx(bank.get(ways[0]).confidence.mean, abs=1e-6)


def test_evidence_of_another_tenant_or_namespace_says_nothing(
    path: Path, bank: ReasoningBank, ways: tuple[str, str]
) -> None:
    """A memory of the organisation is seen from every namespace; what became of it there stays there."""
    kept = bank.record(title="Deploy the gateway at night", content="deploy the gateway at night", scope="org")
    with ReasoningBank.open(path, namespace="elsewhere") as other:
        lived_through(other, PROXY, "failure", [kept.id], times=3)
    assert kept.id in [hit.id for hit in bank.search(PROXY.format(9), min_confidence=0.2)]


def test_a_task_that_is_left_out_is_not_heard(bank: ReasoningBank, ways: tuple[str, str]) -> None:
    sessions = []
    for number in range(3):
        session = bank.start_session(PROXY.format(number)).id
        bank.end_session(session, "failure", used=[ways[1]], distil=False)
        sessions.append(session)
    assert ways[1] not in [hit.id for hit in bank.search(PROXY.format(9))]
    assert ways[1] in [hit.id for hit in bank.search(PROXY.format(9), exclude=tuple(sessions))]
