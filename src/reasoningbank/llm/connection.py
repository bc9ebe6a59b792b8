"""The official client of a provider, made when it is first needed and shared by all threads.

Such clients are built alike and fail alike. An answer has a deadline in all: a server that drips its answer is left at
it too. Never retries (`patient` does that, and the queue with more patience).
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

from reasoningbank.core.errors import LLMUnavailable, MissingExtra
from reasoningbank.forking import renew_in_child
from reasoningbank.llm import failures

TIMEOUT_S = 120.0
AT_ONCE = 4
LONGEST_ANSWER_BYTES = 20_000_000


class Connection:
    def __init__(
        self,
        package: str,
        client: str,
        *,
        api_key: str | None,
        without_key: str,
        endpoint: str,
        timeout_s: float = TIMEOUT_S,
        at_once: int = AT_ONCE,
    ) -> None:
        """`client` is the class in `package`; `without_key` is what to say when there is no key; `at_once` is how many
        requests may be under way.
        """
        self.endpoint, self.timeout_s = endpoint, timeout_s
        self._package, self._class = package, client
        self._api_key, self._without_key = api_key, without_key
        self._at_once = at_once
        self._begin_in_child()
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """Two processes must not speak over one connection."""
        self._lock, self._client = threading.Lock(), None
        self._places = threading.BoundedSemaphore(self._at_once)

    def client(self) -> Any:
        if not self._api_key:
            raise LLMUnavailable(self._without_key)
        with self._lock:
            if self._client is None:
                client_class = getattr(self.library(), self._class)
                self._client = client_class(
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

    def ask(self, request: Callable[..., AbstractContextManager[Any]], **options: Any) -> Any:
        """The JSON that a server answers; `request` is a method of the client whose response is read bit by bit."""
        with self._places, self._failing_in_our_words():
            until = time.monotonic() + self.timeout_s
            body = bytearray()
            with request(**options) as response:
                for part in response.iter_bytes():
                    body += part
                    if time.monotonic() > until:
                        raise failures.no_answer(self.endpoint, self.timeout_s)
                    if len(body) > LONGEST_ANSWER_BYTES:
                        raise failures.unreadable(self.endpoint)
            return json.loads(body)

    @contextmanager
    def _failing_in_our_words(self) -> Iterator[None]:
        """Raises what the client raises in this block as one of our errors."""
        library = self.library()
        of_any_kind = getattr(library, f"{self._class}Error")
        # An answer that stops in the middle is too late, or torn; of whichever library the client loaded.
        modules = [module for name in ("httpx", "httpx2") if (module := sys.modules.get(name)) is not None]
        late = tuple(module.TimeoutException for module in modules)
        torn = tuple(module.TransportError for module in modules)
        try:
            yield
        # `from None`: the server's words may repeat the key or the texts, and a traceback prints them.
        except LLMUnavailable:
            raise
        except (library.APITimeoutError, *late):
            raise failures.no_answer(self.endpoint, self.timeout_s) from None
        except (library.APIConnectionError, *torn):
            raise failures.unreachable(self.endpoint) from None
        except library.APIStatusError as error:
            raise failures.of_response(
                self.endpoint, error.status_code, error.response.headers.get("retry-after"), error.body
            ) from None
        except (of_any_kind, ValueError):
            raise failures.unreadable(self.endpoint) from None


def count_tokens(usage: object, *names: str) -> int:
    """Tokens as a server counts them, under these names together; 0 when it tells nothing that makes sense."""
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    return sum(value for value in counts if isinstance(value, int) and not isinstance(value, bool) and value >= 0)
