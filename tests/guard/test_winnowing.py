"""The marks by which a text is known again are what their definition says, however they are worked out."""

from __future__ import annotations

import re
from types import SimpleNamespace
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.guard.winnowing import WINDOW, WORDS_PER_SHINGLE, fingerprint, marks_of, shingles

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
    assert fingerprint(text) == sorted({min(window) for window in windows if window})


@given(title=st.text(min_size=1, max_size=30), content=st.text(max_size=200) | st.text("abc .\n", max_size=200))
def test_a_peers_memory_has_the_marks_of_its_content_and_of_its_beginning(title: str, content: str) -> None:
    memory = SimpleNamespace(title=title, description="said of it", content=content, origin="peer:rb1-aaaa")
    beginning = f"{title}\nsaid of it\n{content[:120]}"
    assert marks_of(memory) == sorted({*fingerprint(content), *fingerprint(beginning)})
