"""The only file that reads the environment, and where things are kept when nobody says.

A handful of variables, listed in `VARIABLES`; everything else is an argument.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from reasoningbank.core.digest import blake2b
from reasoningbank.core.types import DEFAULT_NAMESPACE
from reasoningbank.core.values import dataclass

VARIABLES: dict[str, str] = {
    "REASONINGBANK_HOME": "folder that holds the default bank",
    "REASONINGBANK_BANK": "path or URL of the bank, instead of the one in that folder",
    "REASONINGBANK_NAMESPACE": "namespace, instead of the repository's identity",
    "REASONINGBANK_EMBEDDER": "embedder of a new bank: local, hash or openai",
    "REASONINGBANK_DURABILITY": "full (survives a power loss) or normal (survives a killed process)",
    "REASONINGBANK_LLM": "model that judges and distils, as openai/NAME or anthropic/NAME; off (the default) asks none",
    "REASONINGBANK_LLM_TOKENS_PER_DAY": "what that model may cost a day, in tokens (default 1,000,000)",
    "REASONINGBANK_DISTILLER": "llm, offline, host or none; llm,offline falls back (default: llm if there is one)",
    "REASONINGBANK_HOLDOUT": "chance of withholding a memory from a session, to learn its worth (default 0)",
    "REASONINGBANK_HOOKS": "off, or how hooks of coding agents behave: prompt=400,session=1200,deadline_ms=1500,branch",
    "OPENAI_API_KEY": "key for the openai embedder and model",
    "OPENAI_BASE_URL": "any OpenAI-compatible endpoint, for the openai embedder and model",
    "ANTHROPIC_API_KEY": "key for an anthropic model",
    "ANTHROPIC_BASE_URL": "another address for an anthropic model",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    bank: str
    namespace: str
    embedder: str | None
    durability: str
    openai_api_key: str | None
    openai_base_url: str | None
    anthropic_api_key: str | None = None
    anthropic_base_url: str | None = None
    llm: str | None = None
    llm_tokens_per_day: str | None = None
    distiller: str | None = None
    holdout: str | None = None
    hooks: str = ""


def from_environment(directory: Path | None = None) -> Config:
    variables = os.environ
    return Config(
        bank=variables.get("REASONINGBANK_BANK") or str(home() / "bank.db"),
        namespace=variables.get("REASONINGBANK_NAMESPACE") or repository_namespace(directory or _here()),
        embedder=variables.get("REASONINGBANK_EMBEDDER") or None,
        durability=variables.get("REASONINGBANK_DURABILITY") or "full",
        openai_api_key=variables.get("OPENAI_API_KEY") or None,
        openai_base_url=variables.get("OPENAI_BASE_URL") or None,
        anthropic_api_key=variables.get("ANTHROPIC_API_KEY") or None,
        anthropic_base_url=variables.get("ANTHROPIC_BASE_URL") or None,
        llm=variables.get("REASONINGBANK_LLM") or None,
        llm_tokens_per_day=variables.get("REASONINGBANK_LLM_TOKENS_PER_DAY") or None,
        distiller=variables.get("REASONINGBANK_DISTILLER") or None,
        holdout=variables.get("REASONINGBANK_HOLDOUT") or None,
        hooks=variables.get("REASONINGBANK_HOOKS") or "",
    )


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The folder is gone, as that of a worktree may be.
        return Path(Path.home().anchor)


def home() -> Path:
    chosen = os.environ.get("REASONINGBANK_HOME")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "reasoningbank"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "reasoningbank"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "reasoningbank"


# ---------------------------------------------------------------- which project is this


def repository_namespace(directory: Path) -> str:
    """The identity of the repository around `directory`: its remote, or else its common git folder.

    Worktrees share both, and a clone elsewhere shares the remote, so the place of a checkout never matters.
    """
    git = _git_folder(directory)
    if git is None:
        return DEFAULT_NAMESPACE
    common = _common_folder(git)
    remote = _remote(common)
    if remote:
        return remote
    digest = blake2b(str(common.resolve()).encode(), digest_size=4).hexdigest()
    return f"{common.resolve().parent.name}-{digest}"


def repository_branch(directory: Path) -> str | None:
    """The branch that is checked out around `directory`; None outside of a repository or on no branch."""
    git = _git_folder(directory)
    match = re.match(r"ref: refs/heads/(\S+)", _text(git / "HEAD")) if git else None
    return match[1] if match else None


def _git_folder(directory: Path) -> Path | None:
    for folder in (directory, *directory.parents):
        candidate = folder / ".git"
        if candidate.is_dir():
            return candidate
        if candidate.is_file():
            match = re.match(r"gitdir:\s*(.+)", _text(candidate))
            return (folder / match[1].strip()) if match else None
    return None


def _common_folder(git: Path) -> Path:
    pointer = _text(git / "commondir").strip()
    return git / pointer if pointer else git


def _remote(common: Path) -> str | None:
    """The identity by `origin`, or by the first remote."""
    urls = re.findall(r'\[remote "([^"]+)"\][^\[]*?^\s*url\s*=\s*(\S+)', _text(common / "config"), re.MULTILINE)
    url = dict(reversed(urls)).get("origin") or (urls[0][1] if urls else None)
    return None if url is None else remote_namespace(url)


def remote_namespace(url: str) -> str | None:
    """The identity that a remote's address gives: without scheme, user, port or ending."""
    if re.match(r"(/|\.|~|file:|[A-Za-z]:[\\/])", url):
        # A remote that is a folder of this machine says no more than the folder itself.
        return None
    address = re.sub(r"^[a-z+]+://", "", url, flags=re.IGNORECASE)
    address = re.sub(r"^[^@/]*@", "", address)
    address = re.sub(r":\d+/", "/", address).replace(":", "/")
    return re.sub(r"(\.git)?/*$", "", address)[-200:].strip("/") or None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
