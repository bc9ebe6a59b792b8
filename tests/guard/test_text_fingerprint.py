"""The marks by which a text is known again are what their definition says, however they are worked out."""

from __future__ import annotations

import re
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.guard.text_fingerprint import WINDOW, WORDS_PER_SHINGLE, marks, shingles

TEXTS = st.lists(
    st.sampled_from(["the", "Cache", "it's", "a_b", "x-1", "9", "retry", "deploy", "\n"]), max_size=60
).map(" ".join)


def by_definition(text: str) -> list[int]:
    words = re.findall(r"[^\W_]+", text.casefold())
    runs = range(max(1, len(words) - WORDS_PER_SHINGLE + 1)) if words else ()
    return [crc32(" ".join(words[i : i + WORDS_PER_SHINGLE]).encode()) for i in runs]


@given(text=TEXTS)
def test_shingles_are_checksums_of_three_words_in_a_row(text: str) -> None:
    assert shingles(text) == by_definition(text)


@given(text=TEXTS)
def test_marks_are_the_least_shingle_of_every_window(text: str) -> None:
    found = by_definition(text)
    windows = [found[i : i + WINDOW] for i in range(max(1, len(found) - WINDOW + 1))]
    assert marks(text) == sorted({min(window) for window in windows if window})
