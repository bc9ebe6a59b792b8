"""Remembers which parameters of a request a server refuses, once for everybody in this process who asks it.

What is remembered only grows, under a lock, and is no reason to fail: whoever sent a parameter that somebody else has
just learned to leave out sends the request again without it. Other processes find out by themselves, for the price of
one refused request each; nothing is kept on disk, since a server may learn what it refused yesterday.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from reasoningbank.forking import renew_in_child
from reasoningbank.llm.failures import RejectedRequest

_WORDS: Mapping[str, tuple[str, ...]] = {
    "response_format": (
        "response_format",
        "response format",
        "json_schema",
        "json schema",
        "structured output",
        "grammar",
    ),
    "tools": ("tool_choice", "tools", "tool use", "tool_use", "function call"),
    "temperature": ("temperature",),
    "max_completion_tokens": ("max_completion_tokens",),
    "max_tokens": ("max_tokens",),
}


class RefusedParameters:
    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()
        self._begin_in_child()
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        self._lock = threading.Lock()

    @property
    def names(self) -> frozenset[str]:
        return self._names

    def add(self, names: Iterable[str]) -> None:
        with self._lock:
            self._names = self._names.union(names)


class _Known:
    def __init__(self) -> None:
        self._by_server: dict[tuple[str, str], RefusedParameters] = {}
        self._begin_in_child()
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        self._lock = threading.Lock()

    def of(self, endpoint: str, model: str) -> RefusedParameters:
        with self._lock:
            return self._by_server.setdefault((endpoint, model), RefusedParameters())


_registry = _Known()


def refused_by(endpoint: str, model: str) -> RefusedParameters:
    """The parameters that one model behind one address refuses: the same object for all who ask."""
    return _registry.of(endpoint, model)


def blamed(error: RejectedRequest, parameters: Iterable[str]) -> frozenset[str]:
    """The parameters of a request that a server's refusal speaks of; none when it speaks of something else."""
    names = frozenset(parameters)
    if error.parameter is not None:
        top = error.parameter.partition(".")[0].partition("[")[0]
        return names & {"tools" if top == "tool_choice" else top}
    words = error.words.replace("max_completion_tokens", "") if "max_tokens" in names else error.words
    return frozenset(name for name in names if any(word in words for word in _WORDS.get(name, (name,))))
