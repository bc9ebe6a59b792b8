"""Classifies a failed request: an outage that passes, a configuration to mend, or a request that will never work.

Never repeats a server's words, which may hold the key or the text that was sent; only the host is named, because an
address may carry a password.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from reasoningbank.core.errors import (
    LLMError,
    LLMMisconfigured,
    LLMOverloaded,
    LLMRefused,
    LLMTimedOut,
    LLMUnavailable,
    LLMUnreadable,
)

OF_THE_REQUEST = frozenset({400, 413, 422})
"""Statuses that tell that something is wrong with this one request. A wrong key or an unknown model is wrong with
all of them: that is an outage, which somebody ends by mending the configuration, and no job is to blame for it.
"""
_TO_MEND = {
    401: "refused the API key. Check the key",
    402: "wants to be paid. Check the account",
    403: "refused access. Check the key and the account",
    404: "does not know the model or the address. Check both",
}
_ADVICE = {429: "has a rate limit or a quota that is used up. It is asked again later"}
LONGEST_RETRY_AFTER_S = 3600.0


class RejectedRequest(LLMRefused):
    """A request that a server does not take as it is, with what it says is wrong: for whoever can ask otherwise."""

    def __init__(self, message: str, *, parameter: str | None, words: str) -> None:
        super().__init__(message)
        self.parameter = parameter
        """The one that is wrong, where the server names it."""
        self.words = words
        """The server's, never to be shown."""


def of_response(endpoint: str, status: int, retry_after: str | None, body: object) -> LLMError:
    if status not in OF_THE_REQUEST:
        return _of_status(endpoint, status, retry_after)
    error = body.get("error", body) if isinstance(body, Mapping) else body
    parameter = error.get("param") if isinstance(error, Mapping) else None
    return RejectedRequest(
        f"{_who(endpoint)} cannot answer this request (HTTP {status}).",
        parameter=parameter if isinstance(parameter, str) and parameter else None,
        words=(error if isinstance(error, str) else json.dumps(error, default=str)).lower(),
    )


def _of_status(endpoint: str, status: int, retry_after: str | None = None) -> LLMError:
    wait_s = _seconds(retry_after)
    if status in _TO_MEND:
        return LLMMisconfigured(f"{_who(endpoint)} {_TO_MEND[status]}.", retry_after_s=wait_s)
    words = _ADVICE.get(status, f"answered HTTP {status}. It is asked again later")
    return LLMOverloaded(f"{_who(endpoint)} {words}.", retry_after_s=wait_s)


def no_answer(endpoint: str, timeout_s: float) -> LLMTimedOut:
    return LLMTimedOut(f"{_who(endpoint)} gave no answer within {timeout_s:g} s.")


def unreachable(endpoint: str) -> LLMUnavailable:
    return LLMUnavailable(f"{_who(endpoint)} cannot be reached. Check the address and the network.")


def unreadable(endpoint: str) -> LLMUnreadable:
    return LLMUnreadable(f"{_who(endpoint)} sent an answer that cannot be read. Check that it speaks the protocol.")


def _who(endpoint: str) -> str:
    return f"The LLM server {urlsplit(endpoint).hostname}"


def _seconds(text: str | None) -> float | None:
    """As a number of seconds or as a date, both of which HTTP allows."""
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            return None
    return seconds if 0.0 <= seconds <= LONGEST_RETRY_AFTER_S else None
