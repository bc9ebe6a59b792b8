"""Kind of a session's task: the type that it was given, or else the form of its words."""

from __future__ import annotations

from reasoningbank.core.digest import blake2b
from reasoningbank.core.template import form_of
from reasoningbank.core.types import Trajectory

TASK_TYPE = "task_type"
"""Where a trajectory's metadata say what type of task it is."""
LONGEST_TYPE_CHARS = 200
_TYPED, _FORMED = "type:", "form:"


def kind_of(trajectory: Trajectory) -> str:
    task_type = trajectory.metadata.get(TASK_TYPE)
    if isinstance(task_type, str) and task_type.strip():
        return f"{_TYPED}{task_type.strip()[:LONGEST_TYPE_CHARS]}"
    return form_kind(trajectory.task)


def form_kind(task: str) -> str:
    """The kind of a task that was given no type."""
    digest = blake2b(form_of(task).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{_FORMED}{digest}"


def type_in(kind: str) -> str | None:
    """The type that was given, if one was."""
    return kind.removeprefix(_TYPED) if kind.startswith(_TYPED) else None
