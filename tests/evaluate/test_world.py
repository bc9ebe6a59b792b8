"""The simulated world: its truth is what the rules say, and a life in it can be lived again."""

from __future__ import annotations

from pathlib import Path
from random import Random
from xml.etree import ElementTree as ET

import pytest
from reasoningbank_eval.world.chart import svg
from reasoningbank_eval.world.life import ARMS, lived
from reasoningbank_eval.world.rules import Rules, Way, World
from reasoningbank_eval.world.study import study

SMALL = Rules(tasks=40, kinds=2)


def test_some_ways_help_some_make_no_difference_and_some_hurt() -> None:
    world = World(Rules(fickle=0.0), 1)
    task = world.tasks[0]
    chances = [world.chance(task, Way(kind=task.kind, number=n)) for n in range(6)]
    assert min(chances[:2]) > chances[2] == chances[3] > max(chances[4:])
    assert world.chance(task, Way(kind=None, number=0)) == pytest.approx(chances[2])
    assert world.best(task) == max(chances)


def test_halfway_what_helped_hurts_where_the_world_drifts() -> None:
    world = World(Rules(fickle=0.0, drifting=1.0), 1)
    early = world.tasks[0]
    late = next(t for t in world.tasks if t.number >= 200 and (t.kind, t.condition) == (early.kind, early.condition))
    ways = [Way(kind=early.kind, number=n) for n in range(6)]
    order = sorted(ways, key=lambda way: world.chance(early, way))
    assert world.chance(late, order[-1]) < world.chance(late, order[0])
    still = World(Rules(drifting=0.0), 1)
    assert all(still.chance(early, way) == still.chance(late, way) for way in ways)


def test_the_same_seed_makes_the_same_world() -> None:
    assert World(SMALL, 3).tasks == World(SMALL, 3).tasks != World(SMALL, 4).tasks
    assert World(SMALL, 3).known(Random(1)) == World(SMALL, 3).known(Random(1))


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_every_arm_lives_through_a_small_world(arm, tmp_path: Path) -> None:
    regrets = lived(World(Rules(tasks=15, kinds=2), 1), arm, 1, tmp_path)
    assert len(regrets) == 15
    assert all(0.0 <= regret < 1.0 for regret in regrets)


def test_a_study_says_who_is_ahead_and_draws_it() -> None:
    told: list[str] = []
    arms = [arm for arm in ARMS if arm.name in ("no memory", "ours")]
    found = study(SMALL, (1, 2), told.append, arms)
    assert told == ["no memory", "ours"]
    assert found["arms"]["ours"]["behind_ours"]["mean"] == 0.0
    assert len(found["arms"]["ours"]["curve"]) == 4
    drawn = ET.fromstring(svg(found, "a < b"))
    assert len(drawn.findall(".//{http://www.w3.org/2000/svg}polyline")) == 2


def test_every_arm_has_a_line_of_its_own_colour() -> None:
    found = study(SMALL, (1, 2), lambda _: None, [arm for arm in ARMS if not arm.remembers])
    (lines,) = found["arms"].values()
    drawn = ET.fromstring(svg({**found, "arms": {arm.name: lines for arm in ARMS}}, "all of them"))
    strokes = [line.get("stroke") for line in drawn.findall(".//{http://www.w3.org/2000/svg}polyline")]
    assert len(set(strokes)) == len(ARMS)
