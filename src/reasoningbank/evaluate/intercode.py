"""The InterCode-SQL episodes: what each needed to know, what it had to find out, and whether a text says it.

This is the examiner: it knows tables, columns and the gold queries. The bank that is examined does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from reasoningbank.core.errors import NotFound
from reasoningbank.core.learning import Episode
from reasoningbank.core.values import dataclass
from reasoningbank.learn.ingest.benchmarks import intercode_in

FOLDER = "intercode-sql"
_UNKNOWN_NAME = re.compile(r"Unknown column|doesn't exist")
_DESCRIBES = re.compile(
    r"\s*(?:DESCRIBE|DESC|SHOW (?:FULL )?COLUMNS (?:FROM|IN))\s+[`']?(?:\w+\.)?(\w+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exam:
    episode: Episode
    database: str
    needed: Mapping[str, tuple[str, ...]]
    """Tables of the gold query, each with the columns that the query uses; in lower case."""
    described: frozenset[str]
    """Tables whose columns the agent looked up in this episode."""
    stumbled: bool
    """Its first action failed on an unknown table or column."""


def exams(data: Path) -> list[Exam]:
    folder = data / FOLDER
    if not folder.is_dir():
        raise NotFound(f"There is no {FOLDER} in {data}. `--data` names the folder that holds the evaluation sets.")
    told = json.loads((folder / "episodes-gpt-4.json").read_bytes())
    questions = json.loads((folder / "ic_spider_dev.json").read_bytes())
    ordered = [told[key] for key in sorted(told, key=int)]
    return [_exam(episode, question) for episode, question in zip(ordered, questions, strict=True)]


def _exam(told: Mapping[str, object], question: Mapping[str, object]) -> Exam:
    database = str(question["db"])
    (episode,) = intercode_in([told], database)
    tables = question["db_tables"]
    gold = str(question["gold"])
    if not isinstance(tables, Mapping):
        raise NotFound(f"The question {question.get('query')!r} names no tables.")
    return Exam(
        episode=episode,
        database=database,
        needed={
            table.lower(): tuple(column.lower() for column in columns if _word(column).search(gold))
            for table, columns in tables.items()
            if _word(table).search(gold)
        },
        described=frozenset(
            match.group(1).lower()
            for step in episode.steps
            if (match := _DESCRIBES.match(step.action)) and step.result.startswith("[(")
        ),
        stumbled=bool(episode.steps and _UNKNOWN_NAME.search(episode.steps[0].result)),
    )


def told_by_lines(text: str, needed: Mapping[str, Sequence[str]]) -> bool:
    """Every needed table stands in one line with all its needed columns."""
    lines = text.splitlines()
    return all(any(_has_all(line, (table, *columns)) for line in lines) for table, columns in needed.items())


def told_anywhere(text: str, needed: Mapping[str, Sequence[str]]) -> bool:
    return all(_has_all(text, (table, *columns)) for table, columns in needed.items())


def _has_all(text: str, names: Sequence[str]) -> bool:
    return all(_word(name).search(text) for name in names)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
