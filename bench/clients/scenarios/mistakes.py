"""A mistake of one session, in the next: told before it is made, refused once, and else left to the agent."""

from __future__ import annotations

from bench.clients.desk import Desk
from bench.clients.expecting import expect
from bench.clients.scenarios.projects import failing_deployment, failing_tests
from bench.clients.script import Request, Turn

_CHECK = """#!/bin/sh
[ -n "$TOOLCHAIN" ] || { echo "error: no toolchain is selected, and there is no default" >&2; exit 1; }
echo "42 checks, all fine"
"""


def told_with_the_prompt(desk: Desk) -> None:
    """The lesson stands before the model's first word, and the mistake is not made."""
    mistake = failing_deployment(desk)
    mistake.learn(desk)
    again = desk.session("Please deploy to staging once more", turns=[mistake.by_advice, Turn("It works.")])
    expect(mistake.remedy in again.script.main[0].advice, "the lesson is in the first request", again.first)
    expect(mistake.failure not in again.results(), "the mistake is not made", again.results())


def told_at_the_start_of_a_session(desk: Desk) -> None:
    """A lesson about a command is told even where the prompt has no word of it."""
    mistake = failing_tests(desk)
    mistake.learn(desk)
    mistake.confirm(desk)
    prompt = "Is everything in order before the release?"
    again = desk.session(prompt, turns=[mistake.by_advice, Turn("Yes.")])
    expect(mistake.remedy in again.script.main[0].advice, "the lesson is in the first request", again.first)
    expect(mistake.failure not in again.results(), "the mistake is not made", again.results())


def denied_once(desk: Desk) -> None:
    """A model that overlooks the lesson is refused with it, and then does it right: the failing command never runs."""
    mistake = failing_tests(desk)
    mistake.learn(desk)
    for _ in range(2):
        mistake.confirm(desk)
    third = desk.session(mistake.prompt, turns=[Turn("", (mistake.wrong,)), Turn("", (mistake.right,)), Turn("Good.")])
    refused = [call for call in third.calls("PreToolUse") if call.refuses]
    expect(len(refused) == 1, "one call is refused", [call.said for call in third.calls("PreToolUse")])
    expect(mistake.remedy in refused[0].context, "the reason names the remedy", refused[0].context)
    expect(
        mistake.remedy in "\n".join(third.script.main[1].texts[-2:]),
        "the model reads it at once",
        third.script.main[1].texts[-2:],
    )
    expect(mistake.failure not in third.results(), "the failing command did not run", third.results())
    expect("passed" in third.results(), "the right one did", third.results())
    kept = [*desk.lessons(), *desk.steps()]
    expect(not any("PreToolUse" in text for text in kept), "a refused call is no failure to learn from", kept)


def insisting_passes(desk: Desk) -> None:
    """The same call again is let through: advice is never the last word."""
    mistake = failing_tests(desk)
    mistake.learn(desk)
    for _ in range(2):
        mistake.confirm(desk)
    insists = [Turn("", (mistake.wrong,))] * 3
    third = desk.session(mistake.prompt, turns=[*insists, Turn("", (mistake.right,)), Turn("Good.")])
    refused = [call.refuses for call in third.calls("PreToolUse")]
    expect(refused.count(True) == 1, "exactly one of three calls is refused", refused)
    expect(mistake.failure in third.results(), "the others ran", third.results())


def known_in_other_clothes(desk: Desk) -> None:
    """A failing command is known again behind `cd`, a redirection and a pipe, and its remedy is an environment."""
    desk.write("check.sh", _CHECK, program=True)
    shell = desk.client.shell
    wrong, right = (
        shell("./check.sh all", "Check everything"),
        shell("TOOLCHAIN=stable ./check.sh all", "Check everything"),
    )
    for _ in range(2):
        desk.session(
            "Check everything, please",
            "Perfect, thank you!",
            turns=[Turn("", (wrong,)), Turn("", (right,)), Turn("All checked."), Turn("Gladly.")],
        )
    dressed = shell(f"cd {desk.project} && ./check.sh all 2>&1 | tail -20", "See whether it holds")
    again = desk.session("Does all of it still hold?", turns=[Turn("", (dressed,)), Turn("", (right,)), Turn("Yes.")])
    told = again.script.main[1].advice
    expect("TOOLCHAIN" in told, "the remedy is told by the time the failing call is answered", told or again.results())
    taught = [lesson for lesson in desk.lessons() if "no toolchain" in lesson]
    expect(len(taught) == 1, "two sessions with one mistake make one lesson of it", taught)


def not_refused_where_so_set(desk: Desk) -> None:
    """With `warn = after` what would be refused runs, and the lesson stands beside its failure."""
    mistake = failing_tests(desk)
    mistake.learn(desk)
    for _ in range(2):
        mistake.confirm(desk)
    desk.configure(hooks={"warn": "after"})
    again = desk.session(mistake.prompt, turns=[Turn("", (mistake.wrong,)), Turn("", (mistake.right,)), Turn("Good.")])
    expect(not any(call.refuses for call in again.hooks), "nothing is refused", [call.said for call in again.hooks])
    expect(mistake.failure in again.results(), "the command ran", again.results())
    told = again.script.main[1].advice
    expect(mistake.remedy in told, "the next request has the way out", told)


def told_after_a_failure(desk: Desk) -> None:
    """Another program that fails in a known way is told the way out with the failure, in the same session already."""
    mistake = failing_deployment(desk)
    desk.write("release.sh", "#!/bin/sh\nexec ./deploy.sh production\n", program=True)
    other = desk.client.shell("./release.sh", "Make it public")

    def when_learned(request: Request) -> Turn:
        desk.settle()
        learned = any(mistake.remedy in lesson for lesson in desk.lessons())
        expect(learned, "the first task is learned from while the session goes on", desk.lessons())
        expect(mistake.remedy not in request.advice, "nothing of it stands there before", request.advice)
        return Turn("", (other,))

    done = desk.session(
        mistake.prompt,
        "Fine. Have a look at the release notes, and make it public",
        turns=[Turn("", (mistake.wrong,)), Turn("", (mistake.right,)), Turn("Done."), when_learned, Turn("It failed.")],
    )
    told = done.script.main[-1].advice
    expect(mistake.remedy in told, "the request with the failure has the way out", told or done.results())


def harmful_command_denied(desk: Desk) -> None:
    """A force-push that the user once forbade is refused once, without waiting for confidence to be earned."""
    push = desk.client.shell("git push --force origin main", "Push the branch")
    desk.session(
        "Never force-push to main: we lost a day of work by that. For now just show the last commit.",
        turns=[Turn("", (desk.client.shell("git status --short"),)), Turn("Understood.")],
    )
    desk.keep_rules()
    again = desk.session("Publish the branch", turns=[Turn("", (push,)), Turn("I did not push.")])
    refused = [call for call in again.calls("PreToolUse") if call.refuses]
    expect(len(refused) == 1, "the push is refused", [call.said for call in again.hooks])
    expect("force" in refused[0].context.lower(), "the reason says why", refused[0].context)
