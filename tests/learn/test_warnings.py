"""A warning tells the way that worked, and only that way working again speaks for it."""

from __future__ import annotations

from reasoningbank import Episode, EpisodeStep, ReasoningBank

FAILED = [("fetch page", "Error: connection reset by peer")] * 3
GAVE_UP = [("report", "Error: nothing to report")]


def learn(bank: ReasoningBank, *steps: tuple[str, str]) -> None:
    made = tuple(EpisodeStep(action=action, result=result) for action, result in (*steps, *GAVE_UP))
    bank.keep(Episode(task="get the page", namespace=bank.namespace, steps=made, outcome="failure"))
    bank.distill()


def test_a_failure_that_comes_again_confirms_no_advice(bank: ReasoningBank) -> None:
    learn(bank, *FAILED, ("mirror page", "412 lines"))
    (before,) = bank.list(tags="warning")
    learn(bank, *FAILED)
    learn(bank, *FAILED, ("sleep 10", "ok"))
    (after,) = bank.list(tags="warning")
    assert after.confidence.mean == before.confidence.mean


def test_the_same_way_working_again_does(bank: ReasoningBank) -> None:
    learn(bank, *FAILED, ("mirror page", "412 lines"))
    (before,) = bank.list(tags="warning")
    learn(bank, *FAILED, ("mirror page", "409 lines"))
    (after,) = bank.list(tags="warning")
    assert after.confidence.mean > before.confidence.mean
    assert after.memory.revision == before.memory.revision


def test_another_way_is_told_instead_and_is_not_yet_confirmed(bank: ReasoningBank) -> None:
    learn(bank, *FAILED, ("mirror page", "412 lines"))
    (before,) = bank.list(tags="warning")
    learn(bank, *FAILED, ("archive page", "409 lines"))
    (after,) = bank.list(tags="warning")
    assert "`archive page` worked next." in after.content
    assert after.confidence.mean <= before.confidence.mean
