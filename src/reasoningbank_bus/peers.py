"""The peers that a user has named: key, name and address. How far each is believed is a ruling in its bank (`guard`).

Kept as JSON in the bus's own file. Changed under a lock, since several processes may do so at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reasoningbank.core.drafts import clean_name
from reasoningbank.core.errors import BankBusy, Conflict, InvalidInput, NotFound
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.files import hold
from reasoningbank_bus.addresses import address_text, parse_address
from reasoningbank_bus.authority.keys import fingerprint, parse_public, public_text
from reasoningbank_bus.ports import EntryLog

STATE = "peers"
MOST_PEERS = 10_000
_WAIT_S = 10.0
_SHORTEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPeer:
    key: bytes
    name: str = ""
    address: str = ""
    """Where it is dialled; "" for one that comes by itself."""
    trust: str = ""
    """As the bank has it; "" where nobody has looked."""

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.key)

    @property
    def key_text(self) -> str:
        return public_text(self.key)

    @property
    def origin(self) -> str:
        return f"peer:{self.fingerprint}"

    @property
    def title(self) -> str:
        """How it is spoken of: its name, if it has one."""
        return self.name or self.fingerprint


class PeerBook:
    def __init__(self, log: EntryLog, folder: Path) -> None:
        self._log = log
        self._lock = folder / "peers.lock"

    def all(self) -> list[KnownPeer]:
        """All peers by name, those without one last."""
        return sorted(self._read().values(), key=lambda peer: (not peer.name, peer.name, peer.fingerprint))

    def get(self, key: bytes) -> KnownPeer:
        """The peer with this key; a key that nobody named is a peer without a name."""
        return self._read().get(key) or KnownPeer(key=key)

    def find(self, name_or_key: str, other_keys: Callable[[], Iterable[bytes]] = tuple) -> KnownPeer:
        """A peer by name, fingerprint, a beginning of one, or the whole public key, which need not be known; among
        `other_keys` by fingerprint, where none that was named fits.
        """
        if _is_key(name_or_key):
            return self.get(parse_public(name_or_key))
        word = name_or_key.strip().casefold()
        peers = self.all()
        matches = (
            [peer for peer in peers if peer.name.casefold() == word]
            or _those_that_begin(peers, word)
            or _those_that_begin([KnownPeer(key=key) for key in other_keys()], word)
        )
        if len(matches) > 1:
            raise Conflict(f"{name_or_key!r} is the beginning of {len(matches)} peers' fingerprints: say more of it.")
        if not matches:
            names = ", ".join(peer.title for peer in peers[:5])
            hint = f" Known are {names}{' …' if len(peers) > 5 else ''}." if peers else " None is known yet."
            raise NotFound(f"There is no peer {name_or_key[:80]!r} here.{hint} A public key (rbk1…) names a new one.")
        return matches[0]

    def keep(self, key: bytes, *, name: str | None = None, address: str | None = None) -> KnownPeer:
        """Note what is said; None leaves it as it was, "" takes it away."""
        changes: dict[str, Any] = {}
        if name is not None:
            changes["name"] = _clean_peer_name(name)
        if address is not None:
            changes["address"] = address_text(*parse_address(address)) if address else ""
        with self._alone() as peers:
            other = next((p for p in peers.values() if p.key != key and p.name and p.name == changes.get("name")), None)
            if other is not None:
                raise Conflict(f"{other.name} is the name of {other.fingerprint} already: choose another --name.")
            if key not in peers and len(peers) >= MOST_PEERS:
                raise InvalidInput(f"There are {len(peers):,} peers already: remove some first.")
            peers[key] = replace(peers.get(key) or KnownPeer(key=key), **changes)
            self._write(peers)
            return peers[key]

    def remove(self, key: bytes) -> None:
        with self._alone() as peers:
            if peers.pop(key, None) is None:
                raise NotFound(f"{fingerprint(key)} is no peer here.")
            self._write(peers)

    def _read(self) -> dict[bytes, KnownPeer]:
        rows = json.loads(self._log.state(STATE) or b"[]")
        peers = [KnownPeer(key=bytes.fromhex(row["key"]), name=row["name"], address=row["address"]) for row in rows]
        return {peer.key: peer for peer in peers}

    def _write(self, peers: dict[bytes, KnownPeer]) -> None:
        rows = [{"key": peer.key.hex(), "name": peer.name, "address": peer.address} for peer in peers.values()]
        self._log.keep_state({STATE: json.dumps(rows).encode()})

    @contextmanager
    def _alone(self) -> Iterator[dict[bytes, KnownPeer]]:
        lock = hold(self._lock, wait_s=_WAIT_S)
        if lock is None:
            raise BankBusy("Another process is changing the peers of this bank: try again.")
        try:
            yield self._read()
        finally:
            os.close(lock)


def _clean_peer_name(name: str) -> str:
    if not name:
        return ""
    if _is_key(name) or name.casefold().startswith(("rb1-", "peer:")):
        raise InvalidInput(f"A peer cannot be named {name[:40]!r}: that looks like a key.")
    return clean_name(name, "name")


def _those_that_begin(peers: Iterable[KnownPeer], word: str) -> list[KnownPeer]:
    start = word.removeprefix("peer:").removeprefix("rb1-")
    if len(start) < _SHORTEST:
        return []
    return [peer for peer in peers if peer.fingerprint.removeprefix("rb1-").startswith(start)]


def _is_key(text: str) -> bool:
    return text.strip().startswith("rbk1")
