"""Consolidating while others do, and being killed in the middle of it."""

from __future__ import annotations

import signal
from collections import Counter

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Edge, Signal
from reasoningbank.learn.consolidate import applying

PAIRS = 30
PER_UNIT = 10
"""Acts of one transaction here: fewer than the pairs, so that a run is parted."""

KILLED = """
import os, signal, sys
from reasoningbank import ReasoningBank
from reasoningbank.learn.consolidate import applying

applying.ACTS_PER_UNIT = int(sys.argv[3])

def die(done, total):
    os.kill(os.getpid(), signal.SIGKILL)

with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    bank.catch_up()
    if sys.argv[2] == "undo":
        from reasoningbank.learn.consolidate import undoing
        ready = undoing._undo_unit
        done = []
        def once(*given):
            if done:
                os.kill(os.getpid(), signal.SIGKILL)
            done.append(1)
            return ready(*given)
        undoing._undo_unit = once
        bank.upkeep.undo(sys.argv[4])
    else:
        bank.consolidate(progress=die)
"""

RACING = """
import sys
from reasoningbank import ReasoningBank

with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    bank.catch_up()
    print("ready", flush=True)
    sys.stdin.readline()
    done = bank.consolidate()
    print(done.applied, len(done.left))
"""


@pytest.fixture
def doubled(path, monkeypatch):
    """A bank of pairs that say the same, one of each with evidence."""
    monkeypatch.setattr(applying, "ACTS_PER_UNIT", PER_UNIT)
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        words = [f"{a}{b}" for a in "bcdfghjklm" for b in ("arnot", "elgit", "indov", "olpek", "umzat")]
        drafts = []
        for number in range(PAIRS):
            text = f"Treat the {words[number % 50]} of {words[number // 50 * 7 + 1]} with {words[(number * 3) % 50]}"
            name = f"lesson{number}"
            drafts += [
                {"title": name, "content": f"{text}, {name}."},
                {"title": name, "content": f"Please always treat {text[6:]}, {name}"},
            ]
        ids = bank.record_many(drafts)
        for memory_id in ids[::2]:
            bank.feedback(memory_id, helpful=True)
        bank.catch_up()
    return path


def tally(bank: ReasoningBank) -> Counter[str]:
    return Counter(m.memory.state.value for m in bank.list(state=None, limit=10_000))


def everything(bank: ReasoningBank) -> tuple[int, int]:
    with bank.context.store.read(bank.tenant) as reader:
        return reader.count(Signal, {}), reader.count(Edge, {})


def test_a_kill_between_two_units_leaves_a_sound_bank_and_another_run_finishes(doubled, child):
    dying = child(KILLED, doubled, "run", PER_UNIT)
    dying.communicate(timeout=600)
    assert dying.returncode == -signal.SIGKILL
    with ReasoningBank.open(doubled, embedder="hash", namespace="n") as bank:
        assert bank.verify() == []
        (half,) = bank.upkeep.runs()
        assert 0 < half.counts["merged"] < PAIRS
        assert tally(bank)["superseded"] == half.counts["merged"]
        bank.consolidate()
        assert tally(bank) == {"active": PAIRS, "superseded": PAIRS}
        assert everything(bank) == (PAIRS, PAIRS)
        for run in bank.upkeep.runs():
            assert bank.upkeep.undo(run.id).left == ()
        assert tally(bank) == {"active": 2 * PAIRS}
        assert everything(bank) == (PAIRS, 0)


def test_an_undoing_that_was_killed_is_finished_by_another(doubled, child):
    with ReasoningBank.open(doubled, embedder="hash", namespace="n") as bank:
        run = bank.consolidate().run
    dying = child(KILLED, doubled, "undo", PER_UNIT, run)
    dying.communicate(timeout=600)
    assert dying.returncode == -signal.SIGKILL
    with ReasoningBank.open(doubled, embedder="hash", namespace="n") as bank:
        assert 0 < tally(bank)["superseded"] < PAIRS
        assert bank.upkeep.undo(run).left == ()
        assert tally(bank) == {"active": 2 * PAIRS}
        assert bank.verify() == []


def test_two_runs_at_once_do_nothing_twice(doubled, child):
    racers = [child(RACING, doubled) for _ in range(2)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    applied = 0
    for racer in racers:
        out, err = racer.communicate(timeout=600)
        assert racer.returncode == 0, err
        applied += int(out.split()[0])
    with ReasoningBank.open(doubled, embedder="hash", namespace="n") as bank:
        assert applied == PAIRS
        assert tally(bank) == {"active": PAIRS, "superseded": PAIRS}
        assert everything(bank) == (PAIRS, PAIRS)
        assert bank.verify() == []


def test_what_is_edited_between_plan_and_act_is_left_alone(bank, monkeypatch):
    from reasoningbank.learn.consolidate import run

    first = bank.record(title="Wrap", content="Wrap errors with context").id
    second = bank.record(title="Wrap", content="Wrap the errors with context").id
    carry_out = run.carry_out

    def late(*given, **options):
        bank.edit(second, content="Wrap nothing at all")
        return carry_out(*given, **options)

    monkeypatch.setattr(run, "carry_out", late)
    done = bank.consolidate()
    assert (done.applied, done.run) == (0, None)
    assert any(second in sentence for sentence in done.left)
    assert {m.id for m in bank.list()} == {first, second}
