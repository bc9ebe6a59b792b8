"""Translates errors of the index's files into the project's own, at every public method."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from reasoningbank.core.media import faults_of

T = TypeVar("T")


def names_faults(kind: type[T]) -> type[T]:
    """Wrap what a class offers: methods, properties, class methods that take the folder first, `with` blocks."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(_name_errors(member.fget)))
        elif isinstance(member, classmethod):
            setattr(kind, name, classmethod(_name_errors(member.__func__)))
        elif inspect.isfunction(member):
            generator = inspect.isgeneratorfunction(inspect.unwrap(member))
            setattr(kind, name, _named_block(member) if generator else _name_errors(member))
    return kind


def _what(subject: Any, arguments: tuple[Any, ...]) -> str:
    return f"the index {arguments[0] if isinstance(subject, type) else subject.directory}"


def _name_errors(act: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(act)
    def call(subject: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return act(subject, *arguments, **keywords)
        except OSError:
            # Only now: most calls meet no fault, and a search makes many.
            with faults_of(_what(subject, arguments)):
                raise

    return call


def _named_block(act: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(act)
    @contextmanager
    def block(subject: Any, *arguments: Any, **keywords: Any) -> Iterator[Any]:
        with faults_of(_what(subject, arguments)), act(subject, *arguments, **keywords) as value:
            yield value

    return block
