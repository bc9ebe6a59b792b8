"""Reads a model's verdict: the three lines that were asked for, or JSON or marked-up lines that say the same.

Refuses to choose: an answer with two different verdicts, or none in a place where a verdict stands, is not one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import VerdictOutcome
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.answer_json import json_in
from reasoningbank.learn.answer_text import answer_in, without_fences

_LINE = pattern(
    r"^[ \t>]*(?:[-*+#]+[ \t]+|\d+[.)][ \t]+)?(?:\*\*|__|\")?"
    r"(?P<name>verdict|outcome|judge?ment|status|reason|reasoning|evidence)"
    r"(?:\*\*|__|\")?[ \t]*[:：=-][ \t]*(?:\*\*|__)?[ \t]*(?P<value>.*?)[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_FIELDS = {
    **dict.fromkeys(("outcome", "judgment", "judgement", "status", "success", "result"), "verdict"),
    **dict.fromkeys(("reasoning", "explanation"), "reason"),
    "quote": "evidence",
}
_WORDS = {
    **dict.fromkeys(("success", "successful", "succeeded", "accomplished", "true", "pass"), VerdictOutcome.SUCCESS),
    **dict.fromkeys(("failure", "failed", "fail", "unsuccessful", "false"), VerdictOutcome.FAILURE),
    **dict.fromkeys(("unknown", "unclear", "undetermined", "uncertain", "inconclusive"), VerdictOutcome.UNKNOWN),
}  # fmt: skip
_MOST_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidVerdict:
    outcome: VerdictOutcome
    reason: str = ""
    evidence: str = ""


def verdict_in(text: str) -> SaidVerdict | None:
    """The verdict in a model's answer; None when it cannot be read, or is of two minds."""
    body = answer_in(text)
    readings = [_by_keys(value) for value in json_in(body) if isinstance(value, Mapping)]
    verdicts = [fields for fields in readings if "verdict" in fields] or [_by_lines(without_fences(body))]
    outcomes = {_outcome(fields.get("verdict", "")) for fields in verdicts}
    outcome = outcomes.pop()
    if outcomes or outcome is None:
        return None
    return SaidVerdict(outcome=outcome, reason=verdicts[0].get("reason", ""), evidence=verdicts[0].get("evidence", ""))


def _by_keys(value: Mapping[str, object]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for key, entry in value.items():
        name = str(key).strip().lower()
        name = _FIELDS.get(name, name)
        if isinstance(entry, str | bool):
            fields.setdefault(name, str(entry).strip())
    return fields


def _by_lines(text: str) -> dict[str, str]:
    if text.strip().strip(".*`\"' ").lower() in _WORDS:
        return {"verdict": text}
    fields: dict[str, str] = {}
    for match in _LINE.finditer(text):
        name = match["name"].lower()
        name = _FIELDS.get(name, name)
        if name == "verdict" and _outcome(fields.get("verdict", "")) not in (None, _outcome(match["value"])):
            return {}
        fields.setdefault(name, match["value"].strip().removesuffix("**").strip())
    return fields


def _outcome(text: str) -> VerdictOutcome | None:
    words = re.findall(r"[a-z]+", text.lower())
    outcomes = {_WORDS[word] for word in words if word in _WORDS}
    is_negated = any(word in ("not", "no", "partial", "partially") for word in words)
    return outcomes.pop() if len(outcomes) == 1 and len(words) <= _MOST_WORDS and not is_negated else None
