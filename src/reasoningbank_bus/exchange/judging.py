"""Judges peers' memories by the trust that they were given, before the bank's transaction where that is possible.

To look a text over takes as long as to write it down, and whoever writes meanwhile need not wait for it. The rulings
are read again inside of the transaction; by others, everything is judged anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reasoningbank.core.origins import PeerTrust, Trust
from reasoningbank.core.types import Memory
from reasoningbank.guard.peers import judge_peer_memory
from reasoningbank_bus.exchange.incoming import IncomingRecord
from reasoningbank_bus.exchange.naming import origin_of_author

Judgement = tuple[Memory, Trust, Sequence[int]]
"""The memory as it may be kept, its level, and marks to know it again by."""


class PeerJudge:
    def __init__(
        self, peers: Mapping[str, PeerTrust], blocklist: frozenset[str], clean: Callable[[Memory], Memory]
    ) -> None:
        """`peers` have the trust that they were given, `blocklist` are the origins of which nothing is shown."""
        self.peers, self.revoked, self._clean = peers, blocklist, clean
        self._known: dict[int, Judgement] = {}

    def under(self, peers: Mapping[str, PeerTrust], blocklist: frozenset[str]) -> PeerJudge:
        """The same, if the rulings say the same."""
        if (peers, blocklist) == (self.peers, self.revoked):
            return self
        return PeerJudge(peers, blocklist, self._clean)

    def judge(self, incoming: IncomingRecord) -> Judgement:
        judgement = self._known.get(incoming.number)
        if judgement is None:
            judgement = self._known[incoming.number] = self._judge(incoming)
        return judgement

    def _judge(self, incoming: IncomingRecord) -> Judgement:
        memory = incoming.record
        assert isinstance(memory, Memory)
        is_out = not self.revoked.isdisjoint(map(origin_of_author, incoming.authors))
        safe_memory, level, marks = judge_peer_memory(memory, self.peers, (), is_out=is_out)
        if safe_memory.content is not memory.content or safe_memory.title is not memory.title:
            # What was hidden may have stood within a secret.
            safe_memory = self._clean(safe_memory)
        return safe_memory, level, marks
