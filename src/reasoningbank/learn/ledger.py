"""Token budget of models: what was spent, and the daily limit that no number of workers can overrun.

Before a request its likely cost is set aside in the ledger, in one transaction with the look at what is left;
afterwards it is replaced by the real cost. What a killed process had set aside counts as spent. A spent budget is an
outage until the day (in UTC) is over: jobs wait, none is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from reasoningbank.context import BankContext
from reasoningbank.core.errors import LLMUnavailable
from reasoningbank.core.ids import derived_id
from reasoningbank.core.learning import Completion, Message
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Spending
from reasoningbank.ports import LLM, Reader, Schema, Writer

TOKENS_PER_DAY = 1_000_000


class MeteredLLM:
    """A model that stops when the day's budget is spent."""

    def __init__(
        self, llm: LLM, context: BankContext, *, purpose: str = "learning", tokens_per_day: int = TOKENS_PER_DAY
    ) -> None:
        self._llm = llm
        self._context = context
        self._purpose = purpose
        self._tokens_per_day = tokens_per_day

    @property
    def name(self) -> str:
        return self._llm.name

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        likely = sum(count_tokens(message.text) for message in messages) + max_tokens
        day = self._reserve(likely)
        spent = Completion(text="", tokens_in=0, tokens_out=0, model=self.name)
        try:
            spent = self._llm.complete(messages, max_tokens=max_tokens, temperature=temperature, schema=schema)
        finally:
            self._settle(day, likely, spent)
        return spent

    def _reserve(self, tokens: int) -> str:
        day = today(self._context)

        def change(writer: Writer) -> None:
            used = tokens_used(writer, day)
            if used + tokens > self._tokens_per_day:
                raise LLMUnavailable(
                    f"The budget of {self._tokens_per_day:,} tokens a day is spent ({used:,} used, {tokens:,} wanted). "
                    "It is renewed at midnight UTC; REASONINGBANK_LLM_TOKENS_PER_DAY raises it.",
                    retry_after_s=_until_tomorrow_s(self._context),
                )
            self._write(writer, day, calls=1, reserved=tokens)

        self._context.store.write(self._context.tenant, change)
        return day

    def _settle(self, day: str, reserved: int, spent: Completion) -> None:
        """A server that counts nothing is charged by our own count."""
        out = spent.tokens_out or count_tokens(spent.text)
        self._context.store.write(
            self._context.tenant,
            lambda w: self._write(w, day, reserved=-reserved, tokens_in=spent.tokens_in, tokens_out=out),
        )

    def _write(
        self, writer: Writer, day: str, *, calls: int = 0, tokens_in: int = 0, tokens_out: int = 0, reserved: int = 0
    ) -> None:
        spending_id = derived_id("spd", f"{self._context.tenant}\n{day}\n{self.name}\n{self._purpose}")
        there = writer.get(Spending, [spending_id]).get(spending_id)
        if there is None:
            writer.add(
                Spending(
                    id=spending_id,
                    tenant=self._context.tenant,
                    day=day,
                    model=self.name,
                    purpose=self._purpose,
                    calls=calls,
                    tokens_in=tokens_in,
                    tokens_out=tokens_out,
                    reserved=reserved,
                )
            )
            return
        writer.revise(
            replace(
                there,
                calls=there.calls + calls,
                tokens_in=there.tokens_in + tokens_in,
                tokens_out=there.tokens_out + tokens_out,
                reserved=max(0, there.reserved + reserved),
            )
        )


def tokens_used(reader: Reader, day: str) -> int:
    return sum(s.tokens_in + s.tokens_out + s.reserved for s in reader.select(Spending, {"day": day}))


def today(context: BankContext) -> str:
    return datetime.fromtimestamp(context.clock(), UTC).strftime("%Y-%m-%d")


def _until_tomorrow_s(context: BankContext) -> float:
    return 86_400.0 - context.clock() % 86_400.0
