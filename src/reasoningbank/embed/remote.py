"""Embeddings from OpenAI, or from any server that speaks the same protocol.

Never reads the environment (the key and the address are arguments), never sends an empty text, and never repeats a key
or a server's words in an error.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import EmbedderError, InvalidInput, MissingExtra
from reasoningbank.core.text import encodable
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.forking import renew_in_child

LONGEST_TEXT_CHARS: Final = 8_000
"""The models read some 8,000 tokens and a character is seldom more than one; the rest is not sent."""

_DEFAULT_ENDPOINT: Final = "https://api.openai.com/v1"


class OpenAIEmbedder:
    """Embedder over the OpenAI protocol. A vector costs a request, so the bank keeps these in its records.

    `ask_dimension` sends the wanted dimension with the request; switch it off for a server or a model that
    knows only its own (text-embedding-ada-002, most local servers). None asks only when the model's own turns out to be
    another. The reply is checked either way.
    """

    costly = True

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        dimension: int = 1536,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        batch_size: int = 128,
        ask_dimension: bool | None = True,
    ) -> None:
        if dimension < 1 or batch_size < 1 or retries < 0 or timeout_s <= 0:
            raise InvalidInput("The remote embedder needs a positive dimension, batch size and timeout.")
        if not api_key:
            raise EmbedderError(
                "The OpenAI embedder has no API key. Set OPENAI_API_KEY (any word will do for a local server "
                "that asks for none), or choose the local embedder, which needs no key."
            )
        self.identity = EmbedderIdentity(name="openai", model=model, dimension=dimension, revision="1")
        self._api_key = api_key
        self._endpoint = base_url or _DEFAULT_ENDPOINT
        self._timeout_s = timeout_s
        self._retries = retries
        self._batch_size = batch_size
        self._ask_dimension = ask_dimension
        self._connecting = threading.Lock()
        self._client: Any = None
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """Two processes must not speak over one connection."""
        self._connecting, self._client = threading.Lock(), None

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.identity.model!r}, {self.identity.dimension})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        nonempty = [place for place, text in enumerate(texts) if text[:LONGEST_TEXT_CHARS].strip()]
        for places in _batches(nonempty, self._batch_size):
            rows[places] = self._request([encodable(texts[place][:LONGEST_TEXT_CHARS]) for place in places])
        return rows

    def _request(self, texts: list[str]) -> NDArray[np.float32]:
        reply = self._reply(texts)
        if self._ask_dimension is None:
            own = _dimension_of(reply)
            self._ask_dimension = own is not None and own != self.identity.dimension
            if self._ask_dimension:
                reply = self._reply(texts)
        return self._vectors(reply, len(texts))

    def _reply(self, texts: list[str]) -> Any:
        client = self._connect()
        openai: Any = import_module("openai")
        options: dict[str, Any] = {"dimensions": self.identity.dimension} if self._ask_dimension else {}
        try:
            return client.embeddings.create(model=self.identity.model, input=texts, encoding_format="float", **options)
        except openai.APITimeoutError as error:
            raise self._failure(f"gave no answer within {self._timeout_s:g} s", "Try again later") from error
        except openai.APIConnectionError as error:
            raise self._failure("cannot be reached", "Check the address and the network") from error
        # `from None` below: the server's words may repeat the key or the texts, and a traceback prints them.
        except openai.AuthenticationError:
            raise self._failure("refused the API key", "Check the key") from None
        except openai.RateLimitError:
            raise self._failure(
                f"still refused after {self._retries} retries because of its rate limit or your quota",
                "Wait, or check the account",
            ) from None
        except openai.APIStatusError as error:
            raise self._failure(f"answered HTTP {error.status_code}", "Check the model and the server") from None
        except (openai.OpenAIError, ValueError) as error:
            raise self._unreadable() from error

    def own_dimension(self) -> int:
        """How many dimensions the server gives when nobody asks for any number."""
        self._ask_dimension = False
        dimension = _dimension_of(self._reply(["dimension"]))
        if dimension is None:
            raise self._unreadable()
        return dimension

    def _vectors(self, reply: Any, count: int) -> NDArray[np.float32]:
        data = getattr(reply, "data", None)
        if not isinstance(data, list):
            raise self._unreadable()
        if len(data) != count:
            raise self._failure(f"sent {len(data)} vectors for {count} texts", "Check the server")
        rows = np.zeros((count, self.identity.dimension), dtype=np.float64)
        indices: set[int] = set()
        for item in data:
            index, vector = getattr(item, "index", None), getattr(item, "embedding", None)
            if not isinstance(index, int) or not isinstance(vector, list) or not 0 <= index < count or index in indices:
                raise self._unreadable()
            indices.add(index)
            if len(vector) != self.identity.dimension:
                raise self._failure(
                    f"sent vectors of {len(vector)} dimensions where {self.identity.dimension} were wanted",
                    "Configure the dimension that the model gives",
                )
            try:
                rows[index] = vector
            except (TypeError, ValueError) as error:
                raise self._unreadable() from error
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            raise self._unreadable()
        norms[norms == 0.0] = 1.0
        return np.asarray(rows / norms, dtype=np.float32)

    def _connect(self) -> Any:
        with self._connecting:
            if self._client is None:
                try:
                    openai: Any = import_module("openai")
                except ImportError as error:
                    raise MissingExtra(
                        package="openai", extra="openai", purpose="Embedding with an OpenAI-compatible server"
                    ) from error
                self._client = openai.OpenAI(
                    api_key=self._api_key,
                    base_url=self._endpoint,
                    timeout=self._timeout_s,
                    max_retries=self._retries,
                )
            return self._client

    def _unreadable(self) -> EmbedderError:
        return self._failure("sent an answer that cannot be read", "Check that it speaks OpenAI's protocol")

    def _failure(self, what: str, advice: str) -> EmbedderError:
        # Only the host: an address may carry a password or a key of its own.
        return EmbedderError(f"The embedding server {urlsplit(self._endpoint).hostname} {what}. {advice}.")


def find_dimension(model: str, *, api_key: str | None, base_url: str | None) -> int:
    """The dimension of a model that only its server knows: one word is embedded to find out."""
    return OpenAIEmbedder(model, 1, api_key=api_key, base_url=base_url).own_dimension()


def _dimension_of(reply: Any) -> int | None:
    data = getattr(reply, "data", None)
    vector = getattr(data[0], "embedding", None) if isinstance(data, list) and data else None
    return len(vector) if isinstance(vector, list) and vector else None


def _batches(places: Sequence[int], size: int) -> Iterator[list[int]]:
    for first in range(0, len(places), size):
        yield list(places[first : first + size])
