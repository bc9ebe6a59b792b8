"""Which namespaces a hook reads and writes: the repository's, its branch's if asked for, and the user's own.

From the folder that the agent works in, by reading files; no `git` is run.
"""

from __future__ import annotations

from pathlib import Path

from reasoningbank.config import project_of, repository_branch
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import USER_NAMESPACE
from reasoningbank_coding_agents.policy import HookPolicy

_MAIN = ("main", "master", "trunk", "develop")
_LONGEST_BRANCH_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Spaces:
    own: str
    """Where what is learned here is kept."""
    read: tuple[str, ...]
    """Every one that is looked into, the own first."""

    @property
    def repository(self) -> str:
        """The one whose team counts, also on a branch and for what the user keeps for every repository."""
        return next((name for name in reversed(self.read) if name != USER_NAMESPACE), self.own)


def spaces_of(cwd: str, policy: HookPolicy, namespace: str | None = None, *, remember: bool = False) -> Spaces:
    """`namespace` overrides the repository's identity, which `remember` keeps for when git's traces of it have
    ended.
    """
    folder = Path(cwd)
    repository = namespace or project_of(folder, remember=remember).namespace
    branch = repository_branch(folder) if policy.branch else None
    own = f"{repository}@{branch[:_LONGEST_BRANCH_CHARS]}" if branch and branch not in _MAIN else repository
    return Spaces(own=own, read=tuple(dict.fromkeys((own, repository, USER_NAMESPACE))))
