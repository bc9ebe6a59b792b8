"""The paper's lines, with what language models really put into memory_items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.items import IncomingMemory, IncomingTrajectory, Item, SkippedItem
from reasoningbank.exchange.memory_blocks import parse_blocks
from reasoningbank.exchange.paper import read_paper

PLAIN = "# Memory Item 1\n## Title Use filters\n## Description When lists are long\n## Content Filter before paging."
TWO = f"{PLAIN}\n\n# Memory Item 2\n## Title Check totals\n## Description At the end\n## Content Compare the sum."


def line(**more: Any) -> dict[str, Any]:
    record = {
        "task_id": 21,
        "query": "Find the cheapest lamp",
        "think_list": ["I should search", "Now sort"],
        "action_list": ["click('12')", "click('30')"],
        "status": "success",
        "memory_items": [PLAIN],
        "template_id": 7,
    }
    return {**record, **more}


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "memories_reasoningbank" / "shopping.jsonl"
    path.parent.mkdir(exist_ok=True)
    text = "\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in lines)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def memories(found: list[Item]) -> list[IncomingMemory]:
    return [item for item in found if isinstance(item, IncomingMemory)]


def skipped(found: list[Item]) -> list[SkippedItem]:
    return [item for item in found if isinstance(item, SkippedItem)]


def test_a_line_becomes_a_trajectory_and_its_memories(tmp_path: Path) -> None:
    run, memory = list(read_paper(write(tmp_path, line())))
    assert isinstance(run, IncomingTrajectory)
    assert isinstance(memory, IncomingMemory)
    assert (run.task, run.namespace, run.outcome) == ("Find the cheapest lamp", "shopping", "success")
    assert [(step.action, step.metadata["think"]) for step in run.steps] == [
        ("click('12')", "I should search"),
        ("click('30')", "Now sort"),
    ]
    draft = memory.draft
    assert (draft.title, draft.description, draft.content) == (
        "Use filters",
        "When lists are long",
        "Filter before paging.",
    )
    assert (draft.outcome, draft.namespace, draft.source) == ("success", "shopping", run.identity)
    assert draft.metadata == {"template_id": 7, "task": "Find the cheapest lamp"}
    assert memory.identity.startswith("paper:shopping:21:")


@pytest.mark.parametrize(
    "items", [[PLAIN, TWO.split("\n\n")[1]], TWO, TWO.split("\n\n"), TWO.replace("\n", "\n\n").split("\n\n")]
)
def test_items_are_the_same_however_the_text_was_cut(tmp_path: Path, items: Any) -> None:
    found = memories(list(read_paper(write(tmp_path, line(memory_items=items)))))
    assert [(m.draft.title, m.draft.content) for m in found] == [
        ("Use filters", "Filter before paging."),
        ("Check totals", "Compare the sum."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "**Memory Item 1**\n**Title**: Use filters\n**Description**: When lists are long\n**Content**: Filter first.",
        "### Memory Item 1:\n#### Title: Use filters\n#### Description: When lists are long\n#### Content: Filter first.",
        "# Memory Item 1\n## Title\nUse filters\n\n## Description\nWhen lists are long\n\n## Content\nFilter first.",
        "```markdown\n# Memory Item 1\n## Title Use filters\n## Description When lists are long\n## Content Filter first.\n```",
        "# Memory Item 1: Use filters\n- **Description:** When lists are long\n- **Content:** Filter first.",
        'Title: "Use filters"\nDescription: When lists are long\nContent: Filter first.',
        "Memory Item 1\n## Title **Use filters**\n## Description When lists are long\n## Content Filter first.\n---",
        "**Title: Use filters**\n**Description: When lists are long**\n**Content: Filter first.**",
    ],
)  # fmt: skip
def test_every_variant_of_the_format_gives_the_same_memory(text: str) -> None:
    parsed = parse_blocks(text)
    (block,) = parsed.whole
    assert (block.title, block.description, block.content) == (
        "Use filters",
        "When lists are long",
        "Filter first.",
    )
    assert (parsed.broken, parsed.stray) == ((), "")


def test_thinking_aloud_is_skipped_and_does_not_become_a_memory(tmp_path: Path) -> None:
    text = (
        f"Let me think about what went well here.\nThe agent searched.\n\n```markdown\n{PLAIN}\n```\nHope this helps!"
    )
    found = list(read_paper(write(tmp_path, line(memory_items=text.split("\n\n")))))
    assert [m.draft.content for m in memories(found)] == ["Filter before paging."]
    (entry,) = skipped(found)
    assert "Let me think" in entry.what
    assert entry.why == "not a memory: it has no title and content"


def test_a_think_tag_with_the_labels_inside_is_still_only_a_thought() -> None:
    parsed = parse_blocks(f"<think>\nTitle: maybe\nContent: wrong\n</think>\n{PLAIN}")
    assert [block.title for block in parsed.whole] == ["Use filters"]
    assert "maybe" in parsed.stray


def test_code_in_the_content_stays_in_the_content() -> None:
    code = "```python\n# Title of nothing\nprint('Content: no')\n```"
    (block,) = parse_blocks(f"{PLAIN}\n{code}\nThen go on.").whole
    assert block.content == f"Filter before paging.\n{code}\nThen go on."


def test_a_fence_that_was_never_closed_does_not_swallow_the_next_memory() -> None:
    parsed = parse_blocks(f"{PLAIN}\n```python\nprint(1)\n\n{TWO.split(chr(10) * 2)[1]}")
    assert [block.title for block in parsed.whole] == ["Use filters", "Check totals"]


def test_a_sentence_that_starts_with_a_label_word_is_no_label() -> None:
    (block,) = parse_blocks(f"{PLAIN}\nContent is king.\nTitle case is fine.").whole
    assert block.content == "Filter before paging.\nContent is king.\nTitle case is fine."


def test_an_item_without_content_is_reported(tmp_path: Path) -> None:
    found = list(read_paper(write(tmp_path, line(memory_items="# Memory Item 1\n## Title Alone"))))
    assert memories(found) == []
    assert [entry.why for entry in skipped(found)] == ["memory 1 has no content"]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("success", "success"),
        ("fail", "failure"),
        ("failed", "failure"),
        (True, "success"),
        (False, "failure"),
    ],
)
def test_the_outcome_is_what_the_status_says(tmp_path: Path, status: Any, outcome: str) -> None:
    run, memory = list(read_paper(write(tmp_path, line(status=status))))
    assert isinstance(run, IncomingTrajectory)
    assert isinstance(memory, IncomingMemory)
    assert (run.outcome, memory.draft.outcome) == (outcome, outcome)


@pytest.mark.parametrize("status", [None, "", "unknown", 0, 1, "timeout", []])
def test_a_status_that_says_nothing_keeps_the_task_and_skips_its_memories(tmp_path: Path, status: Any) -> None:
    found = list(read_paper(write(tmp_path, line(status=status))))
    assert memories(found) == []
    assert [item.outcome for item in found if isinstance(item, IncomingTrajectory)] == ["unknown"]
    assert "not known" in skipped(found)[0].why


def test_bad_lines_are_named_by_number_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, "{broken", "", [1, 2], {"task_id": 5}, line())
    with path.open("ab") as file:
        file.write(b"\xff\xfe\n")
    found = list(read_paper(path))
    assert len(memories(found)) == 1
    assert [(entry.what, entry.why) for entry in skipped(found)] == [
        ("line 1", "not valid JSON"),
        ("line 3", "not a JSON object"),
        ("line 4", "it has no memory_items"),
        ("line 6", "not UTF-8 text"),
    ]


def test_items_given_as_objects_are_read(tmp_path: Path) -> None:
    items = [{"Title": "T", "description": "D", "content": "C"}, {"title": "alone"}]
    found = list(read_paper(write(tmp_path, line(memory_items=items))))
    assert [(m.draft.title, m.draft.description, m.draft.content) for m in memories(found)] == [("T", "D", "C")]
    assert len(skipped(found)) == 1


def test_thoughts_without_an_action_are_steps_of_their_own(tmp_path: Path) -> None:
    (run, _) = list(read_paper(write(tmp_path, line(think_list=["a", "b", "c"], action_list=["x"]))))
    assert isinstance(run, IncomingTrajectory)
    assert [(step.action, step.metadata) for step in run.steps] == [
        ("x", {"think": "a"}),
        ("b", {"kind": "think"}),
        ("c", {"kind": "think"}),
    ]


def test_two_runs_of_a_task_are_two_and_the_same_run_twice_is_one(tmp_path: Path) -> None:
    again = line(memory_items=PLAIN.replace("Filter", "Sort"))
    found = list(read_paper(write(tmp_path, line(), line(), again)))
    assert len({m.identity for m in memories(found)}) == 2


@pytest.mark.parametrize("text", ["", "\n\n", "hello", '{"id": "1", "text": "t", "embedding": [0.1]}', "[1]"])
def test_a_file_without_a_single_task_is_rejected_with_advice(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportRejected, match="memory_items"):
        list(read_paper(write(tmp_path, text)))


def test_a_folder_or_a_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="folder"):
        list(read_paper(tmp_path))
    with pytest.raises(ImportRejected, match="cannot be read"):
        list(read_paper(tmp_path / "missing.jsonl"))
