"""An interrupt at every single step of a write: what is said about the write afterwards is true."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Memory, Scope, State
from reasoningbank.core.types import Outcome as Ending
from reasoningbank.ports import Writer
from reasoningbank.store import group_commit
from reasoningbank.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
"""What an interrupt left open the interpreter closes, and says so."""
WITHIN_S = 600.0
LATEST_STEP = 2_000


@pytest.fixture(autouse=True)
def nothing_else_to_interrupt() -> Iterator[None]:
    """What other tests left behind may be called when it is collected; an interrupt there reaches nobody."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Interrupt:
    """Raises in this thread at the nth step from now on, where the interpreter lets an interrupt in: when a function of
    Python begins, and when one of C has returned, but for the entry into a `with`.
    """

    def __init__(self, step: int, error: type[BaseException], again_after: int | None = None) -> None:
        self._left = [step] if again_after is None else [step, again_after]
        self._error = error
        self.came = False

    def __enter__(self) -> Self:
        sys.setprofile(self._step)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _step(self, frame: Any, event: str, given: Any) -> None:
        if event not in ("call", "c_return") or getattr(given, "__name__", "") in ("setprofile", "__enter__"):
            return
        if frame.f_code is Interrupt.__exit__.__code__ or not self._left:
            return
        self._left[0] -= 1
        if self._left[0] <= 0:
            self._left.pop(0)
            self.came = True
            raise self._error


def a_memory(name: str) -> Memory:
    return Memory(
        id=name, tenant="t", namespace="n", scope=Scope.PROJECT, title=name, description="", content="c",
        outcome=Ending.SUCCESS, key=None, tags=(), agent=None, task_type=None, cognitive_pattern=None, origin="user",
        parents=(), source=None, metadata={}, initial_confidence=0.5, created_at=1.0, updated_at=1.0, revision=1,
        state=State.ACTIVE,
    )  # fmt: skip


def adding(name: str) -> Callable[[Writer], str]:
    def change(writer: Writer) -> str:
        writer.add(a_memory(name))
        return name

    return change


def claim(act: Callable[[], object]) -> bool | None:
    """What somebody is told about a write: it is written, it is not, or nothing."""
    try:
        act()
    except BaseException as error:  # noqa: BLE001 - the interrupt itself, too
        said = " ".join([str(error), *getattr(error, "__notes__", [])])
        if "Nothing was written" in said:
            return False
        return True if "had been committed" in said else None
    return True


@pytest.fixture
def store(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    # Two interrupts at once may take the leader away; whoever waits finds that out after a while, and here soon.
    monkeypatch.setattr(group_commit, "LOST_AFTER_S", 0.05)
    store = SqliteStore(path, durability="normal")
    store.write("t", adding("first"))
    yield store
    store.close()


def names_in(store: SqliteStore) -> set[str]:
    with store.read("t") as reader:
        return {memory.id for memory in reader.select(Memory, {})}


class Alarm(Exception):
    """As a signal's handler may raise it."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, Alarm])
@pytest.mark.parametrize("again_after", [None, 1, 5, 17], ids=lambda n: "once" if n is None else f"again after {n}")
def test_what_is_said_of_a_write_that_is_interrupted_anywhere_is_true(
    store: SqliteStore, error: type[BaseException], again_after: int | None
) -> None:
    told: dict[str, bool | None] = {}
    for step in range(1, LATEST_STEP):
        name = f"mem_{step}"
        interrupt = Interrupt(step, error, again_after)

        def act(name: str = name, interrupt: Interrupt = interrupt) -> None:
            with interrupt:
                store.write("t", adding(name))

        told[name] = claim(act)
        if not interrupt.came:
            break
    else:
        pytest.fail("a write takes more steps than were tried")
    there = names_in(store)
    assert {name for name, said in told.items() if said is True} <= there
    assert {name for name, said in told.items() if said is False}.isdisjoint(there)
    if again_after is None and error is KeyboardInterrupt:
        unsaid = [name for name, said in told.items() if said is None]
        assert len(unsaid) < len(told) / 4, "only outside of the write itself nothing is said"
    store.write("t", adding("last"))
    assert "last" in names_in(store)
    assert [change.seq for change in store.changes(0, 10_000)] == list(range(1, len(there) + 2))


def waiting(store: SqliteStore, count: int) -> None:
    deadline = time.monotonic() + WITHIN_S
    while len(store.engine._commits.queue) < count:
        assert time.monotonic() < deadline
        time.sleep(0.0005)


@contextmanager
def held_turn(store: SqliteStore) -> Iterator[list[threading.Thread]]:
    """Somebody writes for as long as the block lasts; then it and all threads in the list come to their end."""
    begun, go = threading.Event(), threading.Event()

    def hold(writer: Writer) -> None:
        del writer
        begun.set()
        assert go.wait(WITHIN_S)

    threads = [threading.Thread(target=store.write, args=("t", hold), daemon=True)]
    threads[0].start()
    assert begun.wait(WITHIN_S)
    yield threads
    go.set()
    for thread in threads:
        thread.join(WITHIN_S)


@pytest.mark.parametrize("error", [KeyboardInterrupt, Alarm])
def test_what_the_others_are_told_is_true_when_the_thread_that_commits_for_them_is_interrupted(
    store: SqliteStore, error: type[BaseException]
) -> None:
    """One thread holds the turn; the next in the queue then leads for two more, and is interrupted at some step."""
    told: dict[str, bool | None] = {}
    interrupted: set[str] = set()

    def writing(name: str, interrupt: Interrupt | None = None) -> threading.Thread:
        def change(writer: Writer) -> str:
            # From here on whoever leads is interrupted: the steps of its waiting are no business of the others. On a busy
            # machine that is one of them, who held the leader for lost.
            if interrupt is not None:
                interrupted.add(threading.current_thread().name)
                interrupt.__enter__()
            return adding(name)(writer)

        def act() -> None:
            try:
                store.write("t", change)
            finally:
                sys.setprofile(None)

        def run() -> None:
            told[name] = claim(act)

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    for step in range(1, LATEST_STEP):
        interrupt = Interrupt(step, error)
        with held_turn(store) as threads:
            threads.append(writing(f"leader_{step}", interrupt))
            waiting(store, 1)
            for number in (2, 3):
                threads.append(writing(f"other_{step}_{number}"))
                waiting(store, number)
        assert not any(thread.is_alive() for thread in threads), f"one hangs after an interrupt at step {step}"
        if not interrupt.came:
            break
    there = names_in(store)
    assert {name for name, said in told.items() if said is True} <= there
    assert {name for name, said in told.items() if said is False}.isdisjoint(there)
    others = {name for name in told if name.startswith("other")}
    assert error is Alarm or all(told[name] is not None for name in others - interrupted)
    assert len(there & others) > len(others) / 2, "most are written by the next leader, or were already"


COMMAND = """
import sys
from reasoningbank.cli.main import main
from reasoningbank.store.sqlite.store import SqliteEngine

def step(frame, event, given):
    if event == sys.argv[2] and frame.f_code is SqliteEngine._commit.__code__:
        sys.setprofile(None)
        raise KeyboardInterrupt

sys.setprofile(step)
sys.exit(main(["--bank", sys.argv[1], "store", "key", "value"]))
"""


@pytest.mark.parametrize(("moment", "said"), [("call", "Nothing was written"), ("return", "had been committed")])
def test_the_command_line_says_what_became_of_an_interrupted_write(
    path: Path, child: Callable[..., subprocess.Popen[str]], moment: str, said: str
) -> None:
    # With its settings agreed on, so that the command writes once.
    ReasoningBank.open(path).close()
    process = child(COMMAND, path, moment)
    out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130, err
    assert out == ""
    assert "Interrupted. " in err
    assert said in err
    assert "Traceback" not in err
    store = SqliteStore(path)
    with store.read("local") as reader:
        assert reader.count(Memory, {}) == (moment == "return")
    store.close()
