"""The whole loop: what one task taught is advice for the next, with no model, with one, and across processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, LLMUnavailable
from reasoningbank.core.learning import Acted, EpisodeStep
from reasoningbank.llm.scripted import ScriptedLLM

ROOT = Path(__file__).parents[2]
GOOD = """## Memory 1
**Title**: Retry a GET that timed out
**Description**: When the billing API times out
**Content**: Retry the GET after a pause; never retry a payment.
**Tags**: http
**Outcome**: success"""


def agent(task: str, advice: str) -> Acted:
    return Acted(
        answer=f"{task}, advised: {bool(advice)}",
        steps=(EpisodeStep(action="GET /invoices", result="timed out", ok=False),
               EpisodeStep(action="GET /invoices after a pause", result="200", ok=True)),
        reward=1.0,
    )  # fmt: skip


def test_what_one_task_taught_is_advice_for_the_next(path: Path) -> None:
    llm = ScriptedLLM([GOOD, "NO_EXTRACTIONS"])
    with ReasoningBank.open(path, embedder="hash", namespace="n", llm=llm) as bank:
        first = bank.loop(agent).run("retry a GET that timed out")
        assert (first.advice, first.verdict.outcome) == ("", "success")
        [learned] = first.learned
        second = bank.loop(agent).run("retry a GET that timed out at the billing API")
        assert "Retry the GET after a pause" in second.advice
        assert second.learned == ()
        assert bank.get(learned).confidence.mean > 0.7, "it was shown in a task that went well"
        assert bank.jobs.spending()[0].calls == 2
        assert bank.trajectory(second.session)[0].outcome == "success"


def test_the_loop_needs_no_model(bank) -> None:
    turn = bank.loop(lambda task, advice: Acted(answer="x", steps=(
        EpisodeStep(action="SELECT nam FROM singer", result="Error: no such column: nam", ok=False),
        EpisodeStep(action="DESCRIBE singer", result="singer_id, name, country, age", ok=True),
        EpisodeStep(action="SELECT name FROM singer", result="Joe, Tim", ok=True),
    ), reward=1.0)).run("name the singers")  # fmt: skip
    assert turn.learned
    assert "singer_id" in bank.get(turn.learned[0]).content


def test_distilling_may_be_left_to_workers(bank) -> None:
    turn = bank.loop(agent, learn_now=False).run("t")
    assert turn.learned == ()
    assert bank.jobs.tally() == {"waiting": 1}


def test_what_the_agent_raises_comes_through_and_the_session_is_ended(bank) -> None:
    def broken(task: str, advice: str) -> str:
        raise ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError):
        bank.loop(broken).run("t")
    [session] = bank.sessions()
    assert session.outcome == "unknown"
    assert bank.trajectory(session.id)[1][0].result == "ZeroDivisionError: oops"


def test_an_answer_of_no_use_is_refused(bank) -> None:
    with pytest.raises(InvalidInput, match="int"):
        bank.loop(lambda task, advice: 42).run("t")


def test_consolidation_follows_when_something_was_learned(path: Path) -> None:
    called = []
    llm = ScriptedLLM([GOOD, "NO_EXTRACTIONS"])
    with ReasoningBank.open(path, embedder="hash", namespace="n", llm=llm) as bank:
        loop = bank.loop(agent, consolidate=lambda: called.append(1))
        loop.run("retry a GET that timed out")
        loop.run("something else")
    assert called == [1]


def test_a_doubtful_verdict_is_worth_less_than_a_certain_one(path: Path) -> None:
    llm = ScriptedLLM(["Verdict: success\nReason: It answered 200.\nEvidence: 200", "NO_EXTRACTIONS"])
    with ReasoningBank.open(path, embedder="hash", namespace="n", llm=llm) as bank:
        known = bank.record(title="invoices", content="fetch the invoices after a pause")
        turn = bank.loop(lambda t, a: Acted(answer="x", steps=agent(t, a).steps, used=(known.id,))).run(
            "fetch the invoices"
        )
        [signal] = [signal for signal in (point.signal for point in bank.history(known.id).points) if signal]
        assert (turn.verdict.source, signal.used) == ("llm", True)
        assert signal.weight == pytest.approx(0.7)


def test_an_outage_leaves_the_turn_whole_and_the_job_waiting(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n", llm=ScriptedLLM([LLMUnavailable("down")])) as bank:
        turn = bank.loop(agent).run("t")
        assert turn.answer.startswith("t")
        assert turn.learned == ()
        assert bank.jobs.tally() == {"waiting": 1}


def test_the_example_runs_offline(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "loop.py", tmp_path / "bank.db"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "learned" in done.stdout


def test_no_secret_of_a_session_reaches_the_disk_by_way_of_its_verdict_its_lessons_or_its_errors(path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    lesson = GOOD.replace("Retry the GET after a pause", f"Retry the GET with {secret}")
    llm = ScriptedLLM([f"Verdict: failure\nReason: {secret} is invalid.\nEvidence: none",
                       lesson.replace("success", "failure"), ValueError(f"no {secret}")])  # fmt: skip
    steps = (EpisodeStep(action=f"GET /x?token={secret}", result=f"Error: {secret} timed out"),)
    with ReasoningBank.open(path, embedder="hash", namespace="n", llm=llm) as bank:
        bank.loop(lambda task, advice: Acted(answer=secret, steps=steps)).run(f"fetch with {secret}")
        bank.loop(lambda task, advice: Acted(answer=secret, steps=steps, reward=1.0)).run("again")
        assert secret not in "".join(message.text for asked in llm.asked for message in asked)
        assert len(bank.list()) == 1
        assert {item.standing for item in bank.jobs.list()} == {"done", "waiting"}
    for file in path.parent.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file.name
