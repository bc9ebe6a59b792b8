"""ReasoningBank: a memory that lets AI agents learn what works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from reasoningbank.core.types import Draft as Draft
    from reasoningbank.wiring import ReasoningBank as ReasoningBank

__all__ = ["Draft", "ReasoningBank", "__version__"]


def __getattr__(name: str) -> Any:
    # Imported on first use: `reasoningbank status` must not pay for what `reasoningbank query` needs.
    if name == "ReasoningBank":
        from reasoningbank.wiring import ReasoningBank

        return ReasoningBank
    if name == "Draft":
        from reasoningbank.core.types import Draft

        return Draft
    raise AttributeError(f"module 'reasoningbank' has no attribute {name!r}")
