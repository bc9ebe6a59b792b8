from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.stem import _measures, cache_size, stem

# From the examples in Porter's paper, one or more for each rule.
PAPER = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "cats": "cat", "feed": "feed", "agreed": "agre",
    "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing", "conflated": "conflat",
    "troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan", "falling": "fall", "hissing": "hiss",
    "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat", "conditional": "condit",
    "rational": "ration", "valenci": "valenc", "digitizer": "digit", "conformabli": "conform", "radicalli": "radic",
    "differentli": "differ", "vileli": "vile", "analogousli": "analog", "vietnamization": "vietnam",
    "predication": "predic", "operator": "oper", "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope",
    "callousness": "callous", "formaliti": "formal", "sensitiviti": "sensit", "sensibiliti": "sensibl",
    "triplicate": "triplic", "formative": "form", "formalize": "formal", "electriciti": "electr",
    "electrical": "electr", "hopeful": "hope", "goodness": "good", "revival": "reviv", "allowance": "allow",
    "inference": "infer", "airliner": "airlin", "gyroscopic": "gyroscop", "adjustable": "adjust",
    "defensible": "defens", "irritant": "irrit", "replacement": "replac", "adjustment": "adjust", "dependent": "depend",
    "adoption": "adopt", "communism": "commun", "activate": "activ", "angulariti": "angular", "homologous": "homolog",
    "effective": "effect", "bowdlerize": "bowdler", "probate": "probat", "rate": "rate", "cease": "ceas",
    "controll": "control", "roll": "roll",
}  # fmt: skip


@pytest.mark.parametrize("word", PAPER)
def test_a_word_of_porters_paper_has_the_stem_that_the_paper_gives(word: str) -> None:
    assert stem(word) == PAPER[word]


@pytest.mark.parametrize(
    "family", [("connect", "connected", "connecting", "connection", "connections"), ("retry", "retries", "retried")]
)
def test_the_forms_of_a_word_share_a_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize("word", ["", "s", "is", "naïve", "файлы", "ed25519", "x86", "don't", "データ"])
def test_what_is_not_an_english_word_stays_as_it_is(word: str) -> None:
    assert stem(word) == word


def test_a_long_run_of_letters_is_stemmed_in_no_time() -> None:
    assert stem("a" * 5_000 + "ing")
    assert stem("bcd" * 2_000 + "ational")


def test_a_word_too_long_to_be_one_is_neither_stemmed_nor_remembered() -> None:
    before = cache_size()
    for number in range(50):
        word = f"{'abc' * 100}{'x' * number}ing"
        assert stem(word) == word
    assert cache_size() == before


# Porter's measure as a pattern: how many runs of vowels followed by consonants, the first of them after any consonants.
def measured(count: int) -> re.Pattern[str]:
    return re.compile(f"(?:[^aeiou][^aeiouy]*)?(?:[aeiouy][aeiou]*[^aeiou][^aeiouy]*){{{count}}}(?:[aeiouy][aeiou]*)?")


@given(word=st.text("aeybtw", max_size=12), count=st.integers(1, 4))
def test_the_measure_is_what_the_pattern_says(word: str, count: int) -> None:
    assert (count in _measures(word)) == (measured(count).fullmatch(word) is not None)
