"""Which words of a question were meant: names, codes, and what the table of ordinary words does not hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reasoningbank.lexical.entries import query_terms
from reasoningbank.lexical.hashing import term_keys
from reasoningbank.lexical.rare_words import MOST_RARE_WORDS, find_rare_terms

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_ordinary_words.py"


@pytest.mark.parametrize(
    "word",
    [
        "zanzibar",
        "SettingWithCopyWarning",
        "ERR_CONNECTION_REFUSED",
        "ENOENT",
        "137",
        "tsconfig.build.json",
        "src/app/main.py",
        "app:create",
        "server_7",
        "camelCase",
        "kubernetes",
    ],
)
def test_a_name_a_code_or_an_uncommon_word_was_meant(word: str) -> None:
    assert find_rare_terms(f"what of {word}")[0].tolist() == [term_keys([word])[0]]


@pytest.mark.parametrize(
    "text",
    [
        "how do I run the tests of this file",
        "running servers and databases",
        "Window",
        "third-party",
        "don't",
        "a7 x 12",
        "",
    ],
)
def test_ordinary_words_in_any_form_were_not(text: str) -> None:
    assert find_rare_terms(text)[0].tolist() == []


def test_no_more_rare_words_than_a_search_can_look_up_are_taken_each_once() -> None:
    names = [f"name_{n}" for n in range(100)]
    assert len(find_rare_terms(" ".join(names))[0]) == MOST_RARE_WORDS
    assert len(find_rare_terms("zanzibar zanzibar Zanzibar")[0]) == 1


def test_a_query_has_function_words_only_where_it_has_no_others() -> None:
    assert list(query_terms("what of the turbine")) == term_keys(["turbine"])
    assert list(query_terms("what of the")) == term_keys(["what", "of", "the"])
    assert query_terms("turbine or turbine") == {term_keys(["turbine"])[0]: 2}


def test_the_table_of_ordinary_words_is_the_one_that_its_script_makes() -> None:
    run = [sys.executable, str(SCRIPT), "--check"]
    assert subprocess.run(run, timeout=600, check=False).returncode == 0
