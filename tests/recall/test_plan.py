from __future__ import annotations

from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.recall.plan import MOST_CHARS_READ, MOST_NAMES, MOST_WORDS, plan_query

ISSUE = """# Search answers 500 while the index is rebuilt

We upgraded last week and since then the nightly rebuild breaks the public search. It happens on a clean machine with the
image that we publish, on two systems. The logs look fine otherwise, memory is stable and the disks are healthy.

```python
for i in range(100):
    response = requests.get("http://localhost:8080/v1/search?q=x")
```

Traceback (most recent call last):
  File "/srv/app/server/search.py", line 88, in search
    hits = self.index.query(q)
  File "/srv/app/index/segment_reader.py", line 41, in query
    raise SegmentMissing(name)
index.errors.SegmentMissing: segment 000042.seg was removed while it was read

Expected: it keeps answering from the old segments until the new ones are ready. We have seen nothing else of interest.
"""


def test_a_question_is_its_own_plan() -> None:
    for text in ("how do I retry?", "x", "KeyError: 'a'", " ".join(["word"] * 60)):
        assert plan_query(text) == text


def test_a_long_issue_is_reduced_to_what_it_asks_and_what_went_wrong() -> None:
    plan = plan_query(ISSUE)
    assert "Search answers 500 while the index is rebuilt" in plan
    assert "SegmentMissing: segment 000042.seg was removed while it was read" in plan
    assert "keeps answering from the old segments" in plan
    assert 'File "' not in plan
    assert "range(100)" not in plan


def test_names_outside_the_chosen_lines_are_kept_for_exact_matching() -> None:
    assert "requests.get" in plan_query(ISSUE)


def test_a_plan_is_short_whatever_it_is_made_from() -> None:
    for text in (
        "word " * 50_000,
        "x = 1\n" * 5_000,
        "Error: it failed\n" * 5_000,
        ISSUE * 100,
        "a/b" * 90_000,
        "\n" * 999,
    ):
        assert len(plan_query(text).split()) <= max(len(text.split()[:1]), MOST_WORDS + MOST_NAMES + 400), text[:20]


def test_a_hostile_text_is_planned_in_one_pass() -> None:
    for text in ("(" * MOST_CHARS_READ, "a_" * MOST_CHARS_READ, "A.b" * MOST_CHARS_READ, "--a" * MOST_CHARS_READ):
        assert plan_query(text)


@pytest.mark.parametrize("embedder", ["hash", "local"])
def test_a_pasted_trace_finds_the_memory_about_its_error(path: Path, embedder: str) -> None:
    with ReasoningBank.open(path, embedder=embedder) as bank:
        bank.record(
            title="SegmentMissing during a rebuild", content="Keep old segments open until the last reader ends."
        )
        bank.record(title="Publish images", content="Push the image for both systems and check the clean machine.")
        bank.record(title="Nightly jobs", content="The logs and the disks are checked by the nightly job every week.")
        assert bank.search(ISSUE, floor=0.0).memories[0].memory.title == "SegmentMissing during a rebuild"
