"""Sessions in a world that acts step by step: an agent's verbs with one value each (`search[mug]`, `Finish[no]`), or
moves that the world tells back (`You pick up the mug 1.`).

There every step that did something is part of the way, though no later one repeats a word of what it got back; and
which value was right instead of another belongs to one case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reasoningbank.core.learning import EpisodeStep
from reasoningbank.learn.offline.words import head

MOST_STEPS = 10
LEAST_TOLD_BACK = 0.5
"""Share of the steps that did something which a world must tell back before it is one."""
_BRACKETED = re.compile(r"\s*([A-Za-z_]\w*)\[([^\n]*)\]\s*")
_TOLD_BACK = re.compile(r"\s*You (?!have an error\b|must\b|need\b|should\b|can\b|cannot\b)[a-z]+")
_NOTHING_DONE = re.compile(r"\s*(?:Nothing happens|Invalid action|No more results|Could not find|No known action)\b")


def is_bracketed(action: str) -> bool:
    """True if an action is a verb of a harness with one value: `click[Buy Now]`."""
    return _BRACKETED.fullmatch(action) is not None


def steps_taken(steps: Sequence[EpisodeStep], end: int, is_failure: Callable[[EpisodeStep], bool]) -> list[int]:
    """Numbers of the steps before `end` that did something in such a world; none where it is no such world."""
    deeds = [
        number
        for number, step in enumerate(steps[:end])
        if step.action.strip() and not is_failure(step) and _NOTHING_DONE.match(step.result) is None
    ]
    if is_bracketed(steps[end].action):
        return [n for n in deeds if is_bracketed(steps[n].action)][-MOST_STEPS:]
    echoes = sum(_TOLD_BACK.match(steps[n].result) is not None for n in (*deeds, end))
    if echoes < 2 or echoes < LEAST_TOLD_BACK * (len(deeds) + 1):
        return []
    # Of several moves in a row only the last one led anywhere.
    way = [
        n
        for n, after in zip(deeds, [*deeds[1:], end], strict=True)
        if head(steps[n].action) != head(steps[after].action)
    ]
    return way[-MOST_STEPS:]
