"""Whatever is handed in, the answer is a stored memory or a typed refusal; and what was stored comes back."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankError, InvalidInput

TEXTS = {
    "unpaired surrogate": "before \ud800 after \udc80",
    "NUL": "before\0after",
    "right to left": "שלום עולם مرحبا بالعالم",
    "bidi override": "safe \u202e txt.exe",
    "zero width": "in\u200bvis\u200dible\ufeff word",
    "emoji": "👩‍👩‍👧‍👦 🎉 family party",
    "combining": "Z̷̡͓a̵l̴g̵o̶ " * 20,
    "unspaced": "记忆系统让代理学习什么有效",
    "control": "bell\a escape\x1b[31m tab\t newline\n return\r",
    "SQL": "'; DROP TABLE memories; --",
    "JSON": '{"a": ["b"]}\\u0000',
    "million": "word " * 199_999,
    "one long word": "x" * 100_000,
    "spaces inside": "a" + " " * 5_000 + "b",
    "NFC and NFD": "é é",
    "astral": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff",
}


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_can_be_stored_searched_judged_and_comes_back(bank: ReasoningBank, name: str) -> None:
    text = TEXTS[name]
    expected = text.replace("\ud800", "\ufffd").replace("\udc80", "\ufffd").replace("\0", "\ufffd")
    kept = bank.record(title=text[:400] if text[:400].strip() else "t", description=text[:9_000], content=text)
    assert kept.content == expected
    assert bank.get(kept.id).content == expected
    query = text[:150_000]
    bank.search(query, floor=0.0)
    bank.search("word", floor=0.0)
    bank.inject(query)
    bank.feedback(kept.id, helpful=True, comment=text[:9_000])
    bank.store(text[:200], text)
    assert bank.get(expected[:200]).content == expected
    with bank.session(task=query) as run:
        run.search(floor=0.0)
        run.step(action=query, result=query, metadata={"text": text[:1_000].replace("\udc80", "")})
        run.finish("success")
    trajectory, steps = bank.trajectory(run.id)
    assert trajectory.task == expected[:150_000]
    assert steps[0].result == expected[:150_000]
    assert bank.verify() == []
    assert len(list(bank.export_lines())) > 5


def test_a_megabyte_is_kept_and_ten_are_refused(bank: ReasoningBank) -> None:
    kept = bank.record(title="large", content="m" * 1_000_000)
    assert len(bank.get(kept.id).content) == 1_000_000
    bank.search("large")
    huge = "h" * 10_000_000
    for attempt in (
        lambda: bank.record(title="huge", content=huge),
        lambda: bank.record(title=huge, content="c"),
        lambda: bank.record(title="t", content="c", description=huge),
        lambda: bank.record(title="t", content="c", metadata={"x": huge}),
        lambda: bank.record(title="t", content="c", tags=[huge]),
        lambda: bank.store("k", huge),
        lambda: bank.store(huge, "v"),
        lambda: bank.edit(kept.id, content=huge),
        lambda: bank.feedback(kept.id, helpful=True, comment=huge),
        lambda: bank.search(huge),
        lambda: bank.start_session(huge),
        lambda: bank.link(kept.id, kept.id, "relates", text=huge),
    ):
        with pytest.raises(InvalidInput):
            attempt()
    assert len(bank.list()) == 1


@pytest.mark.parametrize(
    "draft",
    [
        {"content": "c"},
        {"title": "t"},
        {"title": "", "content": "c"},
        {"title": " \n", "content": "c"},
        {"title": "t", "content": ""},
        {"title": b"bytes", "content": "c"},
        {"title": "t", "content": b"\x00\xff"},
        {"title": 5, "content": "c"},
        {"title": None, "content": "c"},
        {"title": "t", "content": "c", "outcome": "maybe"},
        {"title": "t", "content": "c", "outcome": None},
        {"title": "t", "content": "c", "scope": "world"},
        {"title": "t", "content": "c", "tags": "go"},
        {"title": "t", "content": "c", "tags": [1]},
        {"title": "t", "content": "c", "tags": ["a\nb"]},
        {"title": "t", "content": "c", "tags": ["x" * 4_097]},
        {"title": "t", "content": "c", "tags": [str(n) for n in range(4_097)]},
        {"title": "t", "content": "c", "tags": [f"{n:x>4000}" for n in range(17)]},
        {"title": "t", "content": "c", "namespace": "*"},
        {"title": "t", "content": "c", "namespace": "  "},
        {"title": "t", "content": "c", "metadata": {"x": object()}},
        {"title": "t", "content": "c", "metadata": {"x": float("nan")}},
        {"title": "t", "content": "c", "metadata": [1]},
        {"title": "t", "content": "c", "initial_confidence": 1.1},
        {"title": "t", "content": "c", "initial_confidence": True},
        {"title": "t", "content": "c", "initial_confidence": float("nan")},
        {"title": "t", "content": "c", "created_at": float("inf")},
        {"title": "t", "content": "c", "created_at": "yesterday"},
        {"title": "t", "content": "c", "agent": 7},
        {"title": "t", "content": "c", "key": ""},
        {"title": "t", "content": "c", "colour": "red"},
        {"title": "t", "content": "c", "id": "mem_mine"},
    ],
)
def test_a_draft_that_cannot_be_kept_is_refused_whole(bank: ReasoningBank, draft: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        bank.record(**draft)  # type: ignore[arg-type]
    assert bank.status().changes == 0


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 10**9},
        {"limit": True},
        {"limit": "5"},
        {"limit": 2.0},
        {"limit": None},
        {"min_confidence": 1.5},
        {"min_confidence": "high"},
        {"min_confidence": None},
        {"floor": -0.1},
        {"floor": float("nan")},
        {"scope": "world"},
        {"scope": None},
        {"outcome": "maybe"},
        {"tags": "go"},
        {"tags": [5]},
        {"agent": 5},
        {"task_type": ["x"]},
        {"namespace": ""},
        {"namespace": 5},
        {"profile": "best"},
        {"profile": []},
        {"max_tokens": 0},
        {"max_tokens": "many"},
        {"max_tokens": True},
        {"exclude": "mem_1"},
        {"exclude": 5},
        {"session": 5},
        {"session": ["trj"]},
        {"colour": "red"},
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused(bank: ReasoningBank, options: dict[str, object]) -> None:
    bank.store("k", "value")
    with pytest.raises(InvalidInput):
        bank.search("value", **options)


@pytest.mark.parametrize("query", ["", "  \n\t", None, 5, b"bytes", ["list"]])
def test_a_query_that_says_nothing_is_refused(bank: ReasoningBank, query: object) -> None:
    for verb in (bank.search, bank.inject):
        with pytest.raises(InvalidInput):
            verb(query)  # type: ignore[operator]


@pytest.mark.parametrize("budget", ["500", None, 1.5, True, -1])
def test_a_budget_that_is_no_number_is_refused(bank: ReasoningBank, budget: object) -> None:
    bank.store("k", "value to inject")
    with pytest.raises(InvalidInput):
        bank.inject("value to inject", max_tokens=budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("helpful", ["no", "false", 1, None, 0.5])
def test_only_yes_or_no_is_feedback(bank: ReasoningBank, helpful: object) -> None:
    kept = bank.store("k", "v")
    with pytest.raises(InvalidInput):
        bank.feedback(kept.id, helpful=helpful)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        bank.outcome(kept.id, succeeded=helpful)  # type: ignore[arg-type]
    assert bank.status().signals == 0


def test_a_session_with_bad_parts_is_refused(bank: ReasoningBank) -> None:
    run = bank.start_session("task")
    for attempt in (
        lambda: bank.start_session(""),
        lambda: bank.start_session("t", namespace="*"),
        lambda: bank.start_session("t", metadata={"x": {1, 2}}),
        lambda: bank.add_step(run.id, ""),
        lambda: bank.add_step(run.id, "a", b"r"),  # type: ignore[arg-type]
        lambda: bank.add_step("trj_none", "a"),
        lambda: bank.add_step("\udc80", "a"),
        lambda: bank.end_session(run.id, "great"),
        lambda: bank.end_session(run.id, None),  # type: ignore[arg-type]
        lambda: bank.end_session(run.id, "success", used=["mem_none"]),
        lambda: bank.end_session(run.id, "success", used=[None]),  # type: ignore[list-item]
        lambda: bank.end_session(None, "success"),  # type: ignore[arg-type]
        lambda: bank.outcome(bank.store("k", "v").id, succeeded=True, session="\udc80" * 300),
    ):
        with pytest.raises(BankError):
            attempt()
    assert bank.trajectory(run.id)[0].outcome is None
