"""What is a turn of a conversation, and of which one."""

from __future__ import annotations

import pytest

from reasoningbank.core.turns import conversation_of


@pytest.mark.parametrize(
    "content",
    [
        "Ann: we picked it up on Friday",
        "Ann Marie: did you?",
        "Jean-Luc O'Neill: yes",
        "user: how do I do that?",
        "assistant: like this",
        "Customer: it is broken",
        "speaker 1: hello",
        "Speaker A: hello",
        "[2024-05-01] Ann: hello",
        "(Monday, 8 pm) Bob: hello",
        "Ann (laughing): hello",
        "  Ann: hello",
        "Ann:hello",
    ],
)
def test_a_text_that_begins_with_a_speaker_is_a_turn(content: str) -> None:
    assert conversation_of(content, None, {}) == ""


@pytest.mark.parametrize(
    "content",
    [
        "Note: keep the door shut",
        "Run: make test",
        "WARNING: it is hot",
        "Todo: buy milk",
        "https://example.org/a",
        "Error: it failed",
        "User story: as a reader I want to read",
        "keep the door shut: it is cold",
        "We found this out: never do it twice",
        "Ann said that she left",
        "Ann:",
        "a_key: value",
        "",
    ],
)
def test_a_note_is_none_even_if_a_label_stands_before_it(content: str) -> None:
    assert conversation_of(content, "source", {"conv_id": "c"}) is None


@pytest.mark.parametrize("name", ["speaker", "role", "turn", "dia_id"])
def test_metadata_may_say_that_a_text_is_a_turn(name: str) -> None:
    assert conversation_of("it is cold", None, {name: "x"}) == ""
    assert conversation_of("it is cold", None, {"colour": "x"}) is None


@pytest.mark.parametrize(
    ("source", "metadata", "named"),
    [
        (None, {}, ""),
        ("chat.txt", {}, "chat.txt"),
        ("chat.txt", {"conv_id": 7}, "7"),
        ("chat.txt", {"conversation": "b"}, "b"),
        (None, {"conversation_id": "c"}, "c"),
    ],
)
def test_a_conversation_is_named_by_metadata_or_else_by_its_source(
    source: str | None, metadata: dict[str, object], named: str
) -> None:
    assert conversation_of("Ann: hello", source, metadata) == named
