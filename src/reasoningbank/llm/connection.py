"""The official client of a provider, made when it is first needed and shared by all threads.

Knows how such clients are built alike. Refuses to retry: the queue does that, with patience.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

from reasoningbank.core.errors import LLMUnavailable, MissingExtra


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


def counted(usage: object, name: str) -> int:
    """A number of tokens as a server tells it; 0 when it tells nothing that makes sense."""
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) and value >= 0 else 0
