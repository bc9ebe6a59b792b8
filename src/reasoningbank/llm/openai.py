"""OpenAI models, or any server that speaks the same protocol, over the official client.

Knows the request and how servers differ in it. Refuses to read the environment, to retry (the queue does that, with
patience), and to repeat a key or a server's words in an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reasoningbank.core.learning import Completion, Message
from reasoningbank.core.text import encodable
from reasoningbank.llm import failures
from reasoningbank.llm.connection import Connection, count_tokens
from reasoningbank.ports import Schema

_DEFAULT_ENDPOINT: Final = "https://api.openai.com/v1"
_WITHOUT_KEY: Final = (
    "The OpenAI model has no API key. Set OPENAI_API_KEY (any word will do for a local server that asks for none)."
)
_FICKLE = ("temperature", "max_completion_tokens", "max_tokens", "response_format")
"""Parameters that some models refuse."""


class OpenAILLM:
    def __init__(
        self, model: str, *, api_key: str | None = None, base_url: str | None = None, timeout_s: float = 120.0
    ) -> None:
        self.name = f"openai/{model}"
        self._model = model
        self._endpoint = base_url or _DEFAULT_ENDPOINT
        self._connection = Connection(
            "openai", "OpenAI", api_key=api_key, without_key=_WITHOUT_KEY, endpoint=self._endpoint, timeout_s=timeout_s
        )
        # OpenAI's own newer models take only the longer name, other servers often only the shorter one.
        self._limit = "max_completion_tokens" if base_url is None else "max_tokens"
        self._refused: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"OpenAILLM({self._model!r})"

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        client, openai = self._connection.client(), self._connection.library()
        options: dict[str, Any] = {self._limit: max_tokens, "temperature": temperature}
        if schema is not None:
            described = {"name": "answer", "schema": dict(schema), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": described}
        told = [{"role": message.role, "content": encodable(message.text)} for message in messages]
        for _ in range(len(_FICKLE)):
            given = {name: value for name, value in options.items() if name not in self._refused}
            with self._connection.failing_in_our_words():
                try:
                    reply = client.chat.completions.create(model=self._model, messages=told, **given)
                except openai.BadRequestError as error:
                    refused = getattr(error, "param", None)
                    if refused not in options or refused in self._refused:
                        raise
                    self._refused |= {refused}
                    continue
            return self._completion(reply)
        raise failures.of_status(self._endpoint, 400)

    def _completion(self, reply: Any) -> Completion:
        try:
            choice = reply.choices[0]
            text, usage = choice.message.content, reply.usage
        except (AttributeError, IndexError, TypeError):
            raise failures.unreadable(self._endpoint) from None
        if text is not None and not isinstance(text, str):
            raise failures.unreadable(self._endpoint)
        return Completion(
            text=text or "",
            tokens_in=count_tokens(usage, "prompt_tokens"),
            tokens_out=count_tokens(usage, "completion_tokens"),
            model=self._model,
            cut_short=choice.finish_reason == "length",
        )
