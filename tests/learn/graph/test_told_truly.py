"""What is kept of a conversation is what was said in it: no date, cause or happening that nobody told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Edge, EdgeKind, NodeLabel
from tests.learn.graph.conversations import Message, agent, call, user


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


def test_an_action_is_caused_by_what_was_asked_last_and_not_by_who_named_its_values(bank: ReasoningBank) -> None:
    order = "#W2378156"
    talk = [
        user(f"I want to exchange the keyboard of order {order} for one with clicky switches."),
        *call("exchange_items", "Error: not available", call_id="1", order_id=order),
        agent("Unfortunately the clicky one is out of stock, and the exchange was not made."),
        user("Then refund it, please."),
        *call("return_items", '{"status": "requested"}', call_id="2", order_id=order),
        *call("notify", "sent", call_id="3", order_id=order),
        agent("The return of the keyboard is requested now."),
    ]
    bank.graph.ingest(talk, conv_id="refund")
    graph = bank.graph.conversation("refund")
    texts = {vertex.id: vertex.text for vertex in graph.vertices}
    of_return = [edge for edge in graph.edges if texts[edge.target_id].startswith("Called return_items")]
    assert {(edge.kind, texts[edge.source_id]) for edge in of_return} == {
        (EdgeKind.CAUSES, "Then refund it, please."),
        (EdgeKind.RELATES, talk[0]["content"]),
    }
    [after] = [edge.text for edge in of_return if edge.kind is EdgeKind.RELATES]
    assert after.startswith("After the request “I want to exchange")
    assert after.endswith("the agent ran return_items for #W2378156 for the request “Then refund it, please.”.")
    [then] = [edge for edge in graph.edges if edge.kind is EdgeKind.CAUSES and "notify" in texts[edge.target_id]]
    assert then.text.startswith("After the call return_items")


def test_a_bridge_names_only_what_both_of_its_ends_name(bank: ReasoningBank) -> None:
    earlier = [
        user("Where is order #W5550001 with item 8801293680?"),
        agent("Order #W5550001 was paid with credit_card_7713926 and is on its way."),
    ]
    later = [
        user("Has the refund for item 8801293680 arrived?"),
        agent("The refund of order #W5550001 was booked to the card today."),
    ]
    bank.graph.ingest(earlier, conv_id="paid")
    made = bank.graph.ingest(later, conv_id="booked")
    with bank.context.store.read(bank.tenant) as reader:
        [bridge] = reader.get(Edge, list(made.bridges)).values()
    assert "concerns #W5550001, as the answer “Order #W5550001 was paid" in bridge.text


def test_a_bridge_by_what_was_only_looked_up_is_told_of_the_conversations(bank: ReasoningBank) -> None:
    def look_up(asked: str, conv_id: str) -> tuple[str, ...]:
        looked = call("get_invoice", "found", call_id="1", invoice="INV-20417", customer="ann_lee_4410")
        return bank.graph.ingest([user(asked), *looked], conv_id=conv_id).bridges

    look_up("Was I charged twice last time?", "charged")
    with bank.context.store.read(bank.tenant) as reader:
        [bridge] = reader.get(Edge, list(look_up("Where is my receipt?", "receipt"))).values()
    assert bridge.text == (
        "The conversation of the request “Where is my receipt?” came to INV-20417 and ann_lee_4410, as that of the request "
        "“Was I charged twice last time?” did before."
    )


def test_what_never_happened_is_no_event(bank: ReasoningBank) -> None:
    asked = user("Was the price of the basic plan rolled back?")
    denied = [
        "The price increase was never rolled back in April 2025.",
        "The release wasn't shipped on 2025-04-09.",
        "There was no outage on 2025-04-09, and nothing else failed.",
    ]
    assert days(bank, "denied", [asked, agent(" ".join(denied))]) == []
    half = "The price increase was never rolled back; the churn fell by itself in April 2025."
    assert days(bank, "half denied", [asked, agent(half)]) == ["2025-04-01"]
    [event] = [v for v in bank.graph.conversation("half denied").vertices if v.label == NodeLabel.EVENT]
    assert event.text == "the churn fell by itself in April 2025."
    crashed = "The job could not connect and crashed on July 4, 2025."
    assert days(bank, "crashed", [asked, agent(crashed)]) == ["2025-07-04"]


def test_the_sentence_of_an_event_reads_along_its_arrow(bank: ReasoningBank) -> None:
    bank.graph.ingest([user("What happened?"), agent("The server crashed on 2025-07-04.")], conv_id="arrow")
    graph = bank.graph.conversation("arrow")
    [event] = [vertex for vertex in graph.vertices if vertex.label == NodeLabel.EVENT]
    [edge] = [edge for edge in graph.edges if "event" in edge.tags]
    assert edge.source_id == event.id
    assert edge.text.startswith("The event “The server crashed on 2025-07-04.” of 2025-07-04 is named in the answer")


def test_a_failed_run_of_tests_is_told_by_its_count_and_not_by_its_dots(bank: ReasoningBank) -> None:
    result = ".F...\n1 failed, 4 passed in 0.30s\nexit code 1"
    talk = [user("Please fix the dates."), *call("bash", result, call_id="1", command="pytest -q tests/test_dates.py")]
    bank.graph.ingest(talk, conv_id="dots")
    [action] = [v.text for v in bank.graph.conversation("dots").vertices if v.label == NodeLabel.AGENT_ACTION]
    assert action == "Ran `pytest -q tests/test_dates.py`. It failed: “1 failed, 4 passed in 0.30s”"
