"""An index continued in memory: for a search that must know every change and may wait for nobody.

Knows that nobody else sees it, so that it needs no lock, no sync and no compaction; whoever made it writes to it from
one thread at a time. Everything else it does as the index it continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reasoningbank.index.changes import bury, change
from reasoningbank.index.content import Content, Shape
from reasoningbank.index.continuation import Continuation
from reasoningbank.index.damage import damage_is_named
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.ports import IndexBatch


class IndexAhead(EmbeddedIndex):
    def __init__(self, directory: Path, shape: Shape, content: Continuation) -> None:
        super().__init__(directory, shape, read_only=True)
        self._continuation = content

    def _content(self) -> Content:
        return self._continuation

    def _writer(self) -> Content:
        return self._continuation

    @contextmanager
    def writing(self, *, wait_s: float) -> Iterator[bool]:  # noqa: ARG002 - nobody is waited for
        yield True

    def apply(self, batch: IndexBatch) -> None:
        with damage_is_named(self._directory):
            bury(self._continuation, batch.erased)
            change(self._continuation, batch)

    def heal(self, restored: Callable[[Sequence[str]], Iterable[IndexBatch]]) -> None:
        with damage_is_named(self._directory):
            self._continuation.heal()
            for batch in restored(self.ids()):
                change(self._continuation, batch)

    def close(self) -> None:
        self._continuation.close()
