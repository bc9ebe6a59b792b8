"""Prompt-injection score of an untrusted text: how much it reads like a poisoned memory, and by what.

A linear model over words, word pairs and `guard.injection_patterns`, fitted by `scripts/build_suspicion.py` and shipped
as numbers. It only advises: authority follows from the origin, and what this misses is still untrusted. It reads
English best.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from reasoningbank.core.frozen import dataclass
from reasoningbank.guard.hidden import hidden
from reasoningbank.guard.injection_patterns import TELLS, tells
from reasoningbank.guard.injection_prefilter import signs_of_text, signs_of_words, worth_asking

MODEL = Path(__file__).parent / "suspicion.json"
BUCKETS = 8192
_LAST_BUCKET = BUCKETS - 1
WORDS_PER_WINDOW = 120
MOST_WINDOWS = 24
"""Windows that are read; what comes later in a text is not."""
HIDDEN = "hides"
FEATURES = (*(name for name, _, _ in TELLS), HIDDEN)
_WORD = re.compile(r"[^\W_]+(?:'\w+)?|[%@#/|]")
_SIGNS = (b"%", b"@", b"#", b"/", b"|")
_SPACED = bytes(code if chr(code).isalnum() or chr(code) in "%@#/|'" else 32 for code in range(128)) + bytes(128)
_SENTENCES = (*(sentence for _, sentence, _ in TELLS), "hides text")
_MOST_CHARS = MOST_WINDOWS * WORDS_PER_WINDOW * 12
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    score: float
    """0 to 1."""
    sentences: tuple[str, ...]
    is_suspicious: bool


def suspicion(text: str) -> Suspicion:
    model = _model()
    best: float = 0.0
    best_places: list[int] = []
    for window, lower, words in _read(text):
        score, places = _score(model, window, lower, words)
        if score > best:
            best, best_places = score, places
    if best < model.threshold:
        return Suspicion(score=best, sentences=(), is_suspicious=False)
    sentences = (f"suspicious: {best:.2f}", *_reasons(model, best_places))
    return Suspicion(score=best, sentences=sentences, is_suspicious=True)


def windows(text: str) -> Iterator[str]:
    """Pieces of a text that are long enough to mean something, so that a long text hides no short one."""
    return (window for window, _, _ in _read(text))


def _read(text: str) -> Iterator[tuple[str, str, list[bytes]]]:
    """Each window with itself in lower case and the words of that."""
    read = text[:_MOST_CHARS]
    lower = read.lower()
    words = _words(lower)
    # Some letters grow in lower case and may then be two words; those are counted as they stand.
    if (len(words) if len(lower) == len(read) else len(_WORD.findall(read))) <= WORDS_PER_WINDOW:
        yield read, lower, words
        return
    ends = [match.end() for match in _WORD.finditer(read)]
    step = WORDS_PER_WINDOW // 2
    starts = [0, *ends]
    for number, first in enumerate(range(0, len(ends) - step, step)):
        if number >= MOST_WINDOWS:
            return
        window = text[starts[first] : ends[min(first + WORDS_PER_WINDOW, len(ends)) - 1]]
        lower = window.lower()
        yield window, lower, _words(lower)


def _words(text: str) -> list[bytes]:
    """The words that `_WORD` finds, in a seventh of its time for plain text."""
    if not text.isascii() or ("'" in text and "_" in text):
        # A number is a number in any script.
        tokens = ("0" if word.isdigit() and not word.isascii() else word for word in _WORD.findall(text))
        return [word.encode("utf-8", "surrogatepass") for word in tokens]
    plain = text.encode("ascii").translate(_SPACED)
    for sign in _SIGNS:
        if sign in plain:
            plain = plain.replace(sign, b" " + sign + b" ")
    words = plain.split()
    if b"'" not in plain:
        return words
    return [part for word in words for part in (_split(word) if b"'" in word else (word,))]


def _split(word: bytes) -> list[bytes]:
    return [part.encode("ascii") for part in _WORD.findall(word.decode("ascii"))]


def words_of(text: str) -> set[int]:
    """The buckets of the words and word pairs of a window."""
    return _buckets(_words(text.casefold()))


def tells_of(text: str) -> list[int]:
    """The places in `FEATURES` of the tells in a window."""
    lower = text.lower()
    return _tells(text, lower, _words(lower))


def _buckets(words: Sequence[bytes]) -> set[int]:
    # Numbers are all one word: which one it is says nothing.
    terms = words if b"".join(words).isalpha() else [b"0" if word.isdigit() else word for word in words]
    sums = list(map(crc32, terms))
    # The checksum of a pair goes on from that of its first word and a space.
    pairs = map(crc32, terms[1:], map(crc32, repeat(b" "), sums))
    return {checksum & _LAST_BUCKET for checksum in chain(sums, pairs)}


def _tells(text: str, lower: str, words: Sequence[bytes]) -> list[int]:
    signs = signs_of_text(lower) | signs_of_words(words)
    patterns = tells()
    places = [place for place in worth_asking(signs) if patterns[place][2].search(lower)]
    return [*places, len(FEATURES) - 1] if hidden(text) else places


def _score(model: _Model, text: str, lower: str, words: Sequence[bytes]) -> tuple[float, list[int]]:
    """The score of a window, and the places in `FEATURES` of its tells."""
    plain = lower if text.isascii() else text.casefold()
    buckets = _buckets(words if plain == lower else _words(plain))
    places = _tells(text, lower, words)
    weights = model.words
    total = sum([weights[bucket] for bucket in buckets])
    value = model.bias + model.step * total / math.sqrt(max(1, len(buckets)))
    value += sum(model.tells[place] for place in places)
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value)))), places


def _reasons(model: _Model, places: Sequence[int]) -> list[str]:
    strongest = sorted(places, key=lambda place: -model.tells[place])[:_MOST_REASONS]
    return [_SENTENCES[place] for place in strongest if model.tells[place] > 0]


class _Model(NamedTuple):
    threshold: float
    bias: float
    step: float
    words: tuple[int, ...]
    """A weight for each bucket, in steps."""
    tells: tuple[float, ...]


@cache
def _model() -> _Model:
    data: dict[str, Any] = json.loads(MODEL.read_bytes())
    # Bytes hold −128 … 127. Each number once, so that all of them lie close together.
    numbers = [(byte ^ 128) - 128 for byte in range(256)]
    words = tuple(numbers[byte] for byte in base64.b64decode(data["words"]))
    return _Model(data["threshold"], data["bias"], data["step"], words, tuple(data["tells"]))
