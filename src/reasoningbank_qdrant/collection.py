"""One collection of Qdrant's for one build of the index, and how far in the feed it has come.

A point of its own in the collection keeps the positions of both halves and whose vectors these are; it is nobody's
memory and has no tenant, so no search comes to it. What is not there, or of another embedder, has come nowhere: whoever
writes makes it (anew) and is given everything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from qdrant_client import QdrantClient, models

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import IndexPosition
from reasoningbank_qdrant.connection import QdrantConnection, Question
from reasoningbank_qdrant.faults import NoCollection
from reasoningbank_qdrant.points import MEANING, WORDS, point_id

T = TypeVar("T")
Turn = Callable[[str, float], AbstractContextManager[bool]]
STATE = point_id("\0state")
REMEMBERED_S = 0.02
"""For how long a search goes by what was asked last before it counts words: it does so several times."""
_KEYWORDS = ("namespace", "scope", "state", "outcome", "tags", "agent", "task_type")
_NUMBERS = ("terms", "length")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionState:
    words: IndexPosition = IndexPosition()
    vectors: IndexPosition = IndexPosition()


class QdrantCollection:
    def __init__(
        self, connection: QdrantConnection, name: str, identity: EmbedderIdentity, facet: str, turn: Turn
    ) -> None:
        """Nothing is asked of the server yet."""
        self.name, self.identity = name, identity
        self._connection, self._turn = connection, turn
        self._of = f"{identity} {facet}"
        self._lock = threading.Lock()
        self._state: CollectionState | None = None
        self._asked_at = float("-inf")
        self._is_writing = False
        self._was_there = False
        self.changes = 0
        """How often this process has changed it: what was counted before counts no more."""

    # ------------------------------------------------------------ asking

    def read(self, question: Question[T]) -> T | None:
        """The answer; None where there is no collection yet. One that is gone since is damage."""
        [answer] = self.read_all([question])
        return answer

    def read_all(self, questions: Sequence[Question[T]]) -> Sequence[T | None]:
        try:
            return self._connection.ask_all(questions)
        except NoCollection:
            self._forget()
            if self._was_there:
                raise
            return [None] * len(questions)

    def write(self, *questions: Question[object]) -> None:
        self.ensure()
        try:
            for question in questions:
                self._connection.ask(question, writes=True)
            with self._lock:
                self.changes += 1
        except BankDamaged:
            self._forget()
            raise

    def _forget(self) -> None:
        self._remember(None, asked_at=float("-inf"))

    def _remember(self, state: CollectionState | None, *, asked_at: float) -> None:
        with self._lock:
            self._state, self._asked_at = state, asked_at
            self._was_there |= state is not None
            self.changes += 1

    # ------------------------------------------------------------ how far it has come

    @property
    def state(self) -> CollectionState:
        """Asked for now: it tells whether what a search found nothing in is still there."""
        return self._known_state(remembered_s=0.0) or CollectionState()

    def require_state(self) -> CollectionState:
        """The same for a search, which would find nothing where somebody has removed or emptied what was there."""
        state = self._known_state(remembered_s=REMEMBERED_S)
        if state is None and self._was_there:
            raise NoCollection(f"Somebody removed or emptied the collection {self.name} of Qdrant. It is built anew.")
        return state or CollectionState()

    def _known_state(self, *, remembered_s: float) -> CollectionState | None:
        # Asked outside of the lock: a server that hangs makes every thread wait once, not one after the other.
        now, changes = time.monotonic(), self.changes
        if self._is_writing or now < self._asked_at + remembered_s:
            return self._state
        state = self._ask_state()
        with self._lock:
            self._was_there |= state is not None
            if self.changes == changes and not self._is_writing:
                self._state, self._asked_at = state, now
        return state

    def _ask_state(self) -> CollectionState | None:
        try:
            points = self._connection.ask(lambda client: client.retrieve(self.name, [STATE], with_payload=True))
        except NoCollection:
            return None
        payload = (points[0].payload if points else None) or {}
        if payload.get("of") != self._of:
            return None
        return CollectionState(words=parse_position(payload.get(WORDS)), vectors=parse_position(payload.get(MEANING)))

    def advance(self, half: str, position: IndexPosition) -> None:
        state = self.state
        payload = {half: _text(position)}
        self.write(lambda client: client.set_payload(self.name, payload, points=[STATE], wait=True))
        new_state = replace(state, words=position) if half == WORDS else replace(state, vectors=position)
        self._remember(new_state, asked_at=time.monotonic())

    @contextmanager
    def writing(self, wait_s: float) -> Iterator[bool]:
        """The right to write it. Meanwhile nobody else brings it forward, so that its position is asked for once."""
        with self._turn(f"qdrant-{self.name}", wait_s) as has_lock:
            if not has_lock:
                yield False
                return
            self._remember(self._ask_state(), asked_at=time.monotonic())
            self._is_writing = True
            try:
                yield True
            finally:
                self._is_writing = False

    # ------------------------------------------------------------ making it

    def ensure(self) -> None:
        """Make the collection where there is none of this embedder; what else is there under its name goes."""
        if self._known_state(remembered_s=REMEMBERED_S) is None:
            self.renew()

    def renew(self) -> None:
        """Begin anew with an empty collection."""
        self._connection.ask(self._make, writes=True)
        self._remember(CollectionState(), asked_at=time.monotonic())

    def forget_vectors(self) -> None:
        of_memories = models.Filter(must_not=[models.HasIdCondition(has_id=[STATE])])
        self.write(lambda client: client.delete_vectors(self.name, [MEANING], points=of_memories, wait=True))
        self.advance(MEANING, IndexPosition())

    def _make(self, client: QdrantClient) -> None:
        client.delete_collection(self.name)
        client.create_collection(
            self.name,
            vectors_config={
                MEANING: models.VectorParams(size=self.identity.dimension, distance=models.Distance.COSINE)
            },
            sparse_vectors_config={WORDS: models.SparseVectorParams()},
        )
        # Before the first point: what is indexed later gets no edges of its own in the graph of vectors.
        for field, schema in _payload_indexes().items() if not self._connection.is_local else ():
            client.create_payload_index(self.name, field, schema, wait=True)
        # The state comes last: without it the collection is not finished, and is made again.
        state = models.PointStruct(
            id=STATE,
            vector={},
            payload={"of": self._of, WORDS: _text(IndexPosition()), MEANING: _text(IndexPosition())},
        )
        client.upsert(self.name, [state], wait=True)


def _payload_indexes() -> dict[str, models.KeywordIndexParams | models.IntegerIndexParams]:
    kind, number = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
    # Looked up and counted, never searched by: no graph of vectors is made for each term and each length.
    integers = models.IntegerIndexParams(type=number, lookup=True, range=False, on_disk=True, enable_hnsw=False)
    return {
        "tenant": models.KeywordIndexParams(type=kind, is_tenant=True),
        **{field: models.KeywordIndexParams(type=kind) for field in _KEYWORDS},
        **dict.fromkeys(_NUMBERS, integers),
    }


def _text(position: IndexPosition) -> str:
    """As text: a mark has 64 bits, and numbers of a payload have 63 on some ways."""
    return f"{position.applied} {position.mark}"


def parse_position(value: object) -> IndexPosition:
    try:
        position, mark = map(int, str(value).split())
    except ValueError:
        return IndexPosition()
    return IndexPosition(applied=position, mark=mark)
