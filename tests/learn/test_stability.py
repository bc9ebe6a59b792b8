"""What became of a session's commits, as evidence for what the session was shown."""

from __future__ import annotations

import pytest

from reasoningbank.core.types import Signal
from reasoningbank.learn.stability import Fate, committing_sessions, settle

ONE = {"title": "Wrap errors", "description": "In Go code", "content": "Wrap errors with context, using %w."}
SAME = {"title": "Wrap errors", "description": "In Go code", "content": "Use %w to wrap the errors with context."}


def session(bank, *results, action="git commit -am x", used=()):
    run = bank.start_session("wrap the errors")
    bank.search("wrap errors with context", session=run.id, limit=10, min_confidence=0.0)
    for result in results:
        bank.add_step(run.id, action, result)
    bank.end_session(run.id, "success" if used else "unknown", used=used, distil=False)
    return run.id


def settled(bank, fates):
    return [
        settle(bank.context, trajectory, commits, lambda name: fates.get(name, Fate.UNKNOWN))
        for trajectory, commits in committing_sessions(bank.context, bank.namespace)
    ]


def stability(bank, memory_id):
    signals = [signal for signal in (point.signal for point in bank.history(memory_id).points) if signal is not None]
    return [signal for signal in signals if isinstance(signal, Signal) and signal.kind == "stability"]


@pytest.mark.parametrize(
    ("action", "result", "expected"),
    [
        ("git commit -m x", "[main 1a2b3c4] x\n 1 file changed", ("1a2b3c4",)),
        ("cd app && git commit -qm x; git log", "[feature/a-b (root-commit) 1a2b3c4d] x", ("1a2b3c4d",)),
        ("git commit", "lint ok\r\n[detached HEAD 1a2b3c4] x\r\n[main 5d6e7f8] y", ("1a2b3c4", "5d6e7f8")),
        ("git commit", "[main 1a2b3c4] x\n[main 1a2b3c4] x", ("1a2b3c4",)),
        ("cat notes", "[main 1a2b3c4] x", ()),
        ("git log", "see [main 1a2b3c4] x", ()),
        ("git commit", "[main 1A2B3C4] x [main zzzzzzz]", ()),
    ],
)
def test_commits_are_those_that_git_named(bank, action, result, expected):
    session(bank, result, action=action)
    found = [commits for _, commits in committing_sessions(bank.context, bank.namespace)]
    assert found == ([expected] if expected else [])


def test_one_commit_that_was_taken_back_outweighs_those_that_lasted(bank):
    memory = bank.record(**ONE).id
    session(bank, "[main 1111111] a", "[main 2222222] b", "[main 3333333] c")
    [one] = settled(bank, {"1111111": Fate.SURVIVED, "3333333": Fate.REVERTED})
    assert (one.fate, one.commit) == (Fate.REVERTED, "3333333")
    assert [signal.positive for signal in stability(bank, memory)] == [False]


def test_many_commits_of_a_session_are_one_piece_of_evidence(bank):
    memory = bank.record(**ONE).id
    session(bank, "[main 1111111] a", "[main 2222222] b", used=[memory])
    settled(bank, {"1111111": Fate.SURVIVED})
    settled(bank, {"1111111": Fate.SURVIVED, "2222222": Fate.SURVIVED})
    [signal] = stability(bank, memory)
    assert (signal.weight, signal.used, signal.positive) == (1.0, False, True)


def test_what_stood_further_down_gets_less_when_nobody_says_what_was_used(bank):
    first = bank.record(**ONE).id
    second = bank.record(title="Log errors", content="Log an error once, where it is handled, with its context.").id
    session(bank, "[main 1111111] a")
    settled(bank, {"1111111": Fate.SURVIVED})
    weights = [stability(bank, memory)[0].weight for memory in (first, second)]
    assert sorted(weights, reverse=True) == [0.5, 0.25]


def test_evidence_goes_to_the_memory_that_took_a_merged_one_in_and_only_once(bank):
    first, second = bank.record(**ONE).id, bank.record(**SAME).id
    session(bank, "[main 1111111] a")
    bank.consolidate()
    assert bank.get(second).memory.state == "superseded"
    for _ in range(2):
        settled(bank, {"1111111": Fate.SURVIVED})
    assert len(stability(bank, first)) == 1
    assert stability(bank, second) == []


def test_a_merge_after_the_evidence_does_not_double_it(bank):
    first, second = bank.record(**ONE).id, bank.record(**SAME).id
    session(bank, "[main 1111111] a")
    settled(bank, {"1111111": Fate.SURVIVED})
    bank.consolidate()
    before = len(stability(bank, first)) + len(stability(bank, second))
    assert [one.signals for one in settled(bank, {"1111111": Fate.SURVIVED})] == [()]
    assert len(stability(bank, first)) + len(stability(bank, second)) == before


def test_a_forgotten_memory_gets_nothing_and_an_unknown_fate_gives_nothing(bank):
    kept, gone = bank.record(**ONE).id, bank.record(title="Gone", content="Wrap errors with context too.").id
    session(bank, "[main 1111111] a", used=[gone])
    bank.forget(gone)
    assert [one.signals for one in settled(bank, {})] == [()]
    settled(bank, {"1111111": Fate.REVERTED})
    assert len(stability(bank, kept)) == 1
    bank.restore(gone)
    assert stability(bank, gone) == []


def test_sessions_of_other_namespaces_are_left_alone(bank):
    session(bank, "[main 1111111] a")
    assert list(committing_sessions(bank.context, "elsewhere")) == []
