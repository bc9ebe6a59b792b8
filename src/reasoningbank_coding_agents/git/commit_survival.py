"""Fate of a commit: it survived, was reverted, or nobody can tell.

Taken back is what a landed revert names, and what was put back by hand to the byte. Lasted is what landed, is old
enough and has left something. What was rebased or squashed has another name now: that is unknown, not taken back.
"""

from __future__ import annotations

from reasoningbank.learn.stability import Fate
from reasoningbank_coding_agents.git.repository import Repository

_SECONDS_A_DAY = 86_400.0


def fate_of(repository: Repository, name: str, *, days: float, now: float) -> Fate:
    commit = repository.commit(name)
    if commit is None or not repository.is_landed(commit):
        return Fate.UNKNOWN
    if _is_reverted(repository, commit):
        return Fate.REVERTED
    tips = [tip for tip in repository.tips if tip != commit]
    if tips and all(repository.is_undone(commit, tip) for tip in tips):
        return Fate.REVERTED
    made_at = repository.committed_at(commit)
    if made_at is None or now - made_at < days * _SECONDS_A_DAY:
        return Fate.UNKNOWN
    has_lines = any(repository.lines_left(commit, tip) for tip in repository.tips)
    return Fate.SURVIVED if has_lines else Fate.UNKNOWN


def _is_reverted(repository: Repository, commit: str, above: frozenset[str] = frozenset()) -> bool:
    """True if a revert of it stands: one that was itself reverted does not."""
    chain = above | {commit}
    return any(not _is_reverted(repository, by, chain) for by in repository.reverts.get(commit, ()) if by not in chain)
