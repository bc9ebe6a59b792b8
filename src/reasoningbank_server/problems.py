"""Errors as `application/problem+json`: a status, a code that stays, a sentence.

A table says which of the project's errors is which answer. What an error says about the inside (a path, a statement, a
stack) stays inside: only sentences about the caller's own input are passed on.
"""

from __future__ import annotations

from typing import Any

from reasoningbank.core.errors import (
    BankBusy,
    BankDamaged,
    BankError,
    BankFull,
    BankMoved,
    BankReadOnly,
    Conflict,
    EmbedderError,
    ImportRejected,
    IndexUnavailable,
    InvalidInput,
    MissingExtra,
    NotFound,
    Refused,
    StoreError,
    Unauthenticated,
)

MEDIA_TYPE = "application/problem+json"
Headers = tuple[tuple[bytes, bytes], ...]


class Problem(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, code: str, detail: str, headers: Headers = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers

    def json(self) -> dict[str, Any]:
        return {
            "type": "about:blank",
            "title": self.code.replace("_", " ").capitalize(),
            "status": self.status,
            "code": self.code,
            "detail": self.detail[:600],
        }


CODES: dict[str, str] = {
    "invalid_input": "400: something in the request cannot be used as it is; the detail says what",
    "invalid_json": "400: the body is not JSON, or nested too deep",
    "unauthenticated": "401: a token is needed, or the one that came is not valid",
    "forbidden": "403: the credentials do not allow this",
    "origin_refused": "403: the request comes from another site",
    "not_found": "404: there is no such thing, or it is another tenant's",
    "method_not_allowed": "405: see the header Allow",
    "too_slow": "408: the body did not arrive in time",
    "conflict": "409: it exists already, or has ended already",
    "precondition_failed": "412: it changed since it was read; read it again",
    "too_large": "413: the body is larger than the limit",
    "unsupported_media_type": "415: send application/json",
    "misdirected": "421: this server does not answer to that Host",
    "idempotency_mismatch": "422: the Idempotency-Key was used for another request",
    "peer_unreachable": "424: the other bank does not answer, or something else answers there",
    "rate_limited": "429: too many requests; see Retry-After",
    "tenant_busy": "429: so many requests of the tenant wait that no more are taken; see Retry-After",
    "headers_too_large": "431: the header fields are larger than the limit",
    "internal": "500: a fault of this server; its log says more",
    "damaged": "500: what is stored does not match its checksum",
    "unavailable": "503: the bank cannot be used right now",
    "busy": "503: too much at once; try again after Retry-After",
    "read_only": "503: the bank can be read and not be written",
    "embedder_failed": "503: the text could not be embedded",
    "not_installed": "501: an optional part is not installed on the server",
    "full": "507: the server's disk is full; nothing was written",
}

_RETRY: Headers = ((b"retry-after", b"1"),)
_FAULT = "A fault of this server; its log says more."

_ANSWERS: tuple[tuple[type[BankError], int, str, str | None, Headers], ...] = (
    (Unauthenticated, 401, "unauthenticated", None, ()),
    (Refused, 403, "forbidden", None, ()),
    (NotFound, 404, "not_found", None, ()),
    (Conflict, 409, "conflict", None, ()),
    (ImportRejected, 400, "invalid_input", "The lines cannot be read as an export of a bank.", ()),
    (InvalidInput, 400, "invalid_input", None, ()),
    (MissingExtra, 501, "not_installed", None, ()),
    (EmbedderError, 503, "embedder_failed", "The text could not be embedded: try again later.", _RETRY),
    (BankBusy, 503, "busy", "Another process keeps the bank locked: try again.", _RETRY),
    (BankFull, 507, "full", "The server's disk is full. Nothing was written.", ()),
    (BankMoved, 503, "read_only", "This bank was moved to {place}: tell whoever runs this server.", ()),
    (BankReadOnly, 503, "read_only", "This bank can be read and not be written.", ()),
    (BankDamaged, 500, "damaged", "A record does not match its checksum: tell whoever runs this server.", ()),
    (
        IndexUnavailable,
        503,
        "unavailable",
        "The index cannot be reached; stores and reads go on: try again.",
        _RETRY,
    ),
    (StoreError, 503, "unavailable", "The bank cannot be used right now: try again.", _RETRY),
    (BankError, 500, "internal", _FAULT, ()),
)
"""The first that fits counts. Without a sentence here, the error's own is told: it is about what the caller said."""


def problem_of(error: BankError) -> Problem:
    status, code, sentence, headers = next(row[1:] for row in _ANSWERS if isinstance(error, row[0]))
    # What the store says in brackets is about its tables.
    detail = str(error).partition(" (UNIQUE")[0] if sentence is None else sentence
    if isinstance(error, BankMoved):
        detail = detail.format(place=error.place)
    return Problem(status, code, detail if detail.endswith(".") else f"{detail}.", headers)
