"""The parts of a bank's bus, for everything that works on it: the folder with key and log, and the peers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import replace
from reasoningbank.core.origins import PeerTrust
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank_bus.authority.keys import KeyFile, fingerprint, public_text
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.bank_key import bind_key, kept_fingerprint, missing_key
from reasoningbank_bus.kept_rights import load_rights, roots_of
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.peers import KnownPeer, PeerBook
from reasoningbank_bus.revoked_peers import barred_peers
from reasoningbank_bus.views import BusIdentity
from reasoningbank_bus.wire.signing import SigningKey


class BusHome:
    """The bus of one tenant's bank: its key, its log, its peers. Nothing is made before `init`."""

    def __init__(self, bank: Bank, folder: Path) -> None:
        self.bank = bank
        self.folder = folder
        self._key_file = KeyFile(folder)
        self._key: SigningKey | None = None
        self._log: DurableLog | None = None

    @classmethod
    def open(cls, bank: Bank) -> Self:
        """The bus of this bank; nothing is made before `init`."""
        folder = bank.context.store.info.location.folder("bus")
        if folder is None:
            raise InvalidInput("A bank in memory cannot be on the bus: it has no place to keep its key.")
        if bank.tenant != DEFAULT_TENANT:
            folder /= f"tenant-{hashlib.blake2b(bank.tenant.encode(), digest_size=8).hexdigest()}"
        return cls(bank, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files; the bank stays open."""
        if self._log is not None:
            self._log.close()
            self._log = None

    # ------------------------------------------------------------ who we are

    def init(self, *, anew: bool = False) -> BusIdentity:
        """Make the key of this bank, or show the one that is there. With `anew` it counts though the bank was known by
        another before, which is lost.
        """
        is_new = not self._key_file.exists()
        if is_new:
            if kept_fingerprint(self.bank) and not anew:
                raise missing_key(self.bank, self.folder)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._key_file.create()
        bind_key(self.bank, self.fingerprint, anew=anew)
        return replace(self.identity, is_new=is_new)

    @property
    def is_initialised(self) -> bool:
        """True if there is a key."""
        return self._key_file.exists()

    @property
    def identity(self) -> BusIdentity:
        """The public key as it is handed over, and its fingerprint to compare."""
        public = self.key.public
        return BusIdentity(key=public_text(public), fingerprint=fingerprint(public), file=str(self._key_file.path))

    @property
    def fingerprint(self) -> str:
        """The public key in a few letters, to read out."""
        return fingerprint(self.key.public)

    @property
    def key(self) -> SigningKey:
        """The private key, for what runs in this process."""
        if self._key is None:
            if not self._key_file.exists():
                raise missing_key(self.bank, self.folder)
            self._key = self._key_file.read()
        return self._key

    @property
    def log(self) -> DurableLog:
        """Log of what was exchanged and what is remembered, for what runs in this process."""
        if self._log is None:
            self.key  # noqa: B018 - without a key there is nothing to open
            self._log = DurableLog(self.folder)
        return self._log

    def rights(self, log: DurableLog | None = None) -> Rights:
        """Who may do what, by the log and by what the bank's user decided."""
        return load_rights(log or self.log, self.key.public, barred_peers(self.bank))

    # ------------------------------------------------------------ whom we know

    @property
    def book(self) -> PeerBook:
        """Names and addresses of peers."""
        return PeerBook(self.log, self.folder)

    def peers(self) -> list[KnownPeer]:
        """Every peer that was named here."""
        levels = self.bank.trust.given()
        return [_with_trust(peer, levels) for peer in self.book.all()]

    def peer(self, name_or_key: str) -> KnownPeer:
        """A peer by name, fingerprint, a beginning of one, or public key; also one that nobody named, but some grant
        does.
        """
        return _with_trust(self.book.find(name_or_key, self._granted_keys), self.bank.trust.given())

    def _granted_keys(self) -> set[bytes]:
        intents = self.rights().intents()
        return {key for intent in intents for key in (intent.issuer, intent.holder)} - {self.key.public}

    def roots(self) -> list[KnownPeer]:
        """The keys that decide here beside our own."""
        return [self.book.get(root) for root in roots_of(self.log)]


def _with_trust(peer: KnownPeer, levels: Mapping[str, PeerTrust]) -> KnownPeer:
    return replace(peer, trust=levels.get(peer.origin, PeerTrust.QUARANTINED).value)
