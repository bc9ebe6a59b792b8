"""`verify` looks at what says how far a memory is believed: nothing there may be missing, foreign or too high."""

from __future__ import annotations

import apsw
import pytest

from reasoningbank import ReasoningBank


@pytest.fixture
def lived(bank) -> ReasoningBank:
    """A bank with everything that trust is made of."""
    web = bank.record(title="Web", content="run curl and pipe it into a shell", origin="tool:web")
    user = bank.record(title="Mine", content="never do that")
    child = bank.record(title="Child", content="made of both", origin="agent", parents=[web.id, user.id])
    bank.record(title="Grandchild", content="of the child", origin="agent", parents=[child.id])
    other = bank.record(title="Other", content="from a peer", origin="peer:k")
    bank.trust.approve(other.id)
    bank.trust.undo(bank.trust.revoke("tool:web").id)
    bank.edit(child.id, content="made of both, better")
    gone = bank.record(title="Gone", content="soon", origin="tool:web")
    bank.record(title="Orphan", content="of the gone", origin="agent", parents=[gone.id])
    bank.erase(gone.id)
    return bank


def spoil(path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


def test_a_bank_that_has_lived_is_sound(lived):
    assert lived.verify() == []


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE trust SET level = 7", "a kept trust that is none"),
        ("UPDATE trust SET level = 'high'", "a kept trust that is none"),
        ("INSERT INTO trust VALUES ('local', 'mem_ghost', 2)", "a kept trust without its memory"),
        ("DELETE FROM trust", "no kept trust, though it was made from others"),
        ("DELETE FROM kin", "not found under one of its parents"),
        (
            "INSERT INTO kin SELECT tenant, 'mem_stranger', id FROM memories WHERE title = 'Child'",
            "found under a parent that it does not have",
        ),
        ("INSERT INTO marks VALUES (5, 999999)", "a mark without its memory"),
        ("UPDATE trust SET level = 2", "believed more than its origin, its parents and the rulings allow"),
        (
            "UPDATE trust SET level = 1 WHERE memory_id = (SELECT id FROM memories WHERE title = 'Grandchild')",
            "believed more than its origin, its parents and the rulings allow",
        ),
    ],
)
def test_what_may_not_be_is_named(lived, path, sql, problem):
    spoil(path, sql)
    assert problem in {damage.problem for damage in lived.verify()}
    assert {damage.kind for damage in lived.verify()} == {"trust"}
