"""Values are made by our own `dataclass` (core.types); it must differ from the standard one in speed only."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from dataclasses import field

import pytest

from reasoningbank.core import frozen
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Memory, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    y: int = 2
    seen: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Point):
    name: str


def standard() -> type:
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Point:
        x: int
        y: int = 2
        seen: list[int] = dataclasses.field(default_factory=list)

    return Point


def test_defaults_are_filled_in_and_factories_run_for_each_value() -> None:
    assert (Point(x=1).x, Point(x=1).y, Point(x=1).seen) == (1, 2, [])
    assert Point(x=1).seen is not Point(x=1).seen


@pytest.mark.parametrize("given", [{}, {"y": 1}, {"x": 1, "z": 1}, {"x": 1, "y": 2, "seen": [], "z": 1}, {"z": 1}])
def test_a_missing_or_unknown_field_is_a_type_error_as_in_a_standard_dataclass(given: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        standard()(**given)
    with pytest.raises(TypeError):
        Point(**given)
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[misc]


def test_the_thousandth_value_of_a_class_is_made_like_the_first() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Place:
        x: int
        name: str = "here"
        seen: list[int] = field(default_factory=list)

    made = [Place(x=number) for number in range(1_000)]
    assert [place.x for place in made] == list(range(1_000))
    assert {place.name for place in made} == {"here"}
    assert made[-1].seen == []
    assert made[-1].seen is not made[-2].seen
    assert Place(x=1, name="there", seen=[3]) == frozen.replace(made[1], name="there", seen=[3])
    for given in ({}, {"name": "there"}, {"x": 1, "z": 2}):
        with pytest.raises(TypeError):
            Place(**given)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made[-1].x = 2  # type: ignore[misc]


def test_a_value_cannot_be_changed_or_extended() -> None:
    point = Point(x=1)
    for name in ("x", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(point, name, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_equality_goes_by_class_and_fields_and_agrees_with_the_hash() -> None:
    assert Point(x=1) == Point(x=1) != Point(x=2)
    assert Point(x=1) != Named(x=1, name="n")
    one, same = (Standing(initial=0.5, created_at=1.0) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    with pytest.raises(TypeError):
        hash(Point(x=1))


def test_fields_replace_asdict_copies_and_pickles_work() -> None:
    named = Named(x=1, name="n")
    assert [f.name for f in dataclasses.fields(Named)] == ["x", "y", "seen", "name"]
    assert dataclasses.replace(named, y=9) == Named(x=1, y=9, name="n")
    assert dataclasses.asdict(named) == {"x": 1, "y": 2, "seen": [], "name": "n"}
    assert repr(named) == "Named(x=1, y=2, seen=[], name='n')"
    assert copy.copy(named) == copy.deepcopy(named) == pickle.loads(pickle.dumps(named)) == named


def test_every_value_has_a_text() -> None:
    assert Point.__doc__ == "Point(x, y, seen)"
    assert Memory.__doc__ is not None
    assert Memory.__doc__.startswith("One strategy")


@dataclass(frozen=True, slots=True)
class Pair:
    left: int
    right: int = 0


def test_a_value_may_take_its_fields_in_order() -> None:
    assert Pair(1, 2) == Pair(1, right=2) == Pair(left=1, right=2)
    assert Pair(1).right == 0
    for given, named in (((1, 2, 3), {}), ((1,), {"left": 1}), ((), {})):
        with pytest.raises(TypeError):
            Pair(*given, **named)


def test_our_own_replace_and_fields_agree_with_the_standard_ones() -> None:
    named = Named(x=1, name="n")
    assert frozen.replace(named, y=9) == dataclasses.replace(named, y=9)
    with pytest.raises(TypeError):
        frozen.replace(named, z=1)
    for kind in (Named, Memory, standard()):
        ours, theirs = frozen.fields(kind), dataclasses.fields(kind)
        assert [(f.name, f.type) for f in ours] == [(f.name, f.type) for f in theirs]
    assert frozen.replace(standard()(x=1), x=2).x == 2


def test_a_start_does_without_the_standard_dataclasses() -> None:
    asked = "import sys, reasoningbank.bank.bank, reasoningbank.store.sqlite.store; print({'dataclasses', 'hashlib'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
