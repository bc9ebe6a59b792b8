"""A collection of Milvus that keeps one build of an index: made where it is missing, made anew where it is not ours.

One that somebody dropped, or filled with other dimensions, is told once to whoever uses it (`BankDamaged`). From then
on, and for whoever comes later, it is an empty one: its position is the beginning of the feed, and the next that is
written makes it anew. So whoever follows the feed builds it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

from reasoningbank.core.errors import BankDamaged, BankReadOnly, BankUnavailable
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import IndexPosition
from reasoningbank_milvus.connection import LOAD_WITHIN_S, WRITE_WITHIN_S, MilvusConnection, MilvusRefusal
from reasoningbank_milvus.expressions import quote_list
from reasoningbank_milvus.rows import HALVES, WORDS, Row, pages, position_id, position_in, position_row
from reasoningbank_milvus.shape import PARTITIONS, indexes_for, is_ours, schema_for

T = TypeVar("T")
MOST_FOUND = 16_384
"""More than this no search and no query of Milvus gives back."""
_ROWS_PER_CALL = 500
_COUNTED_S = 2.0
_SEALED_FROM = 10_000
"""Rows. Fewer are left to the server: small segments are dear, and it gathers them first."""
_SEALED_IN_FILES = 1_000
"""milvus-lite puts what is not sealed together anew for each question."""
_OWN_WRITES = "Session"
"""Whoever wrote sees it, and waits for nobody else's writes."""
_ALL_WRITES = "Strong"
"""Waits for what anybody wrote before: some 200 ms, the pulse of a server."""


class MilvusCollection:
    def __init__(
        self,
        connection: MilvusConnection,
        name: str,
        identity: EmbedderIdentity,
        turn: Callable[[float], AbstractContextManager[bool]],
        *,
        read_only: bool,
    ) -> None:
        self.connection, self.name, self.identity = connection, name, identity
        self._turn, self._read_only = turn, read_only
        self._is_ready = False
        self._unsealed = 0
        self._mine = threading.local()
        """State of each thread: the positions that it `held` while it writes."""
        self._known: dict[Any, Any] = {}
        self._asked_at = 0.0
        self._counted_at: IndexPosition | None = None

    # ------------------------------------------------------------ asking

    def search(
        self, field: str, questions: Sequence[Any], expression: str, k: int, params: Mapping[str, Any]
    ) -> list[list[tuple[str, float]]]:
        """For each question the best ids with their scores, the best first."""
        if k < 1 or not questions:
            return [[] for _ in questions]
        hits_by_query = self._ask(
            "search",
            data=list(questions),
            anns_field=field,
            filter=expression,
            limit=min(k, MOST_FOUND),
            search_params={"metric_type": "IP", "params": dict(params)},
            output_fields=["rb_id"],
        )
        if hits_by_query is None:
            return [[] for _ in questions]
        return [
            [(hit["rb_id"], hit["distance"]) for hit in hits if hit["distance"] == hit["distance"]]
            for hits in hits_by_query
        ]

    def rows(self, expression: str, fields: Sequence[str], limit: int = MOST_FOUND) -> list[Row]:
        return list(self._ask("query", filter=expression, output_fields=list(fields), limit=limit) or ())

    def rows_of(self, ids: Sequence[str], fields: Sequence[str], also: str = "") -> list[Row]:
        return [
            row
            for page in pages(ids, _ROWS_PER_CALL)
            for row in self.rows(f"rb_id in {quote_list(page)}{also}", fields)
        ]

    def counts(self, expressions: Sequence[str]) -> list[int]:
        return self.connection.at_once([lambda each=each: self._count(each) for each in expressions])  # type: ignore[misc]

    def _count(self, expression: str) -> int:
        rows = self._ask("query", filter=expression, output_fields=["count(*)"])
        return int(rows[0]["count(*)"]) if rows else 0

    @property
    def known(self) -> dict[Any, Any]:
        """Counts since the index went on last; empty if that was not just asked. A file is written by nobody else."""
        if time.monotonic() - self._asked_at > _COUNTED_S and not self.connection.address.is_file:
            self._known = {}
        return self._known

    # ------------------------------------------------------------ writing

    @contextmanager
    def writing(self, wait_s: float) -> Iterator[bool]:
        """The right to write. Who has it reads what others wrote before, once, and from then on knows it."""
        with self._turn(wait_s) as has_lock:
            self._mine.held = {} if has_lock else None
            try:
                yield has_lock
            finally:
                self._mine.held = None
            if has_lock and self._unsealed >= (_SEALED_IN_FILES if self.connection.address.is_file else _SEALED_FROM):
                self._seal()

    def _seal(self) -> None:
        """Until a server seals what it was given, by itself after minutes, it finds its way in it by a coarse map."""
        self._unsealed = 0
        with suppress(BankUnavailable):
            self.connection.ask("flush", self.name, within_s=WRITE_WITHIN_S)

    def upsert(self, rows: Sequence[Row]) -> None:
        self._make_ready()
        self._forget()
        can = self.connection.abilities
        lacking = () if can.sparse else ("terms_vector",)
        for page in pages(rows, _ROWS_PER_CALL):
            data = [{name: value for name, value in row.items() if name not in lacking} for row in page]
            self._ask("upsert", data=data, within_s=WRITE_WITHIN_S)
        self._unsealed += len(rows)

    def delete(self, ids: Sequence[str]) -> None:
        self._check_writable()
        self._forget()
        for page in pages(ids, _ROWS_PER_CALL):
            self._ask("delete", filter=f"rb_id in {quote_list(page)}", within_s=WRITE_WITHIN_S)

    def _forget(self) -> None:
        """Forget all counts: the next write makes them void."""
        self._known = {}

    def drop(self) -> None:
        self._check_writable()
        self._forget()
        self._is_ready = False
        self.connection.ask("drop_collection", self.name, within_s=WRITE_WITHIN_S)
        if positions := getattr(self._mine, "held", None):
            positions.clear()

    # ------------------------------------------------------------ how far it is

    def position(self, half: str) -> IndexPosition:
        """How far a half is now: it tells whether what a search found nothing in is still there."""
        positions: dict[str, IndexPosition] | None = getattr(self._mine, "held", None)
        if positions:
            return positions[half]
        answer = self._ask(
            "query",
            filter=f"rb_id in {quote_list(map(position_id, HALVES))}",
            output_fields=["rb_id", "applied", "mark"],
            consistency_level=_OWN_WRITES if positions is None else _ALL_WRITES,
        )
        rows = {row["rb_id"]: row for row in answer or ()}
        fresh_positions = {each: position_in(rows.get(position_id(each))) for each in HALVES}
        if positions is not None:
            positions.update(fresh_positions)
        if fresh_positions[WORDS] != self._counted_at:
            self._counted_at, self._known = fresh_positions[WORDS], {}
        self._asked_at = time.monotonic()
        return fresh_positions[half]

    def advance(self, half: str, position: IndexPosition) -> None:
        self.upsert([position_row(half, position, self.identity.dimension)])
        if positions := getattr(self._mine, "held", None):
            positions[half] = IndexPosition(applied=position.applied, mark=position.mark)

    # ------------------------------------------------------------ whether it is there

    def _ask(self, verb: str, **options: Any) -> Any:
        """Answer of the collection; None if it was never made."""
        if verb in ("query", "search"):
            options.setdefault("consistency_level", _OWN_WRITES)
        if not self._look():
            return None
        try:
            return self.connection.ask(verb, self.name, **options)
        except MilvusRefusal:
            # Dropped, released or replaced behind our back, as far as we know.
            self._is_ready = False
            if self._look():
                return self.connection.ask(verb, self.name, **options)
        self._forget()
        raise BankDamaged(f"The collection {self.name} in Milvus was dropped or replaced; it is built anew.")

    def _look(self) -> bool:
        if not self._is_ready and self.connection.ask("has_collection", self.name):
            description = self.connection.ask("describe_collection", self.name)
            if is_ours(description, self.identity, self.connection.abilities):
                self.connection.ask("load_collection", self.name, within_s=LOAD_WITHIN_S)
                self._is_ready = True
        return self._is_ready

    def _make_ready(self) -> None:
        self._check_writable()
        if self._look():
            return
        connection, can = self.connection, self.connection.abilities
        # One that is there all the same is not ours: it would answer for an embedder that it knows nothing of.
        connection.ask("drop_collection", self.name, within_s=WRITE_WITHIN_S)
        spread = {"num_partitions": PARTITIONS} if can.sparse else {}
        connection.ask(
            "create_collection",
            self.name,
            schema=schema_for(self.identity, can),
            # One shard keeps the order of writing: who sees a position sees every row before it.
            num_shards=1,
            consistency_level=_OWN_WRITES,
            within_s=WRITE_WITHIN_S,
            **spread,
        )
        connection.ask("create_index", self.name, indexes_for(can), within_s=WRITE_WITHIN_S, sync=False)
        connection.ask("load_collection", self.name, within_s=LOAD_WITHIN_S)
        self._is_ready = True

    def _check_writable(self) -> None:
        if self._read_only:
            raise BankReadOnly("This bank was opened to be read only, and so is its index.")
