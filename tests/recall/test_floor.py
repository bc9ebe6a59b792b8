"""What the floor promises: silence for questions about another subject, an answer for those that have one.

The notes and the questions were written for this test before any of them was asked, and are not to be chosen by what a
search makes of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main

HERE = Path(__file__).parent
NOTES = [json.loads(line) for line in (HERE / "notes.jsonl").read_text("utf-8").splitlines()]
STRANGERS = (HERE / "strangers.txt").read_text("utf-8").splitlines()
ONE_IN = 20


@pytest.fixture(scope="module")
def small(open_bank: Callable[[str], ReasoningBank]) -> ReasoningBank:
    """Thirty notes."""
    bank = open_bank("local")
    bank.record_many({"title": note["title"], "content": note["text"]} for note in NOTES)
    assert bank.catch_up()
    return bank


@pytest.fixture(scope="module")
def large(open_bank: Callable[[str], ReasoningBank], everyday: Callable[[int], Sequence[str]]) -> ReasoningBank:
    """Thirty notes among three hundred memories of other subjects."""
    bank = open_bank("local")
    bank.record_many({"title": note["title"], "content": note["text"]} for note in NOTES)
    bank.record_many({"title": text[:-1], "content": text} for text in everyday(300))
    assert bank.catch_up()
    return bank


def answered(bank: ReasoningBank, questions: Sequence[str]) -> list[str]:
    """Those questions for which anything is shown, with what and how relevant it is."""
    told = []
    for question in questions:
        best = bank.search(question, limit=1).memories
        told += [f"{question} -> {hit.title}, {hit.relevance:.3f}, cosine {hit.parts.cosine:.3f}" for hit in best]
    return told


def refused(bank: ReasoningBank, questions: Sequence[str]) -> list[str]:
    return [question for question in questions if bank.search(question).abstained]


def test_of_thirty_notes_one_in_twenty_strange_questions_is_answered_at_most(small: ReasoningBank) -> None:
    assert len(answered(small, STRANGERS)) <= len(STRANGERS) / ONE_IN


def test_of_thirty_notes_one_in_twenty_questions_is_refused_at_most(small: ReasoningBank) -> None:
    assert len(refused(small, [note["question"] for note in NOTES])) <= len(NOTES) / ONE_IN


def test_among_three_hundred_others_one_in_twenty_strange_questions_is_answered_at_most(large: ReasoningBank) -> None:
    about_programs = {note["title"] for note in NOTES}
    told = answered(large, STRANGERS)
    assert len([line for line in told if any(f"-> {title}," in line for title in about_programs)]) <= 1
    assert len(told) <= len(STRANGERS) / ONE_IN


def test_among_three_hundred_others_one_in_five_questions_in_other_words_is_refused_at_most(
    large: ReasoningBank,
) -> None:
    """Not one in twenty: their cosines of 0.25 to 0.39 are what strangers reach among so many (decision 0029)."""
    assert len(refused(large, [note["question"] for note in NOTES])) <= len(NOTES) / 5


def test_nothing_of_another_subject_comes_before_the_notes(large: ReasoningBank) -> None:
    first = {large.search(note["question"], floor=0.0, limit=1).memories[0].title for note in NOTES}
    assert first <= {note["title"] for note in NOTES}


STRANGE = STRANGERS[1]


def test_four_factor_shows_everything_of_a_namespace_and_no_other(small: ReasoningBank) -> None:
    found = small.search(STRANGE, profile="four-factor", limit=100)
    assert {hit.title for hit in found.memories} == {note["title"] for note in NOTES}
    assert small.search(STRANGE, profile="four-factor", limit=100, namespace="elsewhere").abstained


@pytest.mark.parametrize("profile", ["balanced", "semantic", "boosted"])
def test_every_other_profile_keeps_the_floor(small: ReasoningBank, profile: str) -> None:
    assert small.search(STRANGE, profile=profile).abstained


@pytest.mark.parametrize("profile", ["balanced", "four-factor"])
def test_a_floor_that_is_asked_for_wins(small: ReasoningBank, profile: str) -> None:
    question = NOTES[0]["question"]
    every = small.search(question, profile=profile, floor=0.0, limit=100).memories
    assert len(every) > len(small.search(question).memories)
    bar = sorted(hit.relevance for hit in every)[-2]
    kept = small.search(question, profile=profile, floor=bar, limit=100).memories
    assert {hit.title for hit in kept} == {hit.title for hit in every if hit.relevance >= bar}
    assert len(kept) == 2


def test_a_floor_of_one_hides_even_what_is_asked_for_by_name(small: ReasoningBank) -> None:
    assert small.search("LimitNOFILE").memories[0].title == "Raise the file descriptor limit"
    assert small.search("LimitNOFILE", floor=1.0).abstained


def test_the_floor_of_the_command_line_wins(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.record(title="Retry downloads", content="Wait twice as long after every attempt.")
        bank.record(title="Rotate keys", content="Accept the old and the new key at once.")
    shown = []
    for floor in ((), ("--floor", "0"), ("--floor", "1")):
        main(["query", "the old ferry was late", *floor, "--bank", str(path), "--namespace", "n", "--json"])
        shown.append([memory["title"] for memory in json.loads(capsys.readouterr().out)["memories"]])
    assert shown == [[], ["Rotate keys", "Retry downloads"], []]


def test_while_vectors_are_owed_what_holds_half_of_the_words_is_shown(
    path: Path, everyday: Callable[[int], Sequence[str]]
) -> None:
    with ReasoningBank.open(path, embedder="local", namespace="n") as bank:
        bank.record_many({"title": text[:-1], "content": text} for text in everyday(200))
        bank.record(title="Half", content="Tighten bolts and inspect gaskets.")
        bank.record(title="A quarter", content="Bolts are kept in the shed.")
        question = "tighten bolts under pressure, inspect before winter storms"
        owing = bank.search(question, catch_up_s=0.0)
        assert owing.not_yet_indexed
        assert [hit.title for hit in owing.memories] == ["Half"]
        assert owing.memories[0].parts.cosine == 0.0
