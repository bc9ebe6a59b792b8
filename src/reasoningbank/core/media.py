"""Translates errors of the operating system into typed errors with a remedy.

The doors of the store and of the index translate with it, so that no caller meets a raw `OSError`.
"""

from __future__ import annotations

import errno
from types import TracebackType

from reasoningbank.core.errors import BankFull, BankReadOnly, BankUnavailable, StoreError

_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_REFUSED = frozenset({errno.EACCES, errno.EPERM})
_TOO_MANY = frozenset({errno.EMFILE, errno.ENFILE})


def named_fault(error: OSError, what: str) -> StoreError:
    if error.errno in _FULL:
        return BankFull(f"The disk that holds {what} is full: make room and try again. Nothing from before is lost.")
    if error.errno == errno.EROFS:
        return BankReadOnly(f"{what} lies on a disk that can only be read: mount it for writing, or use a copy.")
    if error.errno in _REFUSED:
        return BankReadOnly(f"{what} may not be used as asked: check the permissions of its files and folders.")
    if error.errno in _TOO_MANY:
        return BankUnavailable(
            f"Too many files are open to use {what}: close some, or raise the limit (`ulimit -n`), and try again."
        )
    if isinstance(error, FileNotFoundError):
        return BankUnavailable(f"{what} is gone, or a folder on the way to it is: put it back, or open it again.")
    reason = error.strerror or type(error).__name__
    return BankUnavailable(f"The medium that holds {what} reported an error ({reason}): check the disk and try again.")


class faults_of:  # noqa: N801 - reads as a phrase after `with`
    """`with faults_of("the index …"):` whatever the operating system refuses there is a `StoreError` outside."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise named_fault(error, self._what) from error
