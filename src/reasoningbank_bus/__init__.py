"""The bus: banks that learn from each other over QUIC, with signed and limited authority. `Bus.open(bank)` gives one.

wire — what goes over a stream;  authority — who may do what;  log — what was exchanged, durable;  ports — what these
owe to each other;  sync, node — the protocol, pure;  quic — its transport;  exchange — the bank's side;  the modules
here join them and are what the doors call. Needs the extra `bus`: whoever asks for `Bus` without it is told so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasoningbank_bus.facade import Bus

__all__ = ["Bus"]


def __getattr__(name: str) -> Any:
    if name != "Bus":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reasoningbank_bus.extra import require_bus

    require_bus()
    from reasoningbank_bus.facade import Bus

    return Bus
