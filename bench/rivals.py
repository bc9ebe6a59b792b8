"""What we compare with: a plain NumPy scan and Chroma, on the same vectors.

Both get the query's vector ready made and return ids only, where ours embeds, ranks and fetches: it favours them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

_CHROMA_BATCH = 5000


class NumpyScan:
    def __init__(self, vectors: np.ndarray, namespaces: Sequence[str]) -> None:
        self._vectors = vectors
        self._namespaces = np.array(namespaces)

    def top(self, query: np.ndarray, count: int, namespace: str | None = None) -> np.ndarray:
        scores = self._vectors @ query
        if namespace is not None:
            scores[self._namespaces != namespace] = -2.0
        best = np.argpartition(scores, -count)[-count:]
        return best[np.argsort(-scores[best])]


class Chroma:
    """A persistent collection with the settings it comes with, filled once and kept beside the bank."""

    def __init__(self, place: Path, vectors: np.ndarray, namespaces: Sequence[str]) -> None:
        self._place = place
        done = place / "done"
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
        self._collection = self._open()
        if not done.exists():
            for start in range(0, len(vectors), _CHROMA_BATCH):
                rows = range(start, min(len(vectors), start + _CHROMA_BATCH))
                self._collection.add(
                    ids=[str(row) for row in rows],
                    embeddings=vectors[rows.start : rows.stop],
                    metadatas=[{"namespace": namespaces[row]} for row in rows],
                )
            done.touch()

    def _open(self) -> Any:
        # Imported here: chromadb is needed for the comparison and for nothing else.
        import chromadb
        from chromadb.config import Settings

        client = chromadb.PersistentClient(str(self._place), settings=Settings(anonymized_telemetry=False))
        return client.get_or_create_collection(
            "bench", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def looking_further(self, ef: int) -> Chroma:
        """The same in a copy of its files that visits more neighbours at a query: slower, and finds more."""
        other = object.__new__(Chroma)
        other._place = self._place.with_name(f"{self._place.name}-ef-{ef}")
        shutil.rmtree(other._place, ignore_errors=True)
        shutil.copytree(self._place, other._place)
        other._open().modify(configuration={"hnsw": {"ef_search": ef}})
        # What is open keeps the old setting.
        from chromadb.api.client import SharedSystemClient

        SharedSystemClient.clear_system_cache()
        other._collection = other._open()
        return other

    def top(self, query: np.ndarray, count: int, namespace: str | None = None) -> list[int]:
        where = {"namespace": namespace} if namespace is not None else None
        found = self._collection.query(query_embeddings=[query], n_results=count, where=where, include=["distances"])
        return [int(row) for row in found["ids"][0]]
