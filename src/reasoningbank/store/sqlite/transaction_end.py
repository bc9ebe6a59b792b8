"""The last look of a writing transaction before it is committed, asked in one statement.

Each is read to its end: an error that is raised afterwards keeps the cursor, and with a row to come that keeps the file
open when its connection is closed.
"""

from __future__ import annotations

from typing import Any

import apsw

from reasoningbank.store.closed import WHY_CLOSED
from reasoningbank.store.sqlite import statements
from reasoningbank.store.sqlite.stamps import Stamp

_WHY_CLOSED, _NAMED = statements.select(WHY_CLOSED, None)
_END = f"SELECT (SELECT mark FROM stamp), (SELECT max(seq) FROM feed), ({_WHY_CLOSED})"


def end_of_transaction(cursor: apsw.Cursor) -> tuple[Stamp | None, int, str | None]:
    """The stamp, the newest number of the feed, and why the bank takes no writes; None where it does."""
    row: Any
    (row,) = cursor.execute(_END, _NAMED).fetchall()
    return Stamp.from_bytes(row[0] or b""), row[1] or 0, row[2]


def reason_of_closing(cursor: apsw.Cursor) -> str | None:
    """That alone, for a bank that keeps no note of what it acknowledged."""
    rows: list[Any] = cursor.execute(_WHY_CLOSED, _NAMED).fetchall()
    return str(rows[0][0]) if rows else None
