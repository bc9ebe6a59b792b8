"""Searches while the engine of the index is away: which records are looked at, and whose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.qdrant_edge_server import EdgeServer
from reasoningbank import ReasoningBank
from reasoningbank.recall import fallback_index


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReasoningBank]:
    """A bank without its engine, in which three memories are looked at."""
    monkeypatch.setattr(fallback_index, "MOST_LOOKED_AT", 3)
    server = EdgeServer(tmp_path / "qdrant")
    server.close()
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash", namespace="n", index=server.url) as opened:
        yield opened


def titles(bank: ReasoningBank, question: str, **options: object) -> list[str]:
    found = bank.search(question, **options)
    assert found.index_away
    return [hit.title for hit in found]


def test_what_others_store_does_not_push_out_what_a_namespace_may_see(bank: ReasoningBank) -> None:
    bank.record(title="Own", content="Drain the turbine before it is opened.")
    bank.record(title="Shared", content="Drain the turbine twice.", namespace="elsewhere", scope="org")
    for number in range(6):
        bank.record(title=f"Other {number}", content="Drain the turbine elsewhere.", namespace="elsewhere")
    assert sorted(titles(bank, "drain the turbine")) == ["Own", "Shared"]
    assert len(titles(bank, "drain the turbine", namespace="*")) == 3


def test_a_tenant_finds_its_own_and_filters_hold(bank: ReasoningBank) -> None:
    bank.for_tenant("acme").record(title="Theirs", content="Drain the turbine of acme.")
    kept = bank.record(title="Ours", content="Drain the turbine.", tags=["wet"])
    bank.record(title="Dry", content="Drain the turbine without water.", outcome="failure")
    assert sorted(titles(bank, "drain the turbine")) == ["Dry", "Ours"]
    assert titles(bank.for_tenant("acme"), "drain the turbine") == ["Theirs"]
    assert titles(bank, "drain the turbine", tags=["wet"]) == ["Ours"]
    assert titles(bank, "drain the turbine", outcome="failure") == ["Dry"]
    bank.forget(kept.id)
    assert titles(bank, "drain the turbine") == ["Dry"]


def test_an_empty_bank_says_that_nothing_is_found(bank: ReasoningBank) -> None:
    assert titles(bank, "drain the turbine") == []
    assert "the index is away" in bank.injection("drain the turbine").reason
