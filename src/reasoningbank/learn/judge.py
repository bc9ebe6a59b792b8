"""Judges: the environment first, then a model, then rules.

A judge that gives no readable answer says unknown; an outage is not an answer and is passed on, so that the job waits
instead of being judged by nobody. A verdict is read from the three lines that were asked for, or from JSON or marked-up
lines that say the same: an answer with two different verdicts, or none in a place where a verdict stands, is not one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from reasoningbank.core.errors import LLMRefused
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode, JudgedBy, Message, Verdict, VerdictOutcome
from reasoningbank.core.patterns import pattern
from reasoningbank.learn import rules
from reasoningbank.learn.answer_json import json_in
from reasoningbank.learn.answer_schemas import VERDICT_SCHEMA
from reasoningbank.learn.answer_text import answer_in, without_fences
from reasoningbank.learn.environment_words import proof_in
from reasoningbank.learn.episodes import LONGEST_REASON_CHARS, kept_verdict
from reasoningbank.learn.prompting import prompt
from reasoningbank.learn.traces import TRACE_TOKENS, cut_middle, fence, trace_of
from reasoningbank.ports import LLM, Judge

SUCCESS_REWARD = 1.0
"""A reward below it is no success: environments that give parts give them for what is missing too."""
ANSWER_TOKENS = 200
ANSWER_TOKENS_AGAIN = 1_000
REPEAT_VERDICT = "Answer with the three lines and nothing else, the first of them Verdict: success, failure or unknown."
TASK_TOKENS = 500
LLM_CERTAINTY = 0.7
"""Accuracy that the paper's judge reached against the truth (72.7 %), until a bank has measured its own."""

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


class EnvironmentJudge:
    """Judge by facts: a reward, how the session was ended by whoever ran it, a test run in the trace."""

    name = "environment"

    def judge(self, episode: Episode) -> Verdict:
        if episode.reward is not None:
            good = episode.reward >= SUCCESS_REWARD
            return _environment(good=good, reason=f"The environment gave a reward of {episode.reward:g}.")
        verdict = kept_verdict(episode)
        if verdict is not None and verdict.outcome is not VerdictOutcome.UNKNOWN:
            return verdict
        if episode.outcome in (VerdictOutcome.SUCCESS, VerdictOutcome.FAILURE):
            return _environment(good=episode.outcome == VerdictOutcome.SUCCESS, reason="The session was ended as this.")
        return proof_in(episode) or Verdict(
            outcome=VerdictOutcome.UNKNOWN, reason="The environment said nothing.", source=JudgedBy.ENVIRONMENT
        )


def _environment(*, good: bool, reason: str) -> Verdict:
    outcome = VerdictOutcome.SUCCESS if good else VerdictOutcome.FAILURE
    return Verdict(outcome=outcome, reason=reason, source=JudgedBy.ENVIRONMENT, certainty=1.0)


class RulesJudge:
    name = "rules"

    def judge(self, episode: Episode) -> Verdict:
        return rules.judge(episode)


class LLMJudge:
    def __init__(self, llm: LLM, *, scrub: Callable[[str], str] = str, trace_tokens: int = TRACE_TOKENS) -> None:
        self._llm = llm
        self._scrub = scrub
        self._trace_tokens = trace_tokens

    @property
    def name(self) -> str:
        return f"llm ({self._llm.name})"

    def judge(self, episode: Episode) -> Verdict:
        task = fence(cut_middle(self._scrub(episode.task), TASK_TOKENS), "task")
        trace = trace_of(episode, tokens=self._trace_tokens, scrub=self._scrub) or "(no steps)"
        messages = [
            Message(role="system", text=prompt("judge").text),
            Message(role="user", text=f"Task:\n{task}\n\nSession Trace:\n{fence(trace, 'trace')}"),
        ]
        try:
            answer = self._ask(messages)
        except LLMRefused as error:
            return _unknown(f"The judge did not answer: {error}")
        return _verdict(answer, trace)

    def _ask(self, messages: list[Message]) -> SaidVerdict | None:
        """Ask, and once more when the answer cannot be read, with room for a model that thinks aloud."""
        for tokens in (ANSWER_TOKENS, ANSWER_TOKENS_AGAIN):
            completion = self._llm.complete(messages, max_tokens=tokens, temperature=0.0, schema=VERDICT_SCHEMA)
            answer = verdict_in(completion.text)
            if answer is not None:
                return answer
            messages.append(Message(role="assistant", text=cut_middle(completion.text, tokens) or "(nothing)"))
            messages.append(Message(role="user", text="That has no verdict that can be read. " + REPEAT_VERDICT))
        return None


def _unknown(reason: str) -> Verdict:
    return Verdict(outcome=VerdictOutcome.UNKNOWN, reason=reason, source=JudgedBy.LLM)


def _verdict(answer: SaidVerdict | None, trace: str) -> Verdict:
    if answer is None:
        return _unknown("The judge's answer cannot be read.")
    outcome, evidence = answer.outcome, answer.evidence.strip('"')
    # Only words that are really in the record are evidence.
    is_quoted = bool(evidence) and " ".join(evidence.split()) in " ".join(trace.split())
    return Verdict(
        outcome=outcome,
        reason=answer.reason[:LONGEST_REASON_CHARS],
        evidence=evidence[:LONGEST_REASON_CHARS] if is_quoted else "",
        source=JudgedBy.LLM,
        certainty=0.0 if outcome is VerdictOutcome.UNKNOWN else LLM_CERTAINTY,
    )


# ---------------------------------------------------------------- reading a verdict


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
    # More words than three are a sentence, which may say anything.
    return outcomes.pop() if len(outcomes) == 1 and len(words) <= 3 and not is_negated else None


class Judges:
    """Asks several judges in order: the first that is not in doubt decides."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        self._judges = tuple(judges)

    @property
    def name(self) -> str:
        return ", then ".join(judge.name for judge in self._judges)

    def judge(self, episode: Episode) -> Verdict:
        doubts: list[str] = []
        last = Verdict(outcome=VerdictOutcome.UNKNOWN)
        for judge in self._judges:
            last = judge.judge(episode)
            if last.outcome is not VerdictOutcome.UNKNOWN:
                return last
            doubts.append(last.reason)
        return replace(last, reason=" ".join(doubts))
