"""Endpoints to keep, list, read, change and remove memories."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.json_view import history_json, remembered_json, stored_json
from reasoningbank.core.drafts import MAX_TITLE_CHARS
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import DEFAULT_LIST_LIMIT, Outcome, Remembered, Scope, State
from reasoningbank.guard.trust import check_may_revise
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply
from reasoningbank_server.identity import origin_for, require
from reasoningbank_server.problems import Problem

MOST_LISTED = 500
MOST_LISTED_CHARS = 4_000_000
"""A page ends early when its memories are long; its cursor leads on."""
_EXAMPLE = {
    "title": "Wrap errors with context",
    "description": "When a Go function returns an error to its caller",
    "content": "Use fmt.Errorf with %w and name the operation that failed.",
    "outcome": "success",
    "tags": ["go", "errors"],
}


def _memory_reply(item: Remembered, status: int = 200) -> Reply:
    return Reply(status=status, body=stored_json(item), etag=f'"{item.memory.revision}"')


def _sign(call: Call, draft: Mapping[str, Any]) -> dict[str, Any]:
    return {**draft, "origin": origin_for(call.principal, draft.get("origin"))}


def _record(call: Call) -> Reply:
    draft = _sign(call, call.body)
    vector = draft.pop("vector", None)
    return _memory_reply(call.bank.record(vector=vector, **draft), 201)


def _record_many(call: Call) -> Reply:
    drafts = [_sign(call, draft) for draft in call.body["memories"]]
    return Reply(status=201, body={"ids": call.bank.record_many(drafts)})


def _store(call: Call) -> Reply:
    options = _sign(call, call.body)
    return _memory_reply(call.bank.store(call.path["key"], options.pop("content"), **options))


def _get(call: Call) -> Reply:
    return _memory_reply(call.bank.get(call.path["id"]))


def _get_by_key(call: Call) -> Reply:
    return _memory_reply(call.bank.get(call.path["key"], namespace=call.bank.namespace))


def _list(call: Call) -> Reply:
    filters = dict(call.query)
    limit, cursor, state = (
        filters.pop("limit", DEFAULT_LIST_LIMIT),
        filters.pop("cursor", None),
        filters.pop("state", "active"),
    )
    every = filters.pop("every_namespace", False)
    digest = blake2b(repr(sorted(filters.items())).encode("utf-8", "replace"), digest_size=8).hexdigest()
    purpose = f"memories {digest} {state} {every} {call.bank.namespace}"
    tenant = call.principal.tenant
    before = None if cursor is None else call.seal.opened(tenant, purpose, cursor).decode()
    where = {("tags" if name == "tag" else name): value for name, value in filters.items()}
    where |= {"namespace": "*" if every else None, "state": None if state == "any" else state}
    page, more = _page(call, where, limit, before)
    following = call.seal.closed(tenant, purpose, position_of(page[-1].memory).encode()) if more else None
    return Reply(body={"memories": [remembered_json(item) for item in page], "next": following})


def _page(call: Call, where: dict[str, Any], limit: int, before: str | None) -> tuple[list[Remembered], bool]:
    """At most `limit` memories, fewer when they are long, and whether there are more."""
    page: list[Remembered] = []
    size = 0
    while True:
        # Fifty at a time, and one more to see if there are more.
        count = min(limit - len(page), 50) + 1
        items = call.bank.list(**where, limit=count, before=before)
        for item in items[: count - 1]:
            page.append(item)
            size += len(item.content) + len(item.description)
            if size > MOST_LISTED_CHARS:
                return page, len(items) > items.index(item) + 1
        if len(items) < count or len(page) == limit:
            return page, len(items) == count
        before = position_of(page[-1].memory)


def _edit(call: Call) -> Reply:
    changes = dict(call.body)
    body_revision = changes.pop("expected_revision", None)
    if not changes:
        raise InvalidInput("The body changes nothing.")
    etag_revision = _revision_of(call.if_match)
    if etag_revision is not None and call.bank.get(call.path["id"]).memory.revision != etag_revision:
        raise Problem(412, "precondition_failed", "The memory changed since it was read: read it again first.")
    return _memory_reply(
        call.bank.edit(
            call.path["id"], expected_revision=body_revision or etag_revision, editor=call.principal.origin, **changes
        )
    )


def _revision_of(if_match: str | None) -> int | None:
    if if_match is None or if_match == "*":
        return None
    text = if_match.strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Problem(412, "precondition_failed", "If-Match must be the ETag that the memory was read with.")
    return int(text)


def _forget(call: Call) -> Reply:
    if call.query.get("erase"):
        require(call.principal, "admin")
        there = call.bank.get(call.path["id"])
        # Whoever may not change a memory may not erase it either.
        check_may_revise(there.memory, there.trust, call.principal.origin)
        call.bank.erase(there.id)
        return Reply(status=204)
    return _memory_reply(call.bank.forget(call.path["id"], editor=call.principal.origin))


def _after_erasing(bank: Bank) -> None:
    bank.follow_erasures()


def _restore(call: Call) -> Reply:
    return _memory_reply(call.bank.restore(call.path["id"], editor=call.principal.origin))


def _revisions(call: Call) -> Reply:
    history = history_json(call.bank.history(call.path["id"]))
    return Reply(body={"revisions": history["revisions"]})


_LIST_PARAMETERS = (
    Parameter(
        name="limit", schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIST_LIMIT}
    ),
    Parameter(name="cursor", schema=schemas.text(400), about="`next` of the page before"),
    Parameter(name="state", schema=schemas.one_of((*State, "any"), default="active")),
    Parameter(name="outcome", schema=schemas.one_of(Outcome)),
    Parameter(name="scope", schema=schemas.one_of(Scope)),
    Parameter(name="tag", schema=schemas.NAME, about="may be repeated: all of them", repeated=True),
    Parameter(name="agent", schema=schemas.NAME),
    Parameter(name="task_type", schema=schemas.NAME),
    Parameter(name="origin", schema=schemas.NAME),
    Parameter(name="key", schema=schemas.text(MAX_TITLE_CHARS, minLength=1)),
    Parameter(name="team", schema=schemas.NAME, about="of every namespace of a team"),
    Parameter(name="every_namespace", schema=schemas.FLAG, about="not only one namespace"),
)
_ERASE = Parameter(name="erase", schema=schemas.FLAG, about="really remove it, with everything about it; needs admin")
_STORED = schemas.ref("Stored")

ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/memories",
        scope="write",
        group="memories",
        summary="Keep a strategy",
        handle=_record,
        body=schemas.RECORD,
        example=_EXAMPLE,
        reply=_STORED,
        status=201,
        lane="writing",
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/memories/bulk",
        scope="write",
        group="memories",
        summary="Keep many strategies, all of them or none",
        handle=_record_many,
        body=schemas.BULK,
        example={"memories": [_EXAMPLE]},
        reply=schemas.out(ids=schemas.NAMES),
        status=201,
        lane="writing",
        atomic=True,
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/memories",
        scope="read",
        group="memories",
        summary="List memories, newest first",
        handle=_list,
        query=_LIST_PARAMETERS,
        errors=(404,),
        reply=schemas.listing("memories", schemas.ref("Memory")),
    ),
    Endpoint(
        method="GET",
        path="/v1/memories/{id}",
        scope="read",
        group="memories",
        summary="One memory, by id or by key",
        handle=_get,
        reply=_STORED,
    ),
    Endpoint(
        method="PATCH",
        path="/v1/memories/{id}",
        scope="write",
        group="memories",
        summary="Change a memory; the earlier revision stays readable",
        handle=_edit,
        body=schemas.EDIT,
        example={"title": "Wrap errors with what was tried"},
        reply=_STORED,
        lane="writing",
        # What If-Match is compared with is what is changed.
        atomic=True,
        takes_if_match=True,
        errors=(409, 412),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/memories/{id}",
        scope="write",
        group="memories",
        summary="Forget a memory (it can be restored), or erase it for good",
        handle=_forget,
        query=(_ERASE,),
        reply=_STORED,
        lane="writing",
        after=_after_erasing,
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/memories/{id}/restore",
        scope="write",
        group="memories",
        summary="Bring a forgotten memory back",
        handle=_restore,
        reply=_STORED,
        lane="writing",
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/memories/{id}/revisions",
        scope="read",
        group="memories",
        summary="Every revision, oldest first",
        handle=_revisions,
        reply=schemas.out(revisions={"type": "array", "items": schemas.ref("Revision")}),
    ),
    Endpoint(
        method="GET",
        path="/v1/keys/{key}",
        scope="read",
        group="memories",
        summary="The memory under a key of the namespace",
        handle=_get_by_key,
        reply=_STORED,
    ),
    Endpoint(
        method="PUT",
        path="/v1/keys/{key}",
        scope="write",
        group="memories",
        summary="Keep a value under a key; the same key again makes a new revision",
        handle=_store,
        body=schemas.KEYED,
        example={"content": "Use fmt.Errorf with %w."},
        reply=_STORED,
        lane="writing",
    ),
)
