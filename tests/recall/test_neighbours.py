"""Turns of one conversation that were kept one after the other help to find each other; notes do not."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank

ASKED = "when did you collect the turbine from the workshop"
QUESTION, ANSWER = "When did you collect the turbine from the workshop?", "On Friday, just after lunch."
APART = "The weather in spring is often mild."


def relevance_of_answer(bank: ReasoningBank, *drafts: dict[str, object], **options: object) -> float:
    """Of the second of the drafts, which says nothing of what is asked, as the search prints it."""
    ids = [bank.record(title=f"Talk {n}", **draft).id for n, draft in enumerate(drafts)]  # type: ignore[arg-type]
    assert bank.catch_up()
    found = bank.search(ASKED, floor=0.0, limit=50, experience=False, **options)
    return {hit.id: hit.relevance for hit in found.memories}.get(ids[1], 0.0)


@pytest.fixture(params=["hash", "local"])
def compare(request: pytest.FixtureRequest, tmp_path: Path):
    """How much more relevant the answer is behind the question than behind a text that has nothing to do with it."""

    numbers = itertools.count()

    def gain(before: dict[str, object], answer: dict[str, object], **options: object) -> float:
        told = []
        for content in (before["content"], str(before["content"]).replace(QUESTION, APART)):
            with ReasoningBank.open(tmp_path / f"{next(numbers)}.db", embedder=request.param, namespace="n") as bank:
                told.append(relevance_of_answer(bank, {**before, "content": content}, answer, **options))
        return told[0] - told[1]

    return gain


def test_a_turn_is_found_by_the_turn_before_it(compare) -> None:
    assert compare({"content": f"Ann: {QUESTION}"}, {"content": f"Bob: {ANSWER}"}) > 0.03


def test_a_turn_is_found_by_the_turn_after_it(bank: ReasoningBank) -> None:
    bank.record(title="Talk", content="Bob: It was Friday, just after lunch.")
    bank.record(title="Talk", content=f"Ann: {QUESTION}")
    beside = bank.candidates(ASKED)
    assert [bank.get(i).content.partition(":")[0] for i in beside.ids] == ["Ann", "Bob"]
    assert sorted(max(pair) for pair in beside.beside.tolist()) == [0, 1]


def test_a_turn_that_neither_words_nor_vectors_find_comes_with_its_neighbour(bank: ReasoningBank) -> None:
    bank.record(title="Talk", content=f"Ann: {QUESTION}")
    answer = bank.record(title="Talk", content=f"Bob: {ANSWER}")
    bank.record(title="Talk", content="Ann: So late!")
    found = bank.candidates(ASKED, depth=1)  # By itself only the question is found so.
    assert answer.id in found.ids
    assert len(found.ids) == 2


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("Note: {}", "Note: {}"),
        ("Run: {}", "Run: {}"),
        ("{}", "{}"),
        ("Ann: {}", "Note: {}"),
        ("Note: {}", "Ann: {}"),
    ],
)
def test_notes_do_not_speak_for_each_other(compare, before: str, answer: str) -> None:
    gain = compare({"content": before.format(QUESTION)}, {"content": answer.format(ANSWER)})
    assert gain == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"conv_id": "two"}},
        {"source": "another chat"},
        {"namespace": "m", "scope": "org"},
    ],
    ids=str,
)
def test_turns_of_another_conversation_or_namespace_do_not_speak_for_each_other(compare, change) -> None:
    gain = compare(
        {"content": f"Ann: {QUESTION}", "metadata": {"conv_id": "one"} if "metadata" in change else {}},
        {"content": f"Bob: {ANSWER}", **change},
    )
    assert gain == pytest.approx(0.0, abs=0.01)


def test_turns_of_the_same_conversation_do(compare) -> None:
    same = {"metadata": {"conv_id": "one"}}
    assert compare({"content": f"Ann: {QUESTION}", **same}, {"content": f"Bob: {ANSWER}", **same}) > 0.03


def test_what_a_filter_leaves_out_does_not_speak(compare) -> None:
    drafts = ({"content": f"Ann: {QUESTION}"}, {"content": f"Bob: {ANSWER}", "tags": ["kept"]})
    assert compare(*drafts) > 0.03
    assert compare(*drafts, tags=["kept"]) == pytest.approx(0.0, abs=0.01)


def test_turns_of_another_tenant_do_not_speak(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n", tenant="one") as bank:
        bank.record(title="Talk", content=f"Ann: {QUESTION}")
    with ReasoningBank.open(path, embedder="hash", namespace="n", tenant="two") as bank:
        bank.record(title="Talk", content=f"Bob: {ANSWER}")
        found = bank.candidates(ASKED)
        assert len(found.ids) == 1
        assert (found.beside == -1).all()
