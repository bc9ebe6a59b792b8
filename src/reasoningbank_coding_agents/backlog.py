"""Sessions that hooks noted and nobody has read yet, read before a bank distils."""

from __future__ import annotations

from reasoningbank.location import Location
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents.state_dir import place_of


def read_backlog(bank: ReasoningBank, location: Location) -> None:
    if location.state is None:
        return
    place = place_of(location)
    if (place.folder / "notes").is_dir():
        from reasoningbank_coding_agents.capture_worker import read_left

        read_left(bank, place)
