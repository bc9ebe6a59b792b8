"""`bank.session`: a session in progress around a block of code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from reasoningbank.core.errors import BankError
from reasoningbank.core.failure import OnError
from reasoningbank.core.types import Step, Trajectory

if TYPE_CHECKING:
    from reasoningbank.learn.sessions import Ended
    from reasoningbank.recall.query import SearchResult


class SessionBank(Protocol):
    """Protocol of what a session asks of a bank."""

    def start_session(
        self,
        task: str,
        *,
        namespace: str | None = ...,
        agent: str | None = ...,
        metadata: Mapping[str, Any] | None = ...,
        speaker: str = ...,
    ) -> Trajectory: ...

    def search(self, query: str, **options: Any) -> SearchResult: ...

    def inject(self, task: str, *, max_tokens: int, **options: Any) -> str: ...

    def add_step(self, session: str, action: str, result: str, metadata: Mapping[str, Any] | None) -> Step: ...

    def end_session(self, session: str, outcome: str, *, used: Sequence[str]) -> Ended: ...


class Session:
    """A session in progress."""

    def __init__(self, bank: SessionBank, trajectory: Trajectory) -> None:
        self._bank = bank
        self._ended = False
        self.id = trajectory.id
        self.task = trajectory.task
        self.namespace = trajectory.namespace

    def search(self, query: str | None = None, **options: Any) -> SearchResult:
        """Search for this task (or for `query`); what is shown is charged to this session."""
        options.setdefault("namespace", self.namespace)
        return self._bank.search(query or self.task, **options, session=self.id)

    def inject(self, query: str | None = None, *, max_tokens: int = 500, **options: Any) -> str:
        options.setdefault("namespace", self.namespace)
        return self._bank.inject(query or self.task, max_tokens=max_tokens, **options, session=self.id)

    def step(self, action: str, result: str = "", metadata: Mapping[str, Any] | None = None) -> Step:
        return self._bank.add_step(self.id, action, result, metadata)

    def finish(self, outcome: str, *, used: Sequence[str] = ()) -> Ended:
        """Ends the session and credits the memories that were shown; `used` names those that really helped or hurt."""
        end = self._bank.end_session(self.id, outcome, used=used)
        self._ended = True
        return end

    def finish_once(self, outcome: str) -> None:
        if not self._ended:
            self.finish(outcome)


@contextmanager
def running(bank: SessionBank, task: str, options: Mapping[str, Any]) -> Iterator[Session]:
    run = Session(bank, bank.start_session(task, **options))

    def fail(_: BaseException) -> None:
        # The block's own error is the one to see, even when somebody else has ended the session meanwhile.
        with suppress(BankError):
            run.finish_once("failure")

    with OnError(fail):
        yield run
    run.finish_once("unknown")
