"""Faults of a Qdrant as errors of ours: away, refused, full, or not as it was left."""

from __future__ import annotations

import grpc
import httpx
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from reasoningbank.core.errors import (
    BankBusy,
    BankDamaged,
    BankError,
    BankFull,
    BankReadOnly,
    BankUnavailable,
    IndexUnavailable,
)

FAULTS = (ResponseHandlingException, UnexpectedResponse, ResourceExhaustedResponse, grpc.RpcError)
_CUT_OFF = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
_STATUS_OF = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
}
_LATER = "Nothing is lost: it catches up by itself."
_ANEW = "It is built anew from the records."


class NoCollection(BankDamaged):
    """There is no such collection, or not any more."""


def is_cut_off(error: Exception) -> bool:
    """True if the connection broke before there was an answer."""
    return isinstance(getattr(error, "source", None), _CUT_OFF)


def fault_of(error: Exception, index: str, *, writes: bool) -> BankError:
    """The error to raise for one of the client's; `index` says where it is."""
    status, message = _status(error), _words(error)
    if status is None:
        why = "within its deadline" if _is_late(error) else f"({message})"
        # A certificate that nobody trusts does not get better by waiting.
        kind = BankUnavailable if "CERTIFICATE" in message else IndexUnavailable
        return kind(f"{index} does not answer {why}. Start it, or wait. {_LATER}")
    if status in (401, 403):
        return _refusal(index, is_write=writes and status == 403)
    if status in (400, 404, 409, 422):
        is_gone = status == 404 and "ollection" in message
        return NoCollection(f"{index} has lost a collection. {_ANEW}") if is_gone else _other(index, message)
    if status == 429:
        return BankBusy(f"{index} has too much to do; try again.")
    if "no space" in message.lower() or "disk" in message.lower():
        return BankFull(f"{index} has no room ({message}). Make room there. {_LATER}")
    return IndexUnavailable(f"{index} answers with an error ({status}: {message}). {_LATER}")


def local_fault_of(error: Exception, index: str) -> BankError:
    """The same for local mode, which raises plain errors."""
    if "ollection" in str(error) and "not found" in str(error):
        return NoCollection(f"{index} has lost a collection. {_ANEW}")
    return _other(index, type(error).__name__)


def _refusal(index: str, *, is_write: bool) -> BankError:
    if is_write:
        return BankReadOnly(
            f"{index} may only be read with this key. Set REASONINGBANK_INDEX_KEY to one that may write."
        )
    return BankUnavailable(f"{index} refuses the key. Set REASONINGBANK_INDEX_KEY to one that may use it.")


def _other(index: str, message: str) -> BankDamaged:
    return BankDamaged(f"{index} is not as it was left ({message}). {_ANEW}")


def _status(error: Exception) -> int | None:
    """The HTTP status of an answer; None where there was none."""
    if isinstance(error, UnexpectedResponse):
        return error.status_code
    if isinstance(error, ResourceExhaustedResponse):
        return 429
    if isinstance(error, grpc.RpcError):
        code = error.code()
        is_away = code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        return None if is_away else _STATUS_OF.get(code, 500)
    return None if isinstance(getattr(error, "source", None), httpx.TransportError) else 500


def _words(error: Exception) -> str:
    """Message of the server, cut short."""
    if isinstance(error, UnexpectedResponse):
        try:
            message = str(error.structured()["status"]["error"])
        except (ValueError, KeyError, TypeError):
            message = error.reason_phrase
    elif isinstance(error, grpc.RpcError):
        message = str(error.details())
    elif isinstance(source := getattr(error, "source", None), httpx.TransportError):
        message = str(source) or type(source).__name__
    else:
        message = "an answer that cannot be read"
    return " ".join(message.split())[:200]


def _is_late(error: Exception) -> bool:
    if isinstance(error, grpc.RpcError):
        return bool(error.code() is grpc.StatusCode.DEADLINE_EXCEEDED)
    return isinstance(getattr(error, "source", None), httpx.TimeoutException)
