"""OpenAI models, or any server that speaks the same protocol, over the official client.

Servers differ in the parameters that they accept. Never reads the environment, never retries (`patient` and the queue
do that), and never repeats a key or a server's words in an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reasoningbank.core.learning import Completion, Message
from reasoningbank.core.text import encodable
from reasoningbank.llm import failures
from reasoningbank.llm.connection import Connection, count_tokens
from reasoningbank.llm.refused_parameters import blamed, refused_by
from reasoningbank.ports import Schema

_DEFAULT_ENDPOINT: Final = "https://api.openai.com/v1"
_WITHOUT_KEY: Final = (
    "The OpenAI model has no API key. Set OPENAI_API_KEY (any word will do for a local server that asks for none)."
)
_LIMITS = ("max_completion_tokens", "max_tokens")
_MOST_REQUESTS = 5
"""One for each parameter that may be refused, and one that is answered."""


class OpenAILLM:
    def __init__(self, model: str, *, api_key: str | None = None, base_url: str | None = None, **bounds: Any) -> None:
        """`bounds` are `timeout_s` and `at_once` of a `Connection`."""
        self.name = f"openai/{model}"
        self._model = model
        self._endpoint = base_url or _DEFAULT_ENDPOINT
        self._connection = Connection(
            "openai", "OpenAI", api_key=api_key, without_key=_WITHOUT_KEY, endpoint=self._endpoint, **bounds
        )
        # OpenAI's own newer models take only the longer name, other servers often only the shorter one.
        self._limits = _LIMITS if base_url is None else _LIMITS[::-1]
        self._refused = refused_by(self._endpoint, model)

    def __repr__(self) -> str:
        return f"OpenAILLM({self._model!r})"

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        request = self._connection.client().chat.completions.with_streaming_response.create
        conversation = [{"role": message.role, "content": encodable(message.text)} for message in messages]
        left_out: frozenset[str] = frozenset()
        for _ in range(_MOST_REQUESTS):
            options = self._options(max_tokens, temperature, schema, self._refused.names | left_out)
            try:
                reply = self._connection.ask(request, model=self._model, messages=conversation, **options)
            except failures.RejectedRequest as rejected:
                names = blamed(rejected, options)
                # What nobody named may be any of those that can be done without.
                guesses = frozenset(options) - names - frozenset(_LIMITS)
                if not names and (rejected.parameter is not None or left_out or not guesses):
                    raise
                self._refused.add(names)
                left_out |= names or guesses
                continue
            self._refused.add(left_out)
            return self._completion(reply)
        raise failures.of_response(self._endpoint, 400, None, None)

    def _options(
        self, max_tokens: int, temperature: float, schema: Schema | None, without: frozenset[str]
    ) -> dict[str, Any]:
        options: dict[str, Any] = {"temperature": temperature}
        limit = next((name for name in self._limits if name not in without), None)
        if limit is not None:
            options[limit] = max_tokens
        if schema is not None:
            answer_schema = _without_lengths(schema) if self._endpoint == _DEFAULT_ENDPOINT else dict(schema)
            json_schema = {"name": "answer", "schema": answer_schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        return {name: value for name, value in options.items() if name not in without}

    def _completion(self, reply: Any) -> Completion:
        try:
            choice = reply["choices"][0]
            text, usage = choice["message"].get("content"), reply.get("usage")
        except (AttributeError, IndexError, KeyError, TypeError):
            raise failures.unreadable(self._endpoint) from None
        if isinstance(text, list):
            parts = [part.get("text") for part in text if isinstance(part, dict)]
            text = "".join(part for part in parts if isinstance(part, str))
        if text is not None and not isinstance(text, str):
            raise failures.unreadable(self._endpoint)
        return Completion(
            text=text or "",
            tokens_in=count_tokens(usage, "prompt_tokens"),
            tokens_out=count_tokens(usage, "completion_tokens"),
            model=self._model,
            cut_short=choice.get("finish_reason") == "length",
        )


def _without_lengths(schema: Any) -> Any:
    """A schema as OpenAI's own models take it: they refuse one that sets how long a text may be."""
    if isinstance(schema, Mapping):
        return {name: _without_lengths(value) for name, value in schema.items() if name != "maxLength"}
    return [_without_lengths(value) for value in schema] if isinstance(schema, list) else schema
