"""Explains in one sentence why nothing was shown.

Names options as the library does; a door may say more, such as where the memories are instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from reasoningbank.core.wording import counted
from reasoningbank.recall.query import SearchResult

REASONS: dict[str, str] = {
    "floor": "not relevant enough",
    "min_confidence": "below the least confidence",
    "namespace": "in other namespaces",
    "scope": "of another scope",
    "outcome": "of the other outcome",
    "state": "not active",
    "tags": "without the tags",
    "agent": "of another agent",
    "task_type": "of another task type",
    "excluded": "excluded",
    "damaged": "damaged: run `verify`",
    "trust": "trusted too little",
    "trust_quota": "untrusted, beyond one in five",
    "max_tokens": "beyond max_tokens",
}
"""Reasons for which a memory is left out, in words."""


def left_out(result: SearchResult, words: Mapping[str, str] = REASONS) -> list[str]:
    """How many memories were left out, by the reason, in words."""
    return [f"{number:,} {words.get(reason, reason)}" for reason, number in result.filtered_out.items() if number]


def silence(result: SearchResult, namespace: str, max_tokens: int | None = None) -> str:
    """Why nothing is shown; "" when something is. `namespace` is where was searched, "*" everywhere."""
    if result.memories:
        return ""
    where = "any namespace" if namespace == "*" else f"namespace {namespace}"
    if not result.abstained:
        budget = f"max_tokens {max_tokens:,}" if max_tokens is not None else "the budget"
        fits = counted(result.total_found, "memory fits", "memories fit")
        return (
            f"{fits}, but not within {budget}, or helps against a failure that was not asked about (floor 0 shows it), "
            "or was kept back to learn what it is worth."
        )
    if result.index_away:
        return f"Nothing found in {where} by words among the newest; the index is away, so ask again later."
    if result.not_yet_indexed:
        return f"Nothing found yet in {where}: {counted(result.not_yet_indexed, 'change')} not indexed."
    return _left_out_entirely(result, where) if result.filtered_out else f"There is nothing to be found in {where} yet."


def _left_out_entirely(result: SearchResult, where: str) -> str:
    if count := result.filtered_out.get("min_confidence"):
        fits = counted(count, "memory fits and is", "memories fit and are")
        return f"Nothing in {where} is believed: {fits} doubted; min_confidence 0 shows what."
    reasons = ", ".join(left_out(result))
    if result.filtered_out.get("floor"):
        return f"Nothing in {where} fits well enough ({reasons}); floor 0 shows the nearest anyway."
    return f"Nothing in {where} may be shown: {reasons}."
