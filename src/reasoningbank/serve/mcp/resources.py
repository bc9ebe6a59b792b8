"""MCP resources: a memory, the newest ones, what the bank holds.

The newest memories are listed, so that a person can pick one; all others are reached by the template, since a client
that walks a list of a hundred thousand has not been helped.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.json_view import remembered_json
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import Remembered
from reasoningbank.guard.envelope import for_prompt
from reasoningbank.serve.json_schema import show_value

PREFIX = "memory://"
RECENT = f"{PREFIX}recent"
STATISTICS = f"{PREFIX}statistics"
PAGE = 50
MOST_LISTED = 200
RECENT_COUNT = 20
MIME = "application/json"

TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": f"{PREFIX}{{id}}",
        "name": "memory",
        "title": "A memory",
        "description": "One memory in full, by its id",
        "mimeType": MIME,
    }
]
_FIXED: list[dict[str, Any]] = [
    {
        "uri": RECENT,
        "name": "recent",
        "title": "Recent memories",
        "description": f"The newest {RECENT_COUNT} memories of this project",
        "mimeType": MIME,
    },
    {
        "uri": STATISTICS,
        "name": "statistics",
        "title": "Statistics",
        "description": "What the bank holds",
        "mimeType": MIME,
    },
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePage:
    entries: list[dict[str, Any]]
    next_cursor: str | None


def list_resources(bank: Bank, cursor: str | None) -> ResourcePage:
    """A page of resources: the fixed ones first, then the newest memories of this project."""
    before, already = _read_cursor(cursor)
    count = min(PAGE, MOST_LISTED - already)
    memories = bank.list(limit=count, before=before) if count > 0 else []
    entries = [_entry(item) for item in memories]
    total = already + len(memories)
    more = len(memories) == count and 0 < total < MOST_LISTED
    return ResourcePage(
        entries=entries if cursor else [*_FIXED, *entries],
        next_cursor=_cursor(position_of(memories[-1].memory), total) if more else None,
    )


def read(bank: Bank, uri: str) -> dict[str, Any]:
    """The resource at an address, as values; NotFound when there is none."""
    if uri == RECENT:
        return {"memories": [_public(item) for item in bank.list(limit=RECENT_COUNT)]}
    if uri == STATISTICS:
        return _statistics(bank)
    memory_id = uri.removeprefix(PREFIX)
    # Ids only: a key is free text and belongs to one namespace, so it makes no address.
    if memory_id != uri and re.fullmatch(r"mem_[0-9A-Za-z]{1,64}", memory_id):
        try:
            return _public(bank.get(memory_id))
        except NotFound:
            pass
    raise NotFound(f"There is no resource {show_value(uri)}: use {RECENT}, {STATISTICS} or {PREFIX}ID.")


def _public(item: Remembered) -> dict[str, Any]:
    values = for_prompt(remembered_json(item))
    del values["tenant"]
    return values


def _statistics(bank: Bank) -> dict[str, Any]:
    status = bank.status()
    return {
        "namespace": status.namespace,
        "memories": dict(status.memories),
        "namespaces": dict(status.namespaces),
        "signals": status.signals,
        "sessions": status.trajectories,
        "nodes": dict(status.nodes),
        "links": status.edges,
        "embedder": str(status.embedder),
        "policy": status.policy,
        "distiller": status.distiller,
        "jobs": dict(status.jobs),
    }


def _entry(item: Remembered) -> dict[str, Any]:
    fields = for_prompt(remembered_json(item))
    return {
        "uri": f"{PREFIX}{item.id}",
        "name": item.id,
        "title": fields["title"],
        "description": fields["description"][:200],
        "mimeType": MIME,
    }


# A cursor says where a page ended. It carries no right: the next page is asked of the caller's own bank.


def _cursor(position: str, total: int) -> str:
    return urlsafe_b64encode(f"{total}:{position}".encode()).decode("ascii")


def _read_cursor(cursor: str | None) -> tuple[str | None, int]:
    if cursor is None:
        return None, 0
    try:
        count, _, position = urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").partition(":")
        number = int(count)
    except (BadBase64, ValueError):
        number, position = 0, ""
    if not 0 < number < MOST_LISTED or not re.fullmatch(r"mem_[0-9A-Za-z]{1,64}@[0-9.e+-]{1,32}", position):
        raise InvalidInput("This cursor is not one that this server gave: start again without a cursor.")
    return position, number
