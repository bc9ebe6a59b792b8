"""`bank.secrets`: secrets in a text, secrets that were kept before they were known as such, and what is none.

What a secret looks like is `guard.secrets`' business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reasoningbank.bank.search_engine import SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.guard import scrubbing
from reasoningbank.guard.fields import scrubbed_json
from reasoningbank.guard.scrubbing import Scrubbing
from reasoningbank.guard.secrets import Scrubber

if TYPE_CHECKING:
    from reasoningbank.guard.sweep import Swept


class Secrets:
    def __init__(self, context: BankContext, engine: SearchEngine, adopt: Callable[[Scrubber], None]) -> None:
        """`adopt` is called with the scrubber that is in force from then on."""
        self._context = context
        self._engine = engine
        self._adopt = adopt

    def found_in(self, value: Any) -> dict[str, int]:
        """How many secrets of which kind would be taken out of a text, or of any JSON value, if it were stored."""
        return dict(scrubbed_json(self._context.scrubber, value)[1])

    def scrub(self, *, apply: bool = False, progress: Callable[[int], None] | None = None) -> Swept:
        """Look for secrets in everything that is kept already; with `apply`, really remove them.

        Then the search index is built anew, since words of a secret may be in the old one.
        """
        from reasoningbank.guard import sweep

        store = self._context.bare_store
        if apply:
            self._engine.flush_shown()
        swept = sweep.sweep(store, self._context.tenant, self._context.scrubber, apply=apply, progress=progress)
        if apply and sweep.is_index_owed(store):
            if self._engine.index_info() is not None:
                self._engine.reindex(None, None, None)
            sweep.index_paid(store)
        return swept

    @property
    def scrubbing(self) -> Scrubbing:
        """Rulings of this tenant: values that are no secrets, and personal data to take out as well."""
        return scrubbing.scrubbing_of(self._context.store, self._context.tenant)

    def set_scrubbing(self, rulings: Scrubbing) -> None:
        """Change that: for this bank at once, for servers with the next request, for others when they are opened."""
        scrubbing.keep(self._context.store, self._context.tenant, rulings)
        self._adopt(scrubbing.scrubber_for(self._context.store, self._context.tenant))
