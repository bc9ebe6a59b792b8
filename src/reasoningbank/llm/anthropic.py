"""Anthropic models, over the official client.

Knows the request. Refuses to read the environment, to retry, and to repeat a key or a server's words in an error. The
temperature is not sent: newer models refuse it, and newer clients no longer know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reasoningbank.core.learning import Completion, Message
from reasoningbank.core.text import encodable
from reasoningbank.llm import failures
from reasoningbank.llm.connection import Connection, count_tokens
from reasoningbank.ports import Schema

_DEFAULT_ENDPOINT: Final = "https://api.anthropic.com"
_WITHOUT_KEY: Final = "The Anthropic model has no API key. Set ANTHROPIC_API_KEY."


class AnthropicLLM:
    def __init__(
        self, model: str, *, api_key: str | None = None, base_url: str | None = None, timeout_s: float = 120.0
    ) -> None:
        self.name = f"anthropic/{model}"
        self._model = model
        self._endpoint = base_url or _DEFAULT_ENDPOINT
        self._connection = Connection(
            "anthropic",
            "Anthropic",
            api_key=api_key,
            without_key=_WITHOUT_KEY,
            endpoint=self._endpoint,
            timeout_s=timeout_s,
        )

    def __repr__(self) -> str:
        return f"AnthropicLLM({self._model!r})"

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        del temperature, schema
        client = self._connection.client()
        system = "\n\n".join(message.text for message in messages if message.role == "system")
        told = [{"role": m.role, "content": encodable(m.text)} for m in messages if m.role != "system"]
        with self._connection.failing_in_our_words():
            reply = client.messages.create(
                model=self._model, system=encodable(system), messages=told, max_tokens=max_tokens
            )
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
            tokens_in=count_tokens(usage, "input_tokens"),
            tokens_out=count_tokens(usage, "output_tokens"),
            model=self._model,
            cut_short=getattr(reply, "stop_reason", None) == "max_tokens",
        )
