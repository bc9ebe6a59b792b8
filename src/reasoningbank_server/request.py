"""Parses a request outside of its body: header fields, query parameters.

They are read strictly: what is not known is refused, what may be there once is refused twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

from reasoningbank.core.aliases import NAMESPACE_ALIASES
from reasoningbank.core.errors import Unauthenticated
from reasoningbank.serve.json_schema import BODY, Schema, find_problem
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Endpoint, Parameter
from reasoningbank_server.identity import Principal
from reasoningbank_server.problems import Problem
from reasoningbank_server.tokens import UNKNOWN

CONFIRM_AFTER_S = 0.5
NAMESPACE = Parameter(
    name="namespace",
    schema=schemas.NAMESPACE,
    about="the project; without it, the default one. project_id and domain are other names of it",
)
EXCERPT = Parameter(
    name="excerpt",
    schema={"type": "integer", "minimum": 100, "maximum": 1_000_000},
    about="cut longer texts after so many characters; `cut` beside them says how long they are",
)
_ONCE = frozenset(
    {
        b"authorization",
        b"content-length",
        b"content-type",
        b"cookie",
        b"idempotency-key",
        b"if-match",
        b"last-event-id",
        b"transfer-encoding",
    }
)
_SECRETS_IN_ADDRESS = frozenset({"access_token", "token", "authorization", "api_key", "key_id"})
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def parameters_of(endpoint: Endpoint) -> tuple[Parameter, ...]:
    """The query parameters of an endpoint: its own, and those that any endpoint takes."""
    return (*endpoint.query, NAMESPACE, *(() if endpoint.writes or endpoint.reply is None else (EXCERPT,)))


def _stands() -> bool:
    return True


class Request:
    """The head of a request. Made for each one, so it is small."""

    __slots__ = (
        "admitted_at", "authorization", "fetch", "fields", "forwarded", "hosts", "origins", "principal", "route",
        "still_stands", "twice",
    )  # fmt: skip

    def __init__(self, headers: list[tuple[bytes, bytes]]) -> None:
        self.principal: Principal | None = None
        self.admitted_at = 0.0
        self.still_stands: Callable[[], bool] = _stands
        """True if the credentials would still be admitted, as this principal. Any thread may ask."""
        self.route = "unknown"
        self.hosts: list[bytes] = []
        self.origins: list[bytes] = []
        self.fields: dict[bytes, bytes] = {}
        self.forwarded = False
        self.twice: bytes | None = None
        site = mode = None
        for name, value in headers:
            if name == b"host":
                self.hosts.append(value)
            elif name == b"origin":
                self.origins.append(value)
            elif name in _ONCE:
                if name in self.fields:
                    self.twice = name
                self.fields[name] = value
            elif name == b"sec-fetch-site":
                site = value
            elif name == b"sec-fetch-mode":
                mode = value
            elif name in (b"forwarded", b"via") or name.startswith(b"x-forwarded-"):
                self.forwarded = True
        self.fetch = (site, mode)
        authorization = self.fields.get(b"authorization")
        self.authorization = None if authorization is None else authorization.decode("latin-1")

    def check(self) -> None:
        if self.twice is not None:
            raise Problem(400, "invalid_input", f"The header {self.twice.decode()} was sent twice.")

    def known(self) -> Principal:
        """The principal. Only for what lies behind the check of the credentials."""
        if self.principal is None:
            raise Problem(401, "unauthenticated", "A token is needed: send it as 'Authorization: Bearer …'.")
        return self.principal

    def is_old(self) -> bool:
        """True if it took a while to come this far: the credentials may be revoked by now."""
        return time.monotonic() - self.admitted_at > CONFIRM_AFTER_S

    def confirm(self) -> None:
        """Look at the credentials of an old request again. Not on the event loop: it asks the bank."""
        if self.is_old() and not self.still_stands():
            raise Unauthenticated(UNKNOWN)

    def may_be_larger_than(self, size_bytes: int) -> bool:
        """True if the body may be larger, by what the head says of it; one that does not say may be of any size."""
        length = self.fields.get(b"content-length")
        if length is None:
            return self.fields.get(b"transfer-encoding") is not None
        return len(length) > 12 or not length.isdigit() or int(length) > size_bytes

    def text(self, name: bytes) -> str | None:
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1")

    def idempotency_key(self) -> str | None:
        key = self.text(b"idempotency-key")
        if key is not None and not _KEY.fullmatch(key):
            raise Problem(400, "invalid_input", "Idempotency-Key must be 1 to 255 visible ASCII characters.")
        return key

    def media_type(self) -> bytes:
        return self.fields.get(b"content-type", b"").partition(b";")[0].strip().lower()


def parameters(specs: Sequence[Parameter], query_string: bytes) -> dict[str, Any]:
    """The query parameters, each as its schema says."""
    if not query_string:
        return {}
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=False,
            errors="strict",
            max_num_fields=50,
        )
    except ValueError:
        raise Problem(400, "invalid_input", "The query parameters cannot be read.") from None
    by_name = {parameter.name: parameter for parameter in specs}
    values: dict[str, Any] = {}
    for key, text in pairs:
        name = key if key in by_name else NAMESPACE_ALIASES.get(key, key)
        parameter = by_name.get(name)
        if parameter is None:
            if name.lower() in _SECRETS_IN_ADDRESS:
                # Addresses end up in logs and histories.
                detail = "Credentials belong in the Authorization header, not in the address."
            else:
                detail = f"There is no query parameter {name[:60]!r}: use {', '.join(by_name)}."
            raise Problem(400, "invalid_input", detail)
        value = _value(parameter, text)
        if parameter.repeated:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise Problem(400, "invalid_input", f"The query parameter {name} was given twice.")
        else:
            values[name] = value
    return values


def check_schema(schema: Schema, value: Any, where: str = BODY) -> None:
    problem = find_problem(schema, value, where)
    if problem is not None:
        raise Problem(400, "invalid_input", problem)


def _value(parameter: Parameter, text: str) -> Any:
    where, kind = f"The query parameter {parameter.name}", parameter.schema.get("type")
    value: Any = text
    if kind == "integer":
        if not _WHOLE.fullmatch(text):
            raise Problem(400, "invalid_input", f"{where} must be a whole number.")
        value = int(text)
    elif kind == "boolean":
        if text not in ("true", "false"):
            raise Problem(400, "invalid_input", f"{where} must be true or false.")
        value = text == "true"
    check_schema(parameter.schema, value, where)
    return value
