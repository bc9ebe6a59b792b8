"""Keeps a peer revoked that was revoked once, when the bank or the log is put back to before that.

A revocation stands twice: signed in the log, where it ends the peer's grants, and as a ruling in the bank, where it
takes out what came of the peer. Each makes up for the loss of the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from reasoningbank.bank.bank import Bank
from reasoningbank.core.types import Ruling, RulingKind
from reasoningbank.guard.trust import revoked_peers
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.exchange.naming import origin_of_author


def barred_peers(bank: Bank) -> Mapping[str, int]:
    """Peers that the bank's user took out, by fingerprint, and when, in milliseconds."""
    with bank.context.store.read(bank.tenant) as reader:
        return {origin.partition(":")[2]: int(at * 1000) for origin, at in revoked_peers(reader).items()}


def revoke_again(bank: Bank, rights: Rights) -> None:
    """Take out those that this node has revoked and of whom the bank never heard that: it comes from a backup. What
    the user has taken back since stays taken back.
    """
    holders = {
        revocation.target
        for revocation in rights.revocations()
        if revocation.what == "holder" and revocation.issuer == rights.own
    }
    with bank.context.store.read(bank.tenant) as reader:
        origins = {ruling.target for ruling in reader.select(Ruling, {"kind": RulingKind.REVOKE.value})}
    for origin in sorted({origin_of_author(holder) for holder in holders} - origins):
        bank.trust.revoke(origin, comment="revoked on the bus, before this bank was put back")
