"""The official client of a provider, made when it is first needed and shared by all threads.

Knows how such clients are built alike, and that they fail alike. Refuses to retry: the queue does that, with patience.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from reasoningbank.core.errors import LLMUnavailable, MissingExtra
from reasoningbank.forking import renew_in_child
from reasoningbank.llm import failures


class Connection:
    def __init__(
        self, package: str, client: str, *, api_key: str | None, without_key: str, endpoint: str, timeout_s: float
    ) -> None:
        """`client` is the class in `package`; `without_key` is what to say when there is no key."""
        self.endpoint, self.timeout_s = endpoint, timeout_s
        self._package, self._class = package, client
        self._api_key, self._without_key = api_key, without_key
        self._lock = threading.Lock()
        self._client: Any = None
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """Two processes must not speak over one connection."""
        self._lock, self._client = threading.Lock(), None

    def client(self) -> Any:
        if not self._api_key:
            raise LLMUnavailable(self._without_key)
        with self._lock:
            if self._client is None:
                made = getattr(self.library(), self._class)
                self._client = made(
                    api_key=self._api_key, base_url=self.endpoint, timeout=self.timeout_s, max_retries=0
                )
            return self._client

    def library(self) -> Any:
        try:
            return import_module(self._package)
        except ImportError as error:
            raise MissingExtra(
                package=self._package, extra=self._package, purpose=f"Asking a model with the {self._package} client"
            ) from error

    @contextmanager
    def failing_in_our_words(self) -> Iterator[None]:
        """What the client raises in this block, as one of our errors."""
        library = self.library()
        of_any_kind = getattr(library, f"{self._class}Error")
        try:
            yield
        # `from None`: the server's words may repeat the key or the texts, and a traceback prints them.
        except library.APITimeoutError:
            raise failures.no_answer(self.endpoint, self.timeout_s) from None
        except library.APIConnectionError:
            raise failures.unreachable(self.endpoint) from None
        except library.APIStatusError as error:
            wait = error.response.headers.get("retry-after")
            raise failures.of_status(self.endpoint, error.status_code, wait) from None
        except (of_any_kind, ValueError):
            raise failures.unreadable(self.endpoint) from None


def count_tokens(usage: object, name: str) -> int:
    """A number of tokens as a server tells it; 0 when it tells nothing that makes sense."""
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) and value >= 0 else 0
