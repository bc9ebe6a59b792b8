"""Where two banks meet in one record: revisions and local edits, decisions of the user, keys, grants, caps, bad bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reasoningbank.core.types import State
from reasoningbank_bus.exchange.publishing import OWED_AGAIN_S
from reasoningbank_bus.wire.entry import Entry, RecordName
from tests.bus.sides import Side, give
from tests.conftest import Clock

ADVICE = "Run the migrations before the service is started, or it reads tables that are not there yet."
LATER = f"{ADVICE} In a transaction."


def shared(here: Side, there: Side, **options: Any) -> tuple[str, str]:
    """The id at home and the id there of a memory that both have."""
    kept = here.learn(ADVICE, **options)
    there.take(here.publish())
    return kept.id, there.here(here, kept.id)


def revise(here: Side, there: Side, record_id: str, **changes: Any) -> None:
    here.bank.edit(record_id, **changes)
    there.take(here.publish())


# ---------------------------------------------------------------- what the user here decides


def test_a_text_that_the_user_approved_is_changed_by_its_author_only_when_that_is_undone(
    side: Callable[..., Side],
) -> None:
    here, there = side(1), side(2)
    home, away = shared(here, there)
    ruling = there.bank.trust.approve(away)
    revise(here, there, home, content=LATER)
    assert (there.bank.get(away).content, str(there.bank.get(away).trust)) == (ADVICE, "trusted")
    there.bank.trust.undo(ruling.id)
    assert there.applier.apply_new().revised == 1
    assert (there.bank.get(away).content, str(there.bank.get(away).trust)) == (LATER, "untrusted")


def test_what_the_user_forgot_stays_forgotten_whatever_its_author_writes(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    home, away = shared(here, there)
    there.bank.forget(away)
    for number in range(2):
        revise(here, there, home, content=f"{LATER} {number}")
    assert (there.bank.get(away).memory.state, there.bank.get(away).content) == (State.FORGOTTEN, f"{LATER} 1")


def test_what_its_author_archives_is_archived_elsewhere_and_comes_back_with_it(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    home, away = shared(here, there)
    revise(here, there, home, state="archived")
    assert there.bank.get(away).memory.state is State.ARCHIVED
    revise(here, there, home, state="active")
    assert there.bank.get(away).memory.state is State.ACTIVE


def test_an_edit_made_here_stays_here_until_its_author_writes_a_later_version(side: Callable[..., Side]) -> None:
    clock = Clock()
    here, there = side(1, clock=clock), side(2, clock=clock)
    home, away = shared(here, there)
    here.bank.edit(home, content=LATER)
    on_its_way = here.publish()
    clock.forward(seconds=60)
    there.bank.edit(away, content="What the user here made of it.")
    assert there.publish() == []
    there.take(on_its_way)
    assert there.bank.get(away).content == "What the user here made of it."
    clock.forward(seconds=60)
    revise(here, there, home, content=f"{LATER} Always.")
    assert there.bank.get(away).content == f"{LATER} Always."
    assert "What the user here made of it." in {one.content for one in there.bank.history(away).revisions}


def test_revoking_a_peer_takes_all_that_came_of_it_also_by_others_and_what_comes_later(
    side: Callable[..., Side],
) -> None:
    here, between, there = side(1), side(2), side(3)
    for origin in (here.origin, between.origin):
        between.bank.trust.give(origin, "working")
        there.bank.trust.give(origin, "working")
    _, from_here = shared(here, between)
    there.take(here.entries())
    heir = between.learn("Watch the queue while the service starts.", parents=[from_here])
    between.bank.feedback(from_here, helpful=False)
    there.take(between.publish())
    own = there.bank.record(
        title="own", content="An own lesson of that.", origin="agent", parents=[there.here(between, heir.id)]
    )
    ruling = there.bank.trust.revoke(here.origin)
    assert set(ruling.memories) == {there.here(here, here.bank.list()[0].id), there.here(between, heir.id), own.id}
    later = between.learn("And the log of it.", parents=[from_here])
    there.take(between.publish())
    taken = there.memory(there.here(between, later.id))
    assert taken is not None
    assert taken.state is State.QUARANTINED


# ---------------------------------------------------------------- names, references, places


def test_evidence_and_links_that_come_before_what_they_are_about_wait_for_it(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    kept, other = here.learn(ADVICE), here.learn(LATER)
    here.bank.outcome(kept.id, succeeded=True)
    here.bank.link(kept.id, other.id, "requires", text="why")
    entries = {entry.kind: entry for entry in here.publish()}
    waiting = there.take([entries["signal"], entries["edge"]])
    assert (waiting.waiting, waiting.added) == (2, {})
    memories = [entry for entry in here.entries() if entry.kind == "memory"]
    assert there.take(memories[:1]).added == {"memory": 1, "signal": 1}
    assert there.take(memories[1:]).added == {"memory": 1, "edge": 1}


def test_a_key_is_a_name_of_one_bank_and_never_anothers(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    mine = there.learn("What the key means here.", key="order")
    _, away = shared(here, there, key="order")
    assert there.bank.get("order").id == mine.id
    assert there.bank.get(away).memory.key is None


def test_a_peer_speaks_only_of_what_is_in_the_namespace_of_its_entry_and_no_projects(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    private = there.learn("Of the project alone.", scope="project")
    elsewhere = there.learn("In another namespace.", namespace="m")
    home, _ = shared(here, there)
    here.bank.outcome(home, succeeded=False)
    (signal,) = here.publish()
    for target in (private, elsewhere):
        forged = here.forge(signal, memory=[there.key.public, target.id])
        assert there.take([forged]).added == {}
        assert there.signals(target.id) == []


def test_only_a_believed_peer_joins_two_memories_of_this_bank(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    one, other = there.learn(ADVICE), there.learn(LATER)
    here.take(there.publish())
    here.bank.link(here.here(there, one.id), here.here(there, other.id), "requires", text="says the peer")
    entries = here.publish()
    assert [entry.kind for entry in entries] == ["edge"]
    assert there.take(entries).held.total() == 1
    assert there.bank.edges() == []
    there.bank.trust.give(here.origin, "working")
    assert there.applier.apply_new().added == {"edge": 1}


def test_two_peers_may_draw_the_same_edge(side: Callable[..., Side]) -> None:
    here, other, there = side(1), side(2), side(3)
    one, two = here.learn(ADVICE), here.learn(LATER)
    here.bank.link(one.id, two.id, "requires", text="says the one")
    entries = here.publish()
    other.take(entries)
    other.bank.link(other.here(here, one.id), other.here(here, two.id), "requires", text="says the other")
    there.take([*entries, *other.publish()])
    assert {joined.edge.text for joined in there.bank.edges()} == {"says the one", "says the other"}


# ---------------------------------------------------------------- grants and caps


def test_what_was_signed_in_ones_own_right_is_signed_again_when_a_grant_comes(side: Callable[..., Side]) -> None:
    here, root = side(1), side(2)
    kept = here.learn(ADVICE)
    (bare,) = here.publish()
    assert bare.intent == b""
    give(root, here)
    (granted,) = here.publish()
    assert (granted.record.id, len(granted.intent)) == (kept.id, 32)
    assert here.publish() == []


def test_what_is_over_a_cap_is_published_when_the_next_period_begins(side: Callable[..., Side]) -> None:
    clock = Clock()
    here, root = side(1, clock=clock), side(2, clock=clock)
    give(root, here, caps={"records": 3}, period=3600)
    ids = {here.learn(f"{ADVICE} {number}").id for number in range(5)}
    first = here.publish()
    assert len(first) == 3
    assert here.publisher.refused.counts == {"cap_spent": 2}
    here.learn(LATER)
    assert here.publish() == []
    for _ in range(3):
        clock.forward(seconds=OWED_AGAIN_S)
        assert here.publish() == []
    assert here.publisher.refused.counts == {"cap_spent": 3}, "each once, however often it was tried"
    here.close()
    here.open()
    give(root, here, caps={"records": 3}, period=3600)
    clock.forward(seconds=3600 + OWED_AGAIN_S)
    second = here.publish()
    assert len(second) == 3
    assert ids < {entry.record.id for entry in (*first, *second)}


# ---------------------------------------------------------------- what no honest peer sends


def forged(side: Side, entry: Entry) -> dict[str, Entry]:
    other = RecordName(b"x" * 32, "mem_X")
    return {
        "no title": side.forge(entry, title=""),
        "too long": side.forge(entry, title="x" * 501),
        "a state that is none": side.forge(entry, state="holy"),
        "a confidence beyond": side.forge(entry, initial_confidence=7.0),
        "a moment beyond": side.forge(entry, created_at=1e300),
        "a text that is a number": side.forge(entry, content=7),
        "many parents": side.forge(entry, parents=[msgspec.to_builtins(other, builtin_types=(bytes,))] * 2_000),
        "tags that are long": side.forge(entry, tags=["x" * 5_000]),
    }


def test_a_body_that_no_bank_could_have_is_refused_and_changes_nothing(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    here.learn(ADVICE)
    (entry,) = here.publish()
    for name, bad in forged(here, entry).items():
        applied = there.take([bad])
        assert (applied.refused.counts, applied.added) == ({"malformed": 1}, {}), name
    assert there.bank.list(state=None) == []
    assert there.take([entry]).added == {"memory": 1}


@pytest.mark.parametrize("claimed", ["user", "agent", "peer:rb1-aaaa-aaaa-aaaa-aaaa", "root"])
def test_what_a_peer_says_of_itself_raises_nothing(side: Callable[..., Side], claimed: str) -> None:
    here, there = side(1), side(2)
    kept = here.learn(ADVICE)
    (entry,) = here.publish()
    there.take([here.forge(entry, origin=claimed, initial_confidence=1.0, metadata={"warnings": ["none"]})])
    taken = there.bank.get(there.here(here, kept.id))
    assert (taken.memory.origin, str(taken.trust), taken.memory.metadata) == (here.origin, "untrusted", {})
    assert taken.confidence.mean <= 0.7


# ---------------------------------------------------------------- the same advice of two banks


def test_own_advice_is_not_merged_with_that_of_a_believed_peer_and_stays_when_the_peer_is_revoked(
    side: Callable[..., Side],
) -> None:
    here, there = side(1), side(2)
    own = there.learn(ADVICE, origin="agent")
    _, away = shared(here, there, origin="agent")
    there.bank.trust.give(here.origin, "working")
    for helped in (own.id, away, away):
        there.bank.feedback(helped, helpful=True)
    there.bank.consolidate()
    assert {one.id for one in there.bank.list()} == {own.id, away}
    there.bank.trust.revoke(here.origin)
    assert {one.id for one in there.bank.list()} == {own.id}


# ---------------------------------------------------------------- a clock that was ahead


def test_what_was_signed_by_a_clock_that_was_years_ahead_is_signed_again_once_it_is_right(
    side: Callable[..., Side], clock: Clock
) -> None:
    here, there = side(1, clock=clock), side(2)
    before, gone = here.learn("written in time"), here.learn("written in time and erased ahead of it")
    here.publish()
    clock.forward(days=1_000)
    here.bank.edit(before.id, content=LATER)
    here.learn(ADVICE)
    here.bank.erase(gone.id)
    ahead = here.publish()
    assert here.publish() == []
    clock.forward(days=-999)
    again = here.publish()
    now = int(clock() * 1000)
    assert {(entry.record, entry.revision, entry.kind, entry.at) for entry in again} == {
        (entry.record, entry.revision, entry.kind, now) for entry in ahead
    }
    assert here.publish() == []
    there.take(again)
    assert sorted(one.memory.content for one in there.bank.list()) == sorted((ADVICE, LATER))
    assert there.take(ahead).added == {}
