"""Evidence counts once: any order, duplication and partition of the same entries gives the bank that saw each once."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reasoningbank.core.confidence import evidence_for, fold
from reasoningbank.core.types import Edge, Memory, Node, Signal, Tombstone
from reasoningbank.guard.trust import levels_of, trust_of
from reasoningbank_bus.wire.entry import Entry
from tests.bus.sides import Side

NOW = 1_900_000_000.0
EXAMPLES = 20


def seen(side: Side) -> dict[str, Any]:
    """All that a bank says of its current records, and what they are worth."""
    with side.bank.context.store.read(side.bank.tenant) as reader:
        memories = reader.select(Memory, {})
        levels = levels_of(reader, memories)
        signals = {memory.id: reader.select(Signal, {"memory_id": memory.id}) for memory in memories}
        kept = {kind.__name__: reader.select(kind, {}) for kind in (Node, Edge, Signal)}
        gone = sorted(one.id for one in reader.side_records(Tombstone))
    policy = side.bank.context.policy
    return {
        "memories": memories,
        "trust": {memory.id: trust_of(memory, levels) for memory in memories},
        "confidence": {
            memory.id: fold(
                policy, memory.initial_confidence, memory.created_at, evidence_for(memory, signals[memory.id]), NOW
            )
            for memory in memories
        },
        "gone": gone,
        **kept,
    }


class Story:
    """Three banks that learned from each other, all that they signed, and the first of them before it heard of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened = 0
        ann, ben, cem = (self.side(seed, f"author-{seed}") for seed in (1, 2, 3))
        first = ann.learn("Run the migrations before the service is started.", key="order")
        second = ann.learn("Restart the worker after a change of its settings.")
        ann.bank.graph.add([NODE])
        entries = ann.publish()
        ann.bank.edit(first.id, content="Run the migrations in a transaction before the service is started.")
        entries += ann.publish()
        ann.bank.edit(first.id, content="Never start the service while migrations run.", evidence="reset")
        ann.bank.feedback(first.id, helpful=True)
        ann.bank.link(first.id, second.id, "requires", text="the order matters")
        entries += ann.publish()
        ann.close()
        shutil.copytree(folder / "author-1", folder / "ann before")
        ann.open()
        ben.bank.trust.give(ann.origin, "working")
        ben.take(entries)
        there = ben.here(ann, first.id)
        for succeeded in (True, False, True):
            ben.bank.outcome(there, succeeded=succeeded)
        own = ben.learn("Watch the queue while the service starts.", parents=[there])
        ben.bank.link(own.id, there, "enhances", text="what to look at meanwhile")
        entries += ben.publish()
        erased = cem.learn("The password of the old database is in the wiki.")
        cem.take(entries)
        cem.bank.outcome(cem.here(ben, own.id), succeeded=True)
        cem.bank.outcome(cem.here(ann, first.id), succeeded=False)
        entries += cem.publish()
        cem.bank.erase(erased.id)
        entries += cem.publish()
        self.entries: Sequence[Entry] = entries
        for side in (ann, ben, cem):
            side.close()
        with self.side(9, "observer") as observer:
            observer.take(entries)
            self.expected = seen(observer)
        with self.ann_again() as again:
            again.take(entries)
            self.expected_of_ann = seen(again)

    def side(self, seed: int, name: str | None = None) -> Side:
        self.opened += 1
        place = self.folder / (name or f"{self.opened}")
        place.mkdir(exist_ok=True)
        return Side(place, seed)

    def ann_again(self) -> Side:
        self.opened += 1
        return Side(shutil.copytree(self.folder / "ann before", self.folder / f"{self.opened}"), 1)


NODE = {
    "id": "N1",
    "label": "AgentAnswer",
    "conv_id": "c1",
    "text": "The migrations ran before the service.",
    "tags": ["deploy"],
}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(tmp_path_factory.mktemp("story"))


def deliveries(count: int) -> st.SearchStrategy[list[list[int]]]:
    """The numbers of all entries in some order, some of them again, cut into batches."""
    every = st.permutations(range(count))
    again = st.lists(st.integers(0, count - 1), max_size=12)
    cuts = st.lists(st.integers(0, count), max_size=5)
    return st.builds(_cut, every, again, cuts)


def _cut(every: Sequence[int], again: Sequence[int], cuts: Iterable[int]) -> list[list[int]]:
    order = [*every[: len(every) // 2], *again, *every[len(every) // 2 :]]
    places = [0, *sorted(cuts), len(order)]
    return [order[low:high] for low, high in pairwise(places)]


def test_the_story_has_every_kind_of_entry_and_a_bank_that_saw_it_once_has_it_all(story: Story) -> None:
    kinds = {entry.kind for entry in story.entries}
    assert kinds == {"memory", "node", "edge", "signal", "erased"}
    expected = story.expected
    assert [len(expected[name]) for name in ("memories", "Node", "Edge", "Signal", "gone")] == [3, 1, 2, 6, 1]
    assert max(memory.revision for memory in expected["memories"]) == 3
    # Ann's own evidence is hers, and is there once.
    own = [signal for signal in story.expected_of_ann["Signal"] if signal.kind != "peer"]
    assert len(own) == 1


@given(data=st.data())
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate))
def test_whatever_order_repetition_and_partition_entries_come_in_the_bank_is_the_same(
    story: Story, data: st.DataObject
) -> None:
    with story.side(9) as side:
        for batch in data.draw(deliveries(len(story.entries))):
            side.take(story.entries[number] for number in batch)
        assert seen(side) == story.expected


@given(data=st.data())
@settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate))
def test_what_a_bank_said_itself_counts_once_when_it_comes_back_to_it(story: Story, data: st.DataObject) -> None:
    with story.ann_again() as side:
        for batch in data.draw(deliveries(len(story.entries))):
            side.take(story.entries[number] for number in batch)
            side.publish()
        assert seen(side) == story.expected_of_ann
