"""Words, identifiers and scripts, as keyword search sees them."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.text import LONGEST_TERM, MOST_TOKENS, forms, terms, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Retry with Backoff", ["retry", "with", "backoff"]),
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("snake_case_name", ["snake_case_name", "snake", "case", "name"]),
        ("os.path.join", ["os.path.join", "os", "path", "join"]),
        ("src/app/main.py", ["src/app/main.py", "src", "app", "main", "py"]),
        ("kebab-case", ["kebab-case", "kebab", "case"]),
        ("sha256Hash", ["sha256hash", "sha256", "hash"]),
        ("--dry-run", ["dry-run", "dry", "run"]),
        ("__init__", ["__init__", "init"]),
        ("port 8080, v1.2", ["port", "8080", "v1.2", "v1", "2"]),
        ("don't the user's", ["dont", "the", "user"]),
        ("don\u2019t", ["dont"]),
        ("Stra\u00dfe", ["strasse"]),
        ("\uff26\uff35\uff2c\uff2c", ["full"]),
        ("zero\u200bwidth", ["zerowidth"]),
        ("a\0b", ["a", "b"]),
        ("\u65e5\u672c\u8a9e", ["\u65e5\u672c", "\u672c\u8a9e"]),
        ("\u6f22", ["\u6f22"]),
        ("use\u65e5\u672cnow", ["use", "\u65e5\u672c", "now"]),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", ["\u0939\u093f\u0928\u094d\u0926\u0940"]),
        ("... ///", []),
        ("", []),
    ],
)
def test_a_text_becomes_these_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_stemmer_sees_words_and_parts_but_not_whole_identifiers() -> None:
    assert terms("tests run_tests", stem=lambda word: word.removesuffix("s")) == ["test", "run_tests", "run", "test"]


def test_a_long_word_is_known_by_its_first_characters() -> None:
    assert terms("x" * 1000) == ["x" * LONGEST_TERM]


@pytest.mark.parametrize("piece", ["a.b", "a_", "word ", "\u65e5", "a'", "aB", "\u00e9.", "-", "\0"])
def test_a_long_text_of_anything_stays_cheap_and_capped(piece: str) -> None:
    assert len(tokens(piece * 100_000)) <= MOST_TOKENS
    assert len(terms(piece * (1_000_000 // len(piece)))) <= 64 * 2 * MOST_TOKENS

    def cost_of(text: str) -> float:
        began = time.process_time()
        terms(text)
        return time.process_time() - began

    def cost(chars: int) -> float:
        return cost_of(piece * (chars // len(piece)))

    # What takes the square of the length takes 64 times as long, each time that it is tried. Some pieces
    # take next to no time while they are few: then plain words are what they are compared with.
    words = cost_of("some.word " * 40_000)
    assert any(cost(800_000) < 24 * max(cost(100_000), words) for _ in range(5))


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_gives_short_nonempty_folded_terms(text: str) -> None:
    for term in terms(text):
        assert 0 < len(term) <= 3 * LONGEST_TERM
        assert term == term.casefold()


@given(st.text())
def test_terms_are_the_forms_of_the_tokens(text: str) -> None:
    assert terms(text) == [form for token in tokens(text) for form in forms(token)]


@given(st.text("ab1_'./\\:- \t\n,;(\x1c\x00Z", max_size=60))
def test_words_that_need_no_pattern_are_those_that_it_finds(text: str) -> None:
    word = r"\w+(?:['\u2019]\w+)*"
    assert tokens(text) == re.findall(rf"{word}(?:[./\\:-]{word}){{0,63}}", text, re.ASCII)
