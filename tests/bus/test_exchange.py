"""What one bank learns reaches another, as far as it is shared and no further, and is believed no more than its peer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reasoningbank.core.types import State
from reasoningbank_bus.authority.intent import intent_id
from reasoningbank_bus.exchange.answering import answer, read_hit
from reasoningbank_bus.exchange.policy import Policy
from reasoningbank_bus.wire.refusals import BusRefusal
from tests.bus.sides import Side, give

ADVICE = "Run the migrations before the service is started, or it reads tables that are not there yet."
OTHER = "Restart the worker after a change of its settings: it reads them once."


def test_a_memory_its_evidence_and_its_links_reach_another_bank_under_their_authors_name(
    side: Callable[..., Side],
) -> None:
    here, there = side(1), side(2)
    first = here.learn(ADVICE, key="migrations", tags=["deploy"], metadata={"seen": 3}, description="why")
    second = here.learn(OTHER, parents=[first.id])
    here.bank.link(first.id, second.id, "requires", text="the one before the other")
    here.bank.feedback(first.id, helpful=True)
    published = here.publish()
    assert sorted(entry.kind for entry in published) == ["edge", "memory", "memory", "signal"]
    assert here.publish() == []
    applied = there.take(published)
    assert applied.added == {"memory": 2, "edge": 1, "signal": 1}
    taken = there.bank.get(there.here(here, first.id))
    assert (taken.memory.title, taken.memory.content, taken.memory.description) == (ADVICE[:40], ADVICE, "why")
    assert (taken.memory.origin, str(taken.trust), taken.memory.state) == (here.origin, "untrusted", State.ACTIVE)
    assert (taken.memory.key, taken.memory.metadata) == (None, {"seen": 3, "key_there": "migrations"})
    assert there.memory(there.here(here, second.id)).parents == (taken.id,)  # type: ignore[union-attr]
    (signal,) = there.signals(taken.id)
    assert (signal.kind, signal.source, signal.weight, signal.comment) == ("peer", here.origin, 0.5, "")
    assert taken.usage_count == 0
    assert [joined.edge.text for joined in there.bank.edges()] == ["the one before the other"]
    assert there.take(published).added == {}
    assert there.publish() == []
    assert there.bank.verify() == []


def test_what_is_not_shared_stays_at_home(side: Callable[..., Side]) -> None:
    here = side(1, policy=Policy(namespaces=("n", "docs/*"), tags=("public",), least_confidence=0.6))
    shared = here.learn("shared by its namespace, scope, tag and confidence", tags=["public"])
    deeper = here.learn("in a namespace below", tags=["public"], namespace="docs/api", scope="org")
    here.learn("of the project alone", tags=["public"], scope="project")
    here.learn("in another namespace", tags=["public"], namespace="private")
    here.learn("without the tag")
    here.learn("a page said it", tags=["public"], origin="tool:web")
    doubtful = here.learn("not believed enough", tags=["public"], initial_confidence=0.5)
    assert {entry.record.id for entry in here.publish()} == {shared.id, deeper.id}
    for _ in range(3):
        here.bank.feedback(doubtful.id, helpful=True)
    later = here.publish()
    assert [entry.kind for entry in later] == ["memory", "signal", "signal", "signal"]
    assert {entry.record.id for entry in later if entry.kind == "memory"} == {doubtful.id}


def test_a_peer_finds_what_it_may_search_and_never_what_is_a_projects(side: Callable[..., Side]) -> None:
    here, asking = side(1), side(2)
    shared = here.learn(ADVICE)
    here.learn(f"{ADVICE} For the project.", scope="project")
    here.learn(f"{ADVICE} For everybody.", scope="org")
    here.learn(f"{ADVICE} Elsewhere.", scope="org", namespace="m")
    peer = asking.key.public
    with pytest.raises(BusRefusal, match="No grant"):
        answer(here.bank, here.log, here.rights, peer, "when do migrations run?", "n", 5)
    grant = give(here, asking, actions=("search",), namespaces=("n",), scopes=("team",), caps={"searches": 2})
    hits = [read_hit(hit) for hit in answer(here.bank, here.log, here.rights, peer, "when do migrations run?", "n", 5)]
    assert [(hit.id, hit.origin, hit.trust) for hit in hits] == [(shared.id, "user", "trusted")]
    with pytest.raises(BusRefusal, match="No grant"):
        answer(here.bank, here.log, here.rights, peer, "when do migrations run?", "m", 5)
    answer(here.bank, here.log, here.rights, peer, "when do migrations run?", "n", 5)
    with pytest.raises(BusRefusal, match="spent"):
        answer(here.bank, here.log, here.rights, peer, "when do migrations run?", "n", 5)
    assert here.log.spent(intent_id(grant), 0) == {"searches": 2}
