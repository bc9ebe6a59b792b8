"""A model may write the text of what is merged, and every bad answer leaves the text that is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, LLMUnavailable
from reasoningbank.llm.scripted import ScriptedLLM

ONE = "Wrap errors with context, using %w."
SAME = "Use %w to wrap the errors with context."
GOOD = """## Memory 1
**Title**: Wrap errors
**Description**: When a Go function returns an error
**Content**: Wrap each error with context by using %w.
**Tags**: go
**Outcome**: success"""


@pytest.fixture
def opened(path) -> Callable[..., ReasoningBank]:
    def open_(*script) -> ReasoningBank:
        llm = ScriptedLLM(script)
        bank = ReasoningBank.open(path, embedder="hash", namespace="n", llm=llm)
        bank.script = llm
        return bank

    return open_


def fill(bank: ReasoningBank, origin: str = "agent") -> str:
    first = bank.record(title="Wrap errors", content=ONE, origin=origin).id
    bank.record(title="Wrap errors", content=SAME, origin=origin)
    return first


def test_a_good_answer_becomes_the_text_and_can_be_undone(opened):
    with opened(GOOD) as bank:
        kept = fill(bank)
        done = bank.consolidate(rewrite=True)
        assert bank.get(kept).content == "Wrap each error with context by using %w."
        assert str(bank.get(kept).trust) == "working"
        assert bank.get(kept).memory.metadata["rewritten_by"] == "scripted"
        assert [hit.id for hit in bank.search("wrap each error")] == [kept]
        bank.upkeep.undo(done.run)
        assert bank.get(kept).content == ONE


@pytest.mark.parametrize(
    "bad",
    [
        "Sure! Here it is.",
        GOOD.replace("%w", "%v"),
        GOOD.replace("Wrap each error", "Never wrap an error"),
        GOOD.replace("**Outcome**: success", "**Outcome**: failure"),
        GOOD + "\n\n" + GOOD.replace("Memory 1", "Memory 2"),
        "",
        "NO_EXTRACTIONS",
    ],
)
def test_a_bad_answer_is_repaired_once_and_else_an_original_is_kept(opened, bad):
    with opened(bad, bad) as bank:
        kept = fill(bank)
        assert len(bank.consolidate(rewrite=True).plan.merges) == 1
        assert bank.get(kept).content == ONE
    with ReasoningBank.open(":memory:", embedder="hash", namespace="n", llm=ScriptedLLM([bad, GOOD])) as bank:
        kept = fill(bank)
        bank.consolidate(rewrite=True)
        assert (bank.get(kept).content == ONE) == (bad == "NO_EXTRACTIONS")


def test_an_outage_costs_nothing_but_the_new_text(opened):
    with opened(LLMUnavailable("down")) as bank:
        kept = fill(bank)
        assert bank.consolidate(rewrite=True).applied == 1
        assert bank.get(kept).content == ONE


@pytest.mark.parametrize("origin", ["user", "tool:web"])
def test_neither_the_users_words_nor_a_strangers_are_rewritten(opened, origin):
    with opened(GOOD) as bank:
        kept = fill(bank, origin)
        assert bank.consolidate(rewrite=True).applied == 1
        assert bank.get(kept).content == ONE
        assert bank.script.asked == []


def test_without_being_asked_no_model_is(opened):
    with opened(GOOD) as bank:
        fill(bank)
        bank.consolidate()
        assert bank.script.asked == []


def test_asking_for_it_without_a_model_says_what_to_set(bank):
    fill(bank)
    with pytest.raises(InvalidInput, match="REASONINGBANK_LLM"):
        bank.consolidate(rewrite=True)
