"""Reranks hits for a peer by this bank's language model: only within the tokens that its grant has, counted durably.

A grant without a cap of `tokens` reaches no model, nor does a root, which has no grant: what costs money is given by a
number or not at all. A model that is away, slow, or would cost more than is left changes nothing in what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.learn.budgeted_llm import BudgetedLLM, Settle
from reasoningbank.recall.query import Recalled
from reasoningbank.recall.rerank import reorder
from reasoningbank_bus.authority.intent import Intent
from reasoningbank_bus.authority.metering import make_spend, without_caps
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.wire.refusals import BusRefusal

WITHIN_S = 15.0
"""A peer waits thirty seconds for its answer; a model that takes longer than this orders nothing."""
TOKENS = "tokens"


def _spend_from(log: EntryLog, chain: Sequence[Intent], now: int, most: int) -> Settle:
    """Spend the most that a request may cost, durably; what it did not cost is given back when it is settled."""
    log.spend([make_spend(chain, TOKENS, most, now)])

    def settle(tokens_in: int, tokens_out: int) -> None:
        log.spend([without_caps(make_spend(chain, TOKENS, tokens_in + tokens_out - most, now))])

    return settle


def rerank_for_peer(
    bank: Bank, log: EntryLog, chains: Sequence[Sequence[Intent]], query: str, hits: Sequence[Recalled]
) -> Sequence[Recalled]:
    """The hits in the order of this bank's model, if one of the chains has tokens left for it; else as they are."""
    chain = next((chain for chain in chains if chain and all(TOKENS in part.caps for part in chain)), None)
    if chain is None:
        return hits
    try:
        model = bank.learning.model()
    except InvalidInput:
        # No model is configured here.
        return hits
    now = int(bank.context.clock() * 1000)
    llm = BudgetedLLM(model, partial(_spend_from, log, chain, now))
    runner = ThreadPoolExecutor(1, thread_name_prefix="bus-model")
    future = runner.submit(reorder, query, hits, llm, bank.learning.scrub)
    runner.shutdown(wait=False)
    try:
        return future.result(WITHIN_S).hits
    except (TimeoutError, BusRefusal):
        # Too slow, or what is left is not enough.
        return hits
