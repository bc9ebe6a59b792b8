"""Code that may raise: `OnError` cleans up behind it and lets the error go on, `attempt` hands the error over.

Whatever is raised counts, interrupts too, so that nobody else need catch everything to tidy up. One that comes after
the block, on the way out of `OnError`, is not seen by it: what must not be left behind then (locks, transactions) has a
`finally` of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


class OnError:
    """Context manager that calls a function with the error when its block raises; the error goes on."""

    __slots__ = ("_clean_up",)

    def __init__(self, clean_up: Callable[[BaseException], object]) -> None:
        self._clean_up = clean_up

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._clean_up(error)


def attempt(work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    """The result of the work and None, or None and what it raised: for threads whose errors are another's to see."""
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001 - nothing is swallowed: whoever asked for the work is handed it
        return None, error
