"""Classifies a failed request: an outage that passes, or a request that will never work.

Knows HTTP's numbers. Refuses to repeat a server's words, which may hold the key or the text that was sent; only the
host is named, because an address may carry a password.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from reasoningbank.core.errors import LLMError, LLMRefused, LLMUnavailable

OF_THE_REQUEST = frozenset({400, 413, 422})
"""What is wrong with this one request. A wrong key or an unknown model is wrong with all of them: that is an outage,
which somebody ends by mending the configuration, and no job is to blame for it."""
_ADVICE = {
    401: "refused the API key. Check the key",
    402: "wants to be paid. Check the account",
    403: "refused access. Check the key and the account",
    404: "does not know the model or the address. Check both",
    429: "has a rate limit or a quota that is used up. It is asked again later",
}
LONGEST_RETRY_AFTER_S = 3600.0


def of_status(endpoint: str, status: int, retry_after: str | None = None) -> LLMError:
    if status in OF_THE_REQUEST:
        return LLMRefused(f"{_who(endpoint)} cannot answer this request (HTTP {status}).")
    words = _ADVICE.get(status, f"answered HTTP {status}. It is asked again later")
    return LLMUnavailable(f"{_who(endpoint)} {words}.", retry_after_s=_seconds(retry_after))


def no_answer(endpoint: str, timeout_s: float) -> LLMUnavailable:
    return LLMUnavailable(f"{_who(endpoint)} gave no answer within {timeout_s:g} s.")


def unreachable(endpoint: str) -> LLMUnavailable:
    return LLMUnavailable(f"{_who(endpoint)} cannot be reached. Check the address and the network.")


def unreadable(endpoint: str) -> LLMUnavailable:
    return LLMUnavailable(f"{_who(endpoint)} sent an answer that cannot be read. Check that it speaks the protocol.")


def _who(endpoint: str) -> str:
    return f"The LLM server {urlsplit(endpoint).hostname}"


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text) if text else None
    except ValueError:
        return None
    return None if seconds is None or not 0.0 <= seconds <= LONGEST_RETRY_AFTER_S else seconds
