"""The status of the bus, as any process sees it: what is kept, and what the node that is up last said of itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reasoningbank_bus.authority.keys import public_text
from reasoningbank_bus.bank_key import kept_fingerprint, missing_key
from reasoningbank_bus.exchange.applying import Applier
from reasoningbank_bus.exchange.policy import Policy, read_policy
from reasoningbank_bus.home import BusHome
from reasoningbank_bus.node.status import NodeStatus, PeerStatus
from reasoningbank_bus.peers import KnownPeer
from reasoningbank_bus.refusal_tally import LatestRefusal, RefusalTally
from reasoningbank_bus.remedies import remedy_for
from reasoningbank_bus.running_state import is_up, last_said
from reasoningbank_bus.sharing import policy_json
from reasoningbank_bus.views import BusStatus, PeerView, RefusalView
from reasoningbank_bus.wire.refusals import SENTENCES

if TYPE_CHECKING:
    from reasoningbank_bus.quic.link_ends import LinkEnds

SECOND_MACHINE_S = 180.0
"""So long a second machine is spoken of after it was last turned away; it tries again each minute or so."""


def describe_node(
    status: NodeStatus,
    failures: Mapping[str, str],
    ends: LinkEnds,
    *,
    unsent: RefusalTally,
    unapplied: RefusalTally,
    now: float,
    now_s: float,
) -> dict[str, Any]:
    """What a node says of itself, as JSON, for `find_status` in another process."""
    theirs = RefusalTally()
    theirs.counts.update(status.refused)
    theirs.latest.update(status.latest_refused)
    theirs.include(unapplied)
    return {
        "process": os.getpid(),
        "at": now_s,
        "members": status.members,
        "refused": [*_describe_refused(theirs, is_ours=False), *_describe_refused(unsent, is_ours=True)],
        "failures": dict(failures),
        "ends": {key.hex(): reason for key, reason in ends.reasons.items()},
        "second_machines": {key.hex(): now_s - (now - at) for key, at in ends.second_machines.items()},
        "peers": [_describe_peer(peer, now_s) for peer in status.peers],
    }


def _describe_refused(tally: RefusalTally, *, is_ours: bool) -> list[dict[str, Any]]:
    rows = []
    for code, count in tally.counts.items():
        latest = tally.latest.get(code, LatestRefusal(b""))
        rows.append(
            {
                "code": code,
                "count": count,
                "ours": is_ours,
                "author": latest.author.hex(),
                "namespace": latest.namespace,
                "action": latest.action,
            }
        )
    return rows


def _describe_peer(peer: PeerStatus, now_s: float) -> dict[str, Any]:
    heard = peer.seconds_since_heard
    return {
        "key": peer.key.hex(),
        "name": peer.name,
        "address": peer.address,
        "connected": peer.connected,
        "state": peer.state,
        "seen_at": None if heard is None else now_s - heard,
        "behind": peer.behind,
        "lacks": peer.lacks,
        "sent": peer.counts.get("entries_out", 0),
        "received": peer.counts.get("entries_in", 0),
        "refused": dict(peer.refused),
        "refuses": dict(peer.refuses),
        "second_at": None if peer.seconds_since_second is None else now_s - peer.seconds_since_second,
    }


def find_status(bus: BusHome) -> BusStatus:
    """Also for a bank that is not on the bus yet: then without a key."""
    if not bus.is_initialised:
        is_elsewhere = kept_fingerprint(bus.bank) != ""
        return _without_key(str(missing_key(bus.bank, bus.folder)) if is_elsewhere else "")
    said, up, own = last_said(bus.folder), is_up(bus.folder), bus.key.public
    shared, taken = bus.log.counts(own)
    return BusStatus(
        key=bus.identity.key,
        fingerprint=bus.fingerprint,
        is_up=up,
        process=said.get("process") if up else None,
        listen=said.get("listen", "") if up else "",
        public=said.get("public", "") if up else "",
        up_since_at=said.get("up_since") if up else None,
        shares=policy_json(read_policy(bus.log)),
        shared=shared,
        taken=taken,
        waiting=bus.log.count_after(Applier(bus.bank, bus.log, own).applied_up_to()),
        refusals=_refusal_views(bus, said),
        trouble=said.get("trouble", "") if up else "",
        peers=tuple(_peer_views(bus, said, is_up=up)),
        roots=tuple(root.title for root in bus.roots()),
    )


def _without_key(trouble: str) -> BusStatus:
    return BusStatus(
        key="",
        fingerprint="",
        is_up=False,
        process=None,
        listen="",
        public="",
        up_since_at=None,
        shares=policy_json(Policy()),
        shared=0,
        taken=0,
        waiting=0,
        refusals=(),
        trouble=trouble,
        peers=(),
        roots=(),
    )


def _refusal_views(bus: BusHome, said: Mapping[str, Any]) -> tuple[RefusalView, ...]:
    """The most first."""
    rows = said.get("refused", ())
    # What an earlier version left here is a mapping of counts.
    found = rows if isinstance(rows, list) else []
    return tuple(refusal_view(bus, row) for row in sorted(found, key=lambda row: -row["count"]))


def refusal_view(bus: BusHome, row: Mapping[str, Any]) -> RefusalView:
    """What a node said of one reason, with names and what to do."""
    code, is_ours, key = row["code"], row["ours"], bytes.fromhex(row["author"])
    author = bus.book.get(key) if key else None
    known = author is not None and bool(author.name)
    who = "" if author is None else author.name if known else author.key_text
    return RefusalView(
        code=code,
        count=row["count"],
        is_ours=is_ours,
        reason=SENTENCES.get(code, ""),
        author="" if author is None else author.title,
        fingerprint="" if author is None else author.fingerprint,
        namespace=row["namespace"],
        remedy=remedy_for(code, who=who, namespace=row["namespace"], action=row["action"], is_ours=is_ours),
    )


def _peer_views(bus: BusHome, said: Mapping[str, Any], *, is_up: bool) -> list[PeerView]:
    """Those that were named, then those that have come without."""
    heard = {bytes.fromhex(peer["key"]): peer for peer in said.get("peers", ())}
    named = {peer.key: peer for peer in bus.peers()}
    others = [bus.peer(public_text(key)) for key in heard if key not in named]
    return [_peer_view(peer, heard.get(peer.key, {}), said, is_up=is_up) for peer in (*named.values(), *others)]


def _peer_view(peer: KnownPeer, heard: Mapping[str, Any], said: Mapping[str, Any], *, is_up: bool) -> PeerView:
    return PeerView(
        key=peer.key_text,
        fingerprint=peer.fingerprint,
        name=peer.name or heard.get("name", ""),
        address=peer.address or heard.get("address", ""),
        trust=peer.trust,
        state=_state(heard, is_up=is_up),
        seen_at=heard.get("seen_at"),
        behind=heard.get("behind"),
        sent=heard.get("sent", 0),
        received=heard.get("received", 0),
        refused=heard.get("refused", {}),
        refuses=heard.get("refuses", {}),
        problem=_problem(peer, heard, said) if is_up else "",
    )


def _problem(peer: KnownPeer, heard: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    if not heard.get("connected"):
        failed: str = said.get("failures", {}).get(peer.address, "")
        return failed or said.get("ends", {}).get(peer.key.hex(), "")
    if _is_recent(heard.get("second_at"), said):
        return (
            "It turned another machine away that came with the key of this bank. Two machines must not use one key at "
            "once: on the other one, move the folder bank.db.bus away, then `reasoningbank bus init`."
        )
    if _is_recent(said.get("second_machines", {}).get(peer.key.hex()), said):
        return (
            "Another machine with the same key was turned away while this one is connected; what it has comes when "
            "this one goes. Give it a key of its own: move its folder bank.db.bus away, then `reasoningbank bus init`."
        )
    return ""


def _is_recent(second_at: float | None, said: Mapping[str, Any]) -> bool:
    return second_at is not None and said["at"] - second_at < SECOND_MACHINE_S


def _state(heard: Mapping[str, Any], *, is_up: bool) -> str:
    if not is_up:
        return "not_up"
    return "connected" if heard.get("connected") else "away"
