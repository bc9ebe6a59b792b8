"""What the tools do, asked directly: a transport adds nothing to this."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankBusy, BankUnavailable, Refused
from reasoningbank.core.types import Scope
from reasoningbank.serve.mcp import resources
from reasoningbank.serve.mcp.caller import LOCAL, LocalCaller, admitted_origin
from reasoningbank.serve.mcp.errors import UNEXPECTED
from reasoningbank.serve.mcp.tools import UnknownTool, call

LESSON = {
    "title": "Retry with backoff",
    "description": "When an API answers 429",
    "content": "Double the wait each time, with jitter.",
    "outcome": "success",
}


def done(bank, tool: str, **arguments):
    reply = call(tool, arguments, bank, LOCAL)
    assert reply.values is not None, reply.failure
    return reply.values


def refused(bank, tool: str, **arguments) -> str:
    reply = call(tool, arguments, bank, LOCAL)
    assert reply.values is None, reply.values
    return reply.failure


@pytest.mark.parametrize("outcome", ["maybe", "Success", "SUCCESS", "", "success ", "all", None, True, 1, ["success"]])
def test_an_unknown_outcome_is_an_error_and_never_a_success(bank, outcome):
    said = refused(bank, "memory_record", **{**LESSON, "outcome": outcome})
    assert said.startswith("outcome must be one of success, failure, not ")
    assert bank.list() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "query is missing."),
        ({"query": 5}, "query must be text, not 5."),
        ({"query": "x", "limit": 0}, "limit must be a whole number from 1 to 20, not 0."),
        ({"query": "x", "limit": 21}, "limit must be a whole number from 1 to 20, not 21."),
        ({"query": "x", "limit": True}, "limit must be a whole number from 1 to 20, not True."),
        ({"query": "x", "limit": 2.5}, "limit must be a whole number from 1 to 20, not 2.5."),
        ({"query": "x", "limit": "5"}, "limit must be a whole number from 1 to 20, not '5'."),
        ({"query": "x", "min_confidence": 1.1}, "min_confidence must be a number from 0 to 1, not 1.1."),
        ({"query": "x", "min_confidence": float("nan")}, "min_confidence must be a number from 0 to 1, not nan."),
        ({"query": "x", "scope": "world"}, "scope must be one of project, team, org, all, not 'world'."),
        ({"query": "x", "top_k": 5}, "There is no argument 'top_k': use query, scope, outcome, limit,"),
        ({"query": "   "}, "The query is empty: say what you want to do or know."),
        ({"query": "x", "session_id": "trj_none"}, "There is no session 'trj_none' here."),
        ({"query": "x", "namespace": "a\nb"}, "namespace 'a\\nb' has control characters in it."),
    ],
)
def test_a_bad_argument_is_told_in_a_sentence(bank, arguments, said):
    assert refused(bank, "memory_search", **arguments).startswith(said)


def test_a_whole_number_may_come_as_a_fraction_of_nothing(bank):
    assert done(bank, "memory_search", query="x", limit=5.0)["memories"] == []


def test_a_long_argument_is_not_told_back_in_full(bank):
    assert len(refused(bank, "memory_record", **{**LESSON, "outcome": "x" * 100_000})) < 300
    assert len(refused(bank, "memory_get", memory_id="x" * 400)) < 700


def test_unknown_tools_are_a_fault_of_the_protocol(bank):
    with pytest.raises(UnknownTool):
        call("memory_delete", {}, bank, LOCAL)


def test_what_is_doubted_stays_out_unless_it_is_asked_for(bank):
    raw = bank.store("raw", "A retried payment pays twice")
    assert bank.get(raw.id).confidence.mean == pytest.approx(0.5)
    for _ in range(2):
        bank.feedback(raw.id, helpful=False)
    assert done(bank, "memory_search", query="retried payment")["filtered_out"] == {"min_confidence": 1}
    assert len(done(bank, "memory_search", query="retried payment", min_confidence=0)["memories"]) == 1


def test_a_first_helpful_raises_confidence_and_keeps_the_memory_found(bank):
    made = done(bank, "memory_record", **LESSON)
    judged = done(bank, "memory_feedback", memory_id=made["id"], helpful=True)
    assert judged["new_confidence"] > made["initial_confidence"]
    assert [hit["id"] for hit in done(bank, "memory_search", query="retry backoff")["memories"]] == [made["id"]]


def test_scopes_cascade_with_their_weights(bank):
    for scope in Scope:
        bank.record(**LESSON, scope=scope, namespace="n" if scope is Scope.PROJECT else f"other-{scope}")
    bank.record(**LESSON, namespace="foreign")
    found = done(bank, "memory_search", query="retry backoff")
    assert [hit["scope"] for hit in found["memories"]] == ["project", "team", "org"]
    for scope in Scope:
        only = done(bank, "memory_search", query="retry backoff", scope=scope.value)
        assert [hit["scope"] for hit in only["memories"]] == [scope]


def test_failures_are_found_as_such(bank):
    done(bank, "memory_record", **{**LESSON, "outcome": "failure"})
    assert done(bank, "memory_search", query="retry backoff", outcome="success")["memories"] == []
    assert done(bank, "memory_search", query="retry backoff", outcome="failure")["memories"][0]["outcome"] == "failure"


def test_the_end_of_a_session_credits_what_was_shown_in_it(bank):
    made = done(bank, "memory_record", **LESSON)["id"]
    session = done(bank, "session", action="start", task="call the billing API")["session_id"]
    done(bank, "memory_search", query="retry backoff", session_id=session)
    assert done(bank, "session", action="step", session_id=session, did="GET /invoices", result="200")["steps"] == 1
    ended = done(bank, "session", action="end", session_id=session, outcome="success", used=[made])
    assert (ended["steps"], ended["credited"]) == (1, 1)
    seen = done(bank, "memory_get", memory_id=made)
    assert (seen["usage_count"], seen["succeeded"]) == (1, 1)
    assert seen["confidence"] > 0.8
    assert "has ended already" in refused(bank, "session", action="end", session_id=session, outcome="success")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "start"}, "The action start needs task."),
        ({"action": "step", "did": "x"}, "The action step needs session_id."),
        ({"action": "step", "session_id": "trj_x"}, "The action step needs did."),
        ({"action": "end", "session_id": "trj_x"}, "The action end needs outcome."),
        ({"action": "stop"}, "action must be one of start, step, end, next_job, answer_job, not 'stop'."),
        ({"action": "end", "session_id": "trj_x", "outcome": "success"}, "There is no session 'trj_x' here."),
        (
            {"action": "end", "session_id": "trj_x", "outcome": "done"},
            "outcome must be one of success, failure, unknown",
        ),
    ],
)
def test_a_session_says_what_an_action_needs(bank, arguments, said):
    assert refused(bank, "session", **arguments).startswith(said)


def test_an_outcome_counts_as_a_use(bank):
    made = done(bank, "memory_record", **LESSON)["id"]
    assert done(bank, "memory_outcome", memory_id=made, succeeded=False)["new_confidence"] < 0.8
    assert done(bank, "memory_get", memory_id=made)["usage_count"] == 1


def test_an_outcome_may_be_of_a_session_elsewhere_or_of_the_code_that_came_of_it(bank):
    made = done(bank, "memory_record", **LESSON)["id"]
    up = done(bank, "memory_outcome", memory_id=made, succeeded=True, session_id="mine-17")["new_confidence"]
    down = done(bank, "memory_outcome", memory_id=made, code="reverted")["new_confidence"]
    assert down < up
    assert done(bank, "memory_outcome", memory_id=made, code="survived")["new_confidence"] > down
    kept = done(bank, "memory_get", memory_id=made)
    assert (kept["usage_count"], kept["succeeded"], kept["last_failure"]) == (1, 1, None)
    assert kept["last_success"] is not None
    assert refused(bank, "memory_outcome", memory_id=made).startswith("Say how it went")


# ---------------------------------------------------------------- trust


def test_what_an_agent_records_is_never_the_users(bank):
    made = done(bank, "memory_record", **LESSON)["id"]
    assert bank.get(made).memory.origin == "agent"
    told = done(bank, "memory_record", **LESSON, origin="tool:browser")["id"]
    assert bank.get(told).memory.origin == "tool:browser"


@pytest.mark.parametrize("claimed", ["user", "User", "peer:abc", "import:x", "tool:", "tool: ", "", "agent:other"])
def test_no_other_origin_can_be_claimed(bank, claimed):
    assert "cannot be claimed" in refused(bank, "memory_record", **LESSON, origin=claimed)
    assert bank.list() == []


def test_a_caller_of_little_trust_cannot_rise():
    low = LocalCaller(origin="peer:key")
    assert admitted_origin(None, low) == "peer:key"
    assert admitted_origin(None, LocalCaller(origin="user")) == "agent"
    for claimed, caller in (("agent", low), ("tool:x", low), ("user", LocalCaller(origin="user"))):
        with pytest.raises(Refused):
            admitted_origin(claimed, caller)


def test_secrets_that_the_bank_scrubbed_are_counted(bank):
    class Scrubbing:
        """A bank that reports what it scrubbed."""

        def record(self, **fields):
            made = bank.record(**fields)

            class Recorded:
                id, memory, scrubbed = made.id, made.memory, {"github-pat": 1, "jwt": 1}

            return Recorded()

    assert call("memory_record", LESSON, Scrubbing(), LOCAL).values["secrets_scrubbed"] == 2


# ---------------------------------------------------------------- failures


def test_a_failing_store_names_no_file(bank):
    class Failing:
        def __init__(self, error):
            self.error = error

        def get(self, _):
            raise self.error

    for error in (
        BankUnavailable("There is no bank at /home/somebody/bank.db"),
        BankBusy("/home/somebody/bank.db is locked"),
        RuntimeError("/home/somebody/secret.py failed"),
        OSError(5, "Input/output error", "/home/somebody/bank.db"),
    ):
        reply = call("memory_get", {"memory_id": "x"}, Failing(error), LOCAL)
        assert reply.values is None
        assert "/home" not in reply.failure
        assert reply.failure.endswith(".")
    assert reply.failure == UNEXPECTED


def test_a_read_only_bank_searches_and_says_why_it_does_not_store(path):
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.record(**LESSON)
    with ReasoningBank.open(path, embedder="hash", namespace="n", read_only=True) as bank:
        assert len(done(bank, "memory_search", query="retry backoff")["memories"]) == 1
        assert "can only be read" in refused(bank, "memory_record", **LESSON)


# ---------------------------------------------------------------- resources


def test_the_newest_memories_are_listed_in_pages(bank):
    bank.record_many([{**LESSON, "title": f"lesson {number}"} for number in range(230)])
    seen: list[str] = []
    cursor, pages = None, 0
    while True:
        page = resources.list_resources(bank, cursor)
        seen += [entry["uri"] for entry in page.entries]
        pages += 1
        cursor = page.next_cursor
        if cursor is None:
            break
    assert pages == 4
    assert seen[:2] == ["memory://recent", "memory://statistics"]
    assert len(seen) == len(set(seen)) == 2 + resources.MOST_LISTED
    newest = [item.id for item in bank.list(limit=200)]
    assert seen[2:] == [f"memory://{memory_id}" for memory_id in newest]


def test_an_empty_bank_lists_one_page(bank):
    page = resources.list_resources(bank, None)
    assert len(page.entries) == 2
    assert page.next_cursor is None


def test_a_forgotten_memory_can_still_be_read_and_says_so(bank):
    made = bank.record(**LESSON)
    bank.forget(made.id)
    assert resources.read(bank, f"memory://{made.id}")["state"] == "forgotten"
    bank.erase(made.id)
    with pytest.raises(Exception, match="There is no resource"):
        resources.read(bank, f"memory://{made.id}")


def test_nothing_that_is_shown_names_the_tenant(bank):
    made = done(bank, "memory_record", **LESSON)["id"]
    assert "tenant" not in done(bank, "memory_get", memory_id=made)
    assert "tenant" not in resources.read(bank, f"memory://{made}")
    assert "tenant" not in resources.read(bank, "memory://recent")["memories"][0]
