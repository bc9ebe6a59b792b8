"""Frozen values that cost little to define.

Knows how to make a class of values and nothing about any of them. For what is not imported at every start the standard
`dataclass` is as good.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - so that it may be imported from here
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool) -> Callable[[type], type]:
        """The standard one for frozen values, except that making the class takes a tenth of the time.

        That one writes and compiles six functions for each class, half a millisecond in all, and a command line that
        lists a few memories would spend a quarter of its life on them. Here the functions are shared; `fields`,
        `replace` and `asdict` work as ever.
        """
        if not (frozen and slots and kw_only):
            raise TypeError("A value is frozen, slotted and made by name.")
        return _made_value


def _made_value(cls: type[Any]) -> Any:
    # Without a text of its own a dataclass derives one from its signature, which takes longest of all.
    cls.__doc__ = cls.__doc__ or f"{cls.__name__}({', '.join(cls.__annotations__)})"
    value: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(cls)
    for name, method in _VALUE_METHODS.items():
        setattr(value, name, method)
    value.__init__ = _initializer(value)
    value.__eq__, value.__hash__ = _comparison(value)
    return value


def _initializer(value: type[Any]) -> Callable[..., None]:
    # A slot's own setter is not stopped by `__setattr__`.
    setters = tuple((f.name, getattr(value, f.name).__set__) for f in fields(value))
    count = len(setters)
    defaults = {f.name: f.default for f in fields(value) if f.default is not MISSING}
    factories = {f.name: f.default_factory for f in fields(value) if f.default_factory is not MISSING}

    def initialize(self: Any, /, **given: Any) -> None:
        if len(given) < count:
            given = {**defaults, **{name: make() for name, make in factories.items()}, **given}
        try:
            for name, put in setters:
                put(self, given[name])
        except KeyError as error:
            raise TypeError(f"{value.__name__} needs {error}.") from None
        if len(given) > count:
            unknown = given.keys() - {name for name, _ in setters}
            raise TypeError(f"{value.__name__} has no {', '.join(sorted(unknown))}.")

    return initialize


def _comparison(value: type[Any]) -> tuple[Callable[[Any, object], Any], Callable[[Any], int]]:
    values = attrgetter(*(f.name for f in fields(value)))

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return equal, hashed


def _state(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, f.name) for f in fields(self))


def _set_state(self: Any, state: tuple[Any, ...]) -> None:
    for f, kept in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, kept)


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in fields(self))})"


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"{name} of a {type(self).__name__} cannot be changed")


_VALUE_METHODS: Mapping[str, Callable[..., Any]] = {
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
