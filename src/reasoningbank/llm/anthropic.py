"""Messages from Anthropic, over the official client.

Knows the request. Refuses to read the environment, to retry, and to repeat a key or a server's words in an error. The
temperature is not sent: newer models refuse it, and newer clients no longer know it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from reasoningbank.core.errors import LLMUnavailable, MissingExtra
from reasoningbank.core.learning import Completion, Message
from reasoningbank.llm import failures

_DEFAULT_ENDPOINT: Final = "https://api.anthropic.com"


class AnthropicLLM:
    def __init__(
        self, model: str, *, api_key: str | None = None, base_url: str | None = None, timeout_s: float = 120.0
    ) -> None:
        self.name = f"anthropic/{model}"
        self._model = model
        self._api_key = api_key
        self._endpoint = base_url or _DEFAULT_ENDPOINT
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._client: Any = None

    def __repr__(self) -> str:
        return f"AnthropicLLM({self._model!r})"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        schema: Mapping[str, Any] | None = None,
    ) -> Completion:
        del temperature, schema
        client = self._connect()
        anthropic: Any = import_module("anthropic")
        system = "\n\n".join(message.text for message in messages if message.role == "system")
        told = [{"role": m.role, "content": _sendable(m.text)} for m in messages if m.role != "system"]
        try:
            reply = client.messages.create(
                model=self._model, system=_sendable(system), messages=told, max_tokens=max_tokens
            )
        # `from None`: the server's words may repeat the key or the texts, and a traceback prints them.
        except anthropic.APITimeoutError:
            raise failures.no_answer(self._endpoint, self._timeout_s) from None
        except anthropic.APIConnectionError:
            raise failures.unreachable(self._endpoint) from None
        except anthropic.APIStatusError as error:
            wait = error.response.headers.get("retry-after")
            raise failures.of_status(self._endpoint, error.status_code, wait) from None
        except (anthropic.AnthropicError, ValueError):
            raise failures.unreadable(self._endpoint) from None
        return self._completion(reply)

    def _completion(self, reply: Any) -> Completion:
        try:
            texts = [block.text for block in reply.content if block.type == "text"]
            usage = reply.usage
        except (AttributeError, TypeError):
            raise failures.unreadable(self._endpoint) from None
        if not all(isinstance(text, str) for text in texts):
            raise failures.unreadable(self._endpoint)
        return Completion(
            text="".join(texts),
            tokens_in=_count(getattr(usage, "input_tokens", 0)),
            tokens_out=_count(getattr(usage, "output_tokens", 0)),
            model=self._model,
            cut_short=getattr(reply, "stop_reason", None) == "max_tokens",
        )

    def _connect(self) -> Any:
        if not self._api_key:
            raise LLMUnavailable("The Anthropic model has no API key. Set ANTHROPIC_API_KEY.")
        with self._lock:
            if self._client is None:
                try:
                    anthropic: Any = import_module("anthropic")
                except ImportError as error:
                    raise MissingExtra(
                        package="anthropic", extra="anthropic", purpose="Asking an Anthropic model"
                    ) from error
                self._client = anthropic.Anthropic(
                    api_key=self._api_key, base_url=self._endpoint, timeout=self._timeout_s, max_retries=0
                )
            return self._client


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
