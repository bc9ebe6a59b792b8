"""Trajectories of SWE-agent (`.traj`), and any list of steps that have an action and an observation.

The issue is asked for in the history, after the demonstrations; what was handed in is the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.inline_calls import action_as_written, said_ok
from reasoningbank.learn.ingest.messages import conversation_of
from reasoningbank.learn.ingest.rewards import told_outcome, told_reward
from reasoningbank.learn.ingest.text import action_of, parse_json, plain
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

_STEPS = ("trajectory", "steps", "history", "traj", "turns")
_SEEN = ("observation", "result", "output", "obs")
_ASKED = ("problem_statement", "task", "question", "query", "goal", "instruction", "intent", "issue")


def _is_trajectory(value: object) -> bool:
    return bool(_steps(value))


def _steps(value: object) -> list[Mapping[str, Any]]:
    lists = [value.get(name) for name in _STEPS] if isinstance(value, Mapping) else []
    for steps in lists:
        if isinstance(steps, list) and steps and all(map(_is_step, steps)):
            return steps
    return []


def _is_step(value: object) -> bool:
    return isinstance(value, Mapping) and "action" in value and any(name in value for name in _SEEN)


def _trajectories_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for value in filter(_is_trajectory, values):
        info = value["info"] if isinstance(value.get("info"), Mapping) else {}
        talk = Conversation()
        talk.say("user", _request_in(value))
        for step in _steps(value):
            _take(step, talk)
        if isinstance(info.get("submission"), str):
            talk.conclude(info["submission"])
        about = {**value, **info}
        episode = talk.episode(namespace, outcome=told_outcome(about), reward=told_reward(about))
        if episode is not None:
            yield episode


def _take(step: Mapping[str, Any], talk: Conversation) -> None:
    reasoning, action = step.get("thought"), step["action"]
    if isinstance(reasoning, str):
        talk.say("assistant", reasoning)
    observation = next(step[name] for name in _SEEN if name in step)
    text = plain(observation) or ("" if observation is None else str(observation))
    if isinstance(action, Mapping):
        name = next((action[n] for n in ("name", "tool", "action") if isinstance(action.get(n), str)), "tool")
        arguments = next((action[n] for n in ("arguments", "args", "input", "parameters") if n in action), action)
        talk.act(action_of(name, arguments), tool=name)
    elif isinstance(action, str) and action.strip():
        talk.act(action.strip(), tool=action_as_written(action.strip()).tool)
    else:
        return
    talk.result(text, ok=said_ok(text))


def _request_in(value: Mapping[str, Any]) -> str:
    places = [value, value.get("environment"), value.get("instance"), parse_json(str(value.get("replay_config") or ""))]
    for place in places:
        for name in _ASKED if isinstance(place, Mapping) else ():
            request = place[name].get("text") if isinstance(place.get(name), Mapping) else place.get(name)
            if isinstance(request, str) and request.strip():
                return request
    history = value.get("history")
    return conversation_of(history if isinstance(history, list) else ()).task


FORMAT = TranscriptFormat(
    name="swe-agent",
    about="SWE-agent's `.traj`, and lists of steps with `action` and `observation`",
    knows=_is_trajectory,
    episodes=_trajectories_in,
)
