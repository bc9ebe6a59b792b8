"""Refuses a tool call once, with what is known against it as the reason: the one thing a model reads before it acts.

Only the user's rule stops a call, and what our own hooks saw fail and then work in this project. The same call again in
the session passes, in whatever process the hook runs: the session's log remembers it, under its lock. When in doubt the
call goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.digest import blake2b
from reasoningbank.core.origins import Trust
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import USER_NAMESPACE, Remembered, Rule
from reasoningbank.guard.envelope import marked
from reasoningbank.learn.ingest.text import HELD_BACK
from reasoningbank.learn.offline.user_rules import rule_line
from reasoningbank_coding_agents.advice import Advice
from reasoningbank_coding_agents.hosts.host import Host
from reasoningbank_coding_agents.lesson_line import line_of, was_witnessed
from reasoningbank_coding_agents.objections import Objections
from reasoningbank_coding_agents.policy import AFTER, ASK, DENY_ONCE, HookPolicy
from reasoningbank_coding_agents.session_log import LogEntry, SessionLog, turn

LEAST_TO_REFUSE = 0.5
"""Least confidence of a reason to refuse: what is as likely wrong as right may be told, and does not get in the way."""
MOST_REASONS = 2
KNOWN_TO_FAIL = f"{HELD_BACK}, this is known to go wrong here:"
AGAINST_A_RULE = f"{HELD_BACK}. The user said:"
CHANGE_IT = "Change the call, or run it again to go ahead."
ASK_FIRST = "Do what the user said, ask if in doubt; run it again to go ahead."


def way_of(warn: str, host: Host) -> str:
    """How this agent lets a warning be given: what is asked for, or the next best that it can do."""
    if warn == ASK and not host.can_ask:
        warn = DENY_ONCE
    return AFTER if warn == DENY_ONCE and not host.can_deny else warn


def has_earned_it(hit: Remembered) -> bool:
    """True if a session of our own hooks saw it fail and then work, and it still works more often than it fails."""
    if hit.trust is Trust.UNTRUSTED:
        return False
    uses, well = (hit.seen, hit.seen_well) if hit.seen else (hit.usage_count, hit.succeeded)
    still_works = hit.confidence.mean >= LEAST_TO_REFUSE and (not uses or 2 * well > uses)
    return was_witnessed(hit) and still_works


def reasons_against(hits: Sequence[Remembered], objections: Objections) -> list[Remembered]:
    """Memories that hold a call back. What failed elsewhere says nothing of this project."""
    ids = (*objections.forbidden, *objections.known)
    return [hit for hit in hits if hit.id in ids and hit.namespace != USER_NAMESPACE and has_earned_it(hit)][
        :MOST_REASONS
    ]


def call_key(tool: str, call: str) -> str:
    """A short name for a call, to know it again by."""
    return blake2b(f"{tool}\n{call}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def refuse_once(
    log: SessionLog, key: str, rules: Sequence[Rule], hits: Sequence[Remembered], policy: HookPolicy, now: float
) -> Advice | None:
    """The reason against a call, or None when it has been given before or cannot be noted: then the call goes on.

    It counts against what a session may be told. Where nothing of that is left, only the user's rules hold a call back.
    """
    reasons = (
        (AGAINST_A_RULE, *map(rule_line, rules), ASK_FIRST)
        if rules
        else (KNOWN_TO_FAIL, *map(line_of, hits), CHANGE_IT)
    )
    text = marked("\n".join(reasons))
    tokens = count_tokens(text)
    with turn(log) as speaking:
        if speaking is None or key in speaking.refused or tokens > policy.prompt_tokens:
            return None
        if speaking.tokens + tokens > policy.session_tokens and not rules:
            return None
        ids = [record.id for record in rules or hits]
        fresh = tuple(record_id for record_id in ids if record_id not in speaking.shown)
        speaking.note(LogEntry(at=now, shown=fresh, tokens=tokens, refused=(key,)))
    return Advice(text=text, rules=len(rules), lessons=0 if rules else len(hits))
