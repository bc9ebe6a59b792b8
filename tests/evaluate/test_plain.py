"""The plain methods, on rankings that can be worked out by hand and on a real index."""

from __future__ import annotations

import numpy as np
from reasoningbank_eval.okapi import Okapi
from reasoningbank_eval.plain import NOTHING, best_of, plain_rankings
from reasoningbank_eval.sets import Document

from reasoningbank.ports import Candidates


def candidates(cosine: list[float], keyword: list[float]) -> Candidates:
    return Candidates(
        ids=[f"m{i}" for i in range(len(cosine))],
        cosine=np.array(cosine, np.float32),
        keyword=np.array(keyword, np.float32),
        keyword_ceiling=4.0,
        form=np.zeros(len(cosine), np.float32),
        parametric=np.zeros(len(cosine), np.bool_),
        named=np.zeros(len(cosine), np.bool_),
        exact=np.zeros(len(cosine), np.bool_),
        beside=np.full((len(cosine), 2), -1),
        scopes=[],
        standings=[],
        exhausted=True,
        considered=len(cosine),
        filtered_out={},
    )


POSITION = {f"m{i}": i for i in range(4)}


def test_each_method_orders_by_its_own_figure():
    found = plain_rankings(candidates([0.9, 0.8, 0.1, 0.0], [0.0, 4.0, 2.0, 0.0]), POSITION, None)
    assert found["dense"].positions == (0, 1, 2)
    assert found["bm25"].positions == (1, 2)
    assert found["rrf"].positions[0] == 1
    assert found["mix"].positions[0] == 1
    assert found["bm25"].score == 4.0


def test_the_question_itself_is_left_out():
    found = plain_rankings(candidates([0.9, 0.8, 0.1, 0.0], [0.0, 2.0, 4.0, 0.0]), POSITION, 1)
    assert all(1 not in ranking.positions for ranking in found.values())
    assert plain_rankings(candidates([], []), POSITION, None)["mix"] == NOTHING


def test_okapi_prefers_rare_words_and_short_texts():
    texts = ["the red card", "the blue card", "the green card and a long tail of other words", "the refund"]
    okapi = Okapi([Document(title=text, content=text) for text in texts])
    assert best_of(okapi.scores("the refund")).positions[0] == 3
    assert best_of(okapi.scores("card")).positions == (0, 1, 2)
    assert best_of(okapi.scores("nothing known")) == NOTHING


def test_okapi_as_of_then_knows_only_what_was_there():
    texts = ["a card", "a refund", "a card again"]
    okapi = Okapi([Document(title=text, content=text) for text in texts])
    early = Okapi([Document(title=text, content=text) for text in texts[:2]])
    assert np.allclose(okapi.scores("a card", before=2), early.scores("a card"))
    assert len(okapi.scores("a card", before=0)) == 0


def test_a_real_index_hands_over_both_sides(bank):
    kept = bank.record_many(
        [{"title": "reset a passcode", "content": "reset a passcode"}, {"title": "a refund", "content": "a refund"}]
    )
    found = plain_rankings(bank.candidates("reset my passcode"), {m: i for i, m in enumerate(kept)}, None)
    assert found["dense"].positions[0] == 0
    assert found["bm25"].positions[0] == 0
