"""A memory is withheld by chance alone, within a session only, the same each time, and it is written down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Exposure
from reasoningbank.recall.holdout import draw_share

TASK = "configure the retry policy of the http client"


@pytest.fixture
def trying(path: Path) -> Iterator[ReasoningBank]:
    with ReasoningBank.open(path, embedder="hash", namespace="n", holdout=0.5) as bank:
        for n in range(6):
            bank.record(title=f"lesson {n}", content=f"configure the retry policy, way {n}")
        yield bank


def logged(bank: ReasoningBank) -> list[Exposure]:
    bank.flush_shown()
    with bank.context.store.read(bank.tenant) as reader:
        return reader.side_records(Exposure)


def test_what_is_withheld_is_not_shown_and_logged_with_its_chance(trying: ReasoningBank) -> None:
    ids = [memory.id for memory in trying.list()]
    # One session in 32 would show all six, or none.
    sessions = (trying.start_session(TASK) for _ in range(40))
    session = next(each for each in sessions if 0 < sum(draw_share(each.id, memory_id) < 0.5 for memory_id in ids) < 6)
    found = trying.search(TASK, floor=0.0, limit=6, session=session.id)
    lines = logged(trying)
    withheld = {line.memory_id for line in lines if line.withheld}
    assert 0 < len(withheld) < 6
    assert {hit.id for hit in found} == {line.memory_id for line in lines} - withheld
    assert {line.holdout for line in lines} == {0.5}
    assert found.tokens_used == sum(hit.tokens for hit in found)
    assert all(trying.get(memory_id).shown == 0 for memory_id in withheld)
    ended = trying.end_session(session.id, "success")
    assert {signal.memory_id for signal in ended.signals} == {hit.id for hit in found}


def test_the_same_search_in_one_session_gives_the_same_answer(trying: ReasoningBank, path: Path) -> None:
    session = trying.start_session(TASK).id
    first = [hit.id for hit in trying.search(TASK, floor=0.0, limit=6, session=session)]
    assert [hit.id for hit in trying.search(TASK, floor=0.0, limit=6, session=session)] == first
    with ReasoningBank.open(path, namespace="n", holdout=0.5) as other:
        assert [hit.id for hit in other.search(TASK, floor=0.0, limit=6, session=session)] == first


def test_each_session_draws_anew(trying: ReasoningBank) -> None:
    answers = {
        tuple(hit.id for hit in trying.search(TASK, floor=0.0, limit=6, session=trying.start_session(TASK).id))
        for _ in range(8)
    }
    assert len(answers) > 1


def test_a_prompt_does_without_what_is_withheld_and_without_a_substitute(trying: ReasoningBank) -> None:
    session = trying.start_session(TASK).id
    text = trying.inject(TASK, floor=0.0, limit=6, session=session)
    lines = logged(trying)
    assert len(lines) == 6
    for line in lines:
        assert (f"[DO] {trying.get(line.memory_id).title} " in text) is not line.withheld


def test_nothing_is_withheld_outside_a_session(trying: ReasoningBank) -> None:
    assert len(trying.search(TASK, floor=0.0, limit=6)) == 6
    assert {(line.withheld, line.holdout) for line in logged(trying)} == {(False, 0.0)}


def test_nothing_is_withheld_unless_asked_for(bank: ReasoningBank) -> None:
    for n in range(6):
        bank.record(title=f"lesson {n}", content=f"configure the retry policy, way {n}")
    for _ in range(5):
        session = bank.start_session(TASK).id
        assert len(bank.search(TASK, floor=0.0, limit=6, session=session)) == 6
    assert {line.holdout for line in logged(bank)} == {0.0}


def test_no_tag_keeps_a_memory_from_its_trial(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n", holdout=0.5) as bank:
        bank.record(title="wish", content="configure the retry policy with jitter", tags=["preference"])
        shown = [len(bank.search(TASK, floor=0.0, session=bank.start_session(TASK).id).memories) for _ in range(20)]
        assert set(shown) == {0, 1}


def test_the_environment_may_ask_for_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONINGBANK_HOLDOUT", "0.5")
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.record(title="lesson", content="configure the retry policy")
        bank.search(TASK, floor=0.0, session=bank.start_session(TASK).id)
        assert [line.holdout for line in logged(bank)] == [0.5]


@pytest.mark.parametrize("share", [0.51, -0.1, float("nan"), "often"])
def test_a_share_that_makes_no_sense_is_refused(path: Path, share: float) -> None:
    with pytest.raises(InvalidInput, match="holdout must be a number from 0"):
        ReasoningBank.open(path, embedder="hash", holdout=share)


def test_chance_is_even() -> None:
    draws = [draw_share(f"trj_{n}", f"mem_{m}") for n in range(200) for m in range(50)]
    for share in (0.05, 0.2, 0.5):
        assert sum(draw < share for draw in draws) / len(draws) == pytest.approx(share, abs=0.01)
    # Two memories of one session are withheld independently.
    pairs = [(draw_share(f"trj_{n}", "mem_1") < 0.5, draw_share(f"trj_{n}", "mem_2") < 0.5) for n in range(4_000)]
    assert sum(a and b for a, b in pairs) / len(pairs) == pytest.approx(0.25, abs=0.03)
