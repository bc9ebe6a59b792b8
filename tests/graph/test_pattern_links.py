"""Links between lessons take part in walks and typed questions, each for what its kind says."""

from __future__ import annotations

import pytest

KINDS = ("causes", "requires", "conflicts", "enhances", "alternative", "analogy", "architectural_analogy")


@pytest.fixture
def lessons(bank) -> dict[str, str]:
    return {
        name: bank.record(title=name, content=f"Advice about {name}.", key=name).id
        for name in ("middle", *(f"{way} {kind}" for kind in KINDS for way in ("from", "to")))
    }


@pytest.fixture
def star(bank, lessons) -> dict[str, str]:
    """Each kind of link leads from the middle to one lesson, and from another one to the middle."""
    for kind in KINDS:
        bank.link(lessons["middle"], lessons[f"to {kind}"], kind, weight=0.9, text=f"It {kind} that.")
        bank.link(lessons[f"from {kind}"], lessons["middle"], kind, weight=0.9, text=f"That {kind} it.")
    return lessons


def ends(walk) -> set[str]:
    return {path.hops[-1].vertex.name for path in walk.paths}


def test_a_walk_goes_along_every_kind_both_ways(bank, star):
    walk = bank.graph.walk(seeds=["middle"], depth=1, branching=32, limit=50)
    assert ends(walk) == set(star) - {"middle"}


def test_only_what_comes_first_led_to_a_lesson(bank, star):
    assert ends(bank.graph.led_to("middle")) == {"from causes", "to requires", "from enhances"}


def test_only_conflicts_contradict(bank, star):
    assert ends(bank.graph.contradicting("middle")) == {"from conflicts", "to conflicts"}


def test_what_a_lesson_replaced_led_to_it(bank, lessons):
    bank.link(lessons["middle"], lessons["to causes"], "supersedes", weight=0.9)
    assert ends(bank.graph.led_to("middle")) == {"to causes"}
    assert ends(bank.graph.led_to("to causes")) == set()
