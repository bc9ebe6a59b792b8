"""ReasoningBank: a memory that lets AI agents learn what works.

Everything a program needs by name is here, loaded at its first use. What a plugin implements is in
`reasoningbank.ports`; memory for a framework is in `reasoningbank.adapters`, a module each.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # as `typing` has it, which a hook need not load for that
if TYPE_CHECKING:
    from reasoningbank.bank.remember import current_task as current_task
    from reasoningbank.bank.remember import remember as remember
    from reasoningbank.bank.session import Session as Session
    from reasoningbank.core.errors import BankBusy as BankBusy
    from reasoningbank.core.errors import BankDamaged as BankDamaged
    from reasoningbank.core.errors import BankError as BankError
    from reasoningbank.core.errors import BankUnavailable as BankUnavailable
    from reasoningbank.core.errors import Conflict as Conflict
    from reasoningbank.core.errors import InvalidInput as InvalidInput
    from reasoningbank.core.errors import MissingExtra as MissingExtra
    from reasoningbank.core.errors import NotFound as NotFound
    from reasoningbank.core.learning import Acted as Acted
    from reasoningbank.core.learning import Episode as Episode
    from reasoningbank.core.learning import EpisodeStep as EpisodeStep
    from reasoningbank.core.types import Draft as Draft
    from reasoningbank.core.types import Memory as Memory
    from reasoningbank.core.types import Outcome as Outcome
    from reasoningbank.core.types import Remembered as Remembered
    from reasoningbank.core.types import Scope as Scope
    from reasoningbank.location import Location as Location
    from reasoningbank.recall.query import Query as Query
    from reasoningbank.recall.query import Recalled as Recalled
    from reasoningbank.recall.query import SearchResult as SearchResult
    from reasoningbank.wiring.opening import ReasoningBank as ReasoningBank

__all__ = [
    "Acted",
    "BankBusy",
    "BankDamaged",
    "BankError",
    "BankUnavailable",
    "Conflict",
    "Draft",
    "Episode",
    "EpisodeStep",
    "InvalidInput",
    "Location",
    "Memory",
    "MissingExtra",
    "NotFound",
    "Outcome",
    "Query",
    "ReasoningBank",
    "Recalled",
    "Remembered",
    "Scope",
    "SearchResult",
    "Session",
    "__version__",
    "current_task",
    "remember",
]

_HOMES = {
    "bank.remember": ("current_task", "remember"),
    "bank.session": ("Session",),
    "core.errors": (
        "BankBusy",
        "BankDamaged",
        "BankError",
        "BankUnavailable",
        "Conflict",
        "InvalidInput",
        "MissingExtra",
        "NotFound",
    ),
    "core.learning": ("Acted", "Episode", "EpisodeStep"),
    "core.types": ("Draft", "Memory", "Outcome", "Remembered", "Scope"),
    "location": ("Location",),
    "recall.query": ("Query", "Recalled", "SearchResult"),
    "wiring.opening": ("ReasoningBank",),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # On first use: `reasoningbank status` must not pay for what `reasoningbank query` needs.
        for module, names in _HOMES.items():
            if name in names:
                found = getattr(__import__(f"reasoningbank.{module}", fromlist=names), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module 'reasoningbank' has no attribute {name!r}")
