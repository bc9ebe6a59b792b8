"""Tells the user that the bank of their hooks was moved, where it is, and how to install the hooks anew."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from reasoningbank.wiring.moved import find_move
from reasoningbank_coding_agents.events import PROMPT, SESSION_START
from reasoningbank_coding_agents.state_dir import StateDir, write_whole

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank_coding_agents.payload import Event

ASKED_AT = (SESSION_START, PROMPT)


def moved_notice(event: Event, bank: Bank, place: StateDir) -> str:
    """At the start of each session; at a prompt only where nobody has heard it yet: a bank may be moved in use."""
    move = find_move(bank)
    if move is None:
        return ""
    note_file = place.folder / "moved-told"
    try:
        is_known = note_file.read_text("utf-8") == move.place
    except (OSError, ValueError):
        is_known = False
    if is_known and event.kind == PROMPT:
        return ""
    try:
        write_whole(note_file, move.place)
    except OSError:
        if event.kind == PROMPT:
            return ""
    return (
        f"ReasoningBank: this bank was moved to {move.place}. What is recalled here is as it was then. "
        f"`reasoningbank --bank {shlex.quote(move.place)} install {event.agent}` names the new place to the agent."
    )
