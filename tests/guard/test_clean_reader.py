"""A reader for answers scrubs whatever it gives: a method that hands out records may not be passed through."""

from __future__ import annotations

import inspect
import re

from reasoningbank.guard.clean_store import CleanReader, CleanWriter
from reasoningbank.ports import Reader, RecordChanges, SideRecordChanges

RECORDS = re.compile(r"\b(R|S|Memory|Lease|Record|SideRecord)\b")
KEEPS_AS_GIVEN = {"rewrite", "rewrite_side_record", "keep_trust", "remove"}
"""What a sweep has decided, and what keeps nothing of a record's text."""


def test_no_reader_of_answers_lets_a_record_pass_unscrubbed() -> None:
    giving = [
        name
        for name, method in inspect.getmembers(Reader, inspect.isfunction)
        if not name.startswith("_") and RECORDS.search(str(method.__annotations__["return"]))
    ]
    assert {"get", "select", "select_either", "revisions"} <= set(giving)
    assert [name for name in giving if name not in vars(CleanReader)] == []


def test_no_writer_lets_a_record_in_unscrubbed() -> None:
    taking = [
        name
        for port in (RecordChanges, SideRecordChanges)
        for name, method in inspect.getmembers(port, inspect.isfunction)
        if not name.startswith("_")
        and any(RECORDS.search(str(kind)) for to, kind in method.__annotations__.items() if to != "return")
    ]
    assert [name for name in taking if name not in vars(CleanWriter) and name not in KEEPS_AS_GIVEN] == []
