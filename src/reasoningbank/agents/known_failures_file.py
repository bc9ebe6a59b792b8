"""Known failures of a namespace and the rules of its user, as a file that a hook can read without opening the bank.

It only names memories; what is shown comes from the records, so one that was forgotten since is not shown.
"""

from __future__ import annotations

import json
from pathlib import Path

from reasoningbank.agents.state_dir import StateDir
from reasoningbank.core.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    memory_id: str
    action: str
    """What fails; "" when only the failure is known."""
    signature: str = ""
    """The kind of failure; "" when only the action is known."""
    worked: str = ""
    files: tuple[str, ...] = ()
    """Files that the warning is about."""
    goal: str = ""
    """What the action was for, where the lesson knows."""
    rule: str = ""
    """What it forbids in words: what the user said, or a warning."""
    names: tuple[str, ...] = ()
    """Names without which a failure of this kind is another one."""
    first: str = ""
    """What had to be done before the same action worked: the action itself was right."""


def known_troubles(place: StateDir, namespace: str) -> list[Trouble]:
    """The newest first."""
    told = told_in(place.troubles(namespace), namespace)
    return [] if told is None else list(told[1].values())


def told_in(path: Path, namespace: str) -> tuple[int, dict[str, Trouble]] | None:
    """The number of the last change that the file knows, and the troubles by memory; None when it cannot be used."""
    try:
        told = json.loads(path.read_text("utf-8"))
        if told["namespace"] != namespace:
            return None
        rows = {
            str(memory_id): Trouble(
                memory_id=str(memory_id),
                action=action,
                signature=signature,
                worked=worked,
                files=tuple(files),
                goal=goal,
                rule=rule,
                names=tuple(names),
                first=first,
            )
            for memory_id, action, signature, worked, files, goal, rule, names, first in told["troubles"]
        }
        return int(told["applied"]), rows
    except (OSError, ValueError, TypeError, KeyError):
        return None
