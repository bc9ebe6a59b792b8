"""What a scenario expects, and the sentence that says what was found instead."""

from __future__ import annotations

_SHOWN_CHARS = 1_500


class Missed(AssertionError):
    """An expectation that did not hold, with what there was."""


def expect(holds: object, what: str, shown: object = "") -> None:
    if not holds:
        told = str(shown)
        raise Missed(f"{what}" + (f"\nfound: {told[-_SHOWN_CHARS:]}" if told else "\nfound: nothing"))
