"""CrewAI: `Crew(…, memory=CrewMemory(bank=bank))`, or an agent's own.

What CrewAI asks of its memory at the beginning of each task comes from the bank, without a model and without an
embedding service. What it wants kept of a finished task becomes a session of the bank, to be learned from; what an
agent or a caller says is to be remembered becomes a memory.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from reasoningbank.adapters.memory_texts import list_all, text_for_model, title_of
from reasoningbank.bank.task_tracker import attempt, shorten
from reasoningbank.core.errors import InvalidInput, MissingExtra
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import Remembered
from reasoningbank.guard.envelope import plain_origin

try:
    from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
    from crewai.memory.unified_memory import Memory
except ImportError as error:
    raise MissingExtra(package="crewai", extra="crewai", purpose="The adapter for CrewAI") from error

TAG = "crewai"
"""Tag of what was added through a memory: `forget` and `reset` take that and nothing else."""
_FINISHED = pattern(r"(?s)Task: (.*?)\nAgent: (.*?)\nExpected result: .*?\nResult: (.*)")


class CrewMemory(Memory):
    """One bank as the memory of any number of crews. Scopes are tags, so a scope's memories are found by every door."""

    bank: Any
    namespace: str | None = None
    storage: Any = None

    def model_post_init(self, context: Any, /) -> None:
        """Nothing of CrewAI's own store, model or embedder is made."""
        del context

    def recall(self, query: str, scope: str | None = None, limit: int = 10, **options: Any) -> list[MemoryMatch]:
        """`options` of CrewAI's own flow (depth, source, …) change nothing: the bank always looks at everything."""
        categories = list(options.get("categories") or ())
        if not query.strip():
            return []
        tags = [*_scope_tag(scope), *categories]

        def search() -> list[MemoryMatch]:
            result = self.bank.search(query, namespace=self.namespace, limit=limit, tags=tags)
            return [MemoryMatch(record=_record(hit), score=_within_one(hit.relevance)) for hit in result.memories]

        return attempt(search) or []

    def remember(self, content: str, scope: str | None = None, **options: Any) -> MemoryRecord | None:
        """Keep it; of CrewAI's options categories, metadata, importance and source are kept with it."""
        if self.read_only:
            return None
        if not content.strip():
            raise InvalidInput("There is nothing to remember in an empty text.")
        parts = [part for part in (scope or "").split("/") if part]
        # Of the scope and of all above it.
        scope_tags = [tag for depth in range(len(parts)) for tag in _scope_tag("/".join(parts[: depth + 1]))]
        memory = self.bank.record(
            title=title_of(content),
            content=content,
            namespace=self.namespace,
            tags=[TAG, *scope_tags, *(options.get("categories") or ())],
            metadata=dict(options.get("metadata") or {}),
            origin="agent",
        )
        return _record(memory)

    def remember_many(self, contents: list[str], scope: str | None = None, **options: Any) -> list[MemoryRecord]:
        records = [self._keep_task(text) or self.remember(text, scope, **options) for text in contents if text.strip()]
        return [record for record in records if isinstance(record, MemoryRecord)]

    def extract_memories(self, content: str) -> list[str]:
        """A finished task as it is: what is worth keeping of it the bank finds out by itself."""
        return [content]

    def forget(self, scope: str | None = None, record_ids: list[str] | None = None, **options: Any) -> int:
        """Forgets what was remembered through a memory like this one; `reasoningbank restore` brings it back."""
        if options.get("older_than") or options.get("metadata_filter"):
            raise InvalidInput(
                "A bank forgets by scope, category or id; age and metadata are for `reasoningbank list`."
            )
        only_ids = set(record_ids) if record_ids is not None else None
        tags = [TAG, *_scope_tag(scope), *(options.get("categories") or ())]
        memory_ids = [item.id for item in self._all(tags) if only_ids is None or item.id in only_ids]
        for memory_id in memory_ids:
            self.bank.forget(memory_id)
        return len(memory_ids)

    def reset(self, scope: str | None = None) -> None:
        self.forget(scope)

    def reset_all(self) -> None:
        self.forget()

    def list_records(self, scope: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        return [_record(item) for item in self._all(_scope_tag(scope))[offset : offset + limit]]

    def info(self, path: str | None = None) -> ScopeInfo:
        records = self.list_records(path, limit=1_000_000)
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=path or "/",
            record_count=len(records),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
        )

    def drain_writes(self) -> None:
        """Nothing is ever pending: what is remembered is durable when `remember` returns."""

    def close(self) -> None:
        """The bank is the caller's, and stays open."""

    def _all(self, tags: list[str]) -> list[Remembered]:
        return list(list_all(self.bank, namespace=self.namespace, tags=tags))

    def _keep_task(self, text: str) -> bool:
        """True if the text is CrewAI's report of a finished task, and the memory may write; it is kept as a session."""
        report = _FINISHED.fullmatch(text)
        if report is None or self.read_only:
            return False
        task, agent, answer = report.groups()
        step = EpisodeStep(action="answered", result=shorten(answer))
        place = self.namespace or self.bank.namespace
        episode = Episode(task=shorten(task), namespace=place, steps=(step,), agent=agent[:200])
        attempt(lambda: self.bank.keep(episode))
        return True


def _scope_tag(scope: str | None) -> list[str]:
    """Tag of everything in a scope and below it; none for the root."""
    path = (scope or "").strip("/")
    return [f"crewai:{path}"] if path else []


def _record(item: Remembered) -> MemoryRecord:
    memory = item.memory
    return MemoryRecord(
        id=item.id,
        content=text_for_model(item),
        categories=[tag for tag in memory.tags if tag != TAG and not tag.startswith("crewai:")],
        importance=_within_one(item.confidence.mean),
        created_at=datetime.fromtimestamp(memory.created_at, UTC).replace(tzinfo=None),
        source=plain_origin(memory.origin),
    )


def _within_one(value: float) -> float:
    return min(1.0, max(0.0, float(value)))
