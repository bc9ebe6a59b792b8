"""Texts that a set of rules may choke on: every pattern of the package read backwards, cut short, and repeated.

Knows how a regular expression is taken apart and which strings nearly fit it. Knows no rule by name, so that a rule of
tomorrow is attacked as one of today.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
from collections.abc import Iterator
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from reasoningbank.core.patterns import pattern

ROOMS = (
    *(f"reasoningbank.{room}" for room in ("core", "guard", "recall", "learn", "exchange", "embed", "index")),
    "reasoningbank_coding_agents",
)
FILLERS = (
    "", " ", "\n", "=", ":", "-", "_", ".", "/", ",", "\t", '"', "'", "\\", "\\n", "+", "%41", "a", "A1", "0", "é",
    "\u200b", " x ", "=x ", ": 'y' ", "='A1b2C3d4E5' ", ":A1b2C3d4", '="', "A1b2C3d4data:",
)  # fmt: skip
_CATEGORIES = {
    sre.CATEGORY_DIGIT: "7",
    sre.CATEGORY_NOT_DIGIT: "k",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: "k",
    sre.CATEGORY_WORD: "k",
    sre.CATEGORY_NOT_WORD: "-",
}


def sources() -> list[str]:
    """Every pattern that a module of the package keeps, alone or in a list, as it is written."""
    found: dict[str, None] = {}
    for room in ROOMS:
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".adapters." not in module.name:
                for value in vars(importlib.import_module(module.name)).values():
                    found.update(dict.fromkeys(_patterns_in(value, 0)))
    return list(found)


def _patterns_in(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, re.Pattern | pattern):
        if isinstance(value.pattern, str):
            flags = "x" if value.flags & re.VERBOSE else ""
            yield f"(?{flags}){value.pattern}" if flags else value.pattern
    elif isinstance(value, str) and depth:
        if any(sign in value for sign in ("(?:", "]{", r"\b", r"\s", r"\w")):
            yield value
    elif isinstance(value, tuple | list) and depth < 4:
        for inner in value:
            yield from _patterns_in(inner, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        for inner in value.values():
            yield from _patterns_in(inner, depth + 1)


def literals() -> list[str]:
    """What the rules look for first: the anchors of every token format and the words that announce a secret."""
    from reasoningbank.guard.names import STEMS
    from reasoningbank.guard.rules import ANCHORS

    return [*dict.fromkeys(anchor for anchor, _ in ANCHORS), *STEMS]


def pieces(chance: random.Random) -> list[str]:
    """Strings that fit a pattern, and the same cut off before the end: what a shape is made of."""
    found: dict[str, None] = dict.fromkeys(literals())
    for source in sources():
        try:
            tree = _parser.parse(source)
        except (re.error, OverflowError):
            continue
        for _ in range(2):
            fits = "".join(_written(tree, chance))[:200]
            found.update(dict.fromkeys((fits, fits[: len(fits) * 2 // 3], fits[:-1])))
    return [piece for piece in found if piece]


def shape(chance: random.Random, known: list[str]) -> str:
    """One unit that a text repeats: a piece, with a filler, or two pieces of which one goes on from the other."""
    one = chance.choice(known)
    match chance.randrange(4):
        case 0:
            return one
        case 1:
            return one + chance.choice(FILLERS)
        case 2:
            return chance.choice(FILLERS) + one + chance.choice(FILLERS) * chance.choice((1, 3, 20))
        case _:
            return one + chance.choice(FILLERS) + chance.choice(known) + chance.choice(FILLERS)


def _written(tree: Any, chance: random.Random) -> Iterator[str]:  # noqa: C901 - one for each kind of node
    for kind, what in tree:
        if kind is sre.LITERAL:
            yield chr(what)
        elif kind is sre.NOT_LITERAL:
            yield "k" if what != ord("k") else "j"
        elif kind is sre.ANY:
            yield chance.choice("kA7 -")
        elif kind is sre.IN:
            yield _one_of(what, chance)
        elif kind is sre.BRANCH:
            yield from _written(chance.choice(what[1]), chance)
        elif kind is sre.SUBPATTERN:
            yield from _written(what[3], chance)
        elif kind is sre.ATOMIC_GROUP:
            yield from _written(what, chance)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, inner = what
            for _ in range(min(int(most), max(int(least), chance.choice((0, 1, 2, 12))), 90)):
                yield from _written(inner, chance)


def _one_of(members: Any, chance: random.Random) -> str:
    kind, what = chance.choice(members)
    if kind is sre.NEGATE:
        return chance.choice("kA7")
    if kind is sre.LITERAL:
        return chr(what)
    if kind is sre.RANGE:
        return chr(chance.randint(what[0], what[1]))
    return _CATEGORIES.get(what, "k")


__all__ = ["FILLERS", "literals", "pieces", "shape", "sources"]
