"""Error messages for a model: what happened and what to do, without a path, a stack or a secret.

Messages of the store name files, so sentences of our own stand in for them; other messages of ours leave as they are.
"""

from __future__ import annotations

import logging

from reasoningbank.core.errors import (
    BankBusy,
    BankDamaged,
    BankError,
    BankFull,
    BankMoved,
    BankReadOnly,
    EmbedderError,
    IndexUnavailable,
    StoreError,
)

logger = logging.getLogger("reasoningbank.mcp")

MOST_CHARS = 500
UNEXPECTED = "Something went wrong inside the memory server; nothing more is known here. Go on without it."
_STORE: tuple[tuple[type[BankError], str], ...] = (
    (BankBusy, "The bank is busy and nothing was changed. Try the same call again in a moment."),
    (BankMoved, "This bank was moved to another place. Go on without storing, and tell the user to name the new one."),
    (BankReadOnly, "This bank can only be read. Go on without storing, and tell the user."),
    (BankFull, "The disk is full and nothing was stored. Tell the user; searching still works."),
    (BankDamaged, "A record of the bank is damaged. Tell the user to run 'reasoningbank verify'."),
    (
        IndexUnavailable,
        "The index cannot be reached; storing goes on. Tell the user to run 'reasoningbank doctor'.",
    ),
    (StoreError, "The bank cannot be used right now. Tell the user to run 'reasoningbank doctor'."),
)
"""Messages of the store name files of this machine, so these stand in for them."""


def sentence(error: Exception) -> str:
    if not isinstance(error, BankError):
        logger.error("a call failed unexpectedly", exc_info=error)
        return UNEXPECTED
    for kind, text in _STORE:
        if isinstance(error, kind):
            logger.warning("%s: %s", type(error).__name__, error)
            return text
    text = str(error)
    if isinstance(error, EmbedderError):
        logger.warning("%s: %s", type(error).__name__, error)
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}…"
