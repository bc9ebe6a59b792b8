"""Memories to index, and a naive oracle that says what an index must find."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reasoningbank.core.drafts import memory_from
from reasoningbank.core.stem import stem
from reasoningbank.core.text import terms as plain_terms
from reasoningbank.core.types import Draft, EmbedderIdentity, Memory, Outcome, Scope, Standing, State
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.ports import Candidates, Filter, IndexBatch, Probe


def terms(text: str) -> list[str]:
    return plain_terms(text, stem=stem)


WORDS = [
    "retry",
    "cache",
    "token",
    "deploy",
    "schema",
    "index",
    "timeout",
    "parser",
    "merge",
    "queue",
    "lock",
    "thread",
]
PLAIN = memory_from(
    Draft(title="-", content="-"),
    memory_id="-",
    tenant="local",
    namespace="default",
    initial_confidence=0.5,
    now=1000.0,
)


def make_memory(memory_id: str, **fields: Any) -> Memory:
    return replace(PLAIN, **{"id": memory_id, "title": "", "content": "", **fields})


def random_memory(rng: random.Random, memory_id: str) -> Memory:
    def text(least: int, most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(least, most)))

    return make_memory(
        memory_id,
        tenant=rng.choice(["local", "local", "local", "other"]),
        namespace=rng.choice(["alpha", "beta"]),
        scope=rng.choice(list(Scope)),
        title=text(1, 4),
        description=text(0, 5),
        content=text(0, 20),
        outcome=rng.choice(list(Outcome)),
        tags=tuple(rng.sample(["go", "py", "web"], k=rng.randint(0, 3))),
        agent=rng.choice([None, "ann", "bob"]),
        task_type=rng.choice([None, "fix", "plan"]),
        state=rng.choice([State.ACTIVE, State.ACTIVE, State.ARCHIVED]),
    )


def standing_of(memory: Memory) -> Standing:
    return Standing(initial=memory.initial_confidence, created_at=memory.created_at)


@dataclass
class Oracle:
    """Every memory and vector in plain dictionaries, searched by the book."""

    memories: dict[str, Memory] = field(default_factory=dict)
    vectors: dict[str, np.ndarray] = field(default_factory=dict)

    def passes(self, where: Filter) -> tuple[list[Memory], dict[str, int]]:
        checks: list[tuple[str, Callable[[Memory], bool]]] = [
            (
                "namespace",
                lambda m: where.namespace is None or m.scope != Scope.PROJECT or m.namespace == where.namespace,
            ),
            ("scope", lambda m: m.scope in where.scopes),
            ("outcome", lambda m: where.outcome is None or m.outcome == where.outcome),
            ("state", lambda m: m.state in where.states),
            ("tags", lambda m: set(where.tags) <= set(m.tags)),
            ("agent", lambda m: where.agent is None or m.agent == where.agent),
            ("task_type", lambda m: where.task_type is None or m.task_type == where.task_type),
        ]
        left = [memory for memory in self.memories.values() if memory.tenant == where.tenant]
        removed = {}
        for name, check in checks:
            kept = [memory for memory in left if check(memory)]
            if len(kept) < len(left):
                removed[name] = len(left) - len(kept)
            left = kept
        return left, removed

    def bm25(self, text: str, tenant: str) -> dict[str, float]:
        """Over the memories of one tenant: the others' words say nothing here."""
        own = {memory_id: memory for memory_id, memory in self.memories.items() if memory.tenant == tenant}
        frequencies = {memory_id: weighted(memory) for memory_id, memory in own.items()}
        lengths = {memory_id: sum(found.values()) for memory_id, found in frequencies.items()}
        mean = sum(lengths.values()) / max(1, len(lengths))
        scores = dict.fromkeys(own, 0.0)
        for term, times in Counter(terms(text)).items():
            having = [memory_id for memory_id, found in frequencies.items() if term in found]
            idf = math.log(1 + (len(own) + 10 - len(having) + 0.5) / (len(having) + 0.5))
            for memory_id in having:
                tf = frequencies[memory_id][term]
                scores[memory_id] += times * idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[memory_id] / mean))
        return scores

    def cosine(self, memory_id: str, query: np.ndarray) -> float:
        if memory_id not in self.vectors:
            return math.nan
        vector = self.vectors[memory_id]
        length = float(np.linalg.norm(vector) * np.linalg.norm(query))
        return float(vector @ query) / length if length else math.nan


def weighted(memory: Memory) -> dict[str, float]:
    found: dict[str, float] = {}
    named = " ".join((memory.key or "", *memory.tags))
    for text, weight in ((memory.title, 2.0), (memory.description, 1.5), (memory.content, 1.0), (named, 1.0)):
        for term in terms(text):
            found[term] = found.get(term, 0.0) + weight
    return found


@dataclass
class Bench:
    """An index beside its oracle, told the same things."""

    index: EmbeddedIndex
    dimension: int
    oracle: Oracle = field(default_factory=Oracle)
    applied: int = 0

    def apply(self, **changes: Any) -> None:
        added = changes.pop("added", ())
        revised = changes.pop("revised", ())
        self.applied += 1
        batch = IndexBatch(
            added=[(memory, standing_of(memory)) for memory in added],
            revised=[(memory, standing_of(memory)) for memory in revised],
            applied=self.applied,
            **changes,
        )
        with self.index.writing(wait_s=120) as granted:
            assert granted
            self.index.apply(batch)
        for memory in (*added, *revised):
            self.oracle.memories[memory.id] = memory
        for memory_id in changes.get("erased", ()):
            self.oracle.memories.pop(memory_id, None)
            self.oracle.vectors.pop(memory_id, None)

    def embed(self, rng: np.random.Generator, limit: int = 1_000_000, *, empty_share: float = 0.0) -> int:
        with self.index.writing(wait_s=120) as granted:
            assert granted
            ids = self.index.awaiting_vectors(limit)
            vectors = rng.standard_normal((len(ids), self.dimension)).astype(np.float32)
            vectors[rng.random(len(ids)) < empty_share] = 0
            self.index.embed(ids, vectors)
        self.oracle.vectors.update(zip(ids, vectors, strict=True))
        return len(ids)

    def search(self, text: str = "", vector: np.ndarray | None = None, depth: int = 10, **where: Any) -> Candidates:
        return self.index.search(
            Probe(vector=vector, text=text, where=Filter(**{"tenant": "local", **where}), depth=depth)
        )

    def check(self, text: str, vector: np.ndarray | None, depth: int, where: Filter) -> None:
        """The index finds what the oracle finds, with the same numbers."""
        found = self.index.search(Probe(vector=vector, text=text, where=where, depth=depth))
        left, removed = self.oracle.passes(where)
        assert found.considered == len(left)
        assert dict(found.filtered_out) == removed
        bm25 = self.oracle.bm25(text, where.tenant)
        allowed = {memory.id for memory in left}
        assert len(set(found.ids)) == len(found.ids)
        assert set(found.ids) <= allowed
        best = {}
        for row, memory_id in enumerate(found.ids):
            assert found.keyword[row] == pytest.approx(bm25[memory_id], rel=1e-3, abs=1e-4)
            assert found.scopes[row] == self.oracle.memories[memory_id].scope
            assert found.standings[row] == standing_of(self.oracle.memories[memory_id])
        for memory_id in allowed:
            nearness = math.nan if vector is None else self.oracle.cosine(memory_id, vector)
            if not math.isnan(nearness):
                best[memory_id] = nearness
        for row, memory_id in enumerate(found.ids):
            expected = math.nan if vector is None else self.oracle.cosine(memory_id, vector)
            assert found.cosine[row] == pytest.approx(expected, abs=2e-3, nan_ok=True)
        self._holds_the_best(found, best, depth, 2e-3)
        self._holds_the_best(found, {i: score for i, score in bm25.items() if score > 0 and i in allowed}, depth, 1e-3)

    def _holds_the_best(self, found: Candidates, scores: Mapping[str, float], depth: int, slack: float) -> None:
        if scores and depth:
            cut = sorted(scores.values(), reverse=True)[:depth][-1]
            assert {memory_id for memory_id, score in scores.items() if score > cut + slack} <= set(found.ids)
            assert sum(scores.get(memory_id, -9) >= cut - slack for memory_id in found.ids) >= min(depth, len(scores))


def identity(dimension: int) -> EmbedderIdentity:
    return EmbedderIdentity(name="test", model="random", dimension=dimension, revision="1")


@pytest.fixture
def open_bench(tmp_path: Path) -> Any:
    opened: list[EmbeddedIndex] = []

    def open_one(dimension: int = 24, facet: str = "text", name: str = "index", *, read_only: bool = False) -> Bench:
        index = EmbeddedIndex.open(tmp_path / name, identity(dimension), facet, read_only=read_only)
        opened.append(index)
        return Bench(index, dimension)

    yield open_one
    for index in opened:
        index.close()


@pytest.fixture
def memory() -> Callable[..., Memory]:
    return make_memory


@pytest.fixture
def random_memories() -> Callable[[int, int], list[Memory]]:
    def several(seed: int, count: int) -> list[Memory]:
        rng = random.Random(seed)
        return [random_memory(rng, f"mem_{seed}_{number:022d}") for number in range(count)]

    return several


@pytest.fixture
def words() -> list[str]:
    return WORDS
