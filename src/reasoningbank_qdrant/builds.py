"""The builds of a bank's index in Qdrant: a collection for each, with the bank's mark before its name.

So every bank, and every project that has a bank of its own, has collections of its own; tenants of one bank share them,
kept apart by conditions inside the engine.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from qdrant_client import QdrantClient, models

from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Halves, IndexInfo, IndexPlace
from reasoningbank_qdrant.address import parse_address
from reasoningbank_qdrant.collection import STATE, QdrantCollection, parse_position
from reasoningbank_qdrant.connection import QdrantConnection
from reasoningbank_qdrant.faults import NoCollection
from reasoningbank_qdrant.halves import QdrantVectors, QdrantWords
from reasoningbank_qdrant.points import MEANING, WORDS

KIND = "qdrant"


class QdrantBuilds:
    def __init__(self, place: IndexPlace, *, read_only: bool) -> None:
        """Nothing is asked of the server yet."""
        self._address = parse_address(place.url)
        self._connection = QdrantConnection(self._address, place.key)
        self._prefix, self._turn, self._read_only = f"{place.mark}-", place.turn, read_only

    def place(self, name: str) -> str:
        return f"{self._address}/{self._prefix}{name}"

    def is_there(self, name: str) -> bool:
        return self._connection.ask(lambda client: client.collection_exists(self._prefix + name))

    def open(self, name: str, identity: EmbedderIdentity, facet: str) -> Halves:
        # A bank that is only read brings no index forward.
        turn = (lambda *_: nullcontext(False)) if self._read_only else self._turn
        collection = QdrantCollection(self._connection, self._prefix + name, identity, facet, turn)
        return Halves(QdrantVectors(collection), QdrantWords(collection), collection.writing)

    def open_beside(self, name: str, of: str, identity: EmbedderIdentity, facet: str, *, anew: bool) -> Halves:
        side_index = self.open(f"{name}-{of}", identity, facet)
        if anew and not self._read_only:
            side_index.words.clear()
        return side_index

    def inspect(self, name: str, identity: EmbedderIdentity, facet: str) -> None:
        """A server checks its own files."""

    def info(self, name: str) -> IndexInfo | None:
        collection = self._prefix + name
        try:
            points = self._connection.ask(lambda client: client.retrieve(collection, [STATE], with_payload=True))
        except NoCollection:
            return None
        payload = (points[0].payload if points else None) or {}
        words, vectors = (parse_position(payload.get(half)).applied for half in (WORDS, MEANING))
        no_state = models.HasIdCondition(has_id=[STATE])
        without = models.Filter(must_not=[no_state, models.HasVectorCondition(has_vector=MEANING)])
        memories, awaiting = self._connection.ask_all(
            [
                lambda client: client.count(collection, count_filter=models.Filter(must_not=[no_state])).count,
                lambda client: client.count(collection, count_filter=without).count if vectors < words else 0,
            ]
        )
        kind = f"{KIND} in local mode" if self._address.is_local else KIND
        return IndexInfo(kind=kind, memories=memories, awaiting_vectors=awaiting, applied=words, bytes_on_disk=0)

    def distrust(self) -> None:
        """Nothing to do: what a bank that is only read finds damaged there is for others to make anew."""

    # ------------------------------------------------------------ removing

    def remove(self, build: int) -> None:
        if not self._read_only:
            self._remove([name for name in self._names() if name.startswith(f"{self._prefix}{build}-")])

    def remove_left_over(self, keep: str) -> None:
        if self._read_only:
            return
        for name in self._names():
            if not name.startswith(self._prefix + keep):
                with self._turn(f"qdrant-{name}", 0.0) as is_free:
                    self._remove([name] if is_free else [])

    def remove_all(self) -> bool:
        names = [] if self._read_only else self._names()
        self._remove(names)
        return bool(names)

    def _names(self) -> list[str]:
        collections = self._connection.ask(lambda client: client.get_collections().collections)
        return [collection.name for collection in collections if collection.name.startswith(self._prefix)]

    def _remove(self, names: list[str]) -> None:
        for name in names:
            self._connection.ask(partial(QdrantClient.delete_collection, collection_name=name), writes=True)

    def close(self) -> None:
        self._connection.close()
