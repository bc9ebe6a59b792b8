"""Sessions as they are: compacted in the middle, with private words, in a project that has its own."""

from __future__ import annotations

from bench.clients.desk import NAMESPACE, Desk
from bench.clients.expecting import expect
from bench.clients.scenarios.projects import failing_deployment, failing_tests
from bench.clients.script import Turn

_SECRET = "the launch codename is Blue Heron"


def speaks_again_after_compaction(desk: Desk) -> None:
    """After a compaction the model has forgotten what it was told, so it is told again."""
    mistake = failing_tests(desk)
    mistake.learn(desk)
    mistake.confirm(desk)
    prompts, turns = desk.client.compacting(mistake.prompt, "Run the test suite once more, please")
    done = desk.session(*prompts, turns=[*turns, mistake.by_advice, Turn("It works.")])
    last = done.script.main[-2:]
    expect(any(mistake.remedy in request.advice for request in last), "the lesson is told after it", last[0].said)
    expect(mistake.failure not in done.results(), "the mistake is not made", done.results())
    expect("12 passed" in done.results(), "the right command ran", done.results())


def private_stays_private(desk: Desk) -> None:
    """What stands between private marks is nowhere in the bank, also where the agent repeats it later."""
    mistake = failing_deployment(desk)
    echo = desk.client.shell(f"echo '{_SECRET}' > note.txt", "Write the note")
    desk.session(
        f"Write a note for me. <private>{_SECRET}</private>",
        mistake.prompt,
        turns=[
            Turn("", (echo,)),
            Turn(f"I wrote that {_SECRET}."),
            Turn("", (mistake.wrong,)),
            Turn("", (mistake.right,)),
            Turn("Done."),
        ],
    )
    kept = "\n".join([*desk.lessons(NAMESPACE), *desk.lessons("user"), *desk.steps()])
    expect("Blue Heron" not in kept, "the words are nowhere", kept)
    expect("Blue Heron" not in desk.all_bytes(), "nor in any file of the bank", "a file beside the bank holds them")
    expect(mistake.remedy in kept, "the rest is kept", kept)


def file_that_mentions_private(desk: Desk) -> None:
    """A project file that mentions the mark blanks nothing of what follows it."""
    desk.write("README.md", "Text between <private> and its end is left out.\n")
    mistake = failing_deployment(desk)
    turns = [
        Turn("", (desk.client.shell("cat README.md && ./deploy.sh staging", "Deploy"),)),
        Turn("", (desk.client.shell("cat README.md && ./deploy.sh staging --region eu-west-1", "Deploy"),)),
        Turn("Done."),
    ]
    desk.session(mistake.prompt, turns=turns)
    steps = "\n".join(desk.steps())
    expect("no region selected" in steps and "deployed 3 services" in steps, "what follows it is kept", steps)
