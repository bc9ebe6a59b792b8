"""Asks a model again after an outage that passes: a few times, for as long as the server says, within a bound.

What takes longer is passed on with what the server said, for the queue to wait. A wrong key, an unknown model or a
request that cannot work is not asked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from reasoningbank.core.errors import LLMMisconfigured, LLMTimedOut, LLMUnavailable
from reasoningbank.core.learning import Completion, Message
from reasoningbank.ports import LLM, Schema

ATTEMPTS = 3
LONGEST_WAIT_S = 10.0
FIRST_WAIT_S = 0.5


class PatientLLM:
    def __init__(self, llm: LLM, *, attempts: int = ATTEMPTS, wait: Callable[[float], None] = time.sleep) -> None:
        self._llm = llm
        self._attempts = attempts
        self._wait = wait

    @property
    def name(self) -> str:
        return self._llm.name

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        for attempt in range(1, self._attempts):
            try:
                return self._llm.complete(messages, max_tokens=max_tokens, temperature=temperature, schema=schema)
            except (LLMMisconfigured, LLMTimedOut):
                # Neither a mended configuration nor another two minutes are near.
                raise
            except LLMUnavailable as error:
                wait_s = FIRST_WAIT_S * 2 ** (attempt - 1) if error.retry_after_s is None else error.retry_after_s
                if wait_s > LONGEST_WAIT_S:
                    raise
                self._wait(wait_s)
        return self._llm.complete(messages, max_tokens=max_tokens, temperature=temperature, schema=schema)
