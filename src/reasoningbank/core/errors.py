"""Every error that the project raises on purpose, drawn as one tree.

    BankError
    ├── InvalidInput            the caller's argument cannot be used as it is
    ├── NotFound                no such memory, trajectory or edge here
    ├── Conflict                the record changed since it was read
    ├── Refused                 whoever asks may not do this
    │   └── Unauthenticated     nobody knows who asks: the token is missing, unknown, expired or revoked
    ├── StoreError              the file or server with the records
    │   ├── BankUnavailable     missing, unreadable, or on a medium that refuses
    │   │   └── BankReplaced    its file or its log was moved, replaced, cut or taken away behind our back
    │   ├── BankBusy            another process held it for too long; it is healthy, try again
    │   ├── BankReadOnly        can be read, cannot be written
    │   │   └── BankMoved       another store has its records now, and takes the writes
    │   ├── BankFull            the disk has no room; nothing was half-written
    │   ├── BankForeign         a file, but not a bank
    │   ├── BankTooNew          written by a newer version of this program
    │   ├── BankTooOld          made by a version whose tables this program does not know any more
    │   └── BankDamaged         a row or page does not match its checksum
    ├── EmbedderError           a text could not be turned into a vector
    │   └── EmbedderMismatch    the bank was indexed with another embedder
    ├── LLMError                a model did not answer as asked
    │   ├── LLMUnavailable      an outage or a spent budget: the same request may work later
    │   │   ├── LLMOverloaded     a rate limit, or a server that says that it cannot now
    │   │   ├── LLMTimedOut       no whole answer within its time
    │   │   ├── LLMUnreadable     an answer in no form of the protocol
    │   │   └── LLMMisconfigured  a wrong key, an unknown model or address: works once somebody mends it
    │   └── LLMRefused          the request itself cannot work, or its answer is of no use
    ├── LeaseLost               the job was taken over by another worker; what was done for it is dropped
    ├── ImportRejected          a file that cannot be read as any known layout
    └── MissingExtra            an optional library is not installed

A message says what happened and what to do about it, and never carries a secret or a stack.
"""

from __future__ import annotations


class BankError(Exception):
    """Anything this project refuses or fails to do."""

    exit_code = 1


class InvalidInput(BankError):
    exit_code = 2


class NotFound(BankError):
    exit_code = 3


class Conflict(BankError):
    exit_code = 4


class Refused(BankError):
    exit_code = 9


class Unauthenticated(Refused):
    pass


class StoreError(BankError):
    exit_code = 5


class BankUnavailable(StoreError):
    pass


class BankReplaced(BankUnavailable):
    pass


class IndexUnavailable(BankUnavailable):
    """The engine that keeps the index does not answer; the records are there."""


class BankBusy(StoreError):
    exit_code = 6


class BankReadOnly(StoreError):
    pass


class BankMoved(BankReadOnly):
    def __init__(self, message: str, *, place: str) -> None:
        super().__init__(message)
        self.place = place
        """Where the bank is now."""


class BankFull(StoreError):
    pass


class BankForeign(StoreError):
    pass


class BankTooNew(StoreError):
    pass


class BankTooOld(StoreError):
    def __init__(self, place: str, version: int) -> None:
        super().__init__(
            f"{place} was made by an older version of this program (schema {version}). Export it with that version "
            "(`reasoningbank export FILE`), then `reasoningbank import FILE` into a new bank with this one; nothing "
            "was touched."
        )


class BankDamaged(StoreError):
    pass


class EmbedderError(BankError):
    exit_code = 7


class EmbedderMismatch(EmbedderError):
    pass


class LLMError(BankError):
    exit_code = 10


class LLMUnavailable(LLMError):
    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """When the other side said so."""


class LLMOverloaded(LLMUnavailable):
    pass


class LLMTimedOut(LLMUnavailable):
    pass


class LLMUnreadable(LLMUnavailable):
    pass


class LLMMisconfigured(LLMUnavailable):
    pass


class LLMRefused(LLMError):
    pass


class LeaseLost(BankError):
    exit_code = 4


class ImportRejected(BankError):
    exit_code = 2


class MissingExtra(BankError):
    exit_code = 8

    def __init__(self, *, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}'. Install it with: pip install 'reasoningbank[{extra}]' "
            f"(in a checkout: pip install '.[{extra}]')"
        )
        self.package = package
        self.extra = extra
