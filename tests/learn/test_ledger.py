"""What a model costs is written down, and the day's budget holds whoever spends it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import LLMRefused, LLMUnavailable
from reasoningbank.core.learning import Completion, Message
from reasoningbank.learn.ledger import MeteredLLM
from reasoningbank.llm.scripted import ScriptedLLM

ASKED = [Message(role="user", text="x" * 39)]  # ten tokens
SAID = Completion(text="y", tokens_in=10, tokens_out=5, model="scripted")


@pytest.fixture
def bank(path: Path, clock):
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as opened:
        yield opened


def metered(bank: ReasoningBank, *lines: object, budget: int = 1_000) -> MeteredLLM:
    return MeteredLLM(ScriptedLLM(lines or [SAID], forever=True), bank.context, tokens_per_day=budget)


def test_every_call_is_in_the_ledger(bank) -> None:
    llm = metered(bank)
    for _ in range(3):
        llm.complete(ASKED, max_tokens=20)
    [spent] = bank.jobs.spending()
    assert (spent.calls, spent.tokens_in, spent.tokens_out, spent.reserved) == (3, 30, 15, 0)
    assert (spent.day, spent.model, spent.purpose) == ("2026-09-21", "scripted", "learning")


def test_a_spent_budget_is_an_outage_until_midnight(bank, clock) -> None:
    llm = metered(bank, budget=60)
    for _ in range(3):
        llm.complete(ASKED, max_tokens=20)
    with pytest.raises(LLMUnavailable, match="budget of 60 tokens a day is spent") as caught:
        llm.complete(ASKED, max_tokens=20)
    assert caught.value.retry_after_s == pytest.approx(86_400 - clock.now % 86_400)
    clock.forward(seconds=caught.value.retry_after_s + 1)
    assert llm.complete(ASKED, max_tokens=20).text == "y"
    assert [spent.calls for spent in bank.jobs.spending()] == [1, 3]


def test_a_call_that_fails_gives_its_share_back(bank) -> None:
    llm = metered(bank, LLMUnavailable("down"), budget=35)
    for _ in range(5):
        with pytest.raises(LLMUnavailable, match="down"):
            llm.complete(ASKED, max_tokens=20)
    assert bank.jobs.spending()[0].reserved == 0


def test_a_server_that_counts_nothing_is_charged_by_our_count(bank) -> None:
    metered(bank, Completion(text="z" * 39, tokens_in=0, tokens_out=0, model="m")).complete(ASKED, max_tokens=20)
    [spent] = bank.jobs.spending()
    assert (spent.tokens_in, spent.tokens_out) == (10, 10)


def test_many_at_once_cannot_overrun_the_budget(bank) -> None:
    llm = metered(bank, budget=150)

    def ask(_: int) -> bool:
        try:
            llm.complete(ASKED, max_tokens=20)
        except LLMUnavailable:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        answered = sum(pool.map(ask, range(64)))
    [spent] = bank.jobs.spending()
    assert answered == spent.calls <= 10
    assert spent.tokens_in + spent.tokens_out <= 150


def test_what_a_killed_process_had_set_aside_is_nobodys_spending(bank, path, child) -> None:
    killed = child(
        "import os, sys; from reasoningbank.wiring import ReasoningBank\n"
        "from reasoningbank.learn.ledger import MeteredLLM; from reasoningbank.llm.scripted import ScriptedLLM\n"
        "from reasoningbank.core.learning import Message\n"
        "bank = ReasoningBank.open(sys.argv[1], embedder='hash', clock=lambda: 1_790_000_000.0)\n"
        "llm = MeteredLLM(ScriptedLLM([lambda _: os.kill(os.getpid(), 9)]), bank.context, tokens_per_day=60)\n"
        "llm.complete([Message(role='user', text='x' * 39)], max_tokens=30)",
        path,
    )
    killed.wait(600)
    assert bank.jobs.spending() == []
    metered(bank, budget=60).complete(ASKED, max_tokens=20)
    [spent] = bank.jobs.spending()
    assert (spent.calls, spent.tokens_in, spent.tokens_out, spent.reserved) == (1, 10, 5, 0)


def test_what_is_set_aside_counts_as_long_as_the_answer_is_awaited(bank) -> None:
    seen: list[tuple[int, int]] = []

    def look(_: object) -> str:
        [spent] = bank.jobs.spending()
        seen.append((spent.tokens_in + spent.tokens_out, spent.reserved))
        with pytest.raises(LLMUnavailable, match="30 used or under way"):
            metered(bank, budget=50).complete(ASKED, max_tokens=20)
        return "y"

    metered(bank, look, budget=50).complete(ASKED, max_tokens=20)
    assert seen == [(0, 30)]
    assert bank.jobs.spending()[0].reserved == 0


def test_a_refusal_is_passed_on(bank) -> None:
    with pytest.raises(LLMRefused):
        metered(bank, LLMRefused("no")).complete(ASKED, max_tokens=20)
