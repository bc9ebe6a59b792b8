"""A task is of the type that it was given, or else of the form of its words."""

from __future__ import annotations

from typing import Any

import pytest

from reasoningbank.core.task_kind import kind_of, type_in
from reasoningbank.core.types import Trajectory


def a_task(text: str, **metadata: Any) -> Trajectory:
    return Trajectory(
        id="trj_1",
        tenant="t",
        namespace="n",
        task=text,
        agent=None,
        outcome=None,
        metadata=metadata,
        started_at=1.0,
        ended_at=None,
    )


def test_a_type_that_was_given_decides() -> None:
    assert kind_of(a_task("one thing", task_type=" deploy ")) == kind_of(a_task("another", task_type="deploy"))
    assert type_in(kind_of(a_task("one thing", task_type="deploy"))) == "deploy"


def test_without_a_type_the_form_decides() -> None:
    assert kind_of(a_task("restart server 7")) == kind_of(a_task("Restart server 12"))
    assert kind_of(a_task("restart server 7")) != kind_of(a_task("stop server 7"))
    assert type_in(kind_of(a_task("restart server 7"))) is None


@pytest.mark.parametrize("given", ["", "  ", 7, None, ["deploy"]])
def test_a_type_that_is_no_name_is_none(given: object) -> None:
    assert kind_of(a_task("restart it", task_type=given)) == kind_of(a_task("restart it"))
