"""What a Milvus server does with our vectors: how fast they are taken in and found, and whether the nearest are found.

    python -m bench.milvus milvus://127.0.0.1:19530 20000

For a server without sparse vectors, too (2.3), which keeps no bank: `pip install milvus==2.3.5` in an environment of
its own is the one real server that a package brings. `milvus-server --data FOLDER --proxy-port 19530` starts it. It
ignores SIGTERM: end its child, `FOLDER/bin/milvus run standalone`, by its id.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext

import numpy as np

from bench.corpus import Corpus
from bench.timing import Times
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.errors import BankUnavailable
from reasoningbank.core.types import Draft, EmbedderIdentity, Memory
from reasoningbank.ports import Filter, IndexPosition
from reasoningbank_milvus.address import parse_milvus_url
from reasoningbank_milvus.collection import MilvusCollection
from reasoningbank_milvus.connection import MilvusConnection
from reasoningbank_milvus.halves import MilvusVectors, MilvusWords

IDENTITY = EmbedderIdentity(name="bench", model="m", dimension=384, revision="1")
QUESTIONS, DEPTH, TOP, PER_CALL = 100, 64, 10, 1_000
FILTERS = {
    "none": Filter(tenant="t"),
    "1 % by a hostile tag": Filter(tenant="t", tags=('a "rare\\ tag',)),
    "half by namespace": Filter(tenant="t", namespace="even"),
}


def main(url: str, rows: int) -> None:
    connection = MilvusConnection(parse_milvus_url(url), None)
    collection = MilvusCollection(
        connection, "bench_reasoningbank", IDENTITY, lambda _: nullcontext(True), read_only=False
    )
    vectors, words = MilvusVectors(collection), MilvusWords(collection)
    vectors.clear()
    print(f"Milvus {connection.abilities.version}, {rows:,} vectors of {IDENTITY.dimension} dimensions")
    try:
        print(f"words are kept: {words.count()} so far")
    except BankUnavailable as error:
        print(f"words are refused: {error}")
    memories, directions = list(_memories(rows)), _directions(rows)
    began = time.perf_counter()
    for first in range(0, rows, PER_CALL):
        page = slice(first, first + PER_CALL)
        vectors.upsert(list(zip(memories[page], directions[page], strict=True)))
    vectors.advance(IndexPosition(applied=rows, mark=1))
    print(f"taken in: {rows / (time.perf_counter() - began):,.0f} a second")
    began = time.perf_counter()
    assert vectors.position.applied == rows
    print(f"own writes are seen after {1e3 * (time.perf_counter() - began):.0f} ms")
    _find(vectors, memories, directions, "fresh")
    connection.ask("flush", collection.name, within_s=300.0)
    _wait_for_indexes(connection, collection.name)
    _find(vectors, memories, directions, "indexed")
    vectors.clear()
    connection.close()


def _find(vectors: MilvusVectors, memories: list[Memory], directions: np.ndarray, state: str) -> None:
    asked = _directions(QUESTIONS, seed=2)
    for name, where in FILTERS.items():
        passing = np.array([_passes(memory, where) for memory in memories])
        times, met = [], 0
        for question in asked:
            began = time.perf_counter()
            found = [memory_id for memory_id, _ in vectors.search(question, where, DEPTH)]
            times.append(time.perf_counter() - began)
            cosines = np.where(passing, directions @ question, -2.0)
            nearest = {memories[i].id for i in np.argsort(-cosines)[:TOP]}
            met += len(nearest & set(found[:TOP]))
        share = met / (TOP * len(asked))
        taken = Times.of(times)
        print(
            f"{state}, filter {name}: recall@{TOP} {share:.3f}, p50 {taken.p50_ms:.1f} ms, "
            f"p95 {taken.p95_ms:.1f} ms for the {DEPTH} nearest"
        )


def _passes(memory: Memory, where: Filter) -> bool:
    return where.namespace in (None, memory.namespace) and set(where.tags) <= set(memory.tags)


def _memories(rows: int):
    corpus = Corpus()
    [tag] = FILTERS["1 % by a hostile tag"].tags
    for number in range(rows):
        draft = corpus.draft(number)
        kept = Draft(title=str(draft["title"]), content=str(draft["content"]), tags=(tag,) if number % 100 == 0 else ())
        namespace = "odd" if number % 2 else "even"
        yield memory_from(
            kept, memory_id=f"mem_{number:08}", tenant="t", namespace=namespace, initial_confidence=0.5, now=1.0
        )


def _directions(rows: int, seed: int = 1) -> np.ndarray:
    """Around a few hundred middles, as texts are."""
    middles = np.random.default_rng(0).standard_normal((300, IDENTITY.dimension))
    rng = np.random.default_rng(seed)
    made = middles[rng.integers(len(middles), size=rows)] + 0.7 * rng.standard_normal((rows, IDENTITY.dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def _wait_for_indexes(connection: MilvusConnection, name: str) -> None:
    deadline = time.monotonic() + 300.0
    while time.monotonic() < deadline:
        if not connection.ask("describe_index", name, "text_vector").get("pending_index_rows"):
            return
        time.sleep(0.5)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
