"""What is kept of a conversation is what was said in it: no date, cause or happening that nobody told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import NodeLabel
from tests.learn.graph.conversations import Message, agent, user


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReasoningBank]:
    with ReasoningBank.open(tmp_path_factory.mktemp("truly") / "bank.db") as opened:
        yield opened


def days(bank: ReasoningBank, conv_id: str, talk: list[Message]) -> list[str]:
    bank.graph.ingest(talk, conv_id=conv_id)
    events = [v.record for v in bank.graph.conversation(conv_id).vertices if v.label == NodeLabel.EVENT]
    return [event.fields["start_date"] for event in events]


def test_the_year_of_an_event_is_told_by_the_conversation_or_there_is_none(bank: ReasoningBank) -> None:
    asked = user("Why did the churn of the basic plan change?")
    rolled_back = agent("The price of the basic plan was rolled back on April 9.")
    assert days(bank, "no year", [asked, rolled_back]) == []
    told = [user("What happened to the churn between 2021-03-01 and 2021-03-31?"), rolled_back]
    assert days(bank, "year of the question", told) == ["2021-04-09"]
    stamped = [{**asked, "timestamp": "2022-02-01T08:00:00Z"}, rolled_back]
    assert days(bank, "year of the messages", stamped) == ["2021-04-09"]
