"""A bank against a plain model of it, in any order of verbs that Hypothesis can think of."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import Conflict, InvalidInput, NotFound

WORDS = ("alpha", "beta", "gamma", "delta")
KEYS = st.sampled_from(["k1", "k2", "k3"])
SPACES = st.sampled_from(["n", "m"])
VALUES = st.sampled_from(WORDS).flatmap(lambda word: st.integers(0, 99).map(lambda n: f"common {word} {n}"))


@dataclass
class Modelled:
    namespace: str
    content: str
    key: str | None = None
    live: bool = True
    revisions: list[str] = field(default_factory=list)
    verdicts: list[tuple[str, bool]] = field(default_factory=list)


class BankAndModel(RuleBasedStateMachine):
    memories = Bundle("memories")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.bank = self.opened()
        self.model: dict[str, Modelled] = {}
        self.edges: set[tuple[str, str]] = set()
        self.erased: set[str] = set()

    def opened(self) -> ReasoningBank:
        return ReasoningBank.open(
            self.folder / "bank.db", embedder="hash", dimension=32, namespace="n", durability="normal"
        )

    def teardown(self) -> None:
        self.bank.close()
        shutil.rmtree(self.folder)

    def holder(self, key: str, namespace: str) -> str | None:
        for memory_id, memory in self.model.items():
            if (memory.key, memory.namespace, memory.live) == (key, namespace, True):
                return memory_id
        return None

    @rule(target=memories, content=VALUES, namespace=SPACES)
    def record(self, content: str, namespace: str) -> str:
        kept = self.bank.record(title="title", content=content, namespace=namespace)
        assert kept.id not in self.model
        self.model[kept.id] = Modelled(namespace, content, revisions=[content])
        return kept.id

    @rule(target=memories, key=KEYS, content=VALUES, namespace=SPACES)
    def store(self, key: str, content: str, namespace: str) -> object:
        there = self.holder(key, namespace)
        kept = self.bank.store(key, content, namespace=namespace)
        if there is None:
            assert kept.id not in self.model
            self.model[kept.id] = Modelled(namespace, content, key, revisions=[content])
            return kept.id
        assert kept.id == there
        self.changed(there, content)
        return multiple()

    def changed(self, memory_id: str, content: str) -> None:
        memory = self.model[memory_id]
        if memory.content != content:
            memory.content = content
            memory.revisions.append(content)

    @rule(memory_id=memories, content=VALUES, expected=st.none() | st.integers(1, 4))
    def edit(self, memory_id: str, content: str, expected: int | None) -> None:
        memory = self.model[memory_id]
        if expected not in (None, len(memory.revisions)):
            with pytest.raises(Conflict):
                self.bank.edit(memory_id, content=content, expected_revision=expected)
            return
        self.bank.edit(memory_id, content=content, expected_revision=expected)
        self.changed(memory_id, content)

    @rule(memory_id=memories)
    def forget(self, memory_id: str) -> None:
        self.bank.forget(memory_id)
        memory = self.model[memory_id]
        if memory.live:
            memory.live = False
            memory.revisions.append(memory.content)

    @rule(memory_id=memories)
    def restore(self, memory_id: str) -> None:
        memory = self.model[memory_id]
        taken = memory.key is not None and self.holder(memory.key, memory.namespace) not in (None, memory_id)
        if taken:
            with pytest.raises(Conflict):
                self.bank.restore(memory_id)
            return
        self.bank.restore(memory_id)
        if not memory.live:
            memory.live = True
            memory.revisions.append(memory.content)

    @rule(memory_id=consumes(memories))
    def erase(self, memory_id: str) -> None:
        self.bank.erase(memory_id)
        del self.model[memory_id]
        self.edges = {edge for edge in self.edges if memory_id not in edge}
        self.erased.add(memory_id)

    @rule(memory_id=memories, helpful=st.booleans())
    def feedback(self, memory_id: str, helpful: bool) -> None:
        before = self.bank.get(memory_id).confidence.mean
        after = self.bank.feedback(memory_id, helpful=helpful).mean
        assert after >= before - 1e-9 if helpful else after <= before + 1e-9
        memory = self.model[memory_id]
        memory.verdicts.append((memory.content, helpful))

    @rule(source=memories, other=memories)
    def link(self, source: str, other: str) -> None:
        if source == other:
            with pytest.raises(InvalidInput):
                self.bank.link(source, other, "relates")
            return
        self.bank.link(source, other, "relates")
        self.edges.add((source, other))

    @rule(word=st.sampled_from(WORDS), namespace=SPACES)
    def search(self, word: str, namespace: str) -> None:
        found = self.bank.search(f"common {word}", namespace=namespace, floor=0.0, min_confidence=0.0, limit=1_000)
        expected = {i for i, m in self.model.items() if m.live and m.namespace == namespace}
        assert {hit.id for hit in found} == expected
        for hit in found:
            assert hit.content == self.model[hit.id].content
            # What was said of another text counts for that one, also when it is put back.
            assert hit.usage_count == sum(text == hit.content for text, _ in self.model[hit.id].verdicts)

    @rule()
    def reopen(self) -> None:
        self.bank.close()
        self.bank = self.opened()

    @invariant()
    def the_bank_is_as_the_model_says(self) -> None:
        status = self.bank.status()
        live = sum(memory.live for memory in self.model.values())
        assert status.memories.get("active", 0) == live
        assert status.memories.get("forgotten", 0) == len(self.model) - live
        assert status.edges == len(self.edges)
        assert status.signals == sum(len(memory.verdicts) for memory in self.model.values())

    @rule(memory_id=memories)
    def look(self, memory_id: str) -> None:
        memory = self.model[memory_id]
        history = self.bank.history(memory_id)
        assert [r.content for r in history.revisions] == memory.revisions
        assert [s.positive for s in (point.signal for point in history.points) if s] == [
            helpful for _, helpful in memory.verdicts
        ]
        joined = {n.memory.id for n in self.bank.neighbours(memory_id)}
        ends = {end for edge in self.edges if memory_id in edge for end in edge} - {memory_id}
        assert joined == {end for end in ends if self.model[end].live}

    @rule()
    def nothing_erased_is_there(self) -> None:
        for memory_id in self.erased:
            with pytest.raises(NotFound):
                self.bank.get(memory_id)


BankAndModel.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestBankAndModel = BankAndModel.TestCase
