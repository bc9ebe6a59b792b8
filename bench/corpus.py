"""Texts to measure with: memories that look like memories, and questions about them.

Knows how words are distributed and how a question is made from a stored memory, so that there is a right answer.
Everything comes from a seed: the same numbers give the same texts on every machine. With a folder of real data, the
texts are cut from that instead; the shape of a memory stays the same.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

VOCABULARY = 50_000
NAMESPACE_SHARES = {"web": 30, "api": 20, "data": 15, "infra": 12, "mobile": 10, "docs": 8, "games": 4, "lab": 1}
TAGS = ("go", "rust", "sql", "ci", "auth", "cache", "tests", "deploy", "logs", "ui")
AGENTS = ("planner", "coder", "reviewer")
TASK_TYPES = ("fix", "feature", "research")

# The commonest words of English, so that the head of the distribution is what it is in real text.
_COMMON = """
the of and to a in is for on that with as it be this are by from at or an not use when if you can will before should
after all run set file which has one only code each test first then error data into its was every but new check make
without so also any do must more than other no value name type call time request
"""
_SYLLABLES = [c + v + e for c in "bdfgklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s", "l")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    answer: int | None
    """The number of the memory that it was made from."""
    namespace: str


class Corpus:
    """Memory number n is always the same, so any range of them can be made again without keeping them."""

    def __init__(self, seed: int = 7, data: Path | None = None) -> None:
        self._seed = seed
        self._texts = _real_texts(data) if data is not None else []
        rng = random.Random(seed)
        words = dict.fromkeys(_COMMON.split())
        while len(words) < VOCABULARY:
            words["".join(rng.choices(_SYLLABLES, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
        self._words = list(words)
        self._weights = list(accumulate(1.0 / rank for rank in range(1, VOCABULARY + 1)))

    @property
    def name(self) -> str:
        return f"real-{len(self._texts)}" if self._texts else f"zipf-{self._seed}"

    def draft(self, number: int) -> dict[str, object]:
        """The fields of `Bank.record`."""
        rng = random.Random(self._seed * 1_000_003 + number)
        words = self._source(rng)
        spaces, shares = list(NAMESPACE_SHARES), list(NAMESPACE_SHARES.values())
        return {
            "title": words(rng.randint(3, 8)),
            "description": words(rng.randint(8, 20)),
            "content": words(rng.randint(20, 60)),
            "outcome": "success" if rng.random() < 0.7 else "failure",
            "namespace": rng.choices(spaces, shares)[0],
            "tags": tuple(rng.sample(TAGS, rng.randint(0, 3))),
            "agent": rng.choice(AGENTS),
            "task_type": rng.choice(TASK_TYPES),
        }

    def drafts(self, count: int, first: int = 0) -> Iterator[dict[str, object]]:
        return (self.draft(number) for number in range(first, first + count))

    def text(self, number: int) -> str:
        """What the hash embedder sees of a memory."""
        draft = self.draft(number)
        return f"{draft['title']}\n{draft['description']}\n{draft['content']}"

    def questions(self, count: int, scale: int, seed: int = 1) -> list[Question]:
        """Every other one is made from a memory below `scale`; no two are alike, so no cache answers them."""
        rng = random.Random(f"{self._seed} {seed} {scale}")
        return [self._about(rng, scale) if number % 2 == 0 else self._free(rng) for number in range(count)]

    def _about(self, rng: random.Random, scale: int) -> Question:
        number = rng.randrange(scale)
        draft = self.draft(number)
        words = f"{draft['title']} {draft['description']} {draft['content']}".split()
        length = min(len(words), rng.randint(5, 15))
        start = rng.randrange(len(words) - length + 1)
        stranger = self._source(rng)
        kept = [word if rng.random() < 0.75 else stranger(1) for word in words[start : start + length]]
        if rng.random() < 0.5:
            rng.shuffle(kept)
        return Question(text=" ".join(kept), answer=number, namespace=str(draft["namespace"]))

    def _free(self, rng: random.Random) -> Question:
        words = self._source(rng)
        return Question(text=words(rng.randint(5, 15)), answer=None, namespace=rng.choice(list(NAMESPACE_SHARES)))

    def _source(self, rng: random.Random):
        if not self._texts:
            return lambda count: " ".join(rng.choices(self._words, cum_weights=self._weights, k=count))

        def cut(count: int) -> str:
            text = rng.choice(self._texts)
            start = rng.randrange(max(1, len(text) - count))
            return " ".join(text[start : start + count])

        return cut


def _real_texts(data: Path) -> list[list[str]]:
    """The words of abstracts and short queries, from the evaluation folder."""
    abstracts = (data / "scifact" / "corpus.jsonl").read_text("utf-8").splitlines()
    texts = [str(json.loads(line)["text"]) for line in abstracts]
    for rows in json.loads((data / "clinc150" / "data_small.json").read_text("utf-8")).values():
        texts.extend(text for text, _ in rows)
    return [words for text in texts if len(words := re.findall(r"\S+", text)) >= 3]
