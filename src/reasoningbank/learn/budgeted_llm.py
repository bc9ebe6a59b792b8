"""A model behind a budget of tokens: the most that a request may cost is set aside, then what it cost is charged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reasoningbank.core.learning import Completion, Message
from reasoningbank.core.tokens import count_tokens
from reasoningbank.ports import LLM, Schema

Settle = Callable[[int, int], None]
"""Charges the tokens that went in and came out, and gives back the rest of what was set aside."""


class BudgetedLLM:
    def __init__(self, llm: LLM, set_aside: Callable[[int], Settle]) -> None:
        """`set_aside` keeps so many tokens for one request; it raises when they are not there."""
        self._llm = llm
        self._set_aside = set_aside

    @property
    def name(self) -> str:
        return self._llm.name

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        prompt_tokens = sum(count_tokens(message.text) for message in messages)
        settle = self._set_aside(prompt_tokens + max_tokens)
        tokens_in = tokens_out = 0
        try:
            answer = self._llm.complete(messages, max_tokens=max_tokens, temperature=temperature, schema=schema)
            # A server that counts nothing is charged by our own count.
            tokens_in, tokens_out = answer.tokens_in or prompt_tokens, answer.tokens_out or count_tokens(answer.text)
        finally:
            settle(tokens_in, tokens_out)
        return answer
