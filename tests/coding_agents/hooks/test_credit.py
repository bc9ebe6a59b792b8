"""Credit where it is due: for what was visibly followed, and by what the user says of it afterwards."""

from __future__ import annotations

import pytest

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.types import Signal
from reasoningbank_coding_agents.following import course_of, is_followed

PROMPT = "Please run the unit tests of the parser"
UV = {"action": "pytest tests/parser", "signature": "pytest: command not found", "worked": "uv run pytest tests/parser"}
FLAG = {"action": "npm run lint", "signature": "heap out of memory", "worked": "npm run lint --quick"}
BARE = {"action": "make deploy", "signature": "make: no rule to make target _"}


def step(action: str, *, call: str = "", result: str = "ok", ok: bool = True) -> EpisodeStep:
    return EpisodeStep(action=action, result=result, ok=ok, metadata={"tool": "Bash", "call": call})


def remembered(desktop, trouble=None, content: str = "It fails."):
    with desktop.bank() as bank:
        made = bank.record(
            title="A lesson", description="about something", content=content,
            outcome="failure" if trouble else "success", metadata={"trouble": trouble} if trouble else {},
        )  # fmt: skip
        return made.memory


@pytest.mark.parametrize(
    ("trouble", "action", "followed"),
    [
        (UV, "uv run pytest tests/lexer -x", True),
        (UV, "cd app && uv run pytest", True),
        (UV, "pytest tests/lexer", False),
        (UV, "uv sync", False),
        (FLAG, "npm run lint --quick", True),
        (FLAG, "npm run build", False),
        (BARE, "make deploy-all", False),
        (BARE, "make deploy", False),
        (BARE, "make deploy TARGET=staging", True),
        (BARE, "ls", False),
    ],
)
def test_advice_was_used_when_its_way_was_taken(desktop, trouble, action, followed) -> None:
    episode = Episode(task=PROMPT, namespace="x", steps=(step("ls"), step(action)))
    assert is_followed(remembered(desktop, trouble), course_of(episode, "")) is followed


def test_a_warning_was_not_heeded_when_the_failure_came_again(desktop) -> None:
    again = step("make deploy TARGET=x", result="make: no rule to make target 'deploy'", ok=False)
    episode = Episode(task=PROMPT, namespace="x", steps=(again,))
    assert is_followed(remembered(desktop, BARE), course_of(episode, "")) is False


@pytest.mark.parametrize(
    ("steps", "call", "followed"),
    [
        ((step("uv run pytest", call="1"), step("ls", call="2")), "1", False),
        ((step("uv run pytest", call="1"), step("uv run pytest", call="2")), "1", False),
        ((step("pytest", call="1", ok=False), step("uv run pytest", call="2")), "1", True),
    ],
)
def test_what_was_done_before_a_lesson_was_shown_is_no_merit_of_it(desktop, steps, call, followed) -> None:
    episode = Episode(task=PROMPT, namespace="x", steps=steps)
    assert is_followed(remembered(desktop, UV), course_of(episode, call)) is followed


@pytest.mark.parametrize(
    ("content", "task", "actions", "answer", "followed"),
    [
        ("Set `DATABASE_URL` first.", "Run it", ["export DATABASE_URL=x"], "", True),
        ("Set `DATABASE_URL` first.", "Run it", ["make"], "DATABASE_URL does not matter here", False),
        ("Set `DATABASE_URL` first.", "Run it with DATABASE_URL", ["export DATABASE_URL=x"], "", None),
        ("Pass --runInBand to jest.", "Run it", ["jest --runInBand"], "", True),
        ("Pass --runInBand to jest.", "How do I run it?", [], "Use `jest --runInBand`.", True),
        ("Pass --runInBand to jest.", "How do I run it?", [], "Just run jest.", False),
        ("Be careful with the parser.", "Run it", ["make"], "", None),
    ],
)
def test_a_lesson_is_followed_by_the_thing_that_it_names(desktop, content, task, actions, answer, followed) -> None:
    said = ({"role": "user", "content": task}, {"role": "assistant", "content": answer})
    episode = Episode(task=task, namespace="x", steps=tuple(map(step, actions)), messages=said)
    assert is_followed(remembered(desktop, content=content), course_of(episode, "")) is followed


def signals(desktop, memory: str) -> list[Signal]:
    with desktop.bank() as bank:
        return [point.signal for point in bank.history(memory).points if point.signal is not None]


@pytest.mark.parametrize("words", ["Thanks, perfect!", "No, that is wrong."])
def test_a_lesson_that_was_shown_and_ignored_is_neither_used_nor_credited_nor_blamed(desktop, words) -> None:
    with desktop.bank() as bank:
        memory = bank.record(title="Parser tests", description="parser tests", content="Pass `--db sqlite` to them.").id
        bank.search("parser", noted=False)
    assert desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    told = desktop.transcript()
    told.says(PROMPT)
    told.runs("make test", "===== 12 passed in 0.31s =====")
    told.says(words)
    desktop.hook("SessionEnd")
    desktop.read()
    assert signals(desktop, memory) == []
    with desktop.bank() as bank:
        assert (bank.get(memory).shown, bank.get(memory).usage_count) == (1, 0)


def test_a_lesson_that_was_followed_is_used(desktop) -> None:
    with desktop.bank() as bank:
        memory = bank.record(title="Parser tests", description="parser tests", content="Pass `--db sqlite` to them.").id
        bank.search("parser", noted=False)
    assert desktop.hook("UserPromptSubmit", prompt=PROMPT).context
    told = desktop.transcript()
    told.says(PROMPT)
    told.runs("make test", "ConfigError: DATABASE_URL", failed=True)
    told.runs("make test ARGS='--db sqlite'", "===== 12 passed in 0.31s =====")
    desktop.hook("SessionEnd")
    desktop.read()
    assert [(signal.positive, signal.used) for signal in signals(desktop, memory)] == [(True, True)]


def mend(desktop) -> None:
    told = desktop.transcript()
    told.says("Please run the checks of the parser")
    told.runs("check-parser", "bash: check-parser: command not found", failed=True)
    told.runs("uv run check-parser", "all is well")


def taught(desktop) -> str:
    with desktop.bank() as bank:
        (lesson,) = bank.list()
        return lesson.id


@pytest.mark.parametrize(("words", "positive"), [("Thanks, that worked", True), ("No, that is wrong", False)])
def test_words_after_a_lesson_was_distilled_reach_it(desktop, words, positive) -> None:
    mend(desktop)
    desktop.hook("Stop")
    desktop.read()
    lesson = taught(desktop)
    assert signals(desktop, lesson) == []
    desktop.transcript().says(words)
    for _ in range(2):
        desktop.hook("SessionEnd")
        desktop.read()
    assert [signal.positive for signal in signals(desktop, lesson)] == [positive]


def test_thanks_in_a_session_that_is_resumed_reach_what_was_learned_and_shown_before(desktop) -> None:
    with desktop.bank() as bank:
        shown = bank.record(title="Checks", description="checks of the parser", content="Put `uv run` before it.").id
        bank.search("checks", noted=False)
    assert desktop.hook("UserPromptSubmit", prompt="Please run the checks of the parser").context
    mend(desktop)
    # As a headless agent does: it ends after each prompt.
    desktop.hook("Stop")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        assert [session.outcome for session in bank.sessions()] == ["unknown"]
        (lesson,) = [memory.id for memory in bank.list() if memory.id != shown]
    desktop.hook("SessionStart", source="resume")
    desktop.hook("UserPromptSubmit", prompt="thanks, that worked")
    desktop.transcript().says("thanks, that worked")
    desktop.hook("SessionEnd")
    desktop.read()
    assert [(signal.positive, signal.used) for signal in signals(desktop, shown)] == [(True, True)]
    assert [signal.positive for signal in signals(desktop, lesson)] == [True]
    with desktop.bank() as bank:
        assert [session.outcome for session in bank.sessions()] == ["success"]
