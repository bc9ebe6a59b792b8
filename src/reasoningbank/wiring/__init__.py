"""`ReasoningBank.open`: makes the objects behind the names of a configuration. The only room that knows backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasoningbank.wiring.opening import ReasoningBank as ReasoningBank

__all__ = ["ReasoningBank"]


def __getattr__(name: str) -> Any:
    # On first use: whoever asks whether there is a bank need not load what opens one.
    if name == "ReasoningBank":
        from reasoningbank.wiring.opening import ReasoningBank

        return ReasoningBank
    raise AttributeError(f"module 'reasoningbank.wiring' has no attribute {name!r}")
