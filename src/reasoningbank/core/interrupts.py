"""Notes on an interrupt what became of the write that it came into.

Ctrl-C, a signal's handler or another thread may raise an error anywhere, also right after a commit. Whoever catches it
is told whether the write was made: in a note, which a traceback shows, and by `was_written`.
"""

from __future__ import annotations

_WRITTEN = {
    True: "The write to {place} that was interrupted here had been committed: it is there.",
    False: "The write to {place} was interrupted before its commit. Nothing was written: try again.",
    None: (
        "Whether the write to {place} that was interrupted here was committed is not known: look for what it wrote, or "
        "store it again under the same key."
    ),
}


def in_words(place: str, is_committed: bool | None) -> str:
    return _WRITTEN[is_committed].format(place=place)


def tell(error: BaseException, place: str, is_committed: bool | None) -> None:
    error.add_note(in_words(place, is_committed))
    error.__dict__["reasoningbank_written"] = is_committed


def was_written(error: BaseException) -> bool | None:
    """True if the write that the error came into was committed, False if not; None when that is not known."""
    is_committed = error.__dict__.get("reasoningbank_written")
    return is_committed if isinstance(is_committed, bool) else None
