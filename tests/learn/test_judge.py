"""The environment is believed before a model, a model before rules, and whoever cannot tell says unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reasoningbank.core.errors import LLMRefused, LLMUnavailable
from reasoningbank.core.learning import Episode, EpisodeStep, JudgedBy, VerdictOutcome
from reasoningbank.learn.judge import EnvironmentJudge, Judges, LLMJudge, RulesJudge
from reasoningbank.llm.scripted import ScriptedLLM

QUIET = Episode(task="t", namespace="n", steps=(EpisodeStep(action="look around", result="some files"),))


def with_results(*results: str, action: str = "run it now", task: str = "t") -> Episode:
    steps = tuple(EpisodeStep(action=f"{action} {n}", result=r) for n, r in enumerate(results))
    return replace(QUIET, task=task, steps=steps)


def episode_of(task: str, *steps: tuple[str, str]) -> Episode:
    return replace(QUIET, task=task, steps=tuple(EpisodeStep(action=a, result=r) for a, r in steps))


def chain(*lines: object) -> tuple[Judges, ScriptedLLM]:
    llm = ScriptedLLM(lines)  # type: ignore[arg-type]
    return Judges([EnvironmentJudge(), LLMJudge(llm), RulesJudge()]), llm


@pytest.mark.parametrize(("reward", "finding"), [(1.0, "success"), (0.99, "failure"), (0.0, "failure")])
def test_a_reward_decides_and_nobody_else_is_asked(reward: float, finding: str) -> None:
    judges, llm = chain("Verdict: unknown\nReason: x")
    verdict = judges.judge(replace(QUIET, reward=reward, outcome="success"))
    assert (verdict.outcome, verdict.source, verdict.certainty) == (finding, JudgedBy.ENVIRONMENT, 1.0)
    assert llm.asked == []


def test_how_a_session_was_ended_counts_before_an_opinion() -> None:
    judges, llm = chain("Verdict: failure\nReason: x")
    assert judges.judge(replace(QUIET, outcome="success")).outcome is VerdictOutcome.SUCCESS
    assert llm.asked == []


TESTED = {
    "pytest, good": ("collected 5 items\n===== 5 passed in 0.12s =====", "success"),
    "pytest, bad": ("FAILED test_x.py::test_a\n=== 1 failed, 4 passed in 0.3s ===", "failure"),
    "pytest, quiet": ("....\n4 passed in 0.01s", "success"),
    "unittest, good": ("....\nRan 4 tests in 0.001s\n\nOK", "success"),
    "unittest, bad": ("Ran 4 tests in 0.001s\n\nFAILED (failures=1)", "failure"),
    "jest, bad": ("Tests:       1 failed, 3 passed, 4 total", "failure"),
    "jest, good": ("Tests:       4 passed, 4 total", "success"),
    "cargo": ("test result: ok. 12 passed; 0 failed; 0 ignored", "success"),
    "go, bad": ("--- FAIL: TestX (0.00s)\nFAIL\texample.com/x\t0.01s", "failure"),
    "gradle": ("BUILD SUCCESSFUL in 3s", "success"),
}


@pytest.mark.parametrize(("result", "finding"), TESTED.values(), ids=TESTED)
def test_a_test_run_in_the_trace_is_the_environment_speaking(result: str, finding: str) -> None:
    verdict = EnvironmentJudge().judge(with_results("ok", result, task="make the tests pass"))
    assert (verdict.outcome, verdict.source) == (finding, JudgedBy.ENVIRONMENT)
    assert verdict.evidence


def test_the_last_test_run_counts() -> None:
    red, green = "=== 1 failed, 4 passed in 0.3s ===", "=== 5 passed in 0.3s ==="
    mended = episode_of("mend the login", ("pytest -q", red), ("sed -i s/a/b/ app.py", ""), ("pytest -q", green))
    assert EnvironmentJudge().judge(mended).outcome is VerdictOutcome.SUCCESS


PROVES_LITTLE = {
    "old tests still pass": (("edit x.py", "done"), ("pytest tests/x.py", "5 passed in 0.3s"), ("submit", "ok")),
    "old tests fail before and after": (("pytest -q", "2 failed, 5 passed in 1s"), ("submit", "the patch")),
    "tests that the agent wrote": (
        ("pytest test_own.py", "1 failed in 0.1s"),
        ("create test_own.py", "done"),
        ("pytest test_own.py", "1 passed in 0.1s"),
    ),
    "a log of another run": (("tail ci.log", "BUILD FAILED"), ("Answer: the disk is full", "")),
}


@pytest.mark.parametrize("steps", PROVES_LITTLE.values(), ids=PROVES_LITTLE)
def test_a_test_run_that_tells_nothing_of_the_task_proves_nothing(steps: tuple[tuple[str, str], ...]) -> None:
    assert RulesJudge().judge(episode_of("wrong totals on an empty frame", *steps)).outcome is VerdictOutcome.UNKNOWN


def test_tests_that_passed_before_and_fail_in_the_end_are_a_failure() -> None:
    broken = episode_of("rename it", ("pytest", "5 passed in 1s"), ("mv a b", ""), ("pytest", "1 failed in 1s"))
    assert RulesJudge().judge(broken).outcome is VerdictOutcome.FAILURE


# ---------------------------------------------------------------- a model


def test_a_model_is_asked_when_the_environment_is_silent() -> None:
    judges, llm = chain('Verdict: failure\nReason: It only looked.\nEvidence: "some files"')
    verdict = judges.judge(QUIET)
    assert (verdict.outcome, verdict.source) == (VerdictOutcome.FAILURE, JudgedBy.LLM)
    assert (verdict.reason, verdict.evidence) == ("It only looked.", "some files")
    assert 0.5 < verdict.certainty < 1
    assert "some files" in llm.asked[0][1].text


def test_words_that_are_not_in_the_record_are_no_evidence() -> None:
    judges, _ = chain("Verdict: success\nReason: All done.\nEvidence: 42 tests passed")
    assert judges.judge(QUIET).evidence == ""


@pytest.mark.parametrize(
    "answer",
    ["", "It went well.", "Verdict: great\nReason: x", "Verdict: success | failure | unknown\nReason: x",
     "Verdict: not a success", "Verdict: partial success", "Verdict: success\nReason: x\nVerdict: failure",
     '{"verdict": "success"} {"verdict": "failure"}', "I cannot judge this.", "\x00\xff",
     LLMRefused("too long")],
)  # fmt: skip
def test_a_judge_without_a_readable_answer_gives_unknown_and_never_failure(answer: object) -> None:
    judges, _ = chain(answer)
    verdict = judges.judge(QUIET)
    assert verdict.outcome is VerdictOutcome.UNKNOWN


@pytest.mark.parametrize("answer", [
    "Verdict: success\nReason: done\nEvidence: none",
    "<think>Verdict: failure? No.</think>\nVerdict: success\nReason: done",
    "Sure.\n\n**Verdict**: Success.\n**Reason**: done\n\nI hope this helps.",
    "**Verdict:** success\n**Reason:** done", "- Verdict: success\n- Reason: done", "## Verdict: success\nReason: done",
    "```\nVerdict: success\nReason: done\n```", "verdict = success\nreason = done", "Outcome: successful\nReasoning: done",
    '{"reason": "done", "evidence": "", "verdict": "success"}', 'So: ```json\n{"Verdict": "SUCCESS", "Reason": "done",}\n```',
    '{"success": true, "reason": "done"}', "{'verdict': 'success', 'reason': 'done'}", "\ufeffVerdict: success\r\nReason: done\r\n",
])  # fmt: skip
def test_a_verdict_is_read_however_it_is_written(answer: str) -> None:
    judges, llm = chain(answer)
    verdict = judges.judge(QUIET)
    assert (verdict.outcome, verdict.reason) == (VerdictOutcome.SUCCESS, "done")
    assert len(llm.asked) == 1


def test_a_judge_whose_answer_cannot_be_read_is_asked_once_more() -> None:
    judges, llm = chain("<think>let me see, the task was", "Verdict: failure\nReason: it broke")
    assert judges.judge(QUIET).outcome is VerdictOutcome.FAILURE
    assert "no verdict that can be read" in llm.asked[1][-1].text


def test_an_outage_is_no_answer_and_is_passed_on() -> None:
    judges, _ = chain(LLMUnavailable("down"))
    with pytest.raises(LLMUnavailable):
        judges.judge(QUIET)


def test_rules_are_asked_when_the_model_is_in_doubt() -> None:
    judges, _ = chain("Verdict: unknown\nReason: Cannot tell.")
    verdict = judges.judge(with_results("fine", "Error: no such table"))
    assert (verdict.outcome, verdict.source) == (VerdictOutcome.FAILURE, JudgedBy.RULES)


# ---------------------------------------------------------------- rules


@pytest.mark.parametrize(
    "result",
    ["complete: 0 errors found", "no errors, 3 warnings", "the error handler was registered", "done", "[]",
     "File errors.py saved", "0 failures"],
)  # fmt: skip
def test_a_quiet_end_is_unknown_and_not_a_failure(result: str) -> None:
    assert RulesJudge().judge(with_results("a", result)).outcome is VerdictOutcome.UNKNOWN


FAILING = {
    "error": "Error: order not found",
    "traceback": "Traceback (most recent call last):\n  File x\nValueError: y",
    "shell": "bash: foo: command not found",
    "exit code": "Process exited with code 2",
    "exception": "sqlite3.OperationalError: no such column: nam",
}


@pytest.mark.parametrize("result", FAILING.values(), ids=FAILING)
def test_a_last_action_that_failed_is_a_failure_with_its_words(result: str) -> None:
    verdict = RulesJudge().judge(with_results("fine", result))
    assert verdict.outcome is VerdictOutcome.FAILURE
    assert verdict.evidence in result
    assert 0.5 < verdict.certainty < 1


def test_an_error_that_was_mended_is_no_failure() -> None:
    assert RulesJudge().judge(with_results("Error: no such table", "3 rows")).outcome is VerdictOutcome.UNKNOWN


def test_a_failed_action_before_the_last_word_still_counts() -> None:
    steps = (
        EpisodeStep(action="cancel_order(7)", result="Error: cannot be cancelled"),
        EpisodeStep(action="Your order could not be found in our system, so we are done.", result="ok bye"),
    )
    assert RulesJudge().judge(replace(QUIET, steps=steps)).outcome is VerdictOutcome.FAILURE


def test_the_same_three_times_running_is_a_failure_and_twice_is_not() -> None:
    look = EpisodeStep(action="look at shelf 1", result="Nothing happens.")
    twice, thrice = replace(QUIET, steps=(look, look)), replace(QUIET, steps=(look, look, look))
    assert RulesJudge().judge(twice).outcome is VerdictOutcome.UNKNOWN
    assert RulesJudge().judge(thrice).outcome is VerdictOutcome.FAILURE
    failing = EpisodeStep(action="make", result="Error: no rule")
    failed, also = replace(QUIET, steps=(look, failing)), replace(QUIET, steps=(failing, failing, failing))
    assert RulesJudge().judge(also).certainty > RulesJudge().judge(failed).certainty


NO_FAILURES = {
    "a log that was looked at": ("list the errors", ("ls", "app.log"), ("grep -i error app.log", "Error: timed out")),
    "a diff": ("mend it", ("ls", "a"), ("submit", "diff --git a/x b/x\n+Error: x\n")),
    "a failure that was to be seen": ("find out why it stops", ("ls", "a"), ("./run", "Error: no memory left")),
    "a call that was refused before anything was changed": (
        "return it",
        ('get_order({"id": 7})', "{}"),
        ('return_order({"id": 7})', "Error: it cannot be returned"),
    ),
    "an excuse after a failure that was mended": (
        "cancel it",
        ('cancel_order({"id": 7})', "Error: no such order"),
        ('cancel_order({"id": 8})', "{}"),
        ("It is cancelled. Unfortunately I cannot make the refund faster.", "ok"),
    ),
}


@pytest.mark.parametrize("told", NO_FAILURES.values(), ids=NO_FAILURES)
def test_what_only_looks_like_a_failure_is_unknown(told: tuple) -> None:
    task, *steps = told
    assert RulesJudge().judge(episode_of(task, *steps)).outcome is VerdictOutcome.UNKNOWN


def test_a_call_that_is_refused_after_others_were_done_leaves_the_task_half_done() -> None:
    done = ('modify_order({"id": 7})', '{"status": "modified"}')
    refused = ('modify_address({"id": 7})', "Error: it can no longer be modified")
    assert RulesJudge().judge(episode_of("change both", done, refused)).outcome is VerdictOutcome.FAILURE


def test_to_refuse_what_must_not_be_done_is_no_failure() -> None:
    steps = (
        EpisodeStep(action="get_order(7)", result="{}"),
        EpisodeStep(action="I cannot refund this, by our policy."),
    )
    assert RulesJudge().judge(replace(QUIET, steps=steps)).outcome is VerdictOutcome.UNKNOWN


def test_to_come_back_to_a_place_is_not_to_stand_still() -> None:
    door = EpisodeStep(action="go to cabinet 1", result="The cabinet 1 is closed.")
    steps = (door, EpisodeStep(action="go to desk 2", result="You see a mug 1."), door)
    assert RulesJudge().judge(replace(QUIET, steps=steps)).outcome is VerdictOutcome.UNKNOWN


@pytest.mark.parametrize(
    ("result", "finding"),
    [
        ("Episode finished, reward = 1", "success"),
        ("Episode finished, reward = 0", "failure"),
        ("Your score (min 0.0, max 1.0): 1.0", "success"),
        ("Task completed.", "success"),
        ("Answer is INCORRECT", "failure"),
        ("You put the mug 1 in the sink. Task completed.", "success"),
        ("Flag is correct!", "success"),
        ("2 failed, 1 passed", "failure"),
        ("Your score (min 0.0, max 1.0): 0.4", "failure"),
        ("The reward for early birds is 10 points", "unknown"),
        ("Task completed: buy milk", "unknown"),
        ("Question 3: answer is incorrect", "unknown"),
        ("episode 9, reward: 0", "unknown"),
    ],
)
def test_the_environments_own_words_prove_an_end(result: str, finding: str) -> None:
    assert RulesJudge().judge(with_results("fine", result)).outcome == finding


def test_what_the_agent_put_there_itself_proves_nothing() -> None:
    steps = (EpisodeStep(action="ls", result="a"), EpisodeStep(action="echo 'Task completed'", result="Task completed"))
    assert RulesJudge().judge(replace(QUIET, steps=steps)).outcome is VerdictOutcome.UNKNOWN


def test_words_that_the_task_is_about_are_no_verdict_on_it() -> None:
    trained = episode_of("train it to a reward of one", ("ls", "a"), ("python train.py", "Reward: 1.0"))
    ticked = episode_of("tick it off", ("ls", "a"), ('complete_task({"id": 4})', "Task completed."))
    for told in (trained, ticked):
        assert RulesJudge().judge(told).outcome is VerdictOutcome.UNKNOWN


def test_rules_never_read_the_reward_or_the_end() -> None:
    for reward in (0.0, 1.0):
        for outcome in ("success", "failure"):
            told = replace(QUIET, reward=reward, outcome=outcome, metadata={"verdict": {"outcome": outcome}})
            assert RulesJudge().judge(told) == RulesJudge().judge(QUIET)


def test_a_hostile_megabyte_is_judged_at_once() -> None:
    for text in ("a" * 1_000_000, "= " * 500_000, "1 failed " * 100_000, "i " * 500_000, "Error\n" * 100_000):
        RulesJudge().judge(replace(QUIET, steps=(EpisodeStep(action=text, result=text),) * 3))
