"""Thousands of inputs for every operation of the OpenAPI document. A file of its own, since to read it takes long."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.serve.test_openapi import FEW, busy, keeps_its_promises, schema

__all__ = ["busy"]
MANY = settings(FEW, max_examples=400)


@pytest.mark.storm
@schema.parametrize()
@MANY
def test_no_input_of_thousands_breaks_a_promise(case, busy):
    keeps_its_promises(case, busy.port)
