"""The law of the bus under random stories: whatever happened to a network, all hold the same entries in the end."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bench.bus.attacks import KINDS, Scene
from bench.bus.stories import live_through, stories
from bench.storms._weather import Promise, Weather

SLICE = 1
STORIES_A_ROUND = 20


def storm(weather: Weather) -> list[Promise]:
    agreed = Promise("after any story of a network all peers hold the same entries")
    unchanged = Promise("hostile frames change nothing and end in a typed refusal")
    for number in weather.rounds():
        _tell_stories(agreed, weather.seed * 1_000_003 + number)
        _attack(unchanged, Random(weather.chance.random()))
    return [agreed, unchanged]


def _tell_stories(promise: Promise, chosen: int) -> None:
    quiet = settings(
        max_examples=STORIES_A_ROUND,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    @seed(chosen)
    @quiet
    @given(story=stories(), number=st.integers(0, 2**30))
    def tell(story: list[tuple[object, ...]], number: int) -> None:
        wrong = live_through(story, number)
        promise.check(not wrong, f"{wrong} after {story} with seed {number}")

    tell()


def _attack(promise: Promise, chance: Random) -> None:
    scene = Scene(seed=chance.randrange(1 << 30), shut_out_below=-float("inf"))
    scene.honest_work(1, 3)
    before = scene.state()
    for _ in range(200):
        attack = chance.choice(KINDS)
        codes, _ = scene.send(attack)
        promise.check(bool(codes), f"{attack.__name__} without a refusal")
    promise.check(scene.state() == before, "the state has changed")
