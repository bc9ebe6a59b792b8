"""Secrets made up from the issuers' descriptions, by the generator that the benchmark uses too."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest

PLANTED = Path(__file__).resolve().parents[2] / "bench" / "planted.py"


def _planted() -> ModuleType:
    spec = importlib.util.spec_from_file_location("planted", PLANTED)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def planted() -> ModuleType:
    return _planted()


@pytest.fixture
def maker(planted):
    return planted.Maker(random.Random(20261115))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "token_format" in metafunc.fixturenames:
        metafunc.parametrize("token_format", list(_planted().TOKENS))
    if "announced_format" in metafunc.fixturenames:
        metafunc.parametrize("announced_format", list(_planted().ANNOUNCED))
