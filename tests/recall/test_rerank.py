from __future__ import annotations

from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, LLMUnavailable
from reasoningbank.llm.scripted import ScriptedLLM

QUERY = "retry a request that timed out"


def opened(path: Path, *script: object) -> tuple[ReasoningBank, ScriptedLLM]:
    model = ScriptedLLM(script, name="scripted/order")
    bank = ReasoningBank.open(path, embedder="hash", llm=model)
    for title in ("first", "second", "third"):
        bank.record(title=f"{title} retry", content=f"{QUERY}: the {title} way")
    return bank, model


def titles(bank: ReasoningBank, **options: object) -> list[str]:
    return [hit.memory.title for hit in bank.search(QUERY, **options)]


def test_the_model_orders_the_hits_and_is_named(path: Path) -> None:
    bank, model = opened(path, "3, 1, 2")
    with bank:
        plain = titles(bank)
        found = bank.search(QUERY, rerank=True)
        assert [hit.memory.title for hit in found] == [plain[2], plain[0], plain[1]]
        assert found.reranked_by == "scripted/order"
        assert QUERY in model.asked[0][1].text


def test_what_the_model_leaves_out_stands_behind_what_it_named(path: Path) -> None:
    bank, _ = opened(path, "2")
    with bank:
        plain = titles(bank)
        assert titles(bank, rerank=True) == [plain[1], plain[0], plain[2]]


@pytest.mark.parametrize(
    "answer", ["none of them", "", "7", "1, 99", "The best is 4,000.", LLMUnavailable("away")], ids=str
)
def test_an_answer_that_cannot_be_read_changes_nothing_and_says_so(path: Path, answer: object) -> None:
    bank, _ = opened(path, answer)
    with bank:
        plain = titles(bank)
        found = bank.search(QUERY, rerank=True)
        assert [hit.memory.title for hit in found] == plain
        assert found.reranked_by == ""


def test_nobody_is_asked_unless_the_caller_wants_it(path: Path) -> None:
    bank, model = opened(path, "1")
    with bank:
        assert bank.search(QUERY).reranked_by == ""
        assert model.asked == []


def test_without_a_model_it_says_what_to_set(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash") as bank, pytest.raises(InvalidInput, match="REASONINGBANK_LLM"):
        bank.search("anything", rerank=True)


def test_only_what_was_given_back_counts_as_shown(path: Path) -> None:
    bank, _ = opened(path, "3")
    with bank:
        (hit,) = bank.search(QUERY, rerank=True, limit=1)
        bank.flush_shown()
        assert {memory.memory.title: memory.shown for memory in bank.list()} == {
            memory.memory.title: int(memory.id == hit.id) for memory in bank.list()
        }


def test_a_secret_in_a_memory_does_not_reach_the_model(path: Path) -> None:
    token = "ghp_" + "x7Kq2LmP9vRt4WzY8bNc" + "3HdJ6FgS1aQe5UoE"
    bank, model = opened(path, "1, 2")
    with bank:
        bank.search(f"{QUERY} with {token}", rerank=True)
        assert token not in "".join(message.text for asked in model.asked for message in asked)


def test_a_question_in_vain_is_a_gap_whoever_would_have_ordered_the_hits(path: Path) -> None:
    bank, model = opened(path, "1")
    with bank:
        assert bank.search("zeppelin hangar altitude", rerank=True).abstained
        assert [gap.question for gap in bank.gaps.list().open] == ["zeppelin hangar altitude"]
        assert model.asked == []
