"""Endpoints for search, inject, compare and embed."""

from __future__ import annotations

from reasoningbank.bank.json_view import found_json
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Reply


def _search(call: Call) -> Reply:
    options = dict(call.body)
    query, explain = options.pop("query"), options.pop("explain", True)
    result = found_json(call.bank.search(query, **options), explain=explain)
    if not call.principal.operator:
        # The backlog is everybody's; how long it is would tell one tenant what the others do.
        result["not_yet_indexed"] = min(1, result["not_yet_indexed"])
    return Reply(body=result)


def _inject(call: Call) -> Reply:
    options = dict(call.body)
    injection = call.bank.injection(options.pop("task"), **options)
    return Reply(body={"text": injection.text, "reason": injection.reason})


def _compare(call: Call) -> Reply:
    metric = call.body.get("metric", "cosine")
    value = call.bank.compare(call.body["one"], call.body["other"], metric=metric)
    return Reply(body={"metric": metric, "value": round(float(value), 6)})


def _embed(call: Call) -> Reply:
    vectors = call.bank.embed(call.body["texts"])
    return Reply(body={"embedder": str(call.bank.status().embedder), "vectors": vectors.tolist()})


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/search",
        scope="read",
        group="finding",
        summary="Find memories for a task, and why they fit",
        handle=_search,
        body=schemas.SEARCH,
        example={"query": "how do I wrap errors in Go", "limit": 5},
        reply=schemas.ref("Found"),
        text_field="query",
        lane="searching",
    ),
    Endpoint(
        method="POST",
        path="/v1/inject",
        scope="read",
        group="finding",
        summary="Prompt-ready advice within a token budget, or an empty text and the reason for it",
        handle=_inject,
        body=schemas.INJECT,
        example={"task": "wrap errors in a Go service", "max_tokens": 300},
        reply=schemas.out(text=schemas.TEXT, reason=schemas.TEXT),
        text_field="task",
        lane="searching",
    ),
    Endpoint(
        method="POST",
        path="/v1/compare",
        scope="read",
        group="finding",
        summary="How alike two texts are to the embedder",
        handle=_compare,
        body=schemas.COMPARE,
        example={"one": "wrap errors", "other": "add context to errors"},
        reply=schemas.out(metric=schemas.TEXT, value=schemas.NUMBER),
        lane="slow",
    ),
    Endpoint(
        method="POST",
        path="/v1/embed",
        scope="read",
        group="finding",
        summary="Vectors of the bank's embedder, one for each text",
        handle=_embed,
        body=schemas.EMBED,
        example={"texts": ["wrap errors"]},
        reply=schemas.out(
            embedder=schemas.TEXT,
            vectors={"type": "array", "items": {"type": "array", "items": schemas.NUMBER}},
        ),
        lane="slow",
    ),
)
