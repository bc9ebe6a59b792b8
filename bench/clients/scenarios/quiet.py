"""When the bank keeps silent, how much it says, and that it is never in the way."""

from __future__ import annotations

from bench.clients.desk import NAMESPACE, Desk
from bench.clients.expecting import expect
from bench.clients.scenarios.projects import failing_deployment, failing_tests
from bench.clients.script import Turn
from reasoningbank.core.tokens import count_tokens
from reasoningbank_coding_agents.policy import HookPolicy


def silent_when_nothing_fits(desk: Desk) -> None:
    """A prompt and commands that no lesson is about bring no word of the bank."""
    failing_deployment(desk).learn(desk)
    listed = desk.client.shell("ls", "List the files")
    again = desk.session("Which licence would suit a small library?", turns=[Turn("", (listed,)), Turn("MIT.")])
    spoken = [call for call in again.hooks if call.event != "SessionStart" and call.context]
    expect(not spoken, "no hook speaks after the start", [call.context for call in spoken])


def silent_where_nothing_is_known(desk: Desk) -> None:
    """In a repository without lessons no request has a word of the bank."""
    failing_deployment(desk).learn(desk)
    desk.run("git", "remote", "set-url", "origin", "https://example.com/acme/other.git")
    again = desk.session("Deploy the current state to staging", turns=[Turn("Which one?")])
    expect(not again.advice, "no advice in any request", again.advice)
    expect(not any(call.said for call in again.hooks), "no hook says anything", [call.said for call in again.hooks])


def within_budgets(desk: Desk) -> None:
    """Forty lessons that fit cost no more than their budget, at an event and in a session."""
    policy = HookPolicy()
    mistake = failing_tests(desk)
    with desk.bank() as bank:
        for number in range(40):
            bank.record(
                title=f"Test suite, part {number}: start the helper service before it",
                description=f"When the test suite of this project is run, part {number}",
                content=f"Part {number} needs helper service {number}: run `make helper-{number}` before it. " * 3,
                namespace=NAMESPACE,
            )
    prompts = [mistake.prompt, "Run the test suite again, with every helper service", "And the test suite for part 7?"]
    turns = [Turn("", (mistake.wrong,)), Turn("", (mistake.right,)), Turn("Good."), Turn("Good."), Turn("Good.")]
    done = desk.session(*prompts, turns=turns)
    costs = [count_tokens(call.context) for call in done.hooks]
    expect(any(costs), "something is told", costs)
    expect(max(costs) <= policy.prompt_tokens, f"at most {policy.prompt_tokens} tokens an event", costs)
    expect(sum(costs) <= policy.session_tokens, f"at most {policy.session_tokens} tokens a session", costs)


def off_is_off(desk: Desk) -> None:
    """Switched off, hooks neither speak nor keep anything; switched on, they do both again."""
    mistake = failing_deployment(desk)
    mistake.learn(desk)
    desk.bank_command("off")
    kept = len(desk.steps())
    quiet = desk.session(mistake.prompt, turns=[Turn("", (mistake.right,)), Turn("Done.")])
    expect(not quiet.advice and not any(call.said for call in quiet.hooks), "no word while it is off", quiet.advice)
    expect(len(desk.steps()) == kept, "nothing is kept while it is off", desk.steps())
    desk.bank_command("on")
    again = desk.session(mistake.prompt, turns=[mistake.by_advice, Turn("Done.")])
    expect(mistake.remedy in again.script.main[0].advice, "it speaks again", again.first)


def never_in_the_way(desk: Desk) -> None:
    """With a bank that is no bank any more the client works as if there were none."""
    mistake = failing_deployment(desk)
    mistake.learn(desk)
    desk.bank_path.write_bytes(b"This is no database.\n" * 400)
    again = desk.unread_session(mistake.prompt, turns=[Turn("", (mistake.right,)), Turn("Deployed all three.")])
    expect("deployed 3 services" in again.results(), "the tool ran", again.results())
    expect("Deployed all three." in again.printed, "the answer came", again.printed)
