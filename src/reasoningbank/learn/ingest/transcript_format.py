"""The contract of a transcript's reader: its name, how it knows its own, how it reads them.

A reader is one file with a `FORMAT`, and a line in the table of `sniff`. It is handed JSON values (the lines of a file,
or the parts of a document that it says it knows), or the whole text of a file that is no JSON. It never raises for
strange contents and passes over what is not its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptFormat:
    name: str
    """As `ingest --format` takes it."""
    about: str
    """One line for the documents: what is written in this format."""
    knows: Callable[[object], bool]
    """True for a value in this format: a record of a session, a whole session, or a list of records."""
    episodes: Callable[[Iterable[Any], str], Iterator[Episode]]
    """The sessions in the values of one file, for a namespace. Of one nobody asks anything in, nothing."""
    hint: str = ""
    """The likely cause when nothing was done in it, in a sentence."""
    takes: Callable[[object], bool] | None = None
    """Which values it is handed, where those are more than mark the format; else what it knows."""
