"""Sessions of InterCode: a query, a history of actions with what was seen, and the environment's reward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.rewards import outcome_for, reward_in
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat


def is_intercode(value: object) -> bool:
    turns = value.get("turn_history") if isinstance(value, Mapping) else None
    return isinstance(turns, Mapping) and isinstance(turns.get("actions"), list)


def intercode_in(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    for value in values:
        if not is_intercode(value) or not isinstance(value.get("query"), str) or not value["query"].strip():
            continue
        summary = value.get("summary")
        reward = reward_in(summary.get("max_reward")) if isinstance(summary, Mapping) else None
        yield Episode(
            task=value["query"],
            namespace=namespace,
            steps=tuple(_turns(value["turn_history"])),
            outcome=outcome_for(reward),
            reward=reward,
            metadata={"environment": value["environment"]} if isinstance(value.get("environment"), str) else {},
        )


def _turns(history: Mapping[str, Any]) -> Iterator[EpisodeStep]:
    actions, observations = history["actions"], history.get("observations")
    valid = history.get("valid_action")
    for number, action in enumerate(actions):
        result = observations[number] if isinstance(observations, list) and number < len(observations) else ""
        ok = valid[number] if isinstance(valid, list) and number < len(valid) else None
        yield EpisodeStep(
            action=str(action),
            result=result if isinstance(result, str) else str(result),
            ok=ok if isinstance(ok, bool) else None,
        )


FORMAT = TranscriptFormat(
    name="intercode",
    about="logs of InterCode (`query`, `turn_history`, `summary.max_reward`)",
    knows=is_intercode,
    episodes=intercode_in,
)
