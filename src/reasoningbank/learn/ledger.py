"""Token budget of models: what was spent, and the daily limit that no number of workers can overrun.

Before a request its likely cost is set aside, in one transaction with the look at what is left; afterwards that is
given back and what the request really cost is charged, as the server counts it. What is set aside is nobody's spending:
it counts only while the process that asked lives. A spent budget is an outage until the day (in UTC) is over: jobs
wait, none is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from reasoningbank.context import BankContext
from reasoningbank.core.errors import LLMUnavailable
from reasoningbank.core.ids import derived_id
from reasoningbank.core.types import Spending
from reasoningbank.learn.budgeted_llm import BudgetedLLM, Settle
from reasoningbank.learn.process_identity import is_gone, this_process
from reasoningbank.ports import LLM, Reader, Writer

TOKENS_PER_DAY = 1_000_000
_SET_ASIDE = "set aside by "
"""The purpose of a row that holds no spending, with the process after it; a row is used again when that is gone."""


class MeteredLLM(BudgetedLLM):
    """A model that stops when the day's budget is spent."""

    def __init__(
        self, llm: LLM, context: BankContext, *, purpose: str = "learning", tokens_per_day: int = TOKENS_PER_DAY
    ) -> None:
        super().__init__(llm, self._begin)
        self._context = context
        self._purpose = purpose
        self._tokens_per_day = tokens_per_day

    def _begin(self, tokens: int) -> Settle:
        day, owner = today(self._context), this_process()
        self._change(lambda writer: self._reserve(writer, day, owner, tokens))

        def settle(tokens_in: int, tokens_out: int) -> None:
            self._change(lambda writer: self._settle(writer, day, owner, tokens, tokens_in, tokens_out))

        return settle

    def _change(self, change: Callable[[Writer], None]) -> None:
        self._context.store.write(self._context.tenant, change)

    def _reserve(self, writer: Writer, day: str, owner: str, tokens: int) -> None:
        rows = writer.select(Spending, {"day": day})
        used = tokens_used(rows)
        if used + tokens > self._tokens_per_day:
            raise LLMUnavailable(
                f"The budget of {self._tokens_per_day:,} tokens a day is spent ({used:,} used or under way, {tokens:,} "
                "wanted). It is renewed at midnight UTC; REASONINGBANK_LLM_TOKENS_PER_DAY raises it.",
                # Until midnight UTC.
                retry_after_s=86_400.0 - self._context.clock() % 86_400.0,
            )
        aside = [row for row in rows if _owner_of(row) is not None]
        own = next((row for row in aside if _owner_of(row) == owner), None)
        if own is not None:
            writer.revise(replace(own, reserved=own.reserved + tokens))
            return
        free = next((row for row in aside if not _held(row)), None)
        if free is not None:
            writer.revise(replace(free, purpose=f"{_SET_ASIDE}{owner}", reserved=tokens))
        else:
            writer.add(self._row(day, f"{_SET_ASIDE}{owner}", f"{_SET_ASIDE}{len(aside)}", tokens=tokens))

    def _settle(self, writer: Writer, day: str, owner: str, aside: int, tokens_in: int, tokens_out: int) -> None:
        for row in writer.select(Spending, {"day": day}):
            if _owner_of(row) == owner:
                writer.revise(replace(row, reserved=max(0, row.reserved - aside)))
        blank = self._row(day, self._purpose, self._purpose)
        there = writer.get(Spending, [blank.id]).get(blank.id)
        account = there or blank
        account = replace(
            account,
            calls=account.calls + 1,
            tokens_in=account.tokens_in + tokens_in,
            tokens_out=account.tokens_out + tokens_out,
            reserved=0,
        )
        if there is None:
            writer.add(account)
        else:
            writer.revise(account)

    def _row(self, day: str, purpose: str, name: str, *, tokens: int = 0) -> Spending:
        tenant = self._context.tenant
        return Spending(
            id=derived_id("spd", f"{tenant}\n{day}\n{self.name}\n{name}"),
            tenant=tenant,
            day=day,
            model=self.name,
            purpose=purpose,
            calls=0,
            tokens_in=0,
            tokens_out=0,
            reserved=tokens,
        )


def spending_in(reader: Reader, day: str | None = None) -> list[Spending]:
    """Tokens spent by day, model and purpose; what is set aside now stands beside its model's first."""
    rows = reader.select(Spending, {} if day is None else {"day": day})
    spending = [replace(row, reserved=0) for row in rows if _owner_of(row) is None]
    for aside in rows:
        number = next((n for n, row in enumerate(spending) if (row.day, row.model) == (aside.day, aside.model)), None)
        if _held(aside) and number is not None:
            spending[number] = replace(spending[number], reserved=spending[number].reserved + aside.reserved)
        elif _held(aside):
            spending.append(replace(aside, purpose="learning"))
    return spending


def tokens_used(rows: Sequence[Spending]) -> int:
    """Tokens that were spent, and those that requests under way may still cost."""
    return sum(row.tokens_in + row.tokens_out + (row.reserved if _held(row) else 0) for row in rows)


def _owner_of(row: Spending) -> str | None:
    return row.purpose.removeprefix(_SET_ASIDE) if row.purpose.startswith(_SET_ASIDE) else None


def _held(row: Spending) -> bool:
    """True if tokens are set aside in a row by somebody who may still use them."""
    owner = _owner_of(row)
    return owner is not None and row.reserved > 0 and not is_gone(owner)


def today(context: BankContext) -> str:
    return datetime.fromtimestamp(context.clock(), UTC).strftime("%Y-%m-%d")
