"""Fork safety: what a forked child must not go on with, and when a process may be forked.

`fork()` copies the memory of a process and one of its threads: locks that the other threads held stay locked for ever,
and libraries believe to hold what only the parent holds. So

- a call into a library with locks of its own runs inside `unforked()`: a fork waits until all of these are over, and
  until no other thread is importing, since each module has a lock of its own while it is imported;
- whatever must be given up in a child says how, once, with `renew_in_child`;
- a child that was forked in the middle of such a call all the same is `torn`: it cannot use those libraries.

Independent of what is given up.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakMethod, WeakSet

_LOOK_EVERY_S = 0.001
PATIENCE_S = 5.0
"""How long a fork waits for the calls of other threads to end. Then the parent goes on, and the child is torn."""


class _Moment:
    """Who is where in this process, as a fork must know it; a child begins with a new one."""

    def __init__(self, *, torn: bool = False) -> None:
        self.process = os.getpid()
        self.torn = torn
        self.forking = threading.RLock()
        """Held during a fork, and while a thread makes itself known."""
        self.threads: WeakSet[Any] = WeakSet()
        """A lock for each thread, held during its calls."""
        self.mine = _Mine(self)
        self.held: list[Any] = []
        """The other threads' locks that a fork has asked for."""
        self.holds_imports = False


class _Mine(threading.local):
    def __init__(self, moment: _Moment) -> None:
        self.lock = threading.RLock()
        with moment.forking:
            moment.threads.add(self.lock)


_imports: Any = importlib.import_module("_imp")
_module_locks: dict[str, Any] = getattr(importlib._bootstrap, "_module_locks", {})  # noqa: SLF001 - CPython itself waits for the one lock of all imports, and forgets these
_heirs: dict[int, WeakMethod[Callable[[], None]]] = {}
_now = _Moment()


def unforked() -> Any:
    """Holds forks off while in its block, which a fork must not cut in two. It may be nested."""
    return _now.mine.lock


def is_torn() -> bool:
    """True if this process was forked in the middle of a call, so that the library behind it is beyond use here."""
    return _now.torn


def renew_in_child(act: Callable[[], None]) -> None:
    """Have a bound method called in every child, as long as its object lives. It runs before anything else there."""
    method = WeakMethod(act)
    _heirs[id(method)] = method
    dead = [key for key, heir in list(_heirs.items()) if heir() is None]
    for key in dead:
        _heirs.pop(key, None)


def notice_fork() -> None:
    """For a fork that Python was not told of: as if it had been."""
    if _now.process != os.getpid():
        _begin_child()


def _hold_threads() -> None:
    now = _now
    now.forking.acquire()
    mine, deadline = now.mine.lock, time.monotonic() + PATIENCE_S
    for lock in list(now.threads):
        if lock is not mine:
            # Noted first: an interrupt in between must not leave a thread locked out.
            now.held.append(lock)
            lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
    _hold_imports(now)
    while _others_import() and time.monotonic() < deadline:
        _let_imports_go_on(now)
        time.sleep(_LOOK_EVERY_S)
        _hold_imports(now)


def _hold_imports(now: _Moment) -> None:
    _imports.acquire_lock()
    now.holds_imports = True


def _let_imports_go_on(now: _Moment) -> None:
    if now.holds_imports:
        now.holds_imports = False
        _imports.release_lock()


def _others_import() -> bool:
    """Asked with the lock of all imports in hand, so that none begins meanwhile."""
    locks = [lock() for lock in list(_module_locks.values())]
    return any(getattr(lock, "owner", None) not in (None, threading.get_ident()) for lock in locks)


def _release_threads() -> None:
    now = _now
    _let_imports_go_on(now)
    while now.held:
        with suppress(RuntimeError):  # It was not granted in time.
            now.held.pop().release()
    with suppress(RuntimeError):
        now.forking.release()


def _begin_child() -> None:
    global _now  # noqa: PLW0603 - there is one process, and this is where it begins
    before = _now
    _let_imports_go_on(before)
    mine: Any = before.mine.lock
    others_rest = all(lock is mine or lock.acquire(blocking=False) for lock in list(before.threads))
    at_rest = others_rest and not mine._is_owned()  # noqa: SLF001 - there is no other way to ask, as `Condition` does
    _now = _Moment(torn=before.torn or not at_rest)
    for method in list(_heirs.values()):
        act = method()
        if act is not None:
            act()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_threads, after_in_parent=_release_threads, after_in_child=_begin_child)
