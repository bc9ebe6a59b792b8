"""Texts for judging the guard: poisoned and clean memories, and ordinary texts that nobody wrote as an attack."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_PER_SET = 3_000


@dataclass(frozen=True, slots=True)
class Entry:
    text: str
    poisoned: bool
    attack: str


def poisoning(data: Path, split: str) -> list[Entry]:
    lines = (data / "memory-poisoning" / f"{split}.jsonl").read_text("utf-8").splitlines()
    rows = (json.loads(line) for line in lines if line.strip())
    return [Entry(row["content"], row["label"] == "poisoned", row["attack_type"]) for row in rows]


def ordinary_texts(data: Path, part: int, parts: int = 2) -> dict[str, list[str]]:
    """By set; `part` 0 may be fitted on, the others are for reporting. Parts are cut by position, one text in turn."""
    sets = {
        "banking77": _banking(data),
        "clinc150": _clinc(data),
        "scifact": _scifact(data),
        "webarena": _webarena(data),
        "tau-retail": _tau(data),
        "intercode": _intercode(data),
    }
    return {name: _spread(list(texts))[part::parts] for name, texts in sets.items()}


def _spread(texts: list[str]) -> list[str]:
    step = max(1, len(texts) // MOST_PER_SET)
    return texts[::step][:MOST_PER_SET]


def _banking(data: Path) -> Iterator[str]:
    with (data / "banking77" / "train.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield row["text"]


def _clinc(data: Path) -> Iterator[str]:
    for text, _ in json.loads((data / "clinc150" / "data_small.json").read_text("utf-8"))["train"]:
        yield text


def _scifact(data: Path) -> Iterator[str]:
    for line in (data / "scifact" / "corpus.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        yield f"{row['title']}\n{row['text']}"


def _webarena(data: Path) -> Iterator[str]:
    for row in json.loads((data / "webarena-tasks" / "test.raw.json").read_text("utf-8")):
        yield row["intent"]


def _tau(data: Path) -> Iterator[str]:
    seen: set[str] = set()
    for file in sorted((data / "tau-retail").glob("*.json")):
        for run in json.loads(file.read_text("utf-8")):
            for message in run["traj"]:
                text = message.get("content") or ""
                if message["role"] in ("user", "assistant", "tool") and len(text) > 40 and text not in seen:
                    seen.add(text)
                    yield text


def _intercode(data: Path) -> Iterator[str]:
    episodes = json.loads((data / "intercode-sql" / "episodes-gpt-4.json").read_text("utf-8"))
    for episode in episodes.values() if isinstance(episodes, dict) else episodes:
        actions = episode["turn_history"]["actions"]
        yield f"{episode['query']}\n{actions[-1] if actions else ''}"
