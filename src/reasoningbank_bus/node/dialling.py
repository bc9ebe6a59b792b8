"""Dialling: which addresses a node connects to, how often, and when it has connections enough."""

from __future__ import annotations

from reasoningbank_bus.node.effects import Dial
from reasoningbank_bus.node.membership import BusMembers
from reasoningbank_bus.node.peer import Peer
from reasoningbank_bus.node.state import NodeState
from reasoningbank_bus.wire.frame import Bye

DIALS_A_ROUND = 4
LASTING_SECONDS = 10.0
MOST_REMEMBERED = 8192


class Dialling:
    """Connects to the peers that were named, and to random members until there are connections enough."""

    def __init__(self, state: NodeState, membership: BusMembers) -> None:
        self._state = state
        self._membership = membership
        self._next: dict[tuple[str, bytes | None], tuple[float, float]] = {}
        """For each address: when it may be dialled again, and the pause after that."""
        self._found: dict[str, bytes] = {}
        """Keys behind the configured addresses that came without one."""

    def tick(self, now: float) -> None:
        settings = self._state.settings
        peers = self._state.peers
        room = DIALS_A_ROUND
        self.prune(now)
        is_large = self._membership.alive() > settings.most_links
        if len(peers) >= (settings.least_links if is_large else settings.most_links):
            return
        for address, key in settings.peers:
            if (key or self._found.get(address)) not in peers:
                room -= self._dial(address, key, now)
        members = [member for member in self._membership.members.values() if member.address and member.key not in peers]
        self._state.rng.shuffle(members)
        # The dead are dialled too, behind the others: that is how two halves find each other again.
        members.sort(key=lambda member: member.state == "dead")
        for member in members:
            if room <= 0:
                break
            if self._is_ours_to_dial(member.key, now):
                room -= self._dial(member.address, member.key, now)

    def _is_ours_to_dial(self, key: bytes, now: float) -> bool:
        """Both sides dialling at once would make two connections: the greater key waits a while."""
        return (
            self._state.own < key or now - self._membership.members[key].since > 2 * self._state.settings.dial_seconds
        )

    def _dial(self, address: str, key: bytes | None, now: float) -> bool:
        settings = self._state.settings
        at, pause = self._next.get((address, key), (0.0, settings.dial_seconds))
        if now < at:
            return False
        if len(self._next) > MOST_REMEMBERED:
            self._next.clear()
        self._next[address, key] = (
            now + pause * self._state.rng.uniform(0.75, 1.25),
            min(2 * pause, settings.most_dial_seconds),
        )
        self._state.effects.append(Dial(address, key))
        return True

    def connect(self, key: bytes, address: str) -> None:
        """Note whose an address is, now that a connection stands."""
        if any(address == peer_address for peer_address, _ in self._state.settings.peers):
            self._found[address] = key

    def lose(self, peer: Peer, now: float) -> None:
        """A connection has ended. If it had stood for a while, the pauses before dialling begin anew."""
        if now - peer.since > LASTING_SECONDS:
            for name in [name for name in self._next if name[1] == peer.key or self._found.get(name[0]) == peer.key]:
                del self._next[name]

    def prune(self, now: float) -> None:
        """End the newest connections when there are too many; they were told of others that they may connect to."""
        settings = self._state.settings
        excess = len(self._state.peers) - settings.most_links
        if excess <= 0:
            return
        configured_keys = {key or self._found.get(address) for address, key in settings.peers}
        candidates = [peer for peer in self._state.greeted_peers() if peer.key not in configured_keys]
        candidates.sort(key=lambda peer: peer.since)
        for newest in candidates[-excess:]:
            if now - newest.since > settings.dial_seconds:
                self._state.send(newest, Bye())
                self._state.close(newest, "over_limit")
                self._membership.part(newest.key)
