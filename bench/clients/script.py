"""What a scripted model says, and what it was told: one shape for every API.

A script is a list of turns. A turn may be a function of the request, so that a script can do what a model does: read
the advice it was given, and take it or not.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_ADVICE = re.compile(r"<reasoningbank\b[^>]*>(.*?)</reasoningbank>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Use:
    """A tool call in the words of the client that is to make it."""

    tool: str
    given: Mapping[str, Any] | str
    """Arguments by name; a bare text is the input of a free-form tool."""
    namespace: str = ""
    """Where the client keeps its tools in groups."""


@dataclass(frozen=True, slots=True)
class Turn:
    text: str = ""
    uses: tuple[Use, ...] = ()
    context_tokens: int = 1_000
    """What the model says the request was worth; a client compacts by it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request body, with its texts in order."""

    body: Mapping[str, Any]
    texts: tuple[str, ...]
    """Every text of the conversation; what tools returned among them, schemas and system prompts not."""
    results: tuple[str, ...]
    """What tools returned, in order."""
    opening: str
    """The texts before the model's first word: what the user asked, and what stood around it."""
    side: bool
    """A request of the client for itself, such as a title; it offers no tools."""

    @property
    def said(self) -> str:
        return "\n".join(self.texts)

    @property
    def advice(self) -> str:
        """What the bank put between its marks, wherever it stands."""
        return "\n".join(told.strip() for told in _ADVICE.findall(self.said))


def without_advice(text: str) -> str:
    return _ADVICE.sub("", text)


Step = Turn | Callable[[Request], Turn]


@dataclass(slots=True)
class Script:
    """Turns for the requests of one session. `aside` are those of subagents, found by a word of their opening."""

    turns: list[Step]
    aside: Mapping[str, list[Step]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    problems: list[Exception] = field(default_factory=list)
    """What went wrong in turns that are functions."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Turn:
        with self._lock:
            self.requests.append(request)
            if request.side:
                return Turn("ok")
            turns = next((turns for word, turns in self.aside.items() if word in request.opening), self.turns)
            step = turns.pop(0) if turns else Turn("Done.")
        if isinstance(step, Turn):
            return step
        try:
            return step(request)
        except Exception as error:
            # The client would only see a connection that breaks off: whoever wrote the script is to be told.
            self.problems.append(error)
            raise

    @property
    def main(self) -> list[Request]:
        """The requests of the user's own conversation."""
        words = tuple(self.aside)
        return [one for one in self.requests if not one.side and not any(word in one.opening for word in words)]
