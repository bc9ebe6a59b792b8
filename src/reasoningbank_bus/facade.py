"""`Bus`: a bank as a peer of others. Its key, grants, peers, what it shares, its status; asking others; being up.

    with ReasoningBank.open() as bank, Bus.open(bank) as bus:
        bus.init()
        print(bus.grant("rbk1…", caps={"records": 1000}, name="ben").line)
        bus.up("0.0.0.0:8711")

Several processes may use one bus at once: a node that is up notices what the others write down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import replace
from reasoningbank.core.origins import PeerTrust
from reasoningbank.core.types import RulingKind
from reasoningbank.guard.trust import in_force
from reasoningbank_bus.grant_desk import GrantDesk
from reasoningbank_bus.home import BusHome
from reasoningbank_bus.kept_rights import keep_roots, roots_of
from reasoningbank_bus.peers import KnownPeer
from reasoningbank_bus.views import BusStatus, GrantTerms, GrantView, RemoteHit, Withdrawn

DEFAULT_HITS = 5
MOST_RULINGS = 10_000


class Bus(BusHome):
    """The bus of one tenant's bank. `Bus.open(bank)` gives one; closing it leaves the bank open."""

    # ------------------------------------------------------------ rights

    @property
    def _desk(self) -> GrantDesk:
        return GrantDesk(self)

    def grant(
        self, holder: str, terms: GrantTerms | None = None, *, name: str | None = None, **changes: Any
    ) -> GrantView:
        """Let another bank do something here: `grant(KEY, actions=…, namespaces=…, scopes=…, caps={"records": 1000},
        period_s=…, lifetime_s=…, delegable=…)`. Its `line` is what is sent to the holder.
        """
        peer = self.peer(holder)
        view = self._desk.give(peer.key, replace(terms or GrantTerms(), **changes))
        self._meet(peer.key, name)
        return replace(view, holder_name=self.book.get(peer.key).name)

    def accept(self, line: str, *, name: str | None = None) -> GrantView:
        """Keep a grant that another bank has given to this one."""
        view = self._desk.accept(line)
        issuer = self._desk.issuer_of(view.id)
        self._meet(issuer, name)
        return replace(view, issuer_name=self.book.get(issuer).name)

    def grants(self) -> list[GrantView]:
        """Every grant that is known here, with its state and what is spent of it."""
        return self._desk.all()

    def spend(self) -> list[GrantView]:
        """Grants in force that have caps."""
        return [grant for grant in self.grants() if grant.caps and grant.state == "valid"]

    def revoke(self, target: str) -> Withdrawn:
        """End a grant, by its id; or a peer with every grant, and with all that came of it."""
        desk = self._desk
        if desk.is_grant(target):
            return Withdrawn(target=target, grants=(desk.revoke_grant(target).id,))
        peer = self.peer(target)
        if peer.key == self.key.public:
            raise InvalidInput("This is your own key.")
        grants = desk.revoke_holder(peer.key)
        keep_roots(self.log, [root for root in roots_of(self.log) if root != peer.key])
        self.book.keep(peer.key, address="")
        rulings = in_force(self.bank.trust.rulings(limit=MOST_RULINGS))
        revocations = (
            ruling for ruling in rulings if ruling.kind is RulingKind.REVOKE and ruling.target == peer.origin
        )
        decision = next(revocations, None) or self.bank.trust.revoke(peer.origin)
        counts = self.bank.trust.brought_by(peer.origin)
        return Withdrawn(
            target=peer.title,
            grants=tuple(grant.id for grant in grants),
            ruling=decision.id,
            memories=len(decision.memories),
            nodes=counts.nodes,
            edges=counts.edges,
        )

    def trust(self, key: str, *, remove: bool = False) -> list[KnownPeer]:
        """Let another key decide here as ours does, or no longer; gives those that do."""
        peer = self.peer(key)
        if peer.key == self.key.public:
            raise InvalidInput("This is your own key: it decides here anyway.")
        roots = set(roots_of(self.log))
        if remove and peer.key not in roots:
            raise NotFound(f"{peer.title} does not decide here: `reasoningbank bus trust` lists who does.")
        keep_roots(self.log, roots - {peer.key} if remove else roots | {peer.key})
        return self.roots()

    # ------------------------------------------------------------ peers

    def _meet(self, key: bytes, name: str | None) -> None:
        """Know a peer from now on. What it brings is found and quoted as data, unless something else was said."""
        peer = self.book.keep(key, name=name)
        if peer.origin not in self.bank.trust.given():
            self.bank.trust.give(peer.origin, PeerTrust.UNTRUSTED)

    def add_peer(
        self, address: str | None, key: str, *, name: str | None = None, trust: str | None = None
    ) -> KnownPeer:
        """Say where a peer is, what it is called and how far it is believed; what is None stays as it was."""
        peer = self.peer(key)
        if peer.key == self.key.public:
            raise InvalidInput("This is your own key: a bank is no peer of itself.")
        self.book.keep(peer.key, address=address)
        self._meet(peer.key, name)
        if trust is not None and trust != self.peer(key).trust:
            self.bank.trust.give(peer.origin, trust)
        return self.peer(key)

    def remove_peer(self, name_or_key: str) -> KnownPeer:
        """Forget a peer's name, address and trust; its grants stay."""
        peer = self.peer(name_or_key)
        self.book.remove(peer.key)
        return peer

    # ------------------------------------------------------------ what is shared

    def share(self, **changes: Any) -> Mapping[str, Any]:
        """The sharing policy, after changing some of `namespaces`, `scopes`, `tags` and `least_confidence`."""
        from reasoningbank_bus.sharing import change_policy

        return change_policy(self.log, changes)

    def status(self) -> BusStatus:
        """Peers, what went out, came in and was refused, and whether a node is up."""
        from reasoningbank_bus.status import find_status

        return find_status(self)

    def ask(self, peer: str, query: str, *, namespace: str | None = None, limit: int = DEFAULT_HITS) -> list[RemoteHit]:
        """Search in another bank, within the rights that it has given; nothing is kept here."""
        from reasoningbank_bus.asking import ask

        return ask(self, self.peer(peer), query, namespace=namespace, limit=limit)

    def up(
        self,
        listen: str | None = None,
        *,
        public: str | None = None,
        ready: Callable[[str], None] | None = None,
    ) -> None:
        """Exchange with the peers until a signal ends it. `public` is where others are told that it is, if that is not
        where it listens; `ready` is told where it listens, "" for nowhere.
        """
        from reasoningbank_bus.service import run_until_signal

        run_until_signal(self, listen, public, ready)
