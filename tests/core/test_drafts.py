"""From what is handed over to what can be kept, field by field."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_METADATA_CHARS,
    MAX_TAGS,
    MAX_TITLE_CHARS,
    clean_metadata,
    clean_name,
    clean_tags,
    clean_text,
    clean_time,
    memory_from,
    next_revision,
)
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Draft, Memory

ANY_TEXT = st.text(st.characters(), max_size=30)


def made(**fields: object) -> Memory:
    draft = Draft(**{"title": "t", "content": "c", **fields})  # type: ignore[arg-type]
    return memory_from(draft, memory_id="mem_1", tenant="t", namespace="n", initial_confidence=0.8, now=100.0)


def test_a_draft_that_is_silent_gets_the_defaults() -> None:
    memory = made()
    assert (memory.namespace, memory.initial_confidence, memory.created_at, memory.revision) == ("n", 0.8, 100.0, 1)
    assert (memory.outcome, memory.scope, memory.state, memory.tags) == ("success", "project", "active", ())


def test_what_the_draft_says_wins() -> None:
    memory = made(namespace="m", initial_confidence=0, created_at=5, tags=["b", "a", "b"], agent="", source=None)
    assert (memory.namespace, memory.initial_confidence, memory.created_at) == ("m", 0.0, 5.0)
    assert memory.tags == ("b", "a")
    assert memory.agent is None


@given(ANY_TEXT)
def test_cleaned_text_can_be_written_to_any_file_and_cleaning_twice_is_cleaning_once(text: str) -> None:
    cleaned = clean_text(text, "x", 100)
    cleaned.encode("utf-8")
    assert "\0" not in cleaned
    assert clean_text(cleaned, "x", 100) == cleaned
    assert len(cleaned) == len(text)


@pytest.mark.parametrize(
    ("field", "limit"), [("title", MAX_TITLE_CHARS), ("content", MAX_CONTENT_CHARS), ("key", MAX_TITLE_CHARS)]
)
def test_a_field_takes_its_limit_and_not_one_more(field: str, limit: int) -> None:
    assert made(**{field: "x" * limit})
    with pytest.raises(InvalidInput, match=f"{limit:,}"):
        made(**{field: "x" * (limit + 1)})


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x7fb", "x" * 201, 5, None, b"x"])
def test_a_name_is_one_short_line(name: object) -> None:
    with pytest.raises(InvalidInput):
        clean_name(name, "agent")


def test_names_lose_the_spaces_around_them_and_tags_their_repeats() -> None:
    assert clean_name("  coder ", "agent") == "coder"
    assert clean_tags(["a", " a ", "b"]) == ("a", "b")
    assert len(clean_tags(str(n) for n in range(MAX_TAGS))) == MAX_TAGS


@given(
    st.dictionaries(
        st.text(max_size=5), st.text(max_size=10) | st.integers() | st.none() | st.lists(st.booleans()), max_size=4
    )
)
def test_metadata_of_ordinary_text_is_kept_as_it_is(metadata: dict[str, object]) -> None:
    expected = json.loads(json.dumps(metadata).replace("\\u0000", "\\ufffd"))
    if "\\u0000" not in json.dumps(metadata) or "\\\\u0000" not in json.dumps(metadata):
        assert clean_metadata(metadata) == expected


@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        "\ud800 \U0001f389",
        "\0",
        "\udc80\ud800",
    ],
    ids=ascii,
)
def test_metadata_can_be_written_to_any_file(text: str) -> None:
    cleaned = clean_metadata({"a": text, text: "b"})
    json.dumps(cleaned, ensure_ascii=False).encode("utf-8")
    assert "\0" not in str(cleaned)


@pytest.mark.parametrize("text", ["\\u0000", "C:\\ud800", "\\\\u0000"])
def test_metadata_that_spells_an_escape_is_left_alone(text: str) -> None:
    assert clean_metadata({"a": text}) == {"a": text}


def test_metadata_has_a_limit_and_must_be_json() -> None:
    assert clean_metadata({"a": "x" * (MAX_METADATA_CHARS - 9)})
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for bad in (
        {"a": "x" * MAX_METADATA_CHARS},
        {"a": deep},
        {"a": float("inf")},
        {"a": b"x"},
        {("a",): 1},
        "text",
        [1],
    ):
        with pytest.raises(InvalidInput):
            clean_metadata(bad)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        "1",
        None,
        True,
        10**400,
    ],
    ids=lambda v: str(v)[:10],
)
def test_a_time_is_a_finite_number(value: object) -> None:
    with pytest.raises(InvalidInput):
        clean_time(value, "created_at")


def test_parents_must_be_a_list() -> None:
    with pytest.raises(InvalidInput):
        made(parents=5)


def test_an_edit_that_changes_nothing_is_no_revision() -> None:
    memory = made(tags=["a"])
    assert next_revision(memory, {"title": "t", "tags": ["a"]}, 200.0) is memory
    changed = next_revision(memory, {"title": "u"}, 50.0)
    assert (changed.revision, changed.title) == (2, "u")
    assert changed.updated_at == 100.0, "a clock that went back does not date an edit before the memory"
    with pytest.raises(InvalidInput, match="cannot be edited"):
        next_revision(memory, {"id": "x", "tenant": "y"}, 1.0)
