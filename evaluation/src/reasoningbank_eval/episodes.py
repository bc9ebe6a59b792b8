"""Which sets of episodes lie in a folder, told by the shape of their files and never by a name.

    {"0": {"query", "turn_history"}, …} beside [{"query", "db", "gold", "db_tables"}…]     InterCode, about databases

What is asked of the episodes is the business of `intercode`; other shapes are read by `cases`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from reasoningbank import NotFound
from reasoningbank.learn.ingest.intercode import is_intercode
from reasoningbank_eval.reading import json_of

LARGEST_FILE_BYTES = 500_000_000
T = TypeVar("T")
Pair = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A session, and the question it was about."""


def intercode_sets(data: Path) -> dict[str, list[Pair]]:
    """Sessions with their questions by the name of the set: every file of sessions with the questions beside it."""
    sets = _sets(data, _pairs_in)
    if not sets:
        raise NotFound(
            f"No InterCode sessions with their questions lie in {data}. `--data` names the folder that holds the "
            "evaluation sets; docs/evaluation.md lists the shapes."
        )
    return sets


def _sets(data: Path, sets_in: Callable[[Path], Iterator[tuple[str, list[T]]]]) -> dict[str, list[T]]:
    return dict(entry for folder in folders_in(data) for entry in sets_in(folder))


def folders_in(data: Path) -> list[Path]:
    """The folder itself and those in it."""
    if not data.is_dir():
        raise NotFound(f"There is no folder {data}. `--data` names the folder that holds the evaluation sets.")
    return [data, *sorted(path for path in data.iterdir() if path.is_dir() and not path.name.startswith("."))]


def _pairs_in(folder: Path) -> Iterator[tuple[str, list[Pair]]]:
    values = [(path, listed(json_of(path))) for path in json_files(folder)]
    questions = [rows for _, rows in values if rows and all(_is_question(row) for row in rows)]
    session_files = [(path, rows) for path, rows in values if rows and all(is_intercode(row) for row in rows)]
    for path, sessions in session_files:
        for question_rows in questions:
            pairs = _paired(sessions, question_rows)
            if pairs:
                yield (folder.name if len(session_files) == 1 else f"{folder.name}/{path.stem}"), pairs
                break


def json_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if path.stat().st_size <= LARGEST_FILE_BYTES)


def listed(value: object) -> list[Any]:
    """The rows of a file, whether it lists or numbers them."""
    if isinstance(value, Mapping) and all(key.isdecimal() for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return value if isinstance(value, list) else []


def _is_question(row: object) -> bool:
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("db_tables"), Mapping)
        and all(isinstance(row.get(name), str) for name in ("query", "db", "gold"))
    )


def _paired(sessions: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """In the order of the sessions. Two databases may be asked the same, so the place counts before the words."""
    by_words = {question["query"]: question for question in reversed(questions)}
    pairs: list[Pair] = []
    for number, session in enumerate(sessions):
        there = questions[number] if number < len(questions) else None
        own = there if there and there["query"] == session.get("query") else by_words.get(session.get("query", ""))
        if own is not None:
            pairs.append((session, own))
    return pairs
