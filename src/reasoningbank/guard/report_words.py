"""The words that programs use when they report what went wrong, and little else (`report_words.txt`).

A message that is made of these, of names and of the reader's own words is a report. Verbs that tell a reader what to do
are few there on purpose.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def report_words() -> frozenset[str]:
    return frozenset((Path(__file__).parent / "report_words.txt").read_text("utf-8").split())
