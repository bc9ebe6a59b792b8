"""A coding agent's own model distils: it takes a job through MCP, answers it, and is told what is wrong with an answer."""

from __future__ import annotations

import pytest

from tests.learn.test_agent_jobs import GOOD
from tests.serve.mcp.conftest import HELLO
from tests.serve.mcp.test_idle_hands import a_finished_session

BAD = {
    "prose": "I learned a lot!",
    "too long a title": GOOD.replace("Install the -dev package", "x" * 51),
    "another outcome": GOOD.replace("**Outcome**: success", "**Outcome**: maybe"),
    "too many": "\n".join(GOOD.replace("Memory 1", f"Memory {n}").replace("-dev", f"-dev{n}") for n in range(1, 5)),
}


@pytest.fixture
def host(stdio):
    return stdio(REASONINGBANK_DISTILLER="host").hello()


def test_an_agent_takes_a_job_and_answers_it(host):
    a_finished_session(host)
    handed = host.call("session", action="next_job")["structuredContent"]
    assert "apt install libfoo-dev" in handed["job"]["record"]
    assert handed["job"]["outcome"] == "success"
    assert (
        host.call("session", action="next_job")["structuredContent"]["message"] == "No session waits to be distilled."
    )
    answered = host.call("session", action="answer_job", job_id=handed["job"]["id"], answer=GOOD)["structuredContent"]
    [memory] = answered["memories"]
    kept = host.call("memory_get", memory_id=memory)["structuredContent"]
    assert (kept["title"], kept["metadata"]["distiller"]) == ("Install the -dev package", "host")
    assert host.call("session", action="answer_job", job_id=handed["job"]["id"], answer=GOOD)["isError"]


def test_the_end_of_a_session_says_that_it_waits_for_the_agent(host, stdio):
    def end(client) -> str:
        session = client.call("session", action="start", task="t")["structuredContent"]["session_id"]
        return client.call("session", action="end", session_id=session, outcome="success")["structuredContent"][
            "message"
        ]

    assert end(host) == "Session ended as success. Distil it now: action next_job"
    assert end(stdio().hello()) == "Session ended as success"


def test_the_instructions_ask_for_jobs_only_where_the_agent_distils(stdio):
    def instructions(client) -> str:
        return client.ask("initialize", HELLO)["result"]["instructions"]

    assert "action next_job" in instructions(stdio(REASONINGBANK_DISTILLER="host"))
    assert "next_job" not in instructions(stdio())


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_answer_is_an_error_to_act_on_and_never_a_memory(host, bad):
    a_finished_session(host)
    job = host.call("session", action="next_job")["structuredContent"]["job"]["id"]
    refused = host.call("session", action="answer_job", job_id=job, answer=BAD[bad])
    assert refused["isError"]
    assert "Answer again (4 left)" in refused["content"][0]["text"]
    assert host.ask("resources/read", {"uri": "memory://recent"})["result"]["contents"][0]["text"] == '{"memories": []}'
    assert not host.call("session", action="answer_job", job_id=job, answer="NO_EXTRACTIONS")["isError"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"action": "answer_job"}, "The action answer_job needs job_id."),
        ({"action": "answer_job", "job_id": "job_x"}, "The action answer_job needs answer."),
        ({"action": "answer_job", "job_id": "job_x", "answer": "y"}, "There is no job 'job_x' here."),
        ({"action": "next_job", "job_id": "job_x"}, "There is no job 'job_x' here."),
    ],
)
def test_what_is_missing_is_said(host, arguments, says):
    answer = host.call("session", **arguments)
    assert answer["isError"]
    assert answer["content"][0]["text"] == says
