"""Links that use shows: what was used together, what helped, what came first, what took another's place."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reasoningbank import ReasoningBank

DAY_S = 86_400.0
YEAR_S = 365 * DAY_S


@pytest.fixture
def clocked(path, clock):
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        yield bank


@pytest.fixture
def notes(clocked) -> dict[str, str]:
    told = {
        "index": "Add an index on the column that is joined on.",
        "explain": "Look at the plan of a slow query before anything else.",
        "test": "Begin with a failing test.",
        "cache": "Keep what is read often in memory.",
    }
    return {name: clocked.record(title=name.title(), content=content).id for name, content in told.items()}


def work(bank: ReasoningBank, used: Sequence[str], outcome: str = "success", task: str = "make the report fast") -> str:
    session = bank.start_session(task)
    bank.end_session(session.id, outcome, used=list(used))
    return session.id


def edges(bank: ReasoningBank) -> dict[tuple[str, str, str], str]:
    return {(e.edge.source_id, e.edge.kind.value, e.edge.target_id): e.edge.text for e in bank.edges()}


def linked(bank: ReasoningBank) -> dict[tuple[str, str, str], str]:
    bank.consolidate(only=["links"])
    return edges(bank)


def used_together(bank: ReasoningBank, notes: dict[str, str], times: int = 4) -> None:
    """Two memories, while others are used in other tasks."""
    for _ in range(times):
        work(bank, [notes["index"], notes["explain"]])
    work(bank, [notes["explain"], notes["test"]])
    for _ in range(7):
        work(bank, [notes["cache"]], task="serve the page")


def test_what_is_used_together_beyond_chance_and_goes_well_is_linked(clocked, notes):
    used_together(clocked, notes)
    assert linked(clocked) == {
        (notes["index"], "enhances", notes["explain"]): (
            "Used together in 4 tasks, 4 of which went well: more often than by chance."
        )
    }
    (edge,) = clocked.edges()
    assert edge.edge.evidence.startswith("tasks trj_")
    assert set(edge.edge.tags) == {"discovered", "from-use"}
    assert clocked.consolidate(only=["links"]).applied == 0


def test_what_is_used_in_every_task_is_used_together_with_anything_by_chance(clocked, notes):
    for _ in range(6):
        work(clocked, [notes["index"], notes["explain"]])
    assert linked(clocked) == {}


def test_what_was_used_together_and_failed_is_not_linked(clocked, notes):
    for _ in range(6):
        work(clocked, [notes["index"], notes["explain"]], "failure")
        work(clocked, [notes["cache"]], task="serve the page")
    assert linked(clocked) == {}


def test_the_more_pairs_are_compared_the_surer_one_must_be(clocked, notes):
    many = [clocked.record(title=f"Other {n}", content=f"Advice {n}.").id for n in range(8)]
    for first in range(0, 8, 4):
        for _ in range(3):
            work(clocked, many[first : first + 4], task=f"other work {first}")
    used_together(clocked, notes)
    assert (notes["index"], "enhances", notes["explain"]) not in linked(clocked)


def test_what_goes_wrong_without_another_requires_it(clocked, notes):
    for _ in range(8):
        work(clocked, [notes["index"], notes["explain"]])
        work(clocked, [notes["index"]], "failure")
        work(clocked, [notes["explain"]])
    assert linked(clocked) == {
        (notes["index"], "requires", notes["explain"]): (
            "With the second, the first went well in 8 of 8 tasks; without it in 0 of 8."
        )
    }


def test_what_goes_better_with_another_is_improved_by_it(clocked, notes):
    for number in range(40):
        work(clocked, [notes["cache"]], "success" if number % 2 else "failure")
        work(clocked, [notes["cache"], notes["test"]])
        work(clocked, [notes["test"]])
    ((source, kind, target), text) = next(iter(linked(clocked).items()))
    assert (source, kind, target) == (notes["test"], "enhances", notes["cache"])
    assert text == "With the first, the second went well in 40 of 40 tasks; without it in 20 of 40."


def shown_and_used(bank: ReasoningBank, clock, first: str, then: str) -> None:
    """One memory is found and, a while later, the other; both are used."""
    session = bank.start_session("make the report fast")
    for memory in (first, then):
        clock.now += 60
        content = bank.get(memory).content
        shown = bank.search(content, session=session.id, limit=1, floor=0.0)
        assert [hit.id for hit in shown] == [memory]
    bank.end_session(session.id, "success", used=[first, then])


def test_what_always_comes_before_another_is_required_by_it(clocked, clock, notes):
    for _ in range(6):
        shown_and_used(clocked, clock, notes["explain"], notes["index"])
    for _ in range(20):
        work(clocked, [notes["cache"]], task="serve the page")
    for _ in range(6):
        work(clocked, [notes["explain"]], task="look at it")
    assert linked(clocked) == {
        (notes["index"], "requires", notes["explain"]): (
            "In 6 of 6 tasks that went well with the first, the second had come before it."
        )
    }


def test_what_another_always_follows_leads_to_it(clocked, clock, notes):
    for _ in range(6):
        shown_and_used(clocked, clock, notes["explain"], notes["index"])
    for _ in range(20):
        work(clocked, [notes["cache"]], task="serve the page")
    for _ in range(8):
        work(clocked, [notes["index"]], task="index it")
    assert linked(clocked) == {
        (notes["explain"], "causes", notes["index"]): (
            "In 6 of 6 tasks that used the first, the second followed and it went well."
        )
    }


def test_what_goes_well_where_another_fails_is_an_alternative_to_it(clocked, notes):
    for _ in range(6):
        work(clocked, [notes["cache"]])
        work(clocked, [notes["index"]], "failure")
    assert linked(clocked) == {
        (notes["cache"], "alternative", notes["index"]): (
            "In like tasks the first went well in 6 of 6, the second in 0 of 6."
        )
    }


def test_what_took_the_place_of_another_supersedes_it_and_the_other_says_so(clocked, clock, notes):
    for outcome, name in (("failure", "index"), ("success", "cache")):
        for _ in range(6):
            clock.now += 60
            work(clocked, [notes[name]], outcome)
    assert list(linked(clocked)) == [(notes["cache"], "supersedes", notes["index"])]
    assert "has not been used since" in next(iter(edges(clocked).values()))
    (hit,) = clocked.search("add an index on the joined column", limit=1, floor=0.0, min_confidence=0.0)
    assert [linked.relation for linked in hit.see_also] == ["is replaced by"]
    assert clocked.consolidate(only=["links"]).applied == 0


def test_tasks_of_different_kinds_are_not_compared(clocked, notes):
    for _ in range(6):
        work(clocked, [notes["cache"]])
        work(clocked, [notes["index"]], "failure", task="repair the printer")
    assert linked(clocked) == {}


# ---------------------------------------------------------------- weighing again


def test_a_link_grows_stronger_with_its_evidence(clocked, notes):
    used_together(clocked, notes)
    clocked.consolidate(only=["links"])
    (before,) = clocked.edges()
    for _ in range(6):
        work(clocked, [notes["index"], notes["explain"]])
    done = clocked.consolidate(only=["links"])
    (after,) = clocked.edges()
    assert (len(done.plan.links), len(done.plan.reweighed)) == (0, 1)
    assert after.edge.id == before.edge.id
    assert after.edge.weight > before.edge.weight
    assert after.edge.text.startswith("Used together in 10 tasks, 10 of which went well")
    assert clocked.consolidate(only=["links"]).applied == 0
    assert clocked.upkeep.undo(done.run).links == 1
    (back,) = clocked.edges()
    assert (back.edge.weight, back.edge.text) == (before.edge.weight, before.edge.text)
    assert clocked.consolidate(only=["links"]).applied == 0


def test_a_link_weakens_with_age_until_recall_leaves_it_alone(clocked, clock, notes):
    used_together(clocked, notes)
    clocked.consolidate(only=["links"])
    (before,) = clocked.edges()
    clock.now += 3 * YEAR_S
    assert len(clocked.consolidate(only=["links"]).plan.reweighed) == 1
    (after,) = clocked.edges()
    assert before.edge.weight >= 0.55 > 0.45 > after.edge.weight >= 0.25


def contradicted(bank: ReasoningBank, notes: dict[str, str]) -> None:
    used_together(bank, notes)
    bank.consolidate(only=["links"])
    assert len(bank.edges()) == 1
    for _ in range(6):
        work(bank, [notes["index"]])
        work(bank, [notes["explain"]])
        work(bank, [notes["index"], notes["test"]])


def test_a_link_that_use_speaks_against_is_removed_and_can_be_had_again(clocked, notes):
    contradicted(clocked, notes)
    planned = clocked.consolidate(only=["links"], dry_run=True).plan
    assert len(clocked.edges()) == 1
    done = clocked.consolidate(only=["links"])
    assert [act.edge for act in done.plan.unlinked] == [act.edge for act in planned.unlinked]
    assert len(done.plan.unlinked) == 1
    gone = (notes["index"], "enhances", notes["explain"])
    assert gone not in edges(clocked)
    assert clocked.consolidate(only=["links"]).applied == 0
    assert clocked.upkeep.undo(done.run).links == 1
    assert gone in edges(clocked)
    assert clocked.consolidate(only=["links"]).applied == 0
    assert gone in edges(clocked)


def test_a_link_that_somebody_made_is_not_weighed(clocked, notes):
    contradicted(clocked, notes)
    clocked.link(notes["index"], notes["explain"], "enhances", weight=0.9, text="I say so.")
    clocked.consolidate(only=["links"])
    assert edges(clocked)[notes["index"], "enhances", notes["explain"]] == "I say so."


def test_recall_pulls_in_what_use_has_shown_to_be_needed(clocked, notes):
    question = "add an index on the joined column"
    for _ in range(8):
        work(clocked, [notes["index"], notes["explain"]], task=question)
        work(clocked, [notes["index"]], "failure", task="index the log")
        work(clocked, [notes["explain"]], task="look at the plan")
    asked = {"limit": 2, "experience": False, "min_confidence": 0.0, "floor": 0.3}
    assert notes["explain"] not in [hit.id for hit in clocked.search(question, links="required", **asked)]
    clocked.consolidate(only=["links"])
    hits = clocked.search(question, links="required", **asked).memories
    assert [(hit.id, hit.pulled_in and hit.pulled_in.relation) for hit in hits] == [
        (notes["index"], None),
        (notes["explain"], "is required by"),
    ]
    assert [hit.see_also[0].text for hit in hits] == [
        "With the other, this one went well in 8 of 8 tasks; without it in 0 of 8.",
        "With this one, the other went well in 8 of 8 tasks; without it in 0 of 8.",
    ]
