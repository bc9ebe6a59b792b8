"""Known failures of a namespace and the rules that hold in it, as files that a hook can read without opening the bank.

They only name records; what is shown and what forbids comes from those, so one that is gone since does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reasoningbank.core.frozen import dataclass
from reasoningbank_coding_agents.state_dir import StateDir, write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    memory_id: str
    action: str
    """Action that fails; "" when only the failure is known."""
    signature: str = ""
    """The kind of failure; "" when only the action is known."""
    worked: str = ""
    files: tuple[str, ...] = ()
    """Files that the warning is about."""
    goal: str = ""
    """Purpose of the action, where the lesson knows."""
    names: tuple[str, ...] = ()
    """Names without which a failure of this kind is another one."""
    first: str = ""
    """Step that had to be done before the same action worked: the action itself was right."""


def known_troubles(place: StateDir, namespace: str) -> list[Trouble]:
    """Troubles of a namespace, the newest first."""
    view = told_in(place.troubles(namespace), namespace)
    return [] if view is None else list(view[1].values())


def told_in(path: Path, namespace: str) -> tuple[int, dict[str, Trouble]] | None:
    """The number of the last change that the file knows, and the troubles by memory; None when it cannot be used."""
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["namespace"] != namespace:
            return None
        rows = {
            str(memory_id): Trouble(
                memory_id=str(memory_id),
                action=action,
                signature=signature,
                worked=remedy,
                files=tuple(files),
                goal=goal,
                names=tuple(names),
                first=first,
            )
            for memory_id, action, signature, remedy, files, goal, names, first in data["troubles"]
        }
        return int(data["applied"]), rows
    except (OSError, ValueError, TypeError, KeyError):
        return None


class RuleText(NamedTuple):
    id: str
    text: str


def noted_rules(place: StateDir, namespace: str) -> list[RuleText]:
    """The rules that hold for work in a namespace, as they were last noted: the latest word first."""
    try:
        data = json.loads(place.rules(namespace).read_text("utf-8"))
        return [RuleText(str(rule_id), str(text)) for rule_id, text in data["rules"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def note_rules(place: StateDir, namespace: str, rules: Sequence[RuleText]) -> None:
    if noted_rules(place, namespace) != list(rules):
        write_whole(place.rules(namespace), json.dumps({"namespace": namespace, "rules": rules}))
