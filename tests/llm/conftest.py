"""What a model's endpoint answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


def chat(text: str | None, *, finish: str = "stop", usage: Any = None) -> bytes:
    counted = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18} if usage is None else usage
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": counted}
    return json.dumps(whole).encode()


@pytest.fixture(name="chat")
def _chat() -> Callable[..., bytes]:
    return chat


@pytest.fixture
def endpoint(endpoint: Any) -> Any:
    """One that `say` gives its next answers."""

    def say(text: str | None, **changes: Any) -> None:
        endpoint.answer = lambda _: (200, chat(text, **changes))

    endpoint.say = say
    return endpoint
