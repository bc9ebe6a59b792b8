"""Takes off what an agent's format puts around an action: code fences, `Action:`, `execute[…]`; and writes a call in
one way, `tool({…})`, however it was written (`tool {…}`).

A weak agent wraps its command in prose and fences, a ReAct agent in a verb of its harness. What was done is inside, and
only that can be compared with what others did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.core.frozen import replace
from reasoningbank.core.learning import EpisodeStep
from reasoningbank.learn.ingest.text import action_of, parse_json

_FENCED = re.compile(r"```[\w+-]{0,20}[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_LONE_FENCE = re.compile(r"^[ \t]*```[\w+-]{0,20}[ \t]*$\n?|\s*```\s*\Z", re.MULTILINE)
_LABEL = re.compile(r"\s*(?:Action|Command|Tool)(?: \d{1,3})?:[ \t]*(?=\S)", re.IGNORECASE)
_SPECIAL = re.compile(r"\s*<\|\w{1,20}\|>\s*")
"""Marks of a chat's turns that a model wrote out."""
_SPACED_CALL = re.compile(r"\s*([A-Za-z_][\w.\-]*)[ \t]+(\{.*\})\s*", re.DOTALL)
_RUN = re.compile(r"\s*(?:execute|run|exec)\[(.*)\]\s*\Z", re.DOTALL | re.IGNORECASE)


def plain_steps(steps: Sequence[EpisodeStep]) -> tuple[EpisodeStep, ...]:
    """The steps with their actions as they were carried out."""
    return tuple(
        step if (action := plain_action(step.action)) == step.action else replace(step, action=action) for step in steps
    )


def plain_action(action: str) -> str:
    action = _SPECIAL.sub("", action) if "<|" in action else action
    if "```" in action:
        blocks = [code for code in _FENCED.findall(action) if code.strip()]
        action = "\n".join(blocks) if blocks else _LONE_FENCE.sub("", action)
    label = _LABEL.match(action)
    if label:
        action = action[label.end() :]
    run = _RUN.match(action)
    if run:
        return run.group(1)
    call = _SPACED_CALL.fullmatch(action)
    values = parse_json(call.group(2)) if call else None
    return action_of(call.group(1), values) if call and isinstance(values, dict) else action
