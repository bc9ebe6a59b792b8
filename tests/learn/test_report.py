"""The report counts what came of each memory and says what difference it makes, and how it knows."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.bank.json_view import report_json
from reasoningbank.core.errors import InvalidInput

ADVICE = "configure the retry policy of the http client"


def a_session(bank: ReasoningBank, task: str, outcome: str, **options: Any) -> None:
    session = bank.start_session(task).id
    bank.search(ADVICE, floor=0.0, experience=False, session=session)
    bank.end_session(session, outcome, distil=False, **options)


def test_shown_used_helped_and_hurt_are_counted_apart(bank: ReasoningBank) -> None:
    used = bank.record(title="Used", content=f"{ADVICE} with jitter").id
    beside = bank.record(title="Beside", content=f"{ADVICE} without").id
    a_session(bank, "restart server 1", "success", used=[used])
    a_session(bank, "restart server 2", "failure", used=[used])
    a_session(bank, "restart server 3", "success")
    bank.feedback(beside, helpful=False)
    lines = {line.remembered.id: line.tally for line in bank.report().lines}
    assert (lines[used].shown, lines[used].used, lines[used].helped, lines[used].hurt) == (3, 2, 1, 1)
    assert (lines[beside].shown, lines[beside].used, lines[beside].helped, lines[beside].hurt) == (3, 1, 0, 1)
    told = bank.report()
    assert (told.memories, told.shown, told.used, told.helped, told.hurt) == (2, 6, 3, 1, 2)
    assert [(kind.name, kind.sessions, kind.succeeded) for kind in told.kinds] == [("restart server 3", 3, 2)]


def test_a_planted_difference_is_recovered_by_hold_out(path: Path) -> None:
    # Chance decides which sessions have it; of those nine in ten go well, of the others four.
    ends = {
        True: cycle([*["success"] * 9, "failure"]),
        False: cycle(["success", "failure", "success", "failure", "failure"]),
    }
    with ReasoningBank.open(path, embedder="hash", namespace="n", durability="normal", holdout=0.5) as bank:
        good = bank.record(title="Good", content=ADVICE).id
        for n in range(120):
            session = bank.start_session(f"restart server {n}").id
            had = bool(bank.search(ADVICE, floor=0.0, experience=False, session=session).memories)
            bank.end_session(session, next(ends[had]), distil=False)
        [line] = bank.report().lines
    assert line.remembered.id == good
    assert line.uplift is not None
    assert line.uplift.by == "hold-out"
    assert line.uplift.value == pytest.approx(0.5, abs=0.15)
    assert line.uplift.low > 0.0
    assert line.withheld == line.uplift.sessions_without
    assert line.uplift.sessions_with + line.uplift.sessions_without == 120


def test_without_hold_out_the_estimate_says_that_it_is_a_comparison(bank: ReasoningBank) -> None:
    bank.record(title="Lesson", content=ADVICE)
    for n in range(5):
        a_session(bank, f"restart server {n}", "success")
        bank.end_session(bank.start_session(f"stop server {n}").id, "failure", distil=False)
    [line] = bank.report().lines
    assert line.uplift is not None
    assert (line.uplift.by, line.uplift.value) == ("compared", pytest.approx(1.0))


def test_what_is_shown_in_vain_or_not_at_all_is_dead_weight(path: Path, clock: Any) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        vain = bank.record(title="In vain", content=ADVICE).id
        forgotten = bank.record(title="Unseen", content="polish the brass handles").id
        clock.forward(days=100)
        for _ in range(20):
            bank.search(ADVICE)
        dead = {line.remembered.id: line.dead for line in bank.report().dead}
        assert dead == {vain: "shown 20 times, never of use", forgotten: "not shown for 100 days"}
        bank.feedback(vain, helpful=True)
        assert [line.remembered.id for line in bank.report().dead] == [forgotten]
        assert bank.report().dead_count == 1


def test_a_report_keeps_to_its_namespace_its_tenant_and_its_time(path: Path, clock: Any) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        other = bank.for_tenant(bank.tenant, namespace="m")
        stranger = bank.for_tenant("somebody")
        for one in (bank, other, stranger):
            one.record(title="Lesson", content=ADVICE)
            a_session(one, "restart server 1", "success")
        assert bank.report().sessions == other.report().sessions == stranger.report().sessions == 1
        assert bank.report(namespace="*").sessions == 2
        assert len(bank.report(namespace="*").lines) == 2
        clock.forward(days=10)
        late = bank.report(since=clock() - 5 * 86_400)
        assert (late.sessions, late.shown, late.lines) == (0, 0, ())
        assert bank.report(since=clock() - 20 * 86_400).sessions == 1


def test_an_empty_bank_has_an_empty_report_and_bad_limits_are_refused(bank: ReasoningBank) -> None:
    assert report_json(bank.report()) == {
        "memories": [],
        "dead_weight": [],
        "kinds": [],
        "totals": dict.fromkeys(("memories", "shown", "used", "helped", "hurt", "dead", "sessions", "succeeded"), 0),
    }
    for limit in (0, -1, 1_001, True):
        with pytest.raises(InvalidInput):
            bank.report(limit=limit)


def test_what_makes_tasks_go_better_is_no_dead_weight_though_nobody_names_it(bank: ReasoningBank) -> None:
    bank.record(title="Lesson", content=ADVICE)
    for n in range(24):
        a_session(bank, f"restart server {n}", "success" if n % 8 else "failure")
        bank.end_session(
            bank.start_session(f"stop server {n}").id, "success" if n % 8 == 0 else "failure", distil=False
        )
    told = bank.report()
    assert told.lines[0].uplift is not None
    assert told.lines[0].uplift.value > 0.7
    assert (told.dead, told.dead_count) == ((), 0)


def test_what_an_import_brought_is_not_called_unseen_for_longer_than_the_bank_is_there(path: Path, clock: Any) -> None:
    old = path.with_name("old.jsonl")
    old.write_text('{"title": "Old", "content": "polish the brass handles", "created_at": 1000000000}\n')
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        bank.import_from(old)
        assert bank.report().dead == ()
        clock.forward(days=91)
        assert [line.dead for line in bank.report().dead] == ["not shown for 91 days"]
