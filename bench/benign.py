"""Texts without secrets that nobody wrote for this: the evaluation data, the standard library, the installed packages.

Each comes in pieces of a memory's size, named by where it is from, so that a false alarm can be looked up.
"""

from __future__ import annotations

import csv
import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path

PIECE_CHARS = 2_000


def texts(data: Path | None) -> Iterator[tuple[str, str]]:
    """(where it is from, the text)."""
    yield from _sources(Path(sysconfig.get_path("stdlib")), "stdlib", ("*.py",), skip=("site-packages", "idlelib"))
    yield from _sources(Path(sysconfig.get_path("purelib")), "packages", ("*/METADATA", "*.md", "*.rst", "*.txt"))
    if data is not None:
        yield from _evaluation(data)


def _sources(
    folder: Path, name: str, patterns: tuple[str, ...], skip: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        for path in sorted(folder.rglob(pattern)):
            if path.is_file() and not any(part in skip for part in path.parts) and path.stat().st_size < 400_000:
                text = path.read_text("utf-8", errors="replace")
                for number, start in enumerate(range(0, len(text), PIECE_CHARS)):
                    yield f"{name}:{path.relative_to(folder)}#{number}", text[start : start + PIECE_CHARS]


def _evaluation(data: Path) -> Iterator[tuple[str, str]]:  # noqa: C901 - one for each set
    for part in ("train", "test"):
        with (data / "banking77" / f"{part}.csv").open(encoding="utf-8") as file:
            yield from ((f"banking77:{part}#{i}", row["text"]) for i, row in enumerate(csv.DictReader(file)))
    clinc = json.loads((data / "clinc150" / "data_small.json").read_text("utf-8"))
    for part, rows in clinc.items():
        yield from ((f"clinc150:{part}#{i}", row[0]) for i, row in enumerate(rows))
    for name in ("corpus", "queries"):
        yield from (
            (f"scifact:{name}#{i}", row["text"]) for i, row in enumerate(_lines(data / "scifact" / f"{name}.jsonl"))
        )
    tasks = json.loads((data / "webarena-tasks" / "test.raw.json").read_text("utf-8"))
    yield from ((f"webarena#{i}", task["intent"]) for i, task in enumerate(tasks))
    for name in ("train", "validation"):
        for i, row in enumerate(_lines(data / "memory-poisoning" / f"{name}.jsonl")):
            if str(row.get("label")).lower() in ("clean", "benign", "0"):
                yield f"memory-poisoning:{name}#{i}", row["content"]
    for path in sorted((data / "tau-retail").glob("*.json")):
        for i, run in enumerate(json.loads(path.read_text("utf-8"))):
            for j, message in enumerate(run["traj"]):
                yield f"tau:{path.stem}#{i}.{j}", json.dumps(message, ensure_ascii=False)
    for i, episode in enumerate(_episodes(data / "intercode-sql" / "episodes-gpt-4.json")):
        yield f"intercode#{i}", json.dumps(episode, ensure_ascii=False)[:20_000]


def _episodes(path: Path) -> list[object]:
    found = json.loads(path.read_text("utf-8"))
    return list(found.values()) if isinstance(found, dict) else found


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
