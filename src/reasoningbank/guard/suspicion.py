"""Advice about a text that nobody vouches for: how much it reads like a poisoned memory, and by what.

A linear model over words, word pairs and `guard.tells`, fitted by `scripts/build_suspicion.py` and shipped as numbers.
It only advises: authority follows from the origin, and what this misses is still untrusted. It reads English best.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

from reasoningbank.core.values import dataclass
from reasoningbank.guard.hidden import hidden
from reasoningbank.guard.tells import TELLS, tells

MODEL = Path(__file__).parent / "suspicion.json"
BUCKETS = 8192
WORDS_PER_WINDOW = 120
MOST_WINDOWS = 24
"""What comes later in a text is not read."""
HIDDEN = "hides"
FEATURES = (*(name for name, _, _ in TELLS), HIDDEN)
_WORD = re.compile(r"[^\W_]+(?:'\w+)?|[%@#/|]")
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    score: float
    """0 to 1."""
    sentences: tuple[str, ...]
    is_suspicious: bool


def suspicion(text: str) -> Advice:
    model = _model()
    best: float = 0.0
    why: tuple[str, ...] = ()
    for window in windows(text):
        score, reasons = _scored(model, window)
        if score > best:
            best, why = score, reasons
    if best < model["threshold"]:
        return Advice(score=best, sentences=(), is_suspicious=False)
    return Advice(score=best, sentences=(f"suspicious: {best:.2f}", *why), is_suspicious=True)


def windows(text: str) -> Iterator[str]:
    """Pieces of a text that are long enough to mean something, so that a long text hides no short one."""
    ends = [match.end() for match in _WORD.finditer(text[: MOST_WINDOWS * WORDS_PER_WINDOW * 12])]
    if len(ends) <= WORDS_PER_WINDOW:
        yield text[: MOST_WINDOWS * WORDS_PER_WINDOW * 12]
        return
    step = WORDS_PER_WINDOW // 2
    starts = [0, *ends]
    for number, first in enumerate(range(0, len(ends) - step, step)):
        if number >= MOST_WINDOWS:
            return
        yield text[starts[first] : ends[min(first + WORDS_PER_WINDOW, len(ends)) - 1]]


def words_of(text: str) -> set[int]:
    """The buckets of the words and word pairs of a window. Numbers are all one word: which one it is says nothing."""
    words = ["0" if word.isdigit() else word for word in _WORD.findall(text.casefold())]
    pairs = (f"{one} {other}" for one, other in pairwise(words))
    return {crc32(term.encode("utf-8", "surrogatepass")) % BUCKETS for term in (*words, *pairs)}


def tells_of(text: str) -> list[int]:
    """The places in `FEATURES` of the tells in a window."""
    lower = text.lower()
    found = [place for place, (_, _, pattern) in enumerate(tells()) if pattern.search(lower)]
    return [*found, len(FEATURES) - 1] if hidden(text) else found


def _scored(model: dict[str, Any], text: str) -> tuple[float, tuple[str, ...]]:
    buckets = words_of(text)
    weights: bytes = model["words"]
    # Bytes hold −128 … 127.
    total = sum(((weights[bucket] + 128) & 255) - 128 for bucket in buckets)
    found = tells_of(text)
    value = model["bias"] + model["step"] * total / math.sqrt(max(1, len(buckets)))
    value += sum(model["tells"][place] for place in found)
    strongest = sorted(found, key=lambda place: -model["tells"][place])[:_MOST_REASONS]
    sentences = {place: sentence for place, (_, sentence, _) in enumerate(TELLS)}
    reasons = tuple(sentences.get(place, "hides text") for place in strongest if model["tells"][place] > 0)
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value)))), reasons


@cache
def _model() -> dict[str, Any]:
    model: dict[str, Any] = json.loads(MODEL.read_bytes())
    model["words"] = base64.b64decode(model["words"])
    return model
