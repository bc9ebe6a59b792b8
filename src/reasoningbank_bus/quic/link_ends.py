"""Remembers how connections ended: why the last one of each peer did, and whose key a second machine came with."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

from reasoningbank_bus.quic.link import PeerLink
from reasoningbank_bus.wire.frame import Hello, decode_frame
from reasoningbank_bus.wire.refusals import SENTENCES

MOST_REMEMBERED = 256
Value = TypeVar("Value")


class LinkEnds:
    def __init__(self) -> None:
        self.reasons: OrderedDict[bytes, str] = OrderedDict()
        """Reasons, in words, by peer, while it is not connected."""
        self.second_machines: OrderedDict[bytes, float] = OrderedDict()
        """When another machine with a key was turned away, by key."""

    def note(self, link: PeerLink) -> None:
        code, _, sentence = link.reason.partition(": ")
        reason = sentence if code in SENTENCES else link.reason
        who = "We" if link.is_ended_here else "It"
        _remember(self.reasons, link.peer or b"", f"{who} ended the connection: {reason}")

    def forget(self, peer: bytes) -> None:
        self.reasons.pop(peer, None)

    def note_newcomer(self, present: PeerLink, newcomer: PeerLink, now: float) -> bool:
        """A second connection of one key is turned away: whether it is another machine is told by what both greeted
        with; of one that we dialled ourselves nothing is known yet.
        """
        present_run, newcomer_run = _run_of(present), _run_of(newcomer)
        is_another = bool(present_run and newcomer_run and present_run != newcomer_run)
        if is_another:
            _remember(self.second_machines, newcomer.peer or b"", now)
        return is_another


def _run_of(link: PeerLink) -> bytes:
    """Name of one run of a node, from its greeting; empty if there is none."""
    hello = None if link.hello is None else decode_frame(link.hello)
    return hello.nonce if isinstance(hello, Hello) else b""


def _remember(recent: OrderedDict[bytes, Value], peer: bytes, value: Value) -> None:
    recent[peer] = value
    recent.move_to_end(peer)
    if len(recent) > MOST_REMEMBERED:
        recent.popitem(last=False)
