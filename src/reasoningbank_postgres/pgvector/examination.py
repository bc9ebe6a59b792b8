"""Holds an index in PostgreSQL against the records row by row, and its tables against one another.

Compared are of each row what a filter asks, its words and its tags; of all of them together how many there are of each
kind, how many postings each tenant has, and that vectors are filed like their rows. Not compared are the numbers of a
vector, and what the evidence amounts to.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.ports import WordRow
from reasoningbank_postgres.pgvector.build import PgvectorBuild
from reasoningbank_postgres.pgvector.packing import TERM_ENTRY_BYTES, number_list
from reasoningbank_postgres.pgvector.row_changes import KnownRow, known_rows, make_rows, rows_query
from reasoningbank_postgres.pgvector.tables import FACETS


class PgvectorExamination:
    def __init__(self, build: PgvectorBuild) -> None:
        self._build = build

    def differences(self, rows: Sequence[WordRow]) -> dict[str, str]:
        rows_by_id = {row.memory.id: row for row in rows}
        tables = self._build.tables
        [answer] = self._build.ask(None, rows_query(tables, list(rows_by_id)))
        index_rows = known_rows(answer)
        query = f"SELECT num, array_agg(tag) FROM {tables.tags} WHERE num = ANY(%s::bigint[]) GROUP BY num"
        [answer] = self._build.ask(None, (query, (number_list(row.num for row in index_rows.values()),)))
        tags: dict[int, list[str]] = dict(answer)
        differing: dict[str, str] = {}
        for memory_id, record_row in make_rows(rows_by_id).items():
            if memory_id not in index_rows:
                differing[memory_id] = "it is not in the index"
            elif difference := _difference(index_rows[memory_id], record_row):
                differing[memory_id] = f"the index knows {difference} of it"
            elif sorted(tags.get(index_rows[memory_id].num, ())) != sorted(set(rows_by_id[memory_id].memory.tags)):
                differing[memory_id] = "the index knows other tags of it"
        return differing

    def contradictions(self) -> list[str]:
        tables, facets = self._build.tables, ", ".join(FACETS)
        of_rows = f"SELECT {facets}, count(*), sum(length) FROM {tables.rows} GROUP BY {facets}"
        of_groups = f"SELECT {facets}, memories, length FROM {tables.groups} WHERE memories <> 0"
        of_row, of_vector = (", ".join(f"{table}.{column}" for column in ("id", *FACETS)) for table in "rv")
        questions = {
            "its counts are not those of its rows": (
                f"SELECT EXISTS (({of_rows}) EXCEPT ({of_groups})) OR EXISTS (({of_groups}) EXCEPT ({of_rows}))",
                (),
            ),
            "it has not the postings of its rows": (
                (
                    f"SELECT EXISTS (SELECT FROM (SELECT tenant, sum(length(terms) / {TERM_ENTRY_BYTES}) AS many "
                    f"FROM {tables.rows} GROUP BY tenant) AS r FULL JOIN (SELECT tenant, sum(holding) AS many, "
                    f"bool_and(length(entries) = 8 * holding) AS whole FROM {tables.postings} GROUP BY tenant) AS p "
                    "USING (tenant) WHERE coalesce(r.many, 0) <> coalesce(p.many, 0) OR NOT p.whole)"
                ),
                (),
            ),
            # One that is still owed may lie there as its memory was before.
            "its vectors are filed otherwise than its rows": (
                (
                    f"SELECT EXISTS (SELECT FROM {tables.vectors} v LEFT JOIN {tables.rows} r USING (num) "
                    f"WHERE ROW({of_row}) IS DISTINCT FROM ROW({of_vector})) AND vectors_applied >= words_applied "
                    "FROM index_builds WHERE name = %s"
                ),
                (self._build.name,),
            ),
        }
        answers = self._build.ask(None, *questions.values())
        return [problem for problem, answer in zip(questions, answers, strict=True) if answer and answer[0][0]]


def _difference(index_row: KnownRow, record_row: KnownRow) -> str:
    for name, value, record_value in zip(FACETS, index_row.facets, record_row.facets, strict=True):
        if value != record_value:
            return f"another {name.replace('_', ' ')}"
    return "" if index_row._replace(num=0) == record_row else "other words"
