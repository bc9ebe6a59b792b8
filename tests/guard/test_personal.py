"""Personal data is taken out only where somebody asked for it, and numbers only when their check digits fit."""

from __future__ import annotations

import pytest

from reasoningbank.guard.secrets import Scrubber

EVERYTHING = Scrubber(personal=("email", "card", "iban", "phone"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("write to jo.doe+x@mail.company.org now", "write to [SECRET:email] now"),
        ("card 4111 1111 1111 1111 is declined", "card [SECRET:card] is declined"),
        ("pay to DE89 3704 0044 0532 0130 00 please", "pay to [SECRET:iban] please"),
        ("call +49 30 901820 today", "call [SECRET:phone] today"),
        ("call (415) 555-0132", "call [SECRET:phone]"),
    ],
)
def test_personal_data_goes_when_asked_for_and_stays_otherwise(text, left):
    assert EVERYTHING.scrub(text).text == left
    assert Scrubber().scrub(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "card 4111 1111 1111 1112",
        "IBAN DE89 3704 0044 0532 0130 01",
        "version 1.2.3.4",
        "order 2026-11-15",
        "@decorator",
    ],
)
def test_a_wrong_check_digit_is_just_a_number(text):
    assert EVERYTHING.scrub(text).text == text
