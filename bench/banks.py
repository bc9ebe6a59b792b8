"""Banks of a known size, built once and kept in the system's temporary folder.

The folder's name holds a digest of the sources that shape a bank and its index, so a bank of another version is never
measured by mistake. Subjects that write take a copy.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

import reasoningbank
from bench.corpus import Corpus
from reasoningbank import ReasoningBank
from reasoningbank.store.sqlite.store import SqliteStore

NAMESPACE = "web"
_SHAPING = ("store", "index", "embed", "core", "recall", "wiring")
_SAMPLE = 3000
_PER_UNIT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    path: Path
    scale: int
    embedder: str
    seconds: float | None
    """None when it was there already."""

    def open(self, **options) -> ReasoningBank:
        return ReasoningBank.open(self.path, namespace=NAMESPACE, **options)


def cache() -> Path:
    folder = Path(os.environ.get("BENCH_CACHE") or Path(tempfile.gettempdir()) / "reasoningbank-bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def source_digest() -> str:
    root = Path(reasoningbank.__file__).parent
    digest = hashlib.blake2b(digest_size=4)
    for room in _SHAPING:
        for path in sorted((root / room).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def built(corpus: Corpus, scale: int, embedder: str) -> Built:
    folder = cache() / f"{corpus.name}-{embedder}-{scale}-{source_digest()}"
    done = folder / "done"
    seconds = None
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        began = time.perf_counter()
        with ReasoningBank.open(folder / "bank.db", embedder=embedder, namespace=NAMESPACE) as bank:
            ids = bank.record_many(corpus.drafts(scale))
            if embedder == "local":
                _plant(folder / "bank.db", bank, ids, corpus)
            bank.catch_up()
        seconds = time.perf_counter() - began
        np.save(folder / "ids.npy", np.array(ids))
        done.touch()
    return Built(path=folder / "bank.db", scale=scale, embedder=embedder, seconds=seconds)


def ids_of(bank: Built) -> list[str]:
    """The id of each memory, by its number in the corpus."""
    return np.load(bank.path.parent / "ids.npy").tolist()


@contextmanager
def workplace() -> Iterator[Path]:
    """An empty folder on the file system of the cache, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="work-", dir=cache()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---------------------------------------------------------------- vectors that would take too long to make


def local_vectors(corpus: Corpus, count: int) -> Iterator[np.ndarray]:
    """Rows for memories 0 to `count`, a block at a time: real MiniLM vectors of a sample, mixed in pairs.

    Embedding 100,000 memories takes the better part of an hour; a mixture of two real vectors and a little noise
    keeps what a search depends on (the spread of the angles, and near neighbours that really are near).
    """
    base = _sample(corpus)
    rng = np.random.default_rng(17)
    for start in range(0, count, _PER_UNIT):
        size = min(_PER_UNIT, count - start)
        one, other = base[rng.integers(len(base), size=(2, size))]
        rows = one + rng.uniform(0.2, 0.9, (size, 1)) * other + 0.02 * rng.standard_normal(one.shape)
        yield (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _sample(corpus: Corpus) -> np.ndarray:
    place = cache() / f"minilm-{corpus.name}-{_SAMPLE}.npy"
    if not place.exists():
        from reasoningbank.embed.minilm import MiniLMEmbedder

        texts = [" ".join(str(draft["content"]).split()[:24]) for draft in corpus.drafts(_SAMPLE)]
        np.save(place, MiniLMEmbedder().embed(texts))
    return np.load(place)


def _plant(path: Path, bank: ReasoningBank, ids: list[str], corpus: Corpus) -> None:
    """Keep vectors with the records, from where the index takes them without asking the model."""
    identity = bank.status().embedder
    store = SqliteStore(path, durability="normal")
    waiting = iter(ids)
    try:
        for vectors in local_vectors(corpus, len(ids)):
            unit = list(zip(islice(waiting, len(vectors)), vectors, strict=True))

            def keep(writer, unit=unit) -> None:
                for memory_id, vector in unit:
                    writer.keep_vectors(identity, memory_id, {"text": vector.tobytes()})

            store.write(bank.tenant, keep)
    finally:
        store.close()
