"""Where an agent acts in a world step by step, all that did something is the way; which value was right is one case's."""

from __future__ import annotations

import pytest

from reasoningbank.core.learning import Episode, EpisodeStep, Lesson, Verdict, VerdictOutcome
from reasoningbank.learn.offline.distiller import OfflineDistiller

SOLVED = Verdict(outcome=VerdictOutcome.SUCCESS, certainty=1.0)
SHOPPED = (
    ("click[blue]", "Invalid action!"),
    ("search[blue enamel jug]", "[Back to Search]\nPage 1 (Total results: 4)\n[B0AAAA1111]\nJug, enamel\n$12.00"),
    ("click[B0AAAA1111]", "[< Prev]\ncolor [blue][white]\n[Buy Now]"),
    ("click[blue]", "You have clicked blue."),
    ("click[Buy Now]", "Your score (min 0.0, max 1.0): 1.0"),
)
HOUSEHOLD = (
    ("go to shelf 1", "You arrive at shelf 1. On the shelf 1, you see nothing."),
    ("go to drawer 2", "You arrive at drawer 2. On the drawer 2, you see a spoon 1."),
    ("open drawer 2", "Nothing happens."),
    ("take spoon 1 from drawer 2", "You pick up the spoon 1 from the drawer 2."),
    ("go to sinkbasin 1", "You arrive at sinkbasin 1."),
    ("clean spoon 1 with sinkbasin 1", "You clean the spoon 1 using the sinkbasin 1."),
    ("put spoon 1 in/on table 1", "You put the spoon 1 in/on the table 1."),
)
ASKED = (
    ("Search[The Low Quay]", "Could not find [The Low Quay]. Similar: ['Low Quay (novel)', 'Quay']"),
    ("Search[Low Quay (novel)]", "Low Quay is a novel by Inez Toll."),
    ("Search[Inez Toll]", "Inez Toll (born 1950) is a novelist."),
    ("Finish[1950]", "Answer is CORRECT"),
)
WROTE = (
    ("def halve(n):\n    retrun n / 2", "SyntaxError: invalid syntax"),
    ("def halve(n):\n    return n / 2", ""),
    ("halve(4)", "2.0"),
    ("submit halve", ""),
)
CAPTURED = (
    ("ls", "note.b64"),
    ("base64 -d note.b64", "the word is heron"),
    ("submit flag{HERON}", ""),
)
EDITED = (
    ("open src/load.py", "[File: src/load.py (9 lines total)]\n3:    return x"),
    ("python check.py", "python: can't open file 'check.py': [Errno 2] No such file or directory"),
    ("edit 3:3\n    return x.strip()\nend_of_edit", "[File: src/load.py (9 lines total)]"),
    ("python -m pytest tests/test_load.py", "3 passed in 0.1s"),
)


def lessons(*steps: tuple[str, str], verdict: Verdict = SOLVED) -> list[Lesson]:
    made = tuple(EpisodeStep(action=action, result=result) for action, result in steps)
    return list(
        OfflineDistiller().distill(Episode(task="what was asked", namespace="n", steps=made, reward=1.0), verdict)
    )


@pytest.mark.parametrize(
    ("steps", "way"),
    [
        (SHOPPED, "First: `search[blue enamel jug]`; `click[B0AAAA1111]`; `click[blue]`\n`click[Buy Now]`"),
        (
            HOUSEHOLD,
            (
                "First: `go to drawer 2`; `take spoon 1 from drawer 2`; `go to sinkbasin 1`; "
                "`clean spoon 1 with sinkbasin 1`\n`put spoon 1 in/on table 1`"
            ),
        ),
        (ASKED, "First: `Search[Low Quay (novel)]`; `Search[Inez Toll]`\n`Finish[1950]`"),
        (WROTE, "First:\ndef halve(n):\n    return n / 2\n`submit halve`"),
        (CAPTURED, "First: `base64 -d note.b64`\n`submit flag{HERON}`"),
    ],
    ids=["a shop", "a household", "questions", "a function", "a flag"],
)
def test_the_way_is_all_that_did_something_and_nothing_else_is_taught(
    steps: tuple[tuple[str, str], ...], way: str
) -> None:
    (lesson,) = lessons(*steps)
    assert (lesson.kind, lesson.content) == ("solved", way)


def test_an_edit_by_line_numbers_is_nobody_s_way_and_another_run_no_fix() -> None:
    assert lessons(*EDITED) == []
