"""A relevance means the same in a small bank and in a large one, orders the hits, and tells long texts apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from reasoningbank import ReasoningBank
