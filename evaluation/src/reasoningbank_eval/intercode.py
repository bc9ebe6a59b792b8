"""The InterCode-SQL episodes: what each needed to know, what it had to find out, and whether a text says it.

This is the examiner: it knows tables, columns and the gold queries. The bank that is examined does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reasoningbank import Episode, EpisodeStep
from reasoningbank.core.frozen import dataclass
from reasoningbank.learn.ingest.intercode import intercode_in
from reasoningbank.learn.offline.failure_kind import reads_as_failure
from reasoningbank_eval.episodes import intercode_sets

_UNKNOWN_NAME = re.compile(
    r"Unknown column|doesn't exist|no such (?:table|column)|(?:relation|column) .* does not exist"
)
_DESCRIBES = re.compile(
    r"\s*(?:DESCRIBE|DESC|SHOW (?:FULL )?COLUMNS (?:FROM|IN))\s+[`']?(?:\w+\.)?(\w+)", re.IGNORECASE
)
_NAMES = re.compile(r"\w+")
_DESCRIBES_ELSEWHERE = re.compile(
    r"""\s*(?:PRAGMA\s+table_info\s*\(|\.schema\s|\\d\+?\s)\s*['"]?(\w+)""", re.IGNORECASE
)
"""The same for SQLite and PostgreSQL; the figures for MySQL have a ceiling by the first alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exam:
    episode: Episode
    database: str
    needed: Mapping[str, tuple[str, ...]]
    """Tables of the gold query, each with the columns that the query uses; in lower case."""
    described: frozenset[str]
    """Tables whose columns the agent looked up in this episode."""
    used: Mapping[str, frozenset[str]]
    """Tables that a query of this episode named and got rows for, with the columns that it named beside them."""
    stumbled: bool
    """Its first action failed on an unknown table or column."""


def exams(data: Path) -> dict[str, list[Exam]]:
    """Exams by the name of the set, in file order."""
    return {
        name: [_exam(session, question) for session, question in pairs] for name, pairs in intercode_sets(data).items()
    }


def _exam(session: Mapping[str, Any], question: Mapping[str, Any]) -> Exam:
    database = str(question["db"])
    (episode,) = intercode_in([session], database)
    gold = str(question["gold"])
    return Exam(
        episode=episode,
        database=database,
        needed={
            table.lower(): tuple(column.lower() for column in columns if _word(column).search(gold))
            for table, columns in question["db_tables"].items()
            if _word(table).search(gold)
        },
        used=_used(episode, question["db_tables"]),
        described=frozenset(table_name for step in episode.steps if (table_name := _described(step))),
        stumbled=bool(episode.steps and _UNKNOWN_NAME.search(episode.steps[0].result)),
    )


def _used(episode: Episode, tables: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    by_table: dict[str, frozenset[str]] = {}
    for step in episode.steps:
        words = {word.lower() for word in _NAMES.findall(step.action)} if step.result.startswith("[(") else set[str]()
        for table, columns in tables.items():
            if table.lower() in words:
                names = frozenset(column.lower() for column in columns if column.lower() in words)
                by_table[table.lower()] = by_table.get(table.lower(), frozenset()) | names
    return by_table


def _described(step: EpisodeStep) -> str:
    """The table whose columns a step has shown; nothing when it has shown none."""
    match = _DESCRIBES.match(step.action)
    if match:
        return match.group(1).lower() if step.result.startswith("[(") else ""
    match = _DESCRIBES_ELSEWHERE.match(step.action)
    has_rows = match and step.result.strip() and not reads_as_failure(step.result)
    return match.group(1).lower() if match and has_rows else ""


def told_by_lines(text: str, columns_by_table: Mapping[str, Sequence[str]]) -> bool:
    """Every needed table stands in one line with all its needed columns."""
    lines = text.splitlines()
    return all(any(_has_all(line, (table, *columns)) for line in lines) for table, columns in columns_by_table.items())


def told_anywhere(text: str, columns_by_table: Mapping[str, Sequence[str]]) -> bool:
    return all(_has_all(text, (table, *columns)) for table, columns in columns_by_table.items())


def _has_all(text: str, names: Sequence[str]) -> bool:
    return all(_word(name).search(text) for name in names)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
