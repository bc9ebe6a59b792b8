"""Of two rules of the user that cannot both be kept the later word counts; any others stand beside each other."""

from __future__ import annotations

import pytest

from reasoningbank.learn.offline.user_rules import replaces, standing
from reasoningbank_coding_agents.known_failures_file import RuleText

REPLACED = """\
use pip instead of uv | Always use uv instead of pip
Use pip instead of uv. | Use uv instead of pip.
From now on use pip instead of uv | Always use uv instead of pip
Actually use pip instead of uv | From now on use uv instead of pip
Use pip | Always use uv instead of pip
Always use pip. | Use uv, not pip.
Never use uv | Always use uv instead of pip
Use uv rather than pip | Use pip rather than uv
Prefer uv over pip | Prefer pip over uv
Use npm instead of yarn | Use pnpm instead of npm
Use npm | Use yarn, never npm.
Use spaces, not tabs. | Please use tabs
Use tabs, not spaces; always. | Use spaces, not tabs.
Use tabs | Use spaces
Use spaces instead of tabs | Indent with tabs
Don't use tabs, use spaces | Always use tabs
Instead of npm, use pnpm | Use npm
Switch from npm to pnpm | Always use npm
Use pnpm | Use npm
Use single quotes. | Use double quotes.
Use camelCase for variables | Use snake_case for variables
Prefer composition over inheritance | Prefer inheritance over composition
Write tests in pytest, not unittest | Write tests in unittest, not pytest
Please answer in English | Always answer me in German.
From now on answer me in English, please. | From now on always answer me in German.
Reply in French | Respond in Spanish, please.
Speak English to me | Answer in German
In English, please | From now on always answer me in German.
Write comments in English | Write comments in German
Write commit messages in German. | Commit messages in English, always write commit messages in English.
Don't answer in German any more | Always answer me in German.
You don't have to answer in German any more. | Always answer in German
Keep lines under 100 characters. | Keep lines under 80 characters.
Max 120 characters per line | Keep lines under 80 characters
Limit lines to 88 columns | Max line length is 100 chars
Indent with 2 spaces | Indent with 4 spaces
Use 2 spaces | Indent with 4 spaces
Use Python 3.12 | Use Python 3.11
Target Python 3.12 | We target Python 3.11
Keep functions under 30 lines | Keep functions under 50 lines
No line longer than 100 characters | No line longer than 80 characters
Never squash commits. | Always squash commits.
Always squash commits. | Never squash commits.
You may squash again. | Never squash commits.
You can push to main again. | Never push to main
You may push to main again | Don't push to main
Push to main without asking | Never push to main without asking me
It's fine to push to main again | Never push to main
You're allowed to push to main again | We never push to main
Feel free to use emojis again | No emojis, please.
Use emojis again | No emojis
No emojis, please | Use emojis
Never use emojis. | Always use emojis
Emojis are fine again | No emojis
Stop adding comments | Add comments
Don't write comments | Always write comments
Write docstrings | Don't write docstrings
No docstrings please | Write docstrings
Forget the rule about tabs | Please use tabs
Forget about the no emojis rule | No emojis
You no longer need to ask me before committing | Ask me before committing
No need to ask me before committing any more | Always ask me before committing.
Never ask me before committing | Always ask me before committing
Ask me before pushing | Don't ask me before pushing
Never push to main without asking me | Never push to main
Never push to main | Never push to main without asking me
Never push to main | You may push to main again
Run the tests only when I ask | Always run the tests
Use mocks in integration tests | Don't use mocks in integration tests
Never deploy on Fridays | Always deploy on Fridays
You can deploy on Fridays again | Never deploy on Fridays
Call me Alex | Call me Kim
From now on call me Alex. | Call me Kim.
Keep your answers long | Keep your answers short
Give detailed answers | Give brief answers
Rebase, don't merge | Merge instead of rebase
Always rebase instead of merging | Always merge instead of rebasing
Write code with semicolons | Write code without semicolons
Always commit with semicolons | Never commit with semicolons
"""
"""The newer rule before the bar, and the older one that it replaces behind it."""
BESIDE = """\
Use uv. | Use pnpm.
Pin versions with uv | Use uv instead of pip
Use uv instead of pip | Pin versions with uv
Use tabs in Go files. | Use tabs in Python files.
Never push to main | Never force push
Never commit secrets. | Always commit with a message.
No emojis, please. | Answer me in German.
Never squash commits. | Never squash commits.
never squash commits | Never squash commits.
Always run the tests before you push to main | Never push to main
Never push to main | Always run the tests before you push to main
Use pip for the docs build | Always use uv instead of pip
Use mocks in unit tests | Don't use mocks in integration tests
Use single quotes in JavaScript | Use double quotes in Python
Keep commit subject lines under 50 characters | Keep lines under 80 characters
Keep files under 400 lines | Keep functions under 50 lines
Use Django 4.2 | Use Python 3.12
Run tests 3 times | Retry 5 times
Write comments in English | Answer me in German
Answer in German | Write docs in English
Prefer long names over short ones | Prefer short functions over long ones
Ask me before committing | Don't ask me before pushing
Never push to main without running the tests | Never push to main without asking me
Use ruff | Use mypy
Use ruff for linting | Use uv for packages
Always write tests | Never skip tests
Never use wildcard imports | Sort imports
Sort imports alphabetically | Use absolute imports
Use type hints | Write docstrings
Never edit src/generated | Never edit vendor
Use British spelling | Answer in bullet points
Use feature branches | Never push to main
Never delete branches | Use feature branches
Commit often | Never commit secrets
Sign your commits | Use conventional commits
Use conventional commits | Never squash commits.
Keep your answers short | Use long variable names
Call me Kim | Answer me in German
No bullet points | Be concise
Be brief | Be polite
Use tabs | Keep lines under 80 characters
Deploy on Mondays | Never deploy on Fridays
You may use emojis | Always use tabs
Use the standard library | Never add dependencies without asking
Avoid default exports | Use named functions
Use pnpm in the frontend | Use yarn in the backend
Test with pytest | Lint with ruff
Run make lint before committing | Run make test before committing
Never run migrations on production | Always run migrations on staging
Never log passwords | Always log errors
Log errors | Never log passwords
Write tests first | Write docs last
Explain your plan before editing | Don't explain obvious code
Use port 3000 for tests | Use port 8080
Always use UTC | Use ISO dates
Never mock the database | Use factories for the database
Don't touch the migrations folder | Every migration needs a down script
Every migration needs a down script | Don't touch the migrations folder
Use Postgres instead of MySQL | Use uv instead of pip
Use uv instead of pip | Use pnpm instead of npm
Prefer early returns | Prefer composition over inheritance
Never push on Fridays | Never push to main
Rebase before you push | Never push to main
Update the changelog with each release | Never release on Fridays
Reply in English | Write commit messages in German
"""


def pair(line: str) -> tuple[str, str]:
    newer, older = line.split(" | ")
    return newer, older


@pytest.mark.parametrize("line", REPLACED.splitlines())
def test_the_later_word_replaces_the_earlier(line: str) -> None:
    assert replaces(*pair(line))


@pytest.mark.parametrize("line", BESIDE.splitlines())
def test_rules_that_can_both_be_kept_stand_beside_each_other(line: str) -> None:
    assert not replaces(*pair(line))


def test_a_rule_that_is_replaced_replaces_nothing() -> None:
    texts = ("Always answer in German.", "Please answer in English", "Answer me in German.")
    rules = [RuleText(str(number), text) for number, text in enumerate(texts)]
    assert standing(rules) == [rules[0], rules[2]]
