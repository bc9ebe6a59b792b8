"""The indexes of a bank in Milvus: a collection for each, named by the bank, the build and what it is of."""

from __future__ import annotations

import re

from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Halves, IndexInfo, IndexPlace
from reasoningbank_milvus.address import parse_milvus_url
from reasoningbank_milvus.collection import MilvusCollection
from reasoningbank_milvus.connection import LOAD_WITHIN_S, WRITE_WITHIN_S, MilvusConnection
from reasoningbank_milvus.expressions import MEMORIES, UNEMBEDDED
from reasoningbank_milvus.halves import MilvusVectors, MilvusWords
from reasoningbank_milvus.rows import WORDS, position_id

_NOT_IN_NAMES = re.compile(r"[^0-9A-Za-z]")


class MilvusBuilds:
    def __init__(self, place: IndexPlace, *, read_only: bool) -> None:
        self._connection = MilvusConnection(parse_milvus_url(place.url), place.key)
        self._mark, self._turn, self._read_only = place.mark, place.turn, read_only

    def place(self, name: str) -> str:
        return f"{self._mark}_{_NOT_IN_NAMES.sub('_', name)}"

    def is_there(self, name: str) -> bool:
        return bool(self._connection.ask("has_collection", self.place(name)))

    # ------------------------------------------------------------ opening

    def open(self, name: str, identity: EmbedderIdentity, facet: str) -> Halves:
        del facet
        collection = MilvusCollection(
            self._connection,
            self.place(name),
            identity,
            lambda wait_s: self._turn(name, wait_s),
            read_only=self._read_only,
        )
        return Halves(MilvusVectors(collection), MilvusWords(collection), collection.writing)

    def open_beside(self, name: str, of: str, identity: EmbedderIdentity, facet: str, *, anew: bool) -> Halves:
        halves = self.open(f"{name}-{of}", identity, facet)
        if anew and not self._read_only:
            halves.words.clear()
        return halves

    def inspect(self, name: str, identity: EmbedderIdentity, facet: str) -> None:
        """Damage is the server's business; a collection that is not ours any more is made anew by itself."""

    def info(self, name: str) -> IndexInfo | None:
        if not self.is_there(name):
            return None
        place, fields = self.place(name), ["count(*)"]
        self._connection.ask("load_collection", place, within_s=LOAD_WITHIN_S)
        [all_there] = self._connection.ask("query", place, filter=MEMORIES, output_fields=fields)
        [awaiting] = self._connection.ask("query", place, filter=f"{MEMORIES} and {UNEMBEDDED}", output_fields=fields)
        rows = self._connection.ask(
            "query", place, filter=f'rb_id == "{position_id(WORDS)}"', output_fields=["applied"]
        )
        return IndexInfo(
            kind="milvus",
            memories=int(all_there["count(*)"]),
            awaiting_vectors=int(awaiting["count(*)"]),
            applied=int(rows[0]["applied"]) if rows else 0,
            bytes_on_disk=0,
        )

    def distrust(self) -> None:
        """Nothing to do: what is not ours any more was an empty one already."""

    # ------------------------------------------------------------ removing

    def remove(self, build: int) -> None:
        self._drop([name for name in self._names() if name.startswith(self.place(f"{build}-"))])

    def remove_left_over(self, keep: str) -> None:
        self._drop([name for name in self._names() if not name.startswith(self.place(keep))])

    def remove_all(self) -> bool:
        names = [] if self._read_only else self._names()
        self._drop(names)
        return bool(names)

    def _names(self) -> list[str]:
        return [name for name in self._connection.ask("list_collections") if name.startswith(self.place(""))]

    def _drop(self, names: list[str]) -> None:
        for name in () if self._read_only else names:
            self._connection.ask("drop_collection", name, within_s=WRITE_WITHIN_S)

    def close(self) -> None:
        self._connection.close()
