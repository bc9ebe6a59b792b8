"""The yardstick gives the figures that were measured without us, where the real data lies beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from reasoningbank_eval.asking import plain_words
from reasoningbank_eval.measures import hit
from reasoningbank_eval.shapes import recognised

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not here")
@pytest.mark.parametrize(("name", "top1"), [("intercode-sql", 0.926), ("webarena-tasks", 0.948)])
def test_plain_bm25_counts_as_others_counted(name, top1):
    labelled = recognised(DATA, [name]).sets[0]
    asked = zip(labelled.questions, plain_words(labelled), strict=True)
    values = [hit(ranking.positions, question.relevant, 1) for question, ranking in asked if question.relevant]
    assert sum(values) / len(values) == pytest.approx(top1, abs=0.001)
