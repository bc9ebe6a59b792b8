"""What goes to the archive, what has faded, what is promoted, and how it comes back."""

from __future__ import annotations

import sys

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Scope, State
from reasoningbank.learn.consolidate import fading


@pytest.fixture
def timed(path, clock):
    def opened(policy: str = "bayes") -> ReasoningBank:
        return ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock, policy=policy)

    return opened


def record(bank: ReasoningBank, content: str = "Do it like this.", **options) -> str:
    return bank.record(title="A lesson", content=content, **options).id


def condemned(bank: ReasoningBank, times: int = 8, **options) -> str:
    memory_id = record(bank, **options)
    for _ in range(times):
        bank.feedback(memory_id, helpful=False)
    return memory_id


def test_what_proved_wrong_is_archived_and_can_be_brought_back(bank):
    bad, good = condemned(bank), record(bank, "Something else entirely.")
    done = bank.upkeep.prune()
    assert [archival.id for archival in done.plan.archivals] == [bad]
    assert "against it" in done.plan.archivals[0].why
    assert bank.get(bad).memory.state is State.ARCHIVED
    assert [m.id for m in bank.list()] == [good]
    assert bank.upkeep.undo(done.run).memories == (bad,)
    assert bank.get(bad).memory.state is State.ACTIVE
    assert bank.upkeep.prune().applied == 0


def test_a_dry_run_archives_nothing(bank):
    bad = condemned(bank)
    assert [archival.id for archival in bank.upkeep.prune(dry_run=True).plan.archivals] == [bad]
    assert bank.get(bad).memory.state is State.ACTIVE


def test_what_nobody_has_tried_is_never_archived(bank):
    record(bank, initial_confidence=0.05)
    record(bank, "Another one.", initial_confidence=0.05, origin="agent")
    assert bank.upkeep.prune().plan.archivals == ()


def test_one_complaint_is_not_enough(bank):
    memory_id = record(bank, initial_confidence=0.2)
    bank.feedback(memory_id, helpful=False)
    assert bank.upkeep.prune().plan.archivals == ()


def test_a_pinned_memory_stays(bank):
    condemned(bank, tags=["pinned"])
    assert bank.upkeep.prune().plan.archivals == ()


def test_what_has_faded_away_unused_goes_unless_a_person_wrote_it(timed, clock):
    with timed("signals") as bank:
        learned = record(bank, origin="agent")
        record(bank, "My own words.")
        clock.forward(days=400)
        done = bank.upkeep.prune()
        assert [archival.id for archival in done.plan.archivals] == [learned]
        assert "400 days" in done.plan.archivals[0].why


def test_age_alone_archives_nothing_where_it_does_not_lower_confidence(timed, clock):
    with timed() as bank:
        record(bank, origin="agent", initial_confidence=0.2)
        clock.forward(days=4000)
        assert bank.upkeep.prune().plan.archivals == ()


def test_decay_shows_what_has_faded_and_writes_nothing(timed, clock):
    with timed() as bank:
        memory_id = record(bank, initial_confidence=0.5)
        for _ in range(5):
            bank.feedback(memory_id, helpful=True)
        record(bank, "Never tried.")
        assert bank.upkeep.faded() == []
        clock.forward(days=360)
        head = bank.status().changes
        (faded,) = bank.upkeep.faded()
        assert faded.memory.id == memory_id
        assert faded.now == pytest.approx(bank.get(memory_id).confidence.mean)
        assert faded.before > faded.now > 0.5
        assert faded.idle_days == pytest.approx(360)
        assert bank.status().changes == head


def praised(bank: ReasoningBank, title: str, *, lessons: int) -> list[str]:
    made = bank.record_many([{"title": f"{title} {n}", "content": "Do it like this."} for n in range(lessons)])
    for memory_id in made:
        bank.feedback(memory_id, helpful=True)
    return made


def test_the_list_of_what_has_faded_takes_no_text_apart(timed, clock):
    with timed() as bank:
        praised(bank, "A lesson", lessons=20)
        bank.record_many([{"title": f"Never tried {n}", "content": "Some words. " * 20} for n in range(200)])
        clock.forward(days=360)
        bank.upkeep.faded()
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            found = bank.upkeep.faded()
        finally:
            sys.setprofile(None)
        assert len(found) == 20
        assert calls < 220 * 40


@pytest.mark.parametrize("namespace", ["n", "*"])
def test_what_has_faded_is_read_page_by_page_and_told_the_most_first(timed, clock, monkeypatch, namespace):
    with timed() as bank:
        early = praised(bank, "Early", lessons=5)
        clock.forward(days=30)
        late = praised(bank, "Late", lessons=4)
        bank.feedback(late[3], helpful=True)
        bank.edit(late[0], content="Something else entirely.")
        bank.forget(early[0])
        clock.forward(days=200)
        whole = bank.upkeep.faded(namespace=namespace)
        monkeypatch.setattr(fading, "ROWS_PER_PAGE", 2)
        assert bank.upkeep.faded(namespace=namespace) == whole
        told = [faded.memory.id for faded in whole]
        assert set(told) == {*early[1:], *late[1:]}, "what was said of an earlier text says nothing of this one"
        assert told[0] == late[3]
        assert [faded.now for faded in whole] == [bank.get(one).confidence.mean for one in told]


def worked_in(
    bank: ReasoningBank, memory_id: str, tasks: int, *, namespace: str = "n", outcome: str = "success"
) -> None:
    for number in range(tasks):
        session = bank.start_session(f"task {number}", namespace=namespace)
        bank.end_session(session.id, outcome, used=[memory_id])


def test_what_worked_in_enough_tasks_is_offered_to_the_team(bank):
    memory_id = record(bank)
    worked_in(bank, memory_id, 2)
    assert bank.upkeep.promote().applied == 0
    worked_in(bank, memory_id, 1)
    done = bank.upkeep.promote()
    assert [(p.id, p.after, p.sessions) for p in done.plan.promotions] == [(memory_id, "team", 3)]
    promoted = bank.get(memory_id)
    assert promoted.scope is Scope.TEAM
    assert promoted.namespace == "n"
    assert [hit.id for hit in bank.search("do it like this", namespace="another project")] == [memory_id]
    assert bank.upkeep.promote().applied == 0
    bank.upkeep.undo(done.run)
    assert bank.get(memory_id).scope is Scope.PROJECT
    assert bank.upkeep.promote().applied == 0


def test_one_task_that_says_so_many_times_is_one_task(bank):
    memory_id = record(bank)
    session = bank.start_session("a task")
    for _ in range(10):
        bank.outcome(memory_id, succeeded=True, session=session.id)
    assert bank.upkeep.promote().applied == 0


def test_the_organisation_takes_more_tasks_and_two_projects(bank):
    memory_id = record(bank, scope="team")
    worked_in(bank, memory_id, 8)
    assert bank.upkeep.promote().applied == 0
    worked_in(bank, memory_id, 1, namespace="other")
    assert [p.after for p in bank.upkeep.promote().plan.promotions] == ["org"]


def test_promotion_never_raises_trust_and_leaves_strangers_at_home(bank):
    stranger = record(bank, origin="tool:web")
    agent = record(bank, "Another thing.", origin="agent")
    for memory_id in (stranger, agent):
        worked_in(bank, memory_id, 6)
        for _ in range(5):
            bank.feedback(memory_id, helpful=True)
    assert [p.id for p in bank.upkeep.promote().plan.promotions] == [agent]
    assert str(bank.get(agent).trust) == "working"
    assert bank.get(stranger).scope is Scope.PROJECT


def test_what_is_contested_is_not_promoted(bank):
    one = bank.record(title="Force push", content="Use --force when pushing a rebased branch").id
    bank.record(title="Force push", content="Never use --force when pushing a rebased branch")
    worked_in(bank, one, 5)
    done = bank.consolidate()
    assert len(done.plan.conflicts) == 1
    assert done.plan.promotions == ()
    assert bank.upkeep.promote().applied == 0


def test_what_several_projects_know_is_promoted_once_for_all(bank):
    ids = [bank.record(title="Wrap", content="Wrap errors with context.", namespace=n).id for n in ("a", "b", "c")]
    for memory_id, namespace in zip(ids, ("a", "b", "c"), strict=True):
        worked_in(bank, memory_id, 1, namespace=namespace)
    assert bank.upkeep.promote(namespace="a").applied == 0
    done = bank.upkeep.promote(namespace="*")
    assert [p.id for p in done.plan.promotions] == [ids[0]]
    assert "3 projects" in done.plan.promotions[0].why


def test_only_what_its_own_team_has_to_say_brings_a_memory_to_the_team(bank):
    ids = [bank.record(title="Wrap", content="Wrap errors with context.", namespace=n).id for n in ("a", "b", "c")]
    for memory_id, namespace in zip(ids, ("a", "b", "c"), strict=True):
        worked_in(bank, memory_id, 1, namespace=namespace)
    bank.teams.add("core", "a", "b")
    assert bank.upkeep.promote(namespace="*", dry_run=True).plan.promotions == ()
    worked_in(bank, ids[1], 1, namespace="b")
    done = bank.upkeep.promote(namespace="*")
    assert [(p.id, p.after, p.sessions) for p in done.plan.promotions] == [(ids[1], "team", 3)]
    assert "2 projects" in done.plan.promotions[0].why


def test_what_another_team_shares_does_not_keep_a_team_from_its_own(bank):
    for team, namespace in (("core", "a"), ("web", "b")):
        bank.teams.add(team, namespace)
        memory_id = bank.record(title="Wrap", content="Wrap errors with context.", namespace=namespace).id
        worked_in(bank, memory_id, 3, namespace=namespace)
        done = bank.upkeep.promote(namespace="*")
        assert [(p.id, p.after) for p in done.plan.promotions] == [(memory_id, "team")]


def test_the_organisation_hears_every_team(bank):
    memory_id = record(bank, scope="team")
    bank.teams.add("core", "n")
    worked_in(bank, memory_id, 8)
    worked_in(bank, memory_id, 1, namespace="of another team")
    assert [p.after for p in bank.upkeep.promote().plan.promotions] == ["org"]


def test_what_merging_makes_of_the_evidence_is_seen_in_the_same_run(bank):
    first = bank.record(title="Wrap", content="Wrap errors with context.").id
    second = bank.record(title="Wrap", content="Wrap the errors with context").id
    worked_in(bank, first, 2)
    worked_in(bank, second, 2)
    done = bank.consolidate()
    assert len(done.plan.merges) == 1
    assert [p.id for p in done.plan.promotions] == [done.plan.merges[0].kept]
    assert bank.get(done.plan.merges[0].kept).scope is Scope.TEAM
    assert bank.consolidate().applied == 0
    assert bank.upkeep.undo(done.run).left == ()
    assert {m.id: m.scope for m in bank.list()} == {first: Scope.PROJECT, second: Scope.PROJECT}


def test_a_bank_is_due_after_a_day_if_anything_changed(timed, clock):
    with timed() as bank:
        for number in range(25):
            record(bank, f"Lesson number {number}.")
        assert bank.consolidate(if_due=True).due
        assert not bank.consolidate(if_due=True).due
        clock.forward(days=2)
        assert not bank.consolidate(if_due=True).due
        record(bank, "One more.")
        assert bank.consolidate(if_due=True).due
        clock.forward(days=8)
        assert bank.consolidate(if_due=True).due
