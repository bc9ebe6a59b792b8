"""Reads the environment variables, all of them in one table, and finds the default folders.

A handful of variables, listed in `VARIABLES`; everything else is an argument.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from reasoningbank.config.repository import Project, find_project
from reasoningbank.core.agent_marks import AGENT_MARKS, SESSION_MARKS
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.location import DEFAULT_NAME, Location, parse_location

VARIABLES: dict[str, str] = {
    "REASONINGBANK_HOME": "folder that holds the default bank",
    "REASONINGBANK_BANK": "path or URL of the bank, instead of the one in that folder",
    "REASONINGBANK_CONFIG": "configuration file instead of those that are looked for; none reads none",
    "REASONINGBANK_NAMESPACE": "namespace, instead of the repository's identity",
    "REASONINGBANK_EMBEDDER": "embedder of a new bank: local, hash, openai, openai/MODEL or openai/MODEL/DIMENSION",
    "REASONINGBANK_POLICY": "how evidence becomes confidence: bayes, signals, ratchet or factors",
    "REASONINGBANK_DURABILITY": "full (survives a power loss) or normal (survives a killed process)",
    "REASONINGBANK_INDEX": "where a new bank keeps its index: embedded (the default), or the URL of an engine",
    "REASONINGBANK_INDEX_KEY": "API key or token of that engine",
    "REASONINGBANK_LLM": "model that judges and distils, as openai/NAME or anthropic/NAME; off (the default) asks none",
    "REASONINGBANK_LLM_TOKENS_PER_DAY": "what that model may cost a day, in tokens (default 1,000,000)",
    "REASONINGBANK_DISTILLER": "llm, offline, host or none; llm,offline falls back (default: llm if there is one)",
    "REASONINGBANK_HOLDOUT": "chance of withholding a memory from a session, to learn its worth (default 0)",
    "REASONINGBANK_HOOKS": "off, on, or how hooks behave: prompt=400,session=1200,deadline_ms=1500,warn=ask,helper=600",
    "OPENAI_API_KEY": "key for the openai embedder and model",
    "OPENAI_BASE_URL": "any OpenAI-compatible endpoint, for the openai embedder and model",
    "ANTHROPIC_API_KEY": "key for an anthropic model",
    "ANTHROPIC_BASE_URL": "another address for an anthropic model",
}


PROCESSES = "/proc"
_MOST_ANCESTORS = 64
GONE = "a process that is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Values of the environment variables, as they stand there."""

    bank: str
    namespace: str
    embedder: str | None
    durability: str | None
    openai_api_key: str | None
    openai_base_url: str | None
    anthropic_api_key: str | None = None
    anthropic_base_url: str | None = None
    index: str | None = None
    index_key: str | None = None
    llm: str | None = None
    llm_tokens_per_day: str | None = None
    distiller: str | None = None
    holdout: str | None = None
    hooks: str = ""
    policy: str | None = None
    file: str | None = None


def from_environment(directory: Path | None = None) -> Config:
    variables = os.environ
    return Config(
        bank=variables.get("REASONINGBANK_BANK") or str(home() / DEFAULT_NAME),
        namespace=named_namespace() or project_of(directory).namespace,
        embedder=variables.get("REASONINGBANK_EMBEDDER") or None,
        durability=variables.get("REASONINGBANK_DURABILITY") or None,
        index=variables.get("REASONINGBANK_INDEX") or None,
        index_key=variables.get("REASONINGBANK_INDEX_KEY") or None,
        openai_api_key=variables.get("OPENAI_API_KEY") or None,
        openai_base_url=variables.get("OPENAI_BASE_URL") or None,
        anthropic_api_key=variables.get("ANTHROPIC_API_KEY") or None,
        anthropic_base_url=variables.get("ANTHROPIC_BASE_URL") or None,
        llm=variables.get("REASONINGBANK_LLM") or None,
        llm_tokens_per_day=variables.get("REASONINGBANK_LLM_TOKENS_PER_DAY") or None,
        distiller=variables.get("REASONINGBANK_DISTILLER") or None,
        holdout=variables.get("REASONINGBANK_HOLDOUT") or None,
        hooks=variables.get("REASONINGBANK_HOOKS") or "",
        policy=variables.get("REASONINGBANK_POLICY") or None,
        file=variables.get("REASONINGBANK_CONFIG") or None,
    )


def named_namespace() -> str | None:
    """The project that the environment names, instead of the repository around the process."""
    return os.environ.get("REASONINGBANK_NAMESPACE") or None


def project_of(directory: Path | None = None, *, remember: bool = False) -> Project:
    """The project around a folder, or around this process; `remember` keeps what git's traces say of it now."""
    try:
        places = home()
    except InvalidInput:  # a user without a home has no memory of places either
        places = None
    return find_project(directory or _here(), places, remember=remember)


def repository_namespace(directory: Path) -> str:
    return project_of(directory).namespace


def locate(bank: str | Path | Location | None = None) -> Location:
    """The place of a bank that somebody names by a path or a URL; without a name, that of this user's."""
    if isinstance(bank, Location):
        return bank
    return parse_location(str(bank) if bank is not None else from_environment().bank, home())


def handed_over(location: Location) -> tuple[str, dict[str, str]]:
    """How another process of ours is told a bank: by an argument, and by its environment where there is a password."""
    if location.has_password:
        return "", {**os.environ, "REASONINGBANK_BANK": location.absolute_url}
    return location.absolute_url, dict(os.environ)


def default_location() -> Location:
    """The place of a user's bank when nobody says anything else."""
    return locate(home() / DEFAULT_NAME)


def agent_variables() -> dict[str, str]:
    """Variables of this process in which coding agents speak of themselves."""
    return {name: os.environ[name] for name in (*AGENT_MARKS, *SESSION_MARKS) if name in os.environ}


def agent_mark() -> str | None:
    """The variable by which a coding agent says that it runs this process; None for a person or a script of theirs."""
    return next((name for name in AGENT_MARKS if os.environ.get(name)), None)


def agent_around(
    process: int | None = None,
    variables: Mapping[str, str] | None = None,
    own_marks: Callable[[Mapping[str, str]], Collection[str]] = lambda _: (),
) -> str | None:
    """The mark of a coding agent on a process, this one unless another is named, or on one that it descends from.

    Where the system tells of the processes above (Linux), taking the mark out of one command's environment does not
    help. A process that is named and gone can no longer show that it had none. `variables` are what the process says of
    its environment, and `own_marks` gives the marks that say nothing in one.
    """

    def mark_in(environment: Mapping[str, str]) -> str | None:
        passed_over = own_marks(environment)
        return next((name for name in AGENT_MARKS if environment.get(name) and name not in passed_over), None)

    if mark := mark_in(agent_variables() if variables is None and process is None else variables or {}):
        return mark
    above = os.getppid() if process is None else process
    for number in range(_MOST_ANCESTORS):
        if above <= 1:
            return None
        try:
            environ = Path(f"{PROCESSES}/{above}/environ").read_text("utf-8", errors="replace")
            state = Path(f"{PROCESSES}/{above}/stat").read_text("utf-8", errors="replace")
            above = int(state.rpartition(")")[2].split()[1])
        except FileNotFoundError:
            return GONE if process is not None and not number else None
        except (OSError, ValueError, IndexError):
            # Somebody else's process, such as the one that logged this user in.
            return None
        if mark := mark_in({name: value for name, _, value in (line.partition("=") for line in environ.split("\0"))}):
            return mark
    return None


def folder_named(variable: str) -> Path | None:
    """The folder that a variable of another program names, where it is set."""
    value = os.environ.get(variable)
    return Path(value).expanduser() if value else None


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The folder is gone, as that of a worktree may be.
        return Path(os.sep)


def home() -> Path:
    folder = os.environ.get("REASONINGBANK_HOME")
    if folder:
        return Path(folder).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or user_folder() / "AppData" / "Local") / "reasoningbank"
    if sys.platform == "darwin":
        return user_folder() / "Library" / "Application Support" / "reasoningbank"
    return Path(os.environ.get("XDG_DATA_HOME") or user_folder() / ".local" / "share") / "reasoningbank"


def user_folder() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        # A user without a line in the list of users, as in many a container.
        raise InvalidInput("This user has no home folder: set HOME, or REASONINGBANK_HOME for the bank.") from None
