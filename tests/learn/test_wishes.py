"""What the user says for all work to come is kept in the user's words; what is asked, done or quoted today is not."""

from __future__ import annotations

import pytest

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.offline.wishes import wishes_in

RULES = """\
From now on always answer me in German.
Never push to main without asking me
Please use tabs
don't touch the migrations folder
we deploy on Fridays only after CI is green
Always run the linter before you commit.
I prefer short commit messages.
Use British spelling in comments and docs.
No emojis, please.
Stop adding comments that explain the obvious.
In this repo we use pnpm, never npm.
Whenever you add an endpoint, update openapi.yaml too.
Ask me before installing new packages.
Tests must not hit the network.
Every public function needs a docstring.
Keep your answers brief.
Do not create markdown files unless I ask for them.
I want you to explain your plan before editing anything.
Going forward, put new helpers under src/lib.
We never squash commits.
Commit messages should be in the imperative mood.
Only use the standard library.
Don't use mocks in integration tests.
Please don't reformat files you don't change.
Avoid default exports.
Remember that the staging database is read-only for us.
All SQL goes through the repository layer.
If a test is flaky, tell me instead of retrying it.
Be concise.
Call me Kim.
Please always write tests first.
Respond in Spanish, please.
We use tabs in this codebase.
Use snake_case for file names.
From here on out, sign your commits.
Please stop saying "you're absolutely right".
Type hints are required everywhere.
Secrets belong in the vault, not in code.
Always prefer early returns.
When you finish a task, run the full test suite.
Use conventional commits.
We only support Python 3.12 and newer.
pls dont use any in typescript
seeds must be fixed in every experiment
Answer in bullet points.
never kubectl delete anything without my ok
Please never modify package-lock.json by hand.
Every migration needs a down script.
We target ES2020.
Treat warnings as errors.
I want all dates in ISO format.
"""
NO_RULES = """\
Why does this test always fail?
Fix the login bug.
It never worked on my machine.
Make the parser always return a list.
The README says "always run make first".
Never mind, I found it.
Use the new API in parser.py.
Rename foo to bar everywhere.
Not now, do that later.
Users must never see an internal error.
I think we need to refactor this.
We use Django 4.2 and the admin crashes on login.
Please continue.
No, that's wrong.
Try without the cache this time.
Is it true that we never deploy on Fridays?
Delete the old logs and add a new endpoint.
Add a --verbose flag to the CLI.
Use a dict instead of a list here.
Remove all console.log calls from app.js.
I want to add dark mode.
Explain how the scheduler works.
Show me the diff.
Every time I run it, it crashes.
All tests pass now.
We should fix the flaky test.
Make sure the tests pass.
Run the migration on staging.
Never seen this error before.
Create a class for users with name and email.
How do I make git always rebase?
The server never responds after the second request.
Write a script that deletes old branches.
Use Redis for the session store in this service.
For now, leave the tests as they are.
My boss said we should never use MongoDB.
Is there a rule that we always squash?
We always get a timeout when the queue is full.
Answer: the port was taken.
Add a docstring to this function.
Run make check.
The user never receives the email.
All endpoints return 500 since the last deploy.
Let's go with the first approach.
I want the button to be blue.
You always forget the semicolon!
Check if the cache is ever invalidated.
No such file or directory
When I start the app, it crashes.
When the list is empty, return None.
Keep the old behaviour for the v1 endpoint.
Could you stop the dev server?
Commit this.
We should never have merged that.
Never gonna give you up was playing while I coded.
train it again with lr 3e-4
plot the confusion matrix for the test set
Can you never use the GPU at all?
upgrade react to 19 and fix whatever breaks
please deploy it to staging
I don't understand this error
don't know why but the pod restarts every 5 minutes
use the second dataset instead
add a column `never_expires` to the users table
Every user can have many orders.
The field should never be null.
write unit tests for utils
update all dependencies
keep only the last 30 days of logs
show only active users
when the user clicks on save, show a toast
I like it
Nobody knows why this works.
You're right, never thought of that.
warning: always define a key for list items
how should commit messages look here?
Tell me when you're done.
The bot should answer in German.
Add validation so that names never contain spaces.
don't break anything
"""


def kept(*said: tuple[str, str]) -> list[str]:
    messages = tuple({"role": role, "content": content} for role, content in said)
    return [wish.content for wish in wishes_in(Episode(task="work", namespace="n", messages=messages))]


@pytest.mark.parametrize("rule", RULES.splitlines())
def test_a_plain_rule_is_kept_as_it_was_said(rule: str) -> None:
    assert kept(("user", rule)) == [rule]


@pytest.mark.parametrize("words", NO_RULES.splitlines())
def test_what_is_no_rule_is_not_kept(words: str) -> None:
    assert kept(("user", words)) == []


def test_a_rule_is_found_beside_a_task_and_a_correction_without_its_no() -> None:
    said = [
        ("user", "Fix the bug."),
        ("assistant", "I mocked the database."),
        ("user", "No, don't mock the database in integration tests. Also never commit directly to main."),
    ]
    assert kept(*said) == ["don't mock the database in integration tests.", "never commit directly to main."]


def test_the_rule_in_a_task_is_kept_without_the_task() -> None:
    assert kept(("user", "Fix the login bug and never touch the vendor folder again.")) == [
        "never touch the vendor folder again."
    ]


def test_a_list_under_a_heading_of_rules_is_a_list_of_rules() -> None:
    text = "Please refactor the parser.\n\nConventions for this repository:\n- tabs, width 4\n- no wildcard imports\n\nThanks"
    assert kept(("user", text)) == ["tabs, width 4", "no wildcard imports"]


def test_what_is_pasted_is_not_the_users_own() -> None:
    text = "This is in the log:\n```\nwarning: never run as root\n```\n> Always use sudo\nWhat does it mean?"
    assert kept(("user", text)) == []


@pytest.mark.parametrize(
    "words",
    [
        "No, that's all for now.",
        "No, I don't want to cancel the whole order.",
        "I have always been a customer.",
        "Use my gift card instead of PayPal for order #W1234567.",
        "Thanks!",
    ],
)
def test_what_holds_for_today_only_is_no_rule(words: str) -> None:
    assert not kept(("user", "Hello"), ("assistant", "Anything else?"), ("user", words))


SERVED = """\
I'd prefer the desk lamp to have an adapter rather than batteries.
I prefer the grey one, and silk.
Use my gift card to cover the charges.
Then don't cancel anything.
Please be careful with that information.
"""


@pytest.mark.parametrize("said", SERVED.splitlines())
def test_what_somebody_wants_in_a_case_that_calls_deal_with_is_no_rule(said: str) -> None:
    lamp = EpisodeStep(action='get_product({"name": "desk lamp"})', result='{"variants": ["AC adapter", "battery"]}')
    told = ({"role": "user", "content": said},)
    assert wishes_in(Episode(task="t", namespace="n", steps=(lamp,), messages=told)) == []
    lasting = ({"role": "user", "content": "Always write to me in Dutch."}, {"role": "user", "content": "Be brief."})
    assert len(wishes_in(Episode(task="t", namespace="n", steps=(lamp,), messages=lasting))) == 2
