"""How a task went, by the user's next words, tests, interruptions, edits taken back and commits."""

from __future__ import annotations

import pytest

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.replies import corrects, goes_on, thanks
from reasoningbank_coding_agents.outcomes import verdict_on

THANKS = [
    "thanks!", "Thank you, that's it", "perfect", "great, works now", "it works!", "ok, looks good", "lgtm", "danke dir",
    "Super, vielen Dank", "es funktioniert", "merci beaucoup", "parfait", "ça marche", "gracias", "perfecto, gracias",
    "谢谢", "太好了", "ありがとうございます", "完璧です", "спасибо",
]  # fmt: skip
CORRECTIONS = [
    "no, use uv", "No. The other file", "nope", "wrong file", "that's not what I asked for", "that is wrong",
    "it still fails", "it doesn't work", "still broken", "you forgot the tests", "you broke the build",
    "I said tabs, not spaces", "undo that", "revert your change", "stop", "don't touch the lock file", "why did you delete it?",
    "nein, anders", "das ist falsch", "funktioniert nicht", "so nicht", "non, pas comme ça", "ça ne marche pas",
    "ce n'est pas ça", "no funciona", "está mal", "不对", "错了", "还是报错", "違います", "動きません", "нет, не так",
]  # fmt: skip
NEITHER = [
    "now add a test", "Notify the users by mail", "Note that the API changed", "nothing else for today, please commit",
    "No problem, now deploy it", "Great Expectations must be installed, add it", "Thanks, but it fails on Windows",
    "Normalise the paths", "Stopwatch: add a reset button", "Non-blocking reads, please", "Nonetheless add logging",
    "Perform the migration", "Danger zone: add a warning", "continue", "Use the new parser for all files", "Superclass X needs a test",
]  # fmt: skip


@pytest.mark.parametrize("said", THANKS)
def test_thanks_are_known_in_several_languages(said) -> None:
    assert thanks(said)
    assert not corrects(said)


@pytest.mark.parametrize("said", CORRECTIONS)
def test_corrections_are_known_in_several_languages(said) -> None:
    assert corrects(said)
    assert not thanks(said)
    assert goes_on(said)


@pytest.mark.parametrize("said", NEITHER)
def test_a_new_task_is_neither(said) -> None:
    assert not thanks(said)
    assert not corrects(said)


@pytest.mark.parametrize(
    "said", ["continue", "go on", "yes, go ahead", "try again", "ok", "weiter", "继续", "もう一度", "thanks!"]
)
def test_words_that_ask_for_nothing_new_belong_to_the_task_before(said) -> None:
    assert goes_on(said)


@pytest.mark.parametrize(
    "said", ["Continue the migration of the users table to the new schema", "Next, add a login page", ""]
)
def test_words_that_ask_for_something_begin_a_task(said) -> None:
    assert not goes_on(said)


def step(action: str, result: str = "ok", *, tool: str = "Bash", ok: bool | None = None) -> EpisodeStep:
    return EpisodeStep(action=action, result=result, ok=ok, metadata={"tool": tool, "call": action})


PASSED = step("pytest", "===== 3 passed in 0.1s =====")
FAILED = step("pytest", "===== 1 failed, 2 passed in 0.1s =====", ok=False)
EDIT = step('Edit({"file_path": "a.py"})', "edited", tool="Edit")
COMMIT = step("git commit -m 'fix'", "[main 1a2b3c4] fix\n 1 file changed")
RESTORED = step("git checkout -- a.py", "")


def judged(
    *steps: EpisodeStep, next_words: str | None = None, said: tuple[str, ...] = ("Fix it",), **metadata: object
) -> str:
    messages = tuple({"role": "user", "content": text} for text in said)
    told = Episode(task=said[0], namespace="n", steps=steps, messages=messages, metadata=metadata)
    return verdict_on(told, next_words).outcome.value


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        ("success", judged(PASSED)),
        ("failure", judged(FAILED)),
        ("success", judged(EDIT, next_words="Thanks! Now the docs")),
        ("failure", judged(EDIT, said=("Fix it", "no, that is wrong"), calls_since_words=0)),
        ("unknown", judged(EDIT, said=("Fix it", "no, that is wrong"), calls_since_words=2)),
        ("success", judged(EDIT, next_words="thank you", said=("Fix it", "no, use uv"), calls_since_words=2)),
        ("failure", judged(PASSED, said=("Fix it", "no, that is wrong"), calls_since_words=0)),
        ("unknown", judged(FAILED, next_words="thanks")),
        ("unknown", judged(PASSED, interrupted=1)),
        ("unknown", judged(EDIT, interrupted=1)),
        ("failure", judged(EDIT, RESTORED)),
        ("unknown", judged(EDIT, RESTORED, EDIT)),
        ("unknown", judged(RESTORED)),
        ("success", judged(EDIT, COMMIT)),
        ("failure", judged(EDIT, COMMIT, step("git revert HEAD", "[main 5d6e7f8] Revert"))),
        ("unknown", judged(EDIT)),
        ("unknown", judged()),
    ],
)
def test_the_verdict_follows_what_the_world_says(outcome, verdict) -> None:
    assert verdict == outcome


def test_a_memory_is_not_blamed_for_what_nobody_knows(desktop) -> None:
    with desktop.bank() as bank:
        memory = bank.record(title="Parser", description="explain the parser", content="Start at parse().").id
    assert desktop.hook("UserPromptSubmit", prompt="Please explain the parser to me in detail").context
    told = desktop.transcript()
    told.says("Please explain the parser to me in detail")
    told.calls("Read", {"file_path": "parser.py"}, "def parse(): raise Error")
    told.answers("It begins at parse().")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        assert bank.history(memory).points[1:] == ()
        assert bank.sessions()[0].outcome == "unknown"


def test_a_correction_counts_against_what_was_shown(desktop) -> None:
    with desktop.bank() as bank:
        memory = bank.record(title="Deploy", description="deploy the site to staging", content="Use ftp.").id
    prompt = "Please deploy the site to staging"
    assert desktop.hook("UserPromptSubmit", prompt=prompt).context
    told = desktop.transcript()
    told.says(prompt)
    told.runs("ftp put", "sent")
    told.says("No, that's wrong. Never use ftp for deployments.")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank() as bank:
        (signal,) = [signal for signal in (point.signal for point in bank.history(memory).points) if signal is not None]
        assert not signal.positive
