"""Contradictions in the words of people: pairs that exclude each other, pairs that only look like it, and a whole bank."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.types import Draft, EdgeKind
from reasoningbank.learn.consolidate.agreement import contradiction, says_the_same
from reasoningbank.learn.consolidate.wording import Wording, wording_of
from tests.learn.consolidate import contradiction_pairs, unseen_pairs

PLANTED = [
    (
        ("Timeouts", "Every outgoing call gets a timeout. Without one a hung peer blocks the worker for ever."),
        ("No timeouts", "Do not set a timeout on outgoing calls. Long uploads to the archive were cut off."),
    ),
    (
        ("Migrate, then deploy", "Run database migrations before the release is deployed."),
        ("Deploy, then migrate", "Database migrations are run after the release is deployed, with the old code up."),
    ),
    (
        ("Webhooks", "Retry a failed webhook 3 times with a growing pause."),
        ("Webhook retries", "A failed webhook is retried 5 times with a growing pause."),
    ),
    (
        ("Formatting", "Indent Python code with 4 spaces."),
        ("Formatting of Python", "Indent Python code with tabs; screen readers cope better."),
    ),
    (
        ("Never release on a Friday", "The engineer on call has paid for it twice."),
        ("Friday releases are fine", "Release on Friday afternoon, when traffic is lowest."),
    ),
]


def text_of(side: contradiction_pairs.Side) -> tuple[str, str]:
    return side if isinstance(side, tuple) else (side[:50], side)


def worded(side: contradiction_pairs.Side) -> Wording:
    title, content = text_of(side)
    draft = Draft(title=title, content=content)
    return wording_of(memory_from(draft, memory_id="mem_1", tenant="t", namespace="n", initial_confidence=0.5, now=0.0))


def is_found(one: contradiction_pairs.Side, other: contradiction_pairs.Side) -> bool:
    found = contradiction(worded(one), worded(other))
    assert (contradiction(worded(other), worded(one)) is None) == (found is None)
    return found is not None


@pytest.mark.parametrize(("one", "other"), contradiction_pairs.CONTRADICTING)
def test_what_cannot_both_be_followed_is_found_and_never_merged(one, other):
    assert is_found(one, other)
    assert says_the_same(worded(one), worded(other)) is None


@pytest.mark.parametrize(("one", "other"), contradiction_pairs.COMPATIBLE)
def test_another_scope_another_object_a_refinement_and_a_question_contradict_nothing(one, other):
    assert not is_found(one, other)


def test_pairs_that_nothing_was_tuned_on_are_told_apart_as_well():
    found = [is_found(*pair) for pair in unseen_pairs.CONTRADICTING]
    alarms = [is_found(*pair) for pair in unseen_pairs.COMPATIBLE]
    assert sum(found) >= 27
    assert sum(alarms) <= 1


def test_lessons_that_have_nothing_to_do_with_each_other_do_not_contradict_each_other():
    sides = [one for one, _ in contradiction_pairs.COMPATIBLE] + [one for one, _ in unseen_pairs.COMPATIBLE]
    wordings = [worded(side) for side in sides]
    alarms = [pair for pair in combinations(wordings, 2) if contradiction(*pair)]
    assert len(alarms) <= 2


@pytest.mark.parametrize("embedder", ["local", "hash"])
def test_contradictions_planted_among_other_lessons_are_found_and_no_others(path, embedder):
    with ReasoningBank.open(path, embedder=embedder, namespace="n") as bank:
        others = [text_of(side) for side, _ in contradiction_pairs.COMPATIBLE]
        others = [text for text in others if not re.search(r"timeout|migration|deploy", text[1])]
        for title, content in others[:40]:
            bank.record(title=title, content=content)
        planted = [
            frozenset(bank.record(title=title, content=content).id for title, content in pair) for pair in PLANTED
        ]
        plan = bank.consolidate().plan
        assert {frozenset((link.source, link.target)) for link in plan.conflicts} == set(planted)
        one = bank.get(next(iter(planted[0])))
        hits = bank.search(one.content).memories
        told = next(hit for hit in hits if hit.id == one.id)
        assert {clash.id for clash in told.conflicts} == planted[0] - {one.id}
        assert all(link.kind is EdgeKind.CONFLICTS for link in plan.conflicts)
