"""Near-duplicates become one: what is kept, what follows it, who is never merged, and how it is undone."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import Conflict, InvalidInput, NotFound
from reasoningbank.core.types import Signal, State

ONE = {"title": "Wrap errors", "description": "In Go code", "content": "Wrap errors with context, using %w."}
SAME = {"title": "Wrap errors", "description": "In Go code", "content": "Use %w to wrap the errors with context."}
OTHER = {"title": "Pool connections", "description": "In servers", "content": "Keep a pool of database connections."}


def two(bank: ReasoningBank, **options) -> tuple[str, str]:
    return bank.record(**ONE, **options).id, bank.record(**SAME, **options).id


def states(bank: ReasoningBank) -> dict[str, str]:
    return {m.id: m.memory.state.value for m in bank.list(state=None, namespace="*", limit=1000)}


def merged(bank: ReasoningBank, **options) -> list[tuple[str, tuple[str, ...]]]:
    return [(merge.kept, merge.merged) for merge in bank.consolidate(**options).plan.merges]


def test_two_that_say_the_same_become_one_and_the_other_stays_readable(bank):
    first, second = two(bank)
    other = bank.record(**OTHER).id
    done = bank.consolidate()
    assert [(m.kept, m.merged) for m in done.plan.merges] == [(first, (second,))]
    assert states(bank) == {first: "active", second: "superseded", other: "active"}
    assert [hit.id for hit in bank.search("wrap errors with context")] == [first]
    assert bank.get(second).content == SAME["content"]
    assert bank.get(first).memory.parents == (second,)
    edge = next(n.edge for n in bank.neighbours(first) if n.memory.id == second)
    assert (edge.kind, edge.source_id, edge.target_id) == ("supersedes", first, second)


def test_a_dry_run_says_what_would_be_done_and_does_nothing(bank):
    two(bank)
    before, head = states(bank), bank.status().changes
    plan = bank.consolidate(dry_run=True)
    assert len(plan.plan.merges) == 1
    assert plan.run is None
    assert states(bank) == before
    assert bank.status().changes == head


def test_consolidating_again_changes_nothing(bank):
    two(bank)
    bank.record(**OTHER)
    assert bank.consolidate().applied
    head = bank.status().changes
    again = bank.consolidate()
    assert (again.applied, again.run, again.plan.acts) == (0, None, ())
    assert bank.status().changes == head


def test_the_one_with_the_most_evidence_is_kept(bank):
    first, second = two(bank)
    bank.outcome(second, succeeded=True)
    assert merged(bank) == [(second, (first,))]


def signals_of(bank: ReasoningBank, *ids: str) -> list[Signal]:
    with bank.context.store.read(bank.tenant) as reader:
        return reader.select(Signal, {"memory_id": ids})


def test_evidence_uses_and_tags_follow(bank):
    first = bank.record(**ONE, tags=["go"]).id
    second = bank.record(**SAME, tags=["errors"]).id
    bank.outcome(first, succeeded=True)
    bank.outcome(first, succeeded=True)
    bank.feedback(second, helpful=True)
    both = signals_of(bank, first, second)
    bank.consolidate()
    kept = bank.get(first)
    assert kept.usage_count == 3
    assert set(kept.tags) == {"go", "errors"}
    policy = bank.context.policy
    standing = policy.standing(kept.memory.initial_confidence, kept.memory.created_at, both)
    assert kept.confidence.mean == pytest.approx(policy.confidence(standing, bank.context.clock()).mean, abs=1e-6)
    assert bank.get(second).usage_count == 1


def test_one_task_is_counted_once_however_many_copies_it_used(bank):
    first, second = two(bank)
    session = bank.start_session("a task")
    bank.search("wrap errors", session=session.id)
    bank.end_session(session.id, "success", used=[first, second])
    before = bank.get(first)
    bank.consolidate()
    after = bank.get(first)
    assert after.usage_count == before.usage_count == 1
    assert after.confidence.mean == pytest.approx(before.confidence.mean, abs=1e-6)


def test_a_use_in_a_task_where_the_other_was_only_shown_still_counts(bank):
    first, second = two(bank)
    for _ in range(2):
        bank.outcome(first, succeeded=True)
    session = bank.start_session("a task")
    bank.search("wrap errors", session=session.id, limit=5)
    bank.end_session(session.id, "success", used=[second])
    bank.consolidate()
    assert bank.get(first).usage_count == 3


def test_evidence_that_comes_late_is_evidence_for_the_one_that_is_kept(bank):
    first, second = two(bank)
    session = bank.start_session("a task")
    bank.search("wrap errors", session=session.id)
    bank.consolidate()
    bank.end_session(session.id, "success", used=[second])
    bank.feedback(second, helpful=True)
    assert bank.get(first).usage_count == 2
    assert bank.get(second).usage_count == 0


def test_an_edge_alone_draws_no_evidence_away(bank):
    first, second = two(bank)
    bank.edit(second, state="superseded")
    bank.link(first, second, "supersedes")
    bank.feedback(second, helpful=True)
    assert (bank.get(first).usage_count, bank.get(second).usage_count) == (0, 1)


def test_who_differs_in_what_counts_is_never_merged(bank):
    first = bank.record(**ONE).id
    bank.record(**SAME, namespace="elsewhere")
    bank.record(**SAME, outcome="failure")
    bank.record(**SAME, scope="team")
    bank.record(**SAME, agent="another")
    bank.record(**SAME, task_type="review")
    bank.record(**SAME, origin="agent")
    bank.record(**{**SAME, "content": SAME["content"] + " Not for %v."})
    assert merged(bank, namespace="*") == []
    assert states(bank)[first] == "active"


def test_two_strangers_do_not_vouch_for_each_other(bank):
    one = bank.record(**ONE, origin="tool:web").id
    two_ = bank.record(**SAME, origin="tool:mail").id
    same = bank.record(**SAME, origin="tool:web").id
    assert {frozenset((kept, *others)) for kept, others in merged(bank)} == {frozenset((one, same))}
    assert bank.get(two_).memory.state is State.ACTIVE
    assert str(bank.get(one).trust) == "untrusted"


def test_what_is_in_quarantine_takes_no_part(bank):
    bank.record(**ONE, origin="tool:web")
    bank.record(**SAME, origin="tool:web")
    bank.trust.revoke("tool:web")
    assert merged(bank) == []


def test_a_merge_across_origins_is_revoked_with_either_of_them(bank):
    first = bank.record(**ONE, origin="agent:one").id
    bank.record(**SAME, origin="agent:two")
    bank.consolidate()
    bank.trust.revoke("agent:two")
    assert bank.get(first).memory.state is State.QUARANTINED


def test_a_memory_under_a_key_is_found_by_it_afterwards(bank):
    plain = bank.record(title="wrap", content=ONE["content"]).id
    bank.outcome(plain, succeeded=True)
    keyed = bank.store("wrap", SAME["content"]).id
    assert merged(bank) == [(keyed, (plain,))]
    assert bank.get("wrap").id == keyed


def test_two_keys_are_two_memories(bank):
    bank.store("a", SAME["content"], title="wrap")
    bank.store("b", SAME["content"], title="wrap")
    assert merged(bank) == []


def test_a_pinned_memory_is_not_merged_away(bank):
    first, _ = two(bank)
    pinned = bank.record(**SAME, tags=["pinned"]).id
    bank.outcome(first, succeeded=True)
    assert merged(bank)[0][0] == pinned


def test_edges_of_a_merged_memory_are_found_at_the_one_that_is_kept(bank):
    first, second = two(bank)
    other = bank.record(**OTHER).id
    bank.link(second, other, "requires", text="because")
    bank.consolidate()
    assert {n.memory.id for n in bank.neighbours(first, kind="requires")} == {other}


def test_hundreds_of_copies_become_one(bank):
    ids = bank.record_many([ONE] * 300 + [SAME] * 300)
    done = bank.consolidate()
    assert sum(len(merge.merged) for merge in done.plan.merges) == len(ids) - 1
    assert sum(state == "active" for state in states(bank).values()) == 1
    assert bank.consolidate().applied == 0


def test_undoing_puts_everything_back(bank):
    first, second = two(bank)
    other = bank.record(**OTHER).id
    bank.link(second, other, "requires")
    bank.feedback(second, helpful=True)
    before = [bank.get(i) for i in (first, second)]
    edges = [{n.edge for n in bank.neighbours(i)} for i in (first, second, other)]
    run = bank.consolidate().run
    bank.feedback(other, helpful=True)
    undone = bank.upkeep.undo(run)
    assert undone.left == ()
    after = [bank.get(i) for i in (first, second)]
    for old, new in zip(before, after, strict=True):
        assert new.confidence.mean == pytest.approx(old.confidence.mean, abs=1e-6)
        assert new.usage_count == old.usage_count
        for name in ("state", "tags", "parents", "metadata", "scope", "title", "content"):
            assert getattr(new.memory, name) == getattr(old.memory, name)
    assert [{n.edge for n in bank.neighbours(i)} for i in (first, second, other)] == edges
    assert {hit.id for hit in bank.search("wrap errors with context")} == {first, second}


def test_what_was_undone_is_not_done_again(bank):
    two(bank)
    bank.upkeep.undo(bank.consolidate().run)
    assert bank.consolidate().applied == 0


def test_an_undone_merge_no_longer_ties_the_two_together(bank):
    first = bank.record(**ONE, origin="agent:one").id
    bank.record(**SAME, origin="agent:two")
    bank.upkeep.undo(bank.consolidate().run)
    bank.trust.revoke("agent:two")
    assert bank.get(first).memory.state is State.ACTIVE


def test_undoing_leaves_what_somebody_has_changed_since_and_says_so(bank):
    first = bank.record(**ONE, tags=["go"]).id
    second = bank.record(**SAME, tags=["errors"]).id
    run = bank.consolidate().run
    bank.edit(first, tags=["mine"], content="Something else now.")
    undone = bank.upkeep.undo(run)
    assert bank.get(first).content == "Something else now."
    assert bank.get(first).memory.tags == ("mine",)
    assert bank.get(first).memory.parents == ()
    assert bank.get(second).memory.state is State.ACTIVE
    assert set(undone.memories) == {first, second}
    assert any("tags" in sentence for sentence in undone.left)


def test_undoing_says_when_a_memory_was_moved_or_erased_since(bank):
    first, second = two(bank)
    third = bank.record(**ONE).id
    run = bank.consolidate().run
    bank.forget(second)
    bank.erase(third)
    undone = bank.upkeep.undo(run)
    assert bank.get(second).memory.state is State.FORGOTTEN
    assert any(second in sentence and "state" in sentence for sentence in undone.left)
    assert any(third in sentence and "erased" in sentence for sentence in undone.left)
    assert bank.get(first).memory.parents == ()


def test_undoing_leaves_a_memory_whose_key_was_taken(bank):
    key = "a lesson"
    first = bank.record(**{**ONE, "metadata": {"distiller": "offline"}}, key=key).id
    other = bank.record(**ONE).id
    bank.outcome(other, succeeded=True)
    run = bank.consolidate().run
    assert bank.get(first).memory.state is State.SUPERSEDED
    taken = bank.store(key, "Mine now.").id
    undone = bank.upkeep.undo(run)
    assert any("key" in sentence for sentence in undone.left)
    assert bank.get(key).id == taken


def test_undoing_twice_or_nothing_is_refused(bank):
    two(bank)
    run = bank.consolidate().run
    bank.upkeep.undo(run)
    with pytest.raises(Conflict, match="already"):
        bank.upkeep.undo(run)
    with pytest.raises(NotFound):
        bank.upkeep.undo("con_nothing")


def test_the_history_tells_each_run(bank):
    two(bank)
    run = bank.consolidate().run
    (known,) = bank.upkeep.runs()
    assert (known.id, known.counts["merged"], known.undone) == (run, 1, False)
    bank.upkeep.undo(run)
    assert bank.upkeep.runs()[0].undone


def test_tenants_never_mix(path):
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        theirs = bank.for_tenant("other")
        theirs.record(**ONE)
        bank.record(**SAME)
        assert merged(bank, namespace="*") == []
        assert theirs.consolidate(namespace="*").applied == 0
        bank.record(**ONE)
        run = bank.consolidate().run
        with pytest.raises(NotFound):
            theirs.upkeep.undo(run)


def test_an_unknown_wish_is_refused(bank):
    with pytest.raises(InvalidInput, match="merge"):
        bank.consolidate(only=["everything"])
    with pytest.raises(InvalidInput, match="dry_run"):
        bank.consolidate(dryrun=True)


def test_an_export_carries_the_consolidations_along(bank, tmp_path):
    first, second = two(bank)
    run = bank.consolidate().run
    lines = tmp_path / "export.jsonl"
    lines.write_text("\n".join(bank.export_lines()), "utf-8")
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other:
        assert not other.import_from(lines, restore=True).skipped
        assert other.upkeep.undo(run).left == ()
        assert {m.id for m in other.list()} == {first, second}
    with ReasoningBank.open(tmp_path / "third.db", embedder="hash", namespace="n") as third:
        skipped = third.import_from(lines).skipped
        assert any("consolidation" in entry.what for entry in skipped)


def test_hostile_texts_are_looked_at_and_left_alone(bank):
    texts = [
        "x" * 900_000,
        "n't " * 100_000,
        "a" * 200_000 + "n't",
        "\u202e\u0000 ' --- ...",
        "never " * 50_000,
        "👩‍👩‍👧 " * 1000,
        "%" * 5000,
    ]
    for number, text in enumerate(texts):
        bank.record(title=f"Text {number}", content=text)
    assert bank.consolidate().applied == 0
