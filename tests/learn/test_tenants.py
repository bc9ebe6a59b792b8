"""Tenants that share a bank learn each from their own sessions, at their own cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import Conflict
from reasoningbank.llm.scripted import ScriptedLLM


@pytest.fixture
def bank(path: Path) -> Iterator[ReasoningBank]:
    with ReasoningBank.open(path, embedder="hash", namespace="n", llm=ScriptedLLM(["[]"], forever=True)) as opened:
        yield opened


def test_a_tenant_distils_its_own_sessions_and_pays_for_them(
    bank: ReasoningBank, end_sessions: Callable[..., list[str]]
) -> None:
    tenant = bank.for_tenant("acme")
    end_sessions(bank, 2)
    end_sessions(tenant, 1)
    assert [bank.status().jobs["waiting"], tenant.status().jobs["waiting"]] == [2, 1]
    assert len(tenant.distill().attempts) == 1
    assert bank.status().jobs["waiting"] == 2
    assert bank.jobs.spending() == []
    assert [spent.tenant for spent in tenant.jobs.spending()] == ["acme"]


def test_a_session_that_ends_within_a_unit_is_queued_with_it_or_not_at_all(bank: ReasoningBank) -> None:
    session = bank.start_session("build it").id

    def fails(inner: ReasoningBank, _: object) -> None:
        assert inner.end_session(session, "success").job_id
        raise Conflict("after all")

    with pytest.raises(Conflict):
        bank.atomically(fails)
    assert bank.jobs.list() == []
    job = bank.atomically(lambda inner, _: inner.end_session(session, "success").job_id)
    assert [queued.job.id for queued in bank.jobs.list()] == [job]
