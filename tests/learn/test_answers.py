"""Only an answer in the one form that was asked for becomes lessons; everything else is named as a problem."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.learning import Lesson, VerdictOutcome
from reasoningbank.core.types import Outcome
from reasoningbank.learn.answers import parse, problems_of


def block(number: int = 1, **changes: str) -> str:
    values = {
        "Title": f"Install the -dev package {number}",
        "Description": "When a build cannot find a library's headers",
        "Content": f"Install the package with headers, then build again. Case {number}.",
        "Tags": "build, apt",
        "Outcome": "success",
    } | changes
    return f"## Memory {number}\n" + "\n".join(f"**{name}**: {value}" for name, value in values.items())


def read(
    text: str, *, finding: VerdictOutcome = VerdictOutcome.SUCCESS, most: int = 3
) -> tuple[tuple[Lesson, ...], str]:
    answer = parse(text, finding=finding, most=most)
    assert not (answer.lessons and answer.problems)
    return answer.lessons, " ".join(answer.problems)


def test_the_form_becomes_lessons() -> None:
    lessons, problems = read(f"{block(1)}\n\n{block(2, Tags='')}\n")
    assert not problems
    assert [lesson.title for lesson in lessons] == ["Install the -dev package 1", "Install the -dev package 2"]
    assert lessons[0].tags == ("build", "apt")
    assert lessons[1].tags == ()
    assert lessons[0].outcome is Outcome.SUCCESS


def test_a_content_of_several_lines_is_kept_whole() -> None:
    [lesson], _ = read(block(Content="First this.\n\n- then that\n- **Note**: and this"))
    assert lesson.content == "First this.\n\n- then that\n- **Note**: and this"


@pytest.mark.parametrize("text", ["NO_EXTRACTIONS", "  NO_EXTRACTIONS\n", "```\nNO_EXTRACTIONS\n```"])
def test_nothing_to_learn_is_a_good_answer(text: str) -> None:
    assert read(text) == ((), "")


def test_a_fence_around_the_whole_answer_is_taken_off() -> None:
    assert len(read(f"```markdown\n{block()}\n```")[0]) == 1


BAD = {
    "empty": ("", "empty"),
    "blank": (" \n\t ", "empty"),
    "prose before": (f"Here is what I found:\n\n{block()}", "text before the first memory"),
    "prose after": (f"{block()}\n\nI hope this helps!", "outcome must be"),
    "prose only": ("The agent installed a package and it worked.", "no line"),
    "refusal": ("I'm sorry, but I can't help with that.", "no line"),
    "nothing, with words": ("NO_EXTRACTIONS because the session was trivial.", "no line"),
    "JSON instead": ('{"memories": [{"title": "x"}]}', "no line"),
    "truncated JSON": ('[{"title": "Install", "descr', "no line"),
    "truncated in the middle": (block()[: len(block()) // 2], "fields are"),
    "truncated before the outcome": (block().partition("**Outcome**")[0], "fields are"),
    "unknown field": (block().replace("**Tags**", "**Labels**"), "fields are"),
    "missing field": (block().replace("**Description**: When a build cannot find a library's headers\n", ""), "fields are"),
    "a field twice": (f"{block()}\n**Outcome**: success", "fields are"),
    "fields in another order": (block().replace("**Tags**", "**X**").replace("**Content**", "**Tags**").replace("**X**", "**Content**"), "fields are"),
    "field names in another language": (block().replace("Title", "Titel").replace("Content", "Inhalt"), "before the title"),
    "too long a title": (block(Title="x" * 51), "title has 51"),
    "too long a description": (block(Description="y" * 201), "description has 201"),
    "too long a content": (block(Content="z" * 4_001), "content has 4001"),
    "title of two lines": (block(Title="one\ntwo"), "one line"),
    "empty title": (block(Title=""), "title is empty"),
    "empty content": (block(Content="  "), "content is empty"),
    "placeholders left": (block(Title="<concise name, at most 50 characters>"), "title is empty"),
    "the form itself": (block(Outcome="success | failure"), "outcome must be"),
    "unknown outcome": (block(Outcome="partial"), "outcome must be"),
    "wrong outcome": (block(Outcome="failure"), "this session was a success"),
    "four": ("\n\n".join(block(n) for n in (1, 2, 3, 4)), "at most 3"),
    "numbered from zero": (block().replace("Memory 1", "Memory 0"), "not numbered"),
    "the same number twice": (f"{block(1)}\n\n{block(1, Title='Other', Content='Other words')}", "not numbered"),
    "duplicate": (f"{block(1)}\n\n{block(1).replace('Memory 1', 'Memory 2')}", "repeats memory 1"),
    "duplicate title": (f"{block(1, Title='Same')}\n\n{block(2, Title='SAME ')}", "repeats memory 1"),
    "too many tags": (block(Tags=", ".join(f"t{n}" for n in range(9))), "tags"),
    "too long a tag": (block(Tags="t" * 41), "tags"),
    "control characters": (block(Content="bell \x07 here"), "cannot be shown"),
    "unpaired surrogate": (block(Title="bad \ud800"), "cannot be shown"),
    "NUL": (block(Content="a\0b"), "cannot be shown"),
    "endless": (block(Content="word " * 20_000), "characters; the limit is"),
    "another heading level": (block().replace("## Memory", "### Memory"), "no line"),
    "garbage bytes": (bytes(range(256)).decode("latin-1"), "no line"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD)
def test_a_bad_answer_gives_no_lesson_and_says_why(text: str, words: str) -> None:
    lessons, problems = read(text)
    assert lessons == ()
    assert words in problems


def test_one_bad_memory_spoils_the_answer_so_that_none_is_kept_by_chance() -> None:
    lessons, problems = read(f"{block(1)}\n\n{block(2, Title='')}")
    assert lessons == ()
    assert "Memory 2" in problems


def test_an_unjudged_session_may_teach_both() -> None:
    text = f"{block(1)}\n\n{block(2, Outcome='failure')}"
    assert len(read(text, finding=VerdictOutcome.UNKNOWN)[0]) == 2
    assert read(text, finding=VerdictOutcome.SUCCESS)[0] == ()


def test_a_contrast_may_give_five() -> None:
    five = "\n\n".join(block(n) for n in range(1, 6))
    assert len(read(five, most=5)[0]) == 5


def test_a_lesson_without_a_word_of_the_record_is_invented() -> None:
    answer = parse(block(), finding=VerdictOutcome.SUCCESS, most=3, grounds=["SELECT age FROM singer"])
    assert "not a word in common" in answer.problems[0]
    grounded = parse(block(), finding=VerdictOutcome.SUCCESS, most=3, grounds=["apt install libfoo-dev: package ready"])
    assert len(grounded.lessons) == 1


def test_other_languages_are_as_good_as_any() -> None:
    [lesson], _ = read(
        block(Title="依存パッケージを入れる", Content="ヘッダーを含むパッケージを入れて、もう一度ビルドする。")
    )
    assert lesson.title == "依存パッケージを入れる"


@given(st.text(max_size=400))
def test_whatever_a_model_says_is_read_or_refused_and_what_is_read_can_be_kept(text: str) -> None:
    for candidate in (text, block(Content=text), block(Title=text), f"{block()}\n{text}", text + block()):
        answer = parse(candidate, finding=VerdictOutcome.SUCCESS, most=3)
        assert bool(answer.lessons) + bool(answer.problems) <= 1
        for lesson in answer.lessons:
            assert problems_of(lesson) == []
            assert len(lesson.title) <= 50
            assert len(lesson.description) <= 200
