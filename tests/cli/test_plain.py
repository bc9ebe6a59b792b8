from __future__ import annotations

import pytest

from reasoningbank.cli import figures, plain
from reasoningbank.core.types import Confidence


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("a\u200bb", 2), ("ﾊﾝ", 2), ("", 0), ("\U0001f600", 2)],
)
def test_width_counts_columns_and_not_characters(text, columns):
    assert plain.width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("abc", 0, ""),
        ("abc", None, "abc"),
    ],
)
def test_cutting_never_exceeds_the_columns(text, columns, cut):
    assert plain.cut(text, columns) == cut


def test_safe_text_has_no_character_that_a_terminal_obeys():
    everything = "".join(map(chr, range(0x3000)))
    shown = plain.safe(everything)
    assert not any((ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert "\u202e" not in shown
    assert plain.safe("a\tb\r\nc\rd") == "a    b\nc\nd"
    assert plain.safe("日本 e\u0301 \U0001f600") == "日本 e\u0301 \U0001f600"


def test_wrapping_keeps_every_word_and_the_columns():
    text = "  - some words that go on and on, 日本語のテキスト, and " + "x" * 50
    lines = plain.wrap(text, 20, "> ")
    assert all(plain.width(line) <= 20 for line in lines)
    joined = "".join(line.removeprefix("> ").strip() for line in lines)
    assert joined.replace(" ", "") == text.replace(" ", "")


def test_wrapping_without_a_window_changes_nothing():
    assert plain.wrap("a  b " * 50, None) == [("a  b " * 50).rstrip()]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "just now"), (5, "5 s ago"), (61, "1 min ago"), (3 * 3600, "3 h ago"), (86_400 * 2.5, "2 d ago")],
)
def test_times_are_said_as_people_do(seconds, said):
    assert figures.ago(1_790_000_000 - seconds, 1_790_000_000) == said


def test_old_future_and_impossible_times_are_dates_or_nothing():
    now = 1_790_000_000.0
    assert figures.ago(now - 90 * 86_400, now).startswith("2026-")
    assert figures.ago(now + 90 * 86_400, now).startswith("2026-")
    assert figures.ago(None, now) == "never"
    assert figures.ago(1e30, now) == "at no known time"


def test_the_curve_is_thinned_but_keeps_its_ends():
    assert figures.sparkline([0.0, 0.5, 1.0], 40, unicode=True) == "▁▅█"
    assert figures.sparkline([0.0, 0.5, 1.0], 40, unicode=False) == "_+#"
    long = figures.sparkline([i / 999 for i in range(1000)], 40, unicode=True)
    assert (len(long), long[0], long[-1]) == (40, "▁", "█")


def test_confidence_with_and_without_an_interval():
    assert figures.confidence(Confidence(mean=0.5, low=0.1, high=0.9)) == "0.50 (0.10–0.90)"
    assert figures.confidence(Confidence(mean=0.5, low=0.5, high=0.5)) == "0.50"


def test_sizes_and_counts():
    assert [figures.size(n) for n in (0, 999, 1500, 2_500_000, 3 * 10**15)] == [
        "0 B", "999 B", "1.5 KB", "2.5 MB", "3000.0 TB",
    ]  # fmt: skip
    assert figures.counted(1, "memory", "memories") == "1 memory"
    assert figures.counted(2000, "step") == "2,000 steps"
