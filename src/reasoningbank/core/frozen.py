"""Frozen values that cost little to define.

To type checkers and to whoever asks the standard library, such a class is a dataclass; `dataclasses` itself is loaded
only then, because that alone takes as long as reading a few memories. For what is not imported at every start the
standard one is as good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - so that they may be imported from here
    from dataclasses import field as field  # noqa: PLC0414
    from dataclasses import fields as fields  # noqa: PLC0414
    from dataclasses import replace as replace  # noqa: PLC0414
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool = False) -> Callable[[type], type]:
        """The standard one for frozen values, except that making the class takes a tenth of the time.

        That one writes and compiles six functions for each class, half a millisecond in all, and a command line that
        lists a few memories would spend a quarter of its life on them. Here the functions are shared; `fields`,
        `replace` and `asdict` of the standard library work as ever.
        """
        if not (frozen and slots):
            raise TypeError("A value is frozen and slotted.")
        return _named_only if kw_only else _in_order_too

    def field(*, default: Any = None, default_factory: Any = None) -> Any:
        """With a default, or with a function that makes one for each value."""
        return Field("", "", _MISSING if default_factory else default, default_factory or _MISSING)

    def fields(value: Any) -> tuple[Any, ...]:
        """Name, type and defaults of each field, in order."""
        own_fields = getattr(value, "__value_fields__", None)
        if own_fields is None:
            import dataclasses

            return dataclasses.fields(value)
        return own_fields

    def replace(value: Any, /, **changes: Any) -> Any:
        """The value with other contents in some of its fields."""
        contents = getattr(value, "__value_contents__", None)
        if contents is None:
            import dataclasses

            return dataclasses.replace(value, **changes)
        return value.__class__(**(contents() | changes))


_MISSING: Any = object()
_MANY = 64
"""From so many on a class is worth a function of its own."""


class Field:
    __slots__ = ("default", "default_factory", "name", "type")

    def __init__(self, name: str, kind: Any, default: Any, default_factory: Any) -> None:
        self.name = name
        self.type = kind
        self.default = default
        self.default_factory = default_factory


def _named_only(cls: type[Any]) -> Any:
    value = _made_value(cls)
    value.__init__ = _by_name(value)
    return value


def _in_order_too(cls: type[Any]) -> Any:
    value = _made_value(cls)
    names, by_name = [f.name for f in value.__value_fields__], _by_name(value)

    def initialize(self: Any, /, *values: Any, **keywords: Any) -> None:
        in_order = dict(zip(names, values, strict=False))
        if len(values) > len(names) or not in_order.keys().isdisjoint(keywords):
            raise TypeError(f"{value.__name__} was given too much.")
        by_name(self, **in_order, **keywords)

    value.__init__ = initialize
    return value


def _made_value(cls: type[Any]) -> Any:
    """The class again with slots for its fields, and with the functions that all values share."""
    contents = dict(cls.__dict__)
    own = {
        name: _field(name, kind, contents.pop(name, _MISSING))
        for name, kind in contents.get("__annotations__", {}).items()
        if not str(kind).startswith("ClassVar")
    }
    base_fields = {f.name: f for f in getattr(cls, "__value_fields__", ())}
    for name in ("__dict__", "__weakref__"):
        contents.pop(name, None)
    contents.update(_VALUE_METHODS)
    contents["__slots__"] = tuple(name for name in own if name not in base_fields)
    contents["__value_fields__"] = tuple({**base_fields, **own}.values())
    contents["__doc__"] = contents.get("__doc__") or f"{cls.__name__}({', '.join(own)})"
    contents["__dataclass_fields__"] = _STANDARD_FIELDS
    metaclass: Any = type(cls)
    value: Any = metaclass(cls.__name__, cls.__bases__, contents)
    value.__qualname__ = cls.__qualname__
    value.__value_contents__, value.__eq__, value.__hash__ = _reading(value)
    return value


def _field(name: str, kind: Any, default: Any) -> Field:
    if isinstance(default, Field):
        return Field(name, kind, default.default, default.default_factory)
    if type(default).__module__ == "dataclasses":
        # The standard library's own field; what it lacks is told by the type of the sentinel.
        defaults = (default.default, default.default_factory)
        return Field(name, kind, *(_MISSING if type(part).__module__ == "dataclasses" else part for part in defaults))
    return Field(name, kind, default, _MISSING)


class _StandardFields:
    """`__dataclass_fields__` for the standard library, made when it asks for them."""

    def __get__(self, value: object, owner: Any) -> Any:
        from dataclasses import field as standard_field
        from dataclasses import make_dataclass

        specs: list[Any] = []
        for f in owner.__value_fields__:
            names = (name for name in ("default", "default_factory") if getattr(f, name) is not _MISSING)
            specs.append((f.name, f.type, standard_field(**{name: getattr(f, name) for name in names})))
        standard_class: Any = make_dataclass(owner.__name__, specs, kw_only=True)
        owner.__dataclass_fields__ = standard_class.__dataclass_fields__
        return standard_class.__dataclass_fields__


_STANDARD_FIELDS = _StandardFields()


def _by_name(value: type[Any]) -> Callable[..., None]:
    # A slot's own setter is not stopped by `__setattr__`.
    value_fields = value.__value_fields__
    setters = tuple((f.name, getattr(value, f.name).__set__) for f in value_fields)
    count = len(setters)
    defaults = {f.name: f.default for f in value_fields if f.default is not _MISSING}
    factories = {f.name: f.default_factory for f in value_fields if f.default_factory is not _MISSING}
    instances = 0

    def initialize(self: Any, /, **values: Any) -> None:
        nonlocal instances
        instances += 1
        if instances == _MANY and value.__init__ is initialize:
            value.__init__ = _written_out(value)
        if len(values) < count:
            values = {**defaults, **{name: make() for name, make in factories.items()}, **values}
        try:
            for name, put in setters:
                put(self, values[name])
        except KeyError as error:
            raise TypeError(f"{value.__name__} needs {error}.") from None
        if len(values) > count:
            unknown = values.keys() - {name for name, _ in setters}
            raise TypeError(f"{value.__name__} has no {', '.join(sorted(unknown))}.")

    return initialize


def _written_out(value: type[Any]) -> Any:
    """The same with a line for each field, in a third of the time. Writing it takes as long as making a hundred values,
    so only a class of which many are made gets it.
    """
    names = [f.name for f in value.__value_fields__]
    bindings: dict[str, Any] = {f"put_{name}": getattr(value, name).__set__ for name in names}
    parameters, lines = [], []
    for f in value.__value_fields__:
        default, contents = "", f.name
        if f.default is not _MISSING:
            bindings[f"default_{f.name}"], default = f.default, f"=default_{f.name}"
        elif f.default_factory is not _MISSING:
            bindings[f"make_{f.name}"], bindings["missing"], default = f.default_factory, _MISSING, "=missing"
            contents = f"make_{f.name}() if {f.name} is missing else {f.name}"
        parameters.append(f"{f.name}{default}")
        lines.append(f"put_{f.name}(self_, {contents})")
    # Bound as defaults of an outer function: names that it finds without a look into a dictionary.
    body = f"def __init__(self_, /, *, {', '.join(parameters)}):\n  " + "\n  ".join(lines)
    outer = f"def outer({', '.join(bindings)}):\n " + body.replace("\n", "\n ") + "\n return __init__"
    scope: dict[str, Any] = {}
    exec(compile(outer, f"<fields of {value.__name__}>", "exec"), scope)  # noqa: S102 - of the class's own field names
    return scope["outer"](**bindings)


def _reading(value: type[Any]) -> tuple[Callable[..., Any], ...]:
    """Functions for the contents by name, for equality and for the hash."""
    names = tuple(f.name for f in value.__value_fields__)
    getter = attrgetter(*names) if names else lambda _: ()
    values = getter if len(names) != 1 else lambda self: (getter(self),)

    def contents(self: Any) -> dict[str, Any]:
        return dict(zip(names, values(self), strict=True))

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return contents, equal, hashed


def _state(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, f.name) for f in self.__value_fields__)


def _set_state(self: Any, state: tuple[Any, ...]) -> None:
    for f, content in zip(self.__value_fields__, state, strict=True):
        object.__setattr__(self, f.name, content)


def _repr(self: Any) -> str:
    contents = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in self.__value_fields__)
    return f"{type(self).__qualname__}({contents})"


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{name} of a {type(self).__name__} cannot be changed")


_VALUE_METHODS: Mapping[str, Callable[..., Any]] = {
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
