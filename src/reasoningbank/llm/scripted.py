"""Scripted model: answers from a list, for tests, for examples, and for trying a pipeline out without a bill."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from reasoningbank.core.errors import LLMRefused
from reasoningbank.core.learning import Completion, Message
from reasoningbank.core.tokens import count_tokens
from reasoningbank.ports import Schema

Line = str | Exception | Completion | Callable[[Sequence[Message]], str]
"""A line to say, an error to raise, or a function that finds out what to say."""


class ScriptedLLM:
    """Says one line of the script a call; the last one is repeated when `forever`."""

    def __init__(self, script: Iterable[Line], *, forever: bool = False, name: str = "scripted") -> None:
        self.name = name
        self.asked: list[tuple[Message, ...]] = []
        """Every request so far."""
        self._script = list(script)
        self._forever = forever
        self._lock = threading.Lock()

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        del max_tokens, temperature, schema
        with self._lock:
            self.asked.append(tuple(messages))
            if not self._script:
                raise LLMRefused("The script has come to its end.")
            line = self._script[0] if self._forever and len(self._script) == 1 else self._script.pop(0)
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Completion):
            return line
        text = line if isinstance(line, str) else line(messages)
        tokens_in = sum(count_tokens(message.text) for message in messages)
        return Completion(text=text, tokens_in=tokens_in, tokens_out=count_tokens(text), model=self.name)
