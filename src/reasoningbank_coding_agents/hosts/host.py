"""Contract of a coding agent: what the rest of the program asks of it. Each has one file here that answers it.

Importing such a file must stay cheap, for a hook does it at every step: what only an installation or a reading of
transcripts needs is imported inside the method that needs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from reasoningbank_coding_agents.events import EVENTS, SESSION_START, TAKE_CONTEXT

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank.core.learning import Episode
    from reasoningbank_coding_agents.install.program import Program
    from reasoningbank_coding_agents.install.targets import Places, Target


class TranscriptReader(Protocol):
    """How the records of a transcript become tasks; a module of `learn.ingest` is one."""

    def is_record(self, record: object) -> bool: ...

    def tasks_in(self, records: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]: ...

    def prompt_of(self, record: Mapping[str, Any]) -> str | None: ...

    def episode_of(self, session: str, records: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None: ...


class SessionOrigin(NamedTuple):
    """Session, folder and remote of a transcript."""

    session: str
    folder: str | None
    """In which the agent worked; None when the transcript does not tell."""
    remote: str | None = None
    """The address of its repository, where the transcript tells."""


class Host(ABC):
    """A coding agent. The defaults are the forms of Claude Code, which others have taken over."""

    name: ClassVar[str]
    title: ClassVar[str]
    """As its makers write it."""
    event_names: ClassVar[Mapping[str, str]] = {}
    """Names of its events beside those of `EVENTS`, in lower case."""
    transcripts_tell_results: ClassVar[bool] = True
    """False where transcripts leave out what tools returned: then the hooks write the session down themselves."""
    note_after_install: ClassVar[str] = ""
    can_deny: ClassVar[bool] = True
    """True if a hook before a tool may refuse the call, with a reason that the model reads before it goes on."""
    can_ask: ClassVar[bool] = True
    """True if a hook before a tool may have the user asked, with a reason that the user reads."""
    reads_context_at: ClassVar[Sequence[str]] = TAKE_CONTEXT
    """The events after which the model is given what a hook says; before a tool, it reads that with the result."""
    shows_notices: ClassVar[bool] = True
    """True if the user sees the line that a hook has for them."""

    # ------------------------------------------------------------ hooks

    def event_kind(self, name: str) -> str | None:
        """Which of `EVENTS` an event of this agent amounts to; None for one that is nothing to us."""
        lower_name = name.lower()
        return self.event_names.get(lower_name) or next(
            (event for event in EVENTS if event.lower() == lower_name), None
        )

    def in_common_terms(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data that it sends to a hook, under the names that Claude Code has for it."""
        return data

    def answer(self, event: str, context: str, notice: str = "") -> dict[str, Any]:
        """Output of a hook: advice only. An empty one prints nothing."""
        fields: dict[str, Any] = {}
        if context and event in self.reads_context_at:
            fields["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
        if notice:
            fields["systemMessage"] = notice
        return fields

    def has_failed(self, data: Mapping[str, Any], output: str) -> bool:
        """True if the tool of an event after it went wrong, where the event itself does not say so."""
        del data, output
        return False

    def refusal(self, event: str, reason: str, *, asks_user: bool = False) -> dict[str, Any]:
        """Output of a hook that stops a call before it runs: it is refused, or the user is asked."""
        decision = "ask" if asks_user else "deny"
        fields = {"hookEventName": event, "permissionDecision": decision, "permissionDecisionReason": reason}
        return {"hookSpecificOutput": fields}

    def withheld_prompt(self, reason: str) -> dict[str, Any]:
        """Output of a hook that keeps a prompt from the model, with a reason that the user reads; nothing where that is
        beyond the agent.
        """
        return {"decision": "block", "reason": reason}

    def first_event(self, session: str, cwd: str) -> dict[str, Any]:
        """The data that it sends when a session starts, to try an installation out."""
        return {
            "session_id": session,
            "transcript_path": None,
            "cwd": cwd,
            "hook_event_name": SESSION_START,
            "source": "startup",
        }

    # ------------------------------------------------------------ who types

    def own_marks(self, environment: Mapping[str, str]) -> Collection[str]:
        """The marks of `core.agent_marks` in the environment of a process that it sets for itself or its hooks."""
        del environment
        return ()

    def unattended(self, transcript: str | None, environment: Mapping[str, str]) -> str:
        """Why nobody types the prompts of a session, as far as the program says so; "" where it does not."""
        del transcript, environment
        return ""

    def is_typed(self, transcript: str, start: int, prompt_id: str) -> bool | None:
        """True if a transcript, looked at from `start` on, marks that prompt as typed by a person, False if it marks it
        otherwise, None if it does not hold the prompt. A program that marks none counts as typed.
        """
        del transcript, start, prompt_id
        return True

    def can_type(self, transcript: str | None, folders: Collection[str]) -> bool:
        """True if the agent may have made a prompt of this session itself, in a project of these folders."""
        del transcript, folders
        return False

    # ------------------------------------------------------------ installing

    def ask_program(self, places: Places) -> Places:
        """The places, with what the program on this machine says about its settings."""
        return places

    @abstractmethod
    def targets(self, places: Places, program: Program) -> list[Target]:
        """The files that an installation changes, and what it puts into each."""

    # ------------------------------------------------------------ transcripts

    @property
    @abstractmethod
    def reader(self) -> TranscriptReader: ...

    @abstractmethod
    def transcripts(self, places: Places) -> Iterable[Path]:
        """The files it left, without those of subagents."""

    def records_of(self, path: Path) -> list[dict[str, Any]] | None:
        """The records of a transcript that is one text and is written anew each time; None where it grows by lines."""
        del path
        return None

    def origin_of(self, path: Path, records: list[dict[str, Any]]) -> SessionOrigin:
        """Session, folder and remote, as a transcript tells them."""
        folders = (record["cwd"] for record in records if isinstance(record.get("cwd"), str) and record["cwd"])
        return SessionOrigin(session=path.stem, folder=next(folders, None))
