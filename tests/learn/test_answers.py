"""What an answer says becomes lessons however it is written; what is missing, doubtful or broken is a named problem."""

from __future__ import annotations

import json
from typing import Any

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


def as_json(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "title": f"Install the -dev package {number}",
        "description": "When a build cannot find a library's headers",
        "content": f"Install the package with headers, then build again. Case {number}.",
        "tags": ["build", "apt"],
        "outcome": "success",
        **changes,
    }


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


PAPER = """# Memory Item 1
## Title Install the -dev package 1
## Description When a build cannot find a library's headers
## Content Install the package with headers, then build again. Case 1."""
YAML = """memories:
  - title: Install the -dev package 1
    description: When a build cannot find a library's headers
    content: |
      Install the package with headers, then build again. Case 1.
    tags: [build, apt]
    outcome: success"""
XML = "<memory><title>Install the -dev package 1</title><description>When a build cannot find a library's headers</description>"
XML += (
    "<content>Install the package with headers, then build again. Case 1.</content><outcome>success</outcome></memory>"
)
SAID_OTHERWISE = {
    "thoughts before": f"<think>The user wants memories. ## Memory 9 perhaps?</think>\n\n{block()}",
    "thoughts whose beginning was cut off": f"so I will write one.\n</think>\n{block()}",
    "thoughts with a draft in them": f"<thinking>{block(1, Title='Draft')}</thinking>{block()}",
    "prose before": f"Here is what I found:\n\n{block()}",
    "prose after": f"{block()}\n\nI hope this helps!",
    "prose around and a fence": f"Sure! Here it is:\n```markdown\n{block()}\n```\nLet me know if you need more.",
    "a byte order mark": f"\ufeff{block()}",
    "line ends of another system": block().replace("\n", "\r\n"),
    "another heading level": block().replace("## Memory", "### Memory"),
    "a heading with a colon": block().replace("## Memory 1", "## Memory 1:"),
    "a heading in bold": block().replace("## Memory 1", "**Memory 1**"),
    "another noun in the heading": block().replace("## Memory 1", "## Strategy 1"),
    "the title in the heading": block().replace("## Memory 1\n**Title**: ", "## Memory 1: "),
    "no heading": block().removeprefix("## Memory 1\n"),
    "numbered from zero": block().replace("Memory 1", "Memory 0"),
    "colons inside the bold letters": block().replace("**:", ":**"),
    "no bold letters": block().replace("**", ""),
    "a list of fields": block().replace("\n**", "\n- **"),
    "names of fields in capitals": block().replace("Title", "TITLE").replace("Content", "CONTENT"),
    "fields in another order": "## Memory 1\n" + "\n".join(sorted(block().splitlines()[1:])),
    "another name for a field": block().replace("**Tags**", "**Keywords**").replace("**Description**", "**When to use**"),
    "a field more": block().replace("**Tags**", "**Outcome**: success\n**Confidence**: 0.9\n**Tags**").rpartition("\n")[0],
    "no tags": block().replace("**Tags**: build, apt\n", ""),
    "no outcome": block().replace("\n**Outcome**: success", ""),
    "an outcome with a full stop": block(Outcome="Success."),
    "an outcome in code letters": block(Outcome="`success`"),
    "quotes around the title": block(Title='"Install the -dev package 1"'),
    "a rule after it": f"{block()}\n\n---",
    "the paper's own form": PAPER,
    "YAML": YAML,
    "elements": XML,
    "marks of a template": f"<|im_start|>{block()}<|im_end|>",
    "JSON": dumped({"memories": [as_json()]}),
    "JSON in a fence": f"```json\n{dumped({'memories': [as_json()]})}\n```",
    "JSON in prose": f"Here you are: {dumped([as_json()])} That is all.",
    "a list": dumped([as_json()]),
    "one object": dumped(as_json()),
    "keys in capitals": dumped({name.upper(): value for name, value in as_json().items()}),
    "other keys": dumped({"name": as_json()["title"], "when_to_use": as_json()["description"], "strategy": as_json()["content"]}),
    "keys more": dumped(as_json(confidence="0.9", id=7)),
    "tags as text": dumped(as_json(tags="build, apt")),
    "a trailing comma": dumped({"memories": [as_json()]}).replace("}]}", "},],}"),
    "typographic quotes": dumped(as_json()).replace('"title"', "“title”").replace('"tags"', "“tags”"),
    "single quotes": str(as_json()),
    "a line break in a string": dumped(as_json()).replace("again. Case", "again.\nCase"),
    "deep inside": dumped({"result": {"data": {"items": [as_json()]}}}),
}  # fmt: skip


@pytest.mark.parametrize("text", SAID_OTHERWISE.values(), ids=SAID_OTHERWISE)
def test_what_is_said_without_doubt_is_read_however_it_is_written(text: str) -> None:
    [lesson], problems = read(text)
    assert not problems
    assert lesson.title == "Install the -dev package 1"
    assert lesson.description == "When a build cannot find a library's headers"
    assert " ".join(lesson.content.split()) == "Install the package with headers, then build again. Case 1."
    assert lesson.tags in ((), ("build", "apt"))
    assert lesson.outcome is Outcome.SUCCESS


@pytest.mark.parametrize("text", [dumped([as_json(1), as_json(2)]), f"{dumped(as_json(1))}\n{dumped(as_json(2))}",
                                  f"{YAML}\n{YAML.partition(chr(10))[2].replace('1', '2')}"])  # fmt: skip
def test_several_are_several(text: str) -> None:
    assert [lesson.title[-1] for lesson in read(text)[0]] == ["1", "2"]


@pytest.mark.parametrize(
    "text", ["NO_EXTRACTIONS because the session was trivial.", '{"memories": []}', "[]", "<think>none</think> NO_EXTRACTIONS"]
)  # fmt: skip
def test_nothing_may_be_said_in_other_words(text: str) -> None:
    assert read(text) == ((), "")


BAD = {
    "empty": ("", "empty"),
    "blank": (" \n\t ", "empty"),
    "only thoughts": ("<think>what a session</think>", "empty"),
    "prose only": ("The agent installed a package and it worked.", "no memory with a title"),
    "refusal": ("I'm sorry, but I can't help with that.", "no memory with a title"),
    "JSON with too little in it": ('{"memories": [{"title": "x"}]}', "it has no content"),
    "truncated JSON": ('[{"title": "Install", "descr', "breaks off"),
    "truncated JSON after a whole one": (dumped({"memories": [as_json(1), as_json(2)]})[:-30], "breaks off"),
    "JSON of something else": ('{"status": "ok"}', "no memory with a title"),
    "truncated in the middle": (block()[: block().index("with headers")], "breaks off"),
    "missing field": (block().replace("**Description**: When a build cannot find a library's headers\n", ""), "it has no description"),
    "a field twice": (f"{block()}\n**Outcome**: success", "outcome is there twice"),
    "field names in another language": (block().replace("Title", "Titel").replace("Content", "Inhalt"), "it has no title"),
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
    "duplicate": (f"{block(1)}\n\n{block(1).replace('Memory 1', 'Memory 2')}", "repeats memory 1"),
    "duplicate title": (f"{block(1, Title='Same')}\n\n{block(2, Title='SAME ')}", "repeats memory 1"),
    "too many tags": (block(Tags=", ".join(f"t{n}" for n in range(9))), "tags"),
    "too long a tag": (block(Tags="t" * 41), "tags"),
    "control characters": (block(Content="bell \x07 here"), "cannot be shown"),
    "unpaired surrogate": (block(Title="bad \ud800"), "cannot be shown"),
    "NUL": (block(Content="a\0b"), "cannot be shown"),
    "endless": (block(Content="word " * 20_000), "characters; the limit is"),
    "garbage bytes": (bytes(range(256)).decode("latin-1"), "no memory with a title"),
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
    assert "hardly a word in common" in answer.problems[0]
    story = block(Title="Aunt Emily", Description="She is loved by the town.", Content="She loves to make things.")
    told = "Task:\n<<<task 1f\nbuild it\ntask 1f>>>\nSession Trace:\nmake: fatal error: zlib.h: No such file"
    invented = parse(story, finding=VerdictOutcome.SUCCESS, most=3, grounds=[told])
    assert "hardly a word in common" in invented.problems[0], "one word may be chance"
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
