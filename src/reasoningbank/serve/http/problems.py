"""Errors as `application/problem+json`: a status, a code that stays, a sentence.

Knows which of the project's errors is which answer. What an error says about the inside (a path, a statement, a stack)
stays inside: only sentences about the caller's own input are passed on.
"""

from __future__ import annotations

from typing import Any

from reasoningbank.core.errors import (
    BankBusy,
    BankDamaged,
    BankError,
    BankFull,
    BankReadOnly,
    Conflict,
    EmbedderError,
    ImportRejected,
    InvalidInput,
    MissingExtra,
    NotFound,
    Refused,
    StoreError,
    Unauthenticated,
)

MEDIA_TYPE = "application/problem+json"
Headers = tuple[tuple[bytes, bytes], ...]
MOST_DETAIL_CHARS = 600


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
            "detail": self.detail[:MOST_DETAIL_CHARS],
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
    "rate_limited": "429: too many requests; see Retry-After",
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


def problem_of(error: BankError) -> Problem:  # noqa: PLR0911 - one for each kind of error
    match error:
        case Unauthenticated():
            return Problem(401, "unauthenticated", str(error))
        case Refused():
            return Problem(403, "forbidden", str(error))
        case NotFound():
            return Problem(404, "not_found", str(error))
        case Conflict():
            # What the store says in brackets is about its tables.
            return Problem(409, "conflict", str(error).partition(" (")[0].rstrip(".") + ".")
        case ImportRejected():
            return Problem(400, "invalid_input", "The lines cannot be read as an export of a bank.")
        case InvalidInput():
            return Problem(400, "invalid_input", str(error))
        case MissingExtra():
            return Problem(501, "not_installed", str(error))
        case EmbedderError():
            return Problem(503, "embedder_failed", "The text could not be embedded: try again later.", _RETRY)
        case BankBusy():
            return Problem(503, "busy", "Another process keeps the bank locked: try again.", _RETRY)
        case BankFull():
            return Problem(507, "full", "The server's disk is full. Nothing was written.")
        case BankReadOnly():
            return Problem(503, "read_only", "This bank can be read and not be written.")
        case BankDamaged():
            return Problem(500, "damaged", "A record does not match its checksum: tell whoever runs this server.")
        case StoreError():
            return Problem(503, "unavailable", "The bank cannot be used right now: try again.", _RETRY)
        case _:
            return Problem(500, "internal", "A fault of this server; its log says more.")
