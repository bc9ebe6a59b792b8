"""Memories as texts that a framework hands to its model, and texts of a framework as memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.json_view import remembered_json
from reasoningbank.core.drafts import MAX_TITLE_CHARS
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import Remembered
from reasoningbank.guard.envelope import for_prompt

PAGE = 500


def list_all(bank: Bank, *, namespace: str | None, tags: Sequence[str]) -> Iterator[Remembered]:
    """Every memory with all these tags, newest first, a page at a time."""
    before: str | None = None
    while True:
        page = bank.list(namespace=namespace, tags=list(tags), limit=PAGE, before=before)
        yield from page
        if len(page) < PAGE:
            return
        before = position_of(page[-1].memory)


def text_for_model(item: Remembered) -> str:
    """Headline and content as a model may read them: what is not believed is quoted as data."""
    fields = for_prompt(remembered_json(item))
    title, content = str(fields["title"]), str(fields["content"])
    return content if content.startswith(title.rstrip("…")) else f"{title}\n{content}"


def title_of(text: str) -> str:
    """The first line that says something, as a headline."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "(no words)")
    most = MAX_TITLE_CHARS // 2
    return first if len(first) <= most else f"{first[: most - 1].rstrip()}…"
