"""Of two rules of the user that contradict each other the newer one counts."""

from __future__ import annotations

import pytest

from reasoningbank.agents.known_failures_file import RuleText
from reasoningbank.learn.offline.user_rules import replaces, standing


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("Please answer in English", "Always answer me in German."),
        ("Use spaces, not tabs.", "Please use tabs"),
        ("Keep lines under 100 characters.", "Keep lines under 80 characters."),
        ("Never squash commits.", "Always squash commits."),
        ("You can push to main again.", "Never push to main"),
        ("Use single quotes.", "Use double quotes."),
    ],
)
def test_a_newer_rule_replaces_an_older_one_about_the_same_thing(newer: str, older: str) -> None:
    assert replaces(newer, older)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("Use uv.", "Use pnpm."),
        ("Use tabs in Go files.", "Use tabs in Python files."),
        ("Never push to main", "Never force push"),
        ("Never commit secrets.", "Always commit with a message."),
        ("No emojis, please.", "Answer me in German."),
        ("Never squash commits.", "Never squash commits."),
    ],
)
def test_rules_about_different_things_stand_beside_each_other(newer: str, older: str) -> None:
    assert not replaces(newer, older)


def test_a_rule_that_is_replaced_replaces_nothing() -> None:
    said = ("Always answer in German.", "Please answer in English", "Answer me in German.")
    rules = [RuleText(str(number), text) for number, text in enumerate(said)]
    assert [rule.id for rule in standing(rules)] == ["0", "2"]
