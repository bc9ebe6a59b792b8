"""The template and the page are written from the table of knobs, and the table is the settings."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config.knobs import KNOBS, SECTIONS, check_value, value_of
from reasoningbank.config.pages import page, template
from reasoningbank.core.frozen import fields
from reasoningbank.core.settings import DEFAULTS

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_document_is_up_to_date():
    if not DOCUMENT.parent.is_dir():
        pytest.skip("not a checkout")
    assert DOCUMENT.read_text("utf-8") == page(), "run: python -m reasoningbank.config.pages"


def test_every_field_of_the_settings_is_a_knob_and_every_knob_a_field():
    named = {
        f"{section}.{field.name}".removesuffix("_s")
        for section in SECTIONS
        for field in fields(value_of(DEFAULTS, section))
        if f"{section}.{field.name}" not in SECTIONS
    }
    assert named == {knob.name for knob in KNOBS}


def test_the_template_sets_nothing(path):
    (path.with_name("config.toml")).write_text(template(), "utf-8")
    with ReasoningBank.open(path) as bank:
        assert bank.settings.chosen == ()


def test_every_line_of_the_template_may_be_uncommented():
    found = tomllib.loads(re.sub(r"^#(?=\w)", "", template(), flags=re.MULTILINE))
    for knob in KNOBS:
        value = found
        for part in knob.name.split("."):
            value = value[part]
        checked = check_value(knob, value)
        assert knob.default is None or checked == knob.default, knob.name
