"""State shared by all parts of the node: its key, rights, log, sets, peers, and the effects of the call that runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from random import Random

from reasoningbank_bus.authority.intent import Intent, intent_id
from reasoningbank_bus.authority.rights import Chain, Rights
from reasoningbank_bus.node.effects import Close, Effect, Send
from reasoningbank_bus.node.limits import Scores
from reasoningbank_bus.node.peer import Peer
from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.node.shelf import OF_AUTHORITY, Shelf, parts_of, set_name
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.refusal_tally import LatestRefusal, RefusalTally
from reasoningbank_bus.wire.frame import CONTROL, FIRST_EXCHANGE, EntryBatch, Frame, Refusal, encode_frame
from reasoningbank_bus.wire.refusals import SENTENCES, BusRefusal

READING_REMEMBERED_SECONDS = 30.0
MOST_SHOWN_GRANTS = 64


class NodeState:
    def __init__(
        self,
        *,
        own: bytes,
        rights: Rights,
        log: EntryLog,
        settings: NodeSettings,
        rng: Random,
        now_ms: Callable[[float], int],
        heed: Callable[[float], list[Effect]] | None = None,
    ) -> None:
        self.own = own
        self.rights = rights
        self.log = log
        self.settings = settings
        self.rng = rng
        self.now_ms = now_ms
        self.shelf = Shelf((set_name(scope, namespace), place, id_) for scope, namespace, place, id_ in log.places())
        self.scores = Scores(settings)
        self.peers: dict[bytes, Peer] = {}
        self.refused = RefusalTally()
        self.effects: list[Effect] = []
        self.left: OrderedDict[bytes, Peer] = OrderedDict()
        """Peers whose connections have ended, for their counts."""
        self._heed = heed
        self.heeded: int | None = None
        """The state of the log up to which all that others decided is known here."""
        self._read_at = 0.0
        self._channels = FIRST_EXCHANGE

    def heed(self, now: float) -> None:
        """Take over what was decided elsewhere: before anything is taken of a peer or given to it."""
        if self._heed is not None:
            self.heeded = self.log.change_number()
            effects = self._heed(now)
            self.effects.extend(effects)

    def send(self, peer: Peer, frame: Frame, channel: int = CONTROL, *, last: bool = False) -> None:
        raw = encode_frame(frame)
        peer.counts["frames_out"] += 1
        peer.counts["bytes_out"] += len(raw)
        if isinstance(frame, EntryBatch):
            peer.counts["entries_out"] += len(frame.encoded)
        self.effects.append(Send(peer.key, channel, raw, last))

    def channel(self) -> int:
        """The number of a new exchange."""
        self._channels += 1
        return self._channels - 1

    def greeted_peers(self) -> list[Peer]:
        return [peer for peer in self.peers.values() if peer.greeted]

    def may_read(self, peer: Peer, name: str, now: float) -> bool:
        """True if a peer has the right to receive a set."""
        if now - self._read_at >= READING_REMEMBERED_SECONDS:
            self.forget_readings(now)
        is_allowed = peer.may_read.get(name)
        if is_allowed is None:
            scope, namespace = parts_of(name)
            is_allowed = name == OF_AUTHORITY or self.rights.may(peer.key, "search", namespace, scope, self.now_ms(now))
            if len(peer.may_read) < 1024:
                peer.may_read[name] = is_allowed
        return is_allowed

    def forget_readings(self, now: float) -> None:
        self._read_at = now
        for peer in self.peers.values():
            peer.may_read.clear()

    def change_rights(self, now: float) -> None:
        """Grants or revocations have come: what was judged by the earlier ones is judged anew."""
        self.forget_readings(now)
        self.shelf.take_all_again()

    def is_known(self, key: bytes) -> bool:
        """True if this is the key of a root, of a peer that was named, or of a holder of a grant in force that
        reaches a root.
        """
        if key in self.rights.roots or any(key == peer_key for _, peer_key in self.settings.peers):
            return True
        return any(self._reaches_root(intent) for intent in self.rights.held_by(key))

    def why_unknown(self, key: bytes) -> str:
        """The code of why somebody is not known; "" if it is."""
        if self.is_known(key):
            return ""
        intents = self.rights.held_by(key)
        return "revoked" if any(self._chain(intent) is not None for intent in intents) else "unknown_author"

    def _reaches_root(self, intent: Intent) -> bool:
        chain = self._chain(intent)
        return chain is not None and not self.rights.is_revoked(chain)

    def _chain(self, intent: Intent) -> Chain | None:
        """The grants that lead from this one to a root, whether or not it was revoked; None if there are none."""
        try:
            return self.rights.chain_of(intent_id(intent))
        except BusRefusal:
            return None

    def own_intents(self) -> list[Intent]:
        """Every grant that our rights rest on, with those that they were derived from."""
        intents: dict[bytes, Intent] = {}
        for intent in self.rights.held_by(self.own)[:MOST_SHOWN_GRANTS]:
            try:
                line = self.rights.line_of(intent_id(intent))
            except BusRefusal:
                continue
            intents.update((intent_id(part), part) for part in line)
        return list(intents.values())[:MOST_SHOWN_GRANTS]

    def refuse(
        self,
        peer: Peer,
        refusal: BusRefusal,
        now: float,
        channel: int = CONTROL,
        *,
        what: LatestRefusal | None = None,
        once: bytes = b"",
    ) -> None:
        """Count a refusal, tell the peer unless it is told too often, shut it out when it was one too many.

        `what` was refused, something of the peer's own if nothing else is said; `once` names it, to be counted once.
        """
        self.count_refused(peer, refusal.code, what, once=once)
        if peer.refusals_allowed.take(1, now):
            frame = Refusal(refusal.code, SENTENCES[refusal.code], refusal.about)
            self.send(peer, frame, channel, last=channel != CONTROL)
        if self.scores.charge(peer.key, refusal.code, now):
            self.close(peer, "shut_out")

    def count_refused(self, peer: Peer, code: str, what: LatestRefusal | None = None, *, once: bytes = b"") -> None:
        if self.refused.note(code, what or LatestRefusal(peer.key), once=once):
            peer.refused[code] += 1

    def close(self, peer: Peer, code: str) -> None:
        self.effects.append(Close(peer.key, code, SENTENCES[code]))
        self.drop(peer)

    def drop(self, peer: Peer) -> None:
        if self.peers.pop(peer.key, None) is not None:
            self.left[peer.key] = peer
            self.left.move_to_end(peer.key)
            if len(self.left) > 256:
                self.left.popitem(last=False)
