"""Text for a prompt: reference and not rule, warnings as warnings, within the budget."""

from __future__ import annotations

from reasoningbank import ReasoningBank
from reasoningbank.core.tokens import count_tokens
from reasoningbank.recall.render import HEADING


def test_failures_are_rendered_as_things_to_avoid(bank: ReasoningBank) -> None:
    bank.record(title="Do this", description="always", content="configure the retry policy with jitter")
    bank.record(title="Not this", content="configure the retry policy without a cap", outcome="failure")
    text = bank.inject("configure the retry policy", max_tokens=500)
    assert text.startswith(HEADING)
    assert "reference, not rule" in text
    assert "[DO] Do this (confidence 0.80, from user)\nWhen: always\n" in text
    assert "[AVOID] Not this" in text


def test_the_budget_is_kept_and_a_lesson_is_whole_or_absent(bank: ReasoningBank) -> None:
    lessons = [f"configure the retry policy, step {n} " + "and wait " * 30 for n in range(6)]
    for lesson in lessons:
        bank.record(title="Step", content=lesson)
    for budget in (1, 20, 50, 100, 200, 400, 2_000):
        text = bank.inject("configure the retry policy", max_tokens=budget, limit=10, floor=0.0)
        assert count_tokens(text) <= budget
        whole = [lesson for lesson in lessons if lesson in text]
        assert text.count("[DO]") == len(whole)
    assert len(whole) == 6


def test_what_is_injected_is_logged_as_shown(bank: ReasoningBank) -> None:
    kept = bank.record(title="Advice", content="configure the retry policy")
    with bank.session(task="configure the retry policy") as run:
        assert "[DO] Advice" in run.inject()
        assert [s.memory_id for s in run.finish("success").signals] == [kept.id]


def test_a_fact_is_rendered_without_a_word_on_when_to_use_it(bank: ReasoningBank) -> None:
    bank.record(title="Names in people", description="Use these", content="people: id, name", tags=["fact"])
    text = bank.inject("names of people")
    assert text == f"{HEADING}\n\n[KNOWN] confidence 0.80, from user\npeople: id, name"


def test_what_is_far_less_likely_to_be_of_use_than_the_best_is_left_out(bank: ReasoningBank) -> None:
    bank.record(title="Retry policy", content="configure the retry policy of the http client with jitter")
    bank.record(title="Client list", content="the client asked for a list of invoices")
    asked = "configure the retry policy of the http client"
    assert "[DO] Client list" not in bank.inject(asked)
    assert "[DO] Client list" in bank.inject(asked, floor=0.0)


def test_a_fact_that_nobody_vouches_for_is_quoted_as_data(bank: ReasoningBank) -> None:
    bank.record(title="Known", content="the retry policy lives in client.toml", tags=["fact"])
    assert "[KNOWN] confidence 0.80, from user\nthe retry policy lives in client.toml" in bank.inject(
        "the retry policy"
    )
    bank.erase(bank.list()[0].id)
    bank.record(title="Known", content="the retry policy lives in client.toml", tags=["fact"], origin="tool:web")
    text = bank.inject("the retry policy")
    assert "[KNOWN]" not in text
    assert "tool:web" in text
    assert "\nthe retry policy lives in client.toml" not in text


def test_what_the_budget_leaves_out_was_not_shown(bank: ReasoningBank) -> None:
    for n in range(4):
        bank.record(title=f"Step {n}", content=f"configure the retry policy, step {n} " + "and wait " * 30)
    with bank.session(task="configure the retry policy") as run:
        text = run.inject(max_tokens=120, floor=0.0)
        ended = run.finish("success")
    assert text.count("[DO]") == 1
    assert [f"[DO] {bank.get(s.memory_id).title} " in text for s in ended.signals] == [True]
    assert sum(hit.shown for hit in bank.list()) == 1


def test_what_is_left_out_behind_the_best_was_not_shown(bank: ReasoningBank) -> None:
    best = bank.record(title="Retry policy", content="configure the retry policy of the http client with jitter")
    bank.record(title="Client list", content="the client asked for a list of invoices")
    with bank.session(task="configure the retry policy of the http client") as run:
        assert "Client list" not in run.inject()
        assert [s.memory_id for s in run.finish("failure").signals] == [best.id]
