"""Google's Agent Development Kit: `Runner(…, memory_service=BankMemoryService(bank))`.

A session that is added becomes a session of the bank, its function calls steps, and is learned from; what is searched,
by `load_memory` and `preload_memory` too, is what sessions taught. Every app and user has a namespace of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from reasoningbank.adapters.memory_texts import text_for_model, title_of
from reasoningbank.bank.bank import Bank
from reasoningbank.bank.task_tracker import as_text, aside, attempt_aside, shorten
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import InvalidInput, MissingExtra
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.guard.envelope import plain_origin

try:
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai import types
except ImportError as error:
    raise MissingExtra(package="google-adk", extra="google-adk", purpose="The adapter for Google's ADK") from error

ROOT = "adk"


class BankMemoryService(BaseMemoryService):
    """Safe to use from several runners at once."""

    def __init__(self, bank: Bank, *, root: str = ROOT, limit: int = 10) -> None:
        self._bank, self._root, self._limit = bank, clean_namespace(root), limit

    async def add_session_to_memory(self, session: Session) -> None:
        """The same session again adds what is new of it."""
        place = self._place(session.app_name, session.user_id)
        source = f"adk:{session.app_name}:{session.user_id}:{session.id}"
        await attempt_aside(lambda: self._keep(place, session.events, source))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        place = self._place(app_name, user_id)
        memories = await attempt_aside(lambda: self._search(place, query)) if query.strip() else None
        return SearchMemoryResponse(memories=memories or [])

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        place = self._place(app_name, user_id)
        drafts = []
        for entry in memories:
            text = _text(entry.content)
            if not text.strip():
                raise InvalidInput("A bank keeps texts: this memory has no part that is one.")
            metadata = {**(custom_metadata or {}), **entry.custom_metadata}
            drafts.append(
                {
                    "title": title_of(text),
                    "content": text,
                    "namespace": place,
                    "metadata": metadata,
                    "origin": "agent",
                }
            )
        await aside(self._bank.record_many, drafts)

    def _place(self, app_name: str, user_id: str) -> str:
        """One namespace for each app and user; two that would be written alike are kept apart."""
        parts = (part.replace("%", "%25").replace(".", "%2E") for part in (app_name, user_id))
        namespace = ".".join((self._root, *parts))
        if clean_namespace(namespace) != namespace:
            raise InvalidInput(f"No namespace can be made of the app {app_name!r} and the user {user_id!r}.")
        return namespace

    def _keep(self, place: str, events: Sequence[Event], source: str) -> None:
        task = next((_text(e.content) for e in events if e.author == "user" and _text(e.content).strip()), "")
        steps = tuple(_steps(events))
        if task and steps:
            self._bank.keep(Episode(task=shorten(task), namespace=place, steps=steps, agent="adk", source=source))

    def _search(self, place: str, query: str) -> list[MemoryEntry]:
        result = self._bank.search(query, namespace=place, limit=self._limit)
        return [
            MemoryEntry(
                id=hit.id,
                author=plain_origin(hit.memory.origin),
                timestamp=datetime.fromtimestamp(hit.memory.created_at, UTC).isoformat(),
                content=types.Content(role="user", parts=[types.Part(text=text_for_model(hit))]),
                custom_metadata={"confidence": hit.confidence.mean, "relevance": hit.relevance},
            )
            for hit in result.memories
        ]


def _steps(events: Sequence[Event]) -> list[EpisodeStep]:
    """Calls with their results, and what was answered, in order. A call without an id is known by its name."""
    steps: list[EpisodeStep] = []
    waiting: list[tuple[str | None, str, int]] = []
    for event in events:
        for part in (event.content and event.content.parts) or ():
            if part.function_call is not None:
                call = part.function_call
                waiting.append((call.id, call.name or "", len(steps)))
                steps.append(EpisodeStep(action=shorten(f"{call.name} {as_text(call.args or {})}".strip())))
            elif part.function_response is not None:
                response = part.function_response
                at = next((w for w in waiting if (w[0] == response.id if response.id else w[1] == response.name)), None)
                if at is not None:
                    waiting.remove(at)
                    steps[at[2]] = EpisodeStep(action=steps[at[2]].action, **_outcome(response.response or {}))
            elif part.text and event.author != "user":
                steps.append(EpisodeStep(action="answered", result=shorten(part.text)))
    return steps


def _outcome(response: Mapping[str, Any]) -> dict[str, Any]:
    is_error = set(response) == {"error"} or response.get("status") == "error"
    return {"result": shorten(as_text(response.get("result", response))), "ok": False if is_error else None}


def _text(content: types.Content | None) -> str:
    return "\n".join(part.text for part in (content and content.parts) or () if part.text)
