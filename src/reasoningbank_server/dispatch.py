"""Dispatches a request: from a path and a method to an endpoint's answer.

A request is checked in this order: method, scope, key, media type, size, JSON, schema. What an endpoint does with it
runs in a lane, off the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.core.types import DEFAULT_NAMESPACE, DEFAULT_TENANT
from reasoningbank.guard import scrubbing
from reasoningbank_server import idempotency
from reasoningbank_server.answer import Receive, Scope, Send, send_json
from reasoningbank_server.cursors import Seal
from reasoningbank_server.endpoint import Call, Endpoint
from reasoningbank_server.excerpts import cut_texts
from reasoningbank_server.gate import Gate
from reasoningbank_server.idempotency import Encoded
from reasoningbank_server.identity import Principal, require
from reasoningbank_server.kept_answers import KeptAnswers
from reasoningbank_server.limits import Limits, body_of, parse_json
from reasoningbank_server.problems import Problem
from reasoningbank_server.request import Request, check_schema, parameters, parameters_of
from reasoningbank_server.thread_pools import Lane

SMALL_BYTES = 16 << 10
"""A body up to this size is parsed on the loop: that takes less time than handing it over."""
LARGE_BYTES = 64 << 10
"""The size of a body from which on its work is done in a lane of its own: looking it over takes the interpreter for
a while.
"""


def tenant_bank(bank: Bank, tenant: str, namespace: str | None = None) -> Bank:
    """The bank as a tenant sees it; only the machine's own user means the namespace of the server's folder."""
    if namespace is None:
        namespace = bank.namespace if tenant == DEFAULT_TENANT else DEFAULT_NAMESPACE
    return bank.for_tenant(tenant, namespace=namespace)


class Endpoints:
    """State that all endpoints share: the bank, the pools, the limits."""

    def __init__(
        self, bank: Bank, seal: Seal, lanes: Mapping[str, Lane], limits: Limits, on_write: Callable[[], None]
    ) -> None:
        self.bank = bank
        self.seal = seal
        self.lanes = lanes
        self.limits = limits
        self.large = Gate(each=limits.large_each, most=limits.large, wait_s=limits.body_wait_s)
        """Where large bodies wait before they are read."""
        self.written = on_write
        """Called on the loop after each write, so that who follows the feed hears of it at once."""
        self.kept = KeptAnswers()
        self._ruled_bank = lru_cache(maxsize=1_000)(self._make_bank)

    def bank_of(self, tenant: str, namespace: str | None) -> Bank:
        """The bank of a tenant. What the tenant rules about scrubbing holds from the next request on, whichever
        process it was said to.
        """
        return self._ruled_bank(tenant, namespace, scrubbing.scrubbing_of(self.bank.context.store, tenant))

    def _make_bank(self, tenant: str, namespace: str | None, rules: scrubbing.Scrubbing) -> Bank:
        del rules  # The bank reads it itself; here it only tells one bank from another.
        return tenant_bank(self.bank, tenant, namespace)

    def call(self, principal: Principal, query: dict[str, Any], **rest: Any) -> Call:
        bank = self.bank_of(principal.tenant, query.pop("namespace", None))
        excerpt = query.pop("excerpt", None)
        return Call(bank=bank, principal=principal, query=query, excerpt=excerpt, seal=self.seal, **rest)


class PathHandler:
    """Handles one path: its endpoints by method."""

    def __init__(self, context: Endpoints, path: str, endpoints: Sequence[Endpoint]) -> None:
        self._shared = context
        self._path = path
        self._by_method = {endpoint.method: endpoint for endpoint in endpoints}
        if "GET" in self._by_method:
            self._by_method.setdefault("HEAD", self._by_method["GET"])
        self._allow = ", ".join(self._by_method).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request: Request = scope["reasoningbank"]
        request.route = self._path
        endpoint = self._by_method.get(scope["method"])
        if endpoint is None:
            raise not_allowed(self._allow)
        require(request.known(), endpoint.scope)
        if endpoint.body is not None and request.may_be_larger_than(LARGE_BYTES):
            async with self._shared.large.passed(request.known().tenant):
                response = await self._encode(endpoint, request, scope, receive)
        else:
            response = await self._encode(endpoint, request, scope, receive)
        extra: list[tuple[bytes, bytes]] = []
        if response.etag:
            extra.append((b"etag", response.etag.encode()))
        if response.replayed:
            extra.append((b"idempotency-replayed", b"true"))
        if endpoint.writes:
            self._shared.written()
        await send_json(send, response.status, response.body, extra)

    async def _encode(self, endpoint: Endpoint, request: Request, scope: Scope, receive: Receive) -> Encoded:
        context, limits = self._shared, self._shared.limits
        if endpoint.body is not None and request.media_type() != b"application/json":
            raise Problem(415, "unsupported_media_type", "Send the body as application/json.")
        key = request.idempotency_key() if endpoint.writes else None
        query = parameters(parameters_of(endpoint), scope["query_string"])
        body = await body_of(receive, request.fields.get(b"content-length"), limits.body_bytes, limits.body_wait_s)
        if_match = request.text(b"if-match") if endpoint.takes_if_match else None
        path = scope.get("path_params", {})
        value: Any = None
        waits = len(body) > SMALL_BYTES
        if not waits:
            value = _validate(endpoint, body, limits)

        def work() -> Encoded:
            request.confirm()
            json_body = _validate(endpoint, body, limits) if waits else value
            call = context.call(request.known(), query, path=path, body=json_body, if_match=if_match)
            if endpoint.kept_s:
                cache_key = (
                    call.principal.tenant,
                    call.bank.namespace,
                    endpoint.path,
                    call.excerpt,
                    *sorted(query.items()),
                )
                position = call.bank.context.store.head()
                return context.kept.find_or_make(
                    cache_key, position, endpoint.kept_s, lambda: _run(endpoint, call, None, b"")
                )
            if key is None:
                return _run(endpoint, call, None, b"")
            parts = (
                scope["method"].encode(),
                scope["raw_path"],
                scope["query_string"],
                body,
                (if_match or "").encode(),
            )
            return _run(endpoint, call, key, idempotency.request_digest(*parts))

        text = value[endpoint.text_field] if endpoint.text_field is not None and value is not None else None
        lane = context.lanes["large" if len(body) > LARGE_BYTES else endpoint.lane]
        response: Encoded = await lane.submit(work, text, tenant=request.known().tenant)
        return response


def _validate(endpoint: Endpoint, body: bytes, limits: Limits) -> Any:
    schema = endpoint.body
    if schema is None:
        return None
    value = parse_json(body or b"{}", limits.json_depth)
    check_schema(schema, value)
    properties = schema["properties"]
    for name, item in value.items():
        if isinstance(item, float) and "integer" in (properties[name].get("type") or ()):
            value[name] = int(item)
    return value


def _run(endpoint: Endpoint, call: Call, key: str | None, digest: bytes) -> Encoded:
    if endpoint.before is not None:
        endpoint.before(call.bank)
    if key is not None and endpoint.apart is not None and endpoint.apart(call.body):
        response = idempotency.once_apart(call, key, digest, lambda: endpoint.handle(call))
    elif key is not None:
        response = idempotency.once(endpoint, call, key, digest)
    elif endpoint.atomic:
        response = call.bank.atomically(
            lambda inner, _: idempotency.encode(endpoint.handle(replace(call, bank=inner))), coming=call.body
        )
    else:
        reply = endpoint.handle(call)
        response = idempotency.encode(reply if call.excerpt is None else cut_texts(reply, call.excerpt))
    if key is not None and endpoint.after is not None and response.status == endpoint.after_status:
        endpoint.after(call.bank)
    return response


def not_allowed(allow: bytes) -> Problem:
    return Problem(405, "method_not_allowed", f"Use {allow.decode()} here.", ((b"allow", allow),))
