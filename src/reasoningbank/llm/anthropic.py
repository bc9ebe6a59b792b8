"""Anthropic models, over the official client.

A schema is asked for as the input of a tool that must be called. Never reads the environment, never retries, and never
repeats a key or a server's words in an error. The temperature is not sent: newer models refuse it, and newer clients no
longer know it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from reasoningbank.core.learning import Completion, Message
from reasoningbank.core.text import encodable
from reasoningbank.llm import failures
from reasoningbank.llm.connection import Connection, count_tokens
from reasoningbank.llm.refused_parameters import blamed, refused_by
from reasoningbank.ports import Schema

_DEFAULT_ENDPOINT: Final = "https://api.anthropic.com"
_WITHOUT_KEY: Final = "The Anthropic model has no API key. Set ANTHROPIC_API_KEY."
_TOOL: Final = "answer"


class AnthropicLLM:
    def __init__(self, model: str, *, api_key: str | None = None, base_url: str | None = None, **bounds: Any) -> None:
        """`bounds` are `timeout_s` and `at_once` of a `Connection`."""
        self.name = f"anthropic/{model}"
        self._model = model
        self._endpoint = base_url or _DEFAULT_ENDPOINT
        self._connection = Connection(
            "anthropic", "Anthropic", api_key=api_key, without_key=_WITHOUT_KEY, endpoint=self._endpoint, **bounds
        )
        self._refused = refused_by(self._endpoint, model)

    def __repr__(self) -> str:
        return f"AnthropicLLM({self._model!r})"

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        del temperature
        request = self._connection.client().messages.with_streaming_response.create
        system = "\n\n".join(message.text for message in messages if message.role == "system")
        parameters = {
            "model": self._model,
            "system": encodable(system),
            "messages": [{"role": m.role, "content": encodable(m.text)} for m in messages if m.role != "system"],
            "max_tokens": max_tokens,
        }
        if schema is not None and "tools" not in self._refused.names:
            tool = {"name": _TOOL, "description": "Give the answer.", "input_schema": dict(schema)}
            try:
                choice = {"type": "tool", "name": _TOOL}
                return self._completion(self._connection.ask(request, **parameters, tools=[tool], tool_choice=choice))
            except failures.RejectedRequest as rejected:
                if not blamed(rejected, ["tools"]):
                    raise
                self._refused.add(["tools"])
        return self._completion(self._connection.ask(request, **parameters))

    def _completion(self, reply: Any) -> Completion:
        try:
            texts = [_text(block) for block in reply["content"]]
            usage = reply.get("usage")
        except (AttributeError, KeyError, TypeError):
            raise failures.unreadable(self._endpoint) from None
        return Completion(
            text="".join(texts),
            tokens_in=count_tokens(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
            tokens_out=count_tokens(usage, "output_tokens"),
            model=self._model,
            cut_short=reply.get("stop_reason") == "max_tokens",
        )


def _text(block: dict[str, Any]) -> str:
    """The text of a block; the input of the tool is the answer."""
    if block["type"] == "tool_use":
        return json.dumps(block["input"], ensure_ascii=False)
    text = block["text"] if block["type"] == "text" else ""
    if not isinstance(text, str):
        raise TypeError(type(text).__name__)
    return text
