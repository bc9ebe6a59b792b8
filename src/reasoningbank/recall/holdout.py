"""Hold-out: withholds a memory now and then, so that its uplift can be measured.

Whether a memory is withheld from a session is a matter of chance and of nothing else: not of the task, the agent or
what else was found. So the sessions that did without it differ from those that had it in that one thing, and the
difference between their outcomes is what it is worth (`core.uplift`). The chance is drawn from the two ids: the
same search again in one session gives the same answer, in any process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Remembered

H = TypeVar("H", bound=Remembered)

LARGEST_SHARE = 0.5


def checked_share(value: object) -> float:
    try:
        share = float(str(value))
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= LARGEST_SHARE:
        raise InvalidInput(f"holdout must be a number from 0 (off) to {LARGEST_SHARE:g}, not {value!r}.")
    return share


def divide(hits: Sequence[H], session: str | None, share: float) -> tuple[list[H], list[H]]:
    """Hits to show, and hits that are withheld. Outside a session no outcome could tell, so nothing is withheld."""
    if session is None or not share:
        return list(hits), []
    withheld_ids = {hit.id for hit in hits if draw_share(session, hit.id) < share}
    return [hit for hit in hits if hit.id not in withheld_ids], [hit for hit in hits if hit.id in withheld_ids]


def draw_share(session: str, memory_id: str) -> float:
    """Evenly between 0 and 1; a session's id is random enough to make it so."""
    digest = blake2b(f"{session} {memory_id}".encode("utf-8", "surrogatepass"), digest_size=7).digest()
    return int.from_bytes(digest, "big") / (1 << 56)
