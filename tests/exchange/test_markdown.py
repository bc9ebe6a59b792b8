"""Notes as people keep them, and as seed 001's extraction prompt writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.types import Draft
from reasoningbank.exchange.items import IncomingMemory, SkippedItem
from reasoningbank.exchange.markdown import NOTE_CHARACTERS, read_markdown, split_front_matter


def note(folder: Path, text: str, name: str = "note.md") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def only(path: Path) -> Draft:
    (item,) = list(read_markdown(path))
    assert isinstance(item, IncomingMemory)
    return item.draft


def test_a_header_says_everything_and_the_body_is_the_content(tmp_path: Path) -> None:
    text = (
        "---\n"
        "title: 'Pin the toolchain'  # the short name\n"
        "description: Before a release\n"
        'tags: [ci, "build", ci]\n'
        "outcome: failure\n"
        "namespace: shop\n"
        "agent: builder\n"
        "task-type: release\n"
        "date: 2025-10-14\n"
        "ticket: 12\n"
        "---\n"
        "# Ignored as a title\n\nDo this.\n"
    )  # fmt: skip
    draft = only(note(tmp_path, text))
    assert (draft.title, draft.description, draft.content) == (
        "Pin the toolchain",
        "Before a release",
        "# Ignored as a title\n\nDo this.",
    )
    assert (draft.tags, draft.outcome, draft.namespace) == (("ci", "build"), "failure", "shop")
    assert (draft.agent, draft.task_type, draft.created_at) == ("builder", "release", 1_760_400_000.0)
    assert (draft.origin, draft.metadata) == ("import:markdown", {"ticket": "12"})


def test_without_a_header_the_heading_and_the_first_paragraph_speak(tmp_path: Path) -> None:
    draft = only(note(tmp_path, "# Retry **on** 429\n\nFor rate limits\nof any API.\n\n1. Wait.\n2. Try again.\n"))
    assert (draft.title, draft.description) == ("Retry **on** 429", "For rate limits of any API.")
    assert (draft.outcome, draft.namespace, draft.tags) == ("success", None, ())


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("# T\n\nOnly this.", ""),
        ("# T\n\n" + "long " * 60 + "\n\nmore", ""),
        ("# T\n\n- a list\n\nthen prose\n\nmore", ""),
        ("Intro.\n## Next\nmore", "Intro."),
        ("Intro.\n- one\n- two", "Intro."),
        ("T\n===\n\nIntro.\n\nmore", "Intro."),
        ("```\ncode\n```\n\nprose\n\nmore", ""),
        ("**Bold** intro.\n\nmore", "**Bold** intro."),
    ],
)
def test_the_description_is_a_short_opening_paragraph_with_more_after_it(
    tmp_path: Path, text: str, description: str
) -> None:
    assert only(note(tmp_path, text)).description == description


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("no heading\n\nat all", "my-note"),
        ("```\n# a comment\n```\n## Real\ntext", "Real"),
        ("Underlined\n----------\ntext", "Underlined"),
        ("---\ntitle:\n---\ntext", "my-note"),
    ],
)
def test_the_title_is_the_first_heading_or_the_file_name(tmp_path: Path, text: str, title: str) -> None:
    assert only(note(tmp_path, text, "my-note.md")).title == title


def test_a_rule_at_the_top_is_not_a_header(tmp_path: Path) -> None:
    assert only(note(tmp_path, "---\nJust text.\n---\nmore")).content == "---\nJust text.\n---\nmore"
    assert only(note(tmp_path, "---\ntitle: never closed\n\ntext")).content == "---\ntitle: never closed\n\ntext"


@pytest.mark.parametrize(
    ("header", "tags"),
    [
        ("tags: a, b", "a, b"),
        ("tags: [a, 'b c']", ["a", "b c"]),
        ('tags:\n  - a\n  - "b"', ["a", "b"]),
        ("tags:\n- a", ["a"]),
        ("tags: []", []),
    ],
)  # fmt: skip
def test_lists_may_be_written_in_any_of_the_usual_ways(header: str, tags: str | list[str]) -> None:
    assert split_front_matter(f"---\n{header}\n---\nbody") == ({"tags": tags}, "body")


def test_nested_and_folded_values_do_not_confuse_the_header() -> None:
    text = '---\nauthor:\n  name: Ann\ndescription: >\n  two\n  lines\n# note\ntitle: "a: b # c"\n---\nbody'
    header, body = split_front_matter(text)
    assert (header["description"], header["title"], body) == ("two\nlines", "a: b # c", "body")


SEED_001 = """Some words before.

## Memory 1
**Title**: Check the lock
**Description**: When a job hangs
**Content**: Look for a stale lock.

Then remove it.
**Tags**: ops, locks
**Outcome**: success

## Memory 2
**Title**: Never force push
**Description**: On shared branches
**Content**: It loses work.
**Tags**: git
**Outcome**: failure

## Memory 3
**Title**: Half
"""


def test_one_file_in_seed_001s_format_gives_several_memories(tmp_path: Path) -> None:
    path = note(tmp_path, "---\nnamespace: shop\ntags: import\n---\n" + SEED_001, "out.md")
    broken, first, second = list(read_markdown(path))
    assert isinstance(broken, SkippedItem)
    assert broken.why == "memory 3 has no content"
    assert isinstance(first, IncomingMemory)
    assert isinstance(second, IncomingMemory)
    assert first.draft.content == "Look for a stale lock.\n\nThen remove it."
    assert (first.draft.tags, first.draft.outcome) == (("import", "ops", "locks"), "success")
    assert (second.draft.title, second.draft.outcome) == ("Never force push", "failure")
    assert (second.draft.namespace, second.draft.description) == ("shop", "On shared branches")
    assert [item.identity.rsplit("/")[-1] for item in (first, second)] == ["out.md#1", "out.md#2"]


def test_a_folder_is_read_in_order_without_hidden_folders_and_dependencies(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    for name in (
        "b.md",
        "a/z.MD",
        "a/.hidden.md",
        ".git/x.md",
        "node_modules/y.md",
        "a/plain.txt",
        "c.markdown",
    ):
        note(root, "Some text.", name)
    found = [item for item in read_markdown(root) if isinstance(item, IncomingMemory)]
    assert [item.identity for item in found] == [
        "markdown:notes/a/z.MD",
        "markdown:notes/b.md",
        "markdown:notes/c.markdown",
    ]


def test_files_that_cannot_be_memories_are_skipped_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe\x00")
    note(tmp_path, "   \n", "empty.md")
    note(tmp_path, "# Only\n\n## headings\n", "headings.md")
    note(tmp_path, "x" * (NOTE_CHARACTERS + 1), "huge.md")
    note(tmp_path, "---\noutcome: perhaps\n---\ntext", "unsure.md")
    note(tmp_path, "text", "good.md")
    (tmp_path / "dangling.md").symlink_to(tmp_path / "nowhere.md")
    os.mkfifo(tmp_path / "pipe.md")
    told = {item.what: item.why for item in read_markdown(tmp_path) if isinstance(item, SkippedItem)}
    assert told == {
        "binary.md": "it is not UTF-8 text",
        "dangling.md": "it is not a regular file",
        "empty.md": "it is empty",
        "headings.md": "there is no text in it besides its headings",
        "huge.md": "it is longer than 1,000,000 characters",
        "pipe.md": "it is not a regular file",
        "unsure.md": "its outcome 'perhaps' is neither success nor failure",
    }


def test_an_unclear_outcome_of_one_memory_skips_only_that_one(tmp_path: Path) -> None:
    path = note(tmp_path, SEED_001.replace("**Outcome**: failure", "**Outcome**: success | failure"))
    found = list(read_markdown(path))
    assert [item.draft.title for item in found if isinstance(item, IncomingMemory)] == ["Check the lock"]
    assert "neither" in [item.why for item in found if isinstance(item, SkippedItem)][-1]


def test_the_same_folder_gives_the_same_identities_again(tmp_path: Path) -> None:
    note(tmp_path, "text", "ü.md")
    assert list(read_markdown(tmp_path)) == list(read_markdown(tmp_path))


def test_nothing_to_read_is_rejected_with_advice(tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="no Markdown file"):
        list(read_markdown(tmp_path))
    with pytest.raises(ImportRejected, match="does not exist"):
        list(read_markdown(tmp_path / "missing"))
