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
"""How long `status` reports a rejected second machine with a peer's key. It tries again about once a minute."""


def describe_node(
    status: NodeStatus,
    failures: Mapping[str, str],
    ends: LinkEnds,
    *,
    unsent: RefusalTally,
    apply_refusals: RefusalTally,
    now: float,
    now_s: float,
) -> dict[str, Any]:
    """A node's report on itself, as JSON, for `find_status` in another process."""
    theirs = RefusalTally()
    theirs.counts.update(status.refused)
    theirs.latest.update(status.latest_refused)
    theirs.include(apply_refusals)
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
    silence = peer.seconds_since_heard
    return {
        "key": peer.key.hex(),
        "name": peer.name,
        "address": peer.address,
        "connected": peer.connected,
        "state": peer.state,
        "seen_at": None if silence is None else now_s - silence,
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
    report, up, own = last_said(bus.folder), is_up(bus.folder), bus.key.public
    own_count, peer_count = bus.log.counts(own)
    rows = report.get("refused", ())
    # What an earlier version left here is a mapping of counts.
    reasons = sorted(rows, key=lambda row: -row["count"]) if isinstance(rows, list) else []
    return BusStatus(
        key=bus.identity.key,
        fingerprint=bus.fingerprint,
        is_up=up,
        process=report.get("process") if up else None,
        listen=report.get("listen", "") if up else "",
        public=report.get("public", "") if up else "",
        up_since_at=report.get("up_since") if up else None,
        shares=policy_json(read_policy(bus.log)),
        shared=own_count,
        taken=peer_count,
        waiting=bus.log.count_after(Applier(bus.bank, bus.log, own).applied_up_to()),
        refusals=tuple(refusal_view(bus, row) for row in reasons),
        trouble=report.get("trouble", "") if up else "",
        peers=tuple(_peer_views(bus, report, is_up=up)),
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


def refusal_view(bus: BusHome, row: Mapping[str, Any]) -> RefusalView:
    """One reason of refusal that a node reported, with names and what to do."""
    code, is_ours, key = row["code"], row["ours"], bytes.fromhex(row["author"])
    author = bus.book.get(key) if key else None
    has_name = author is not None and bool(author.name)
    who = "" if author is None else author.name if has_name else author.key_text
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


def _peer_views(bus: BusHome, report: Mapping[str, Any], *, is_up: bool) -> list[PeerView]:
    """Peers that were named, then peers that have come without a name."""
    rows = {bytes.fromhex(peer["key"]): peer for peer in report.get("peers", ())}
    peers = {peer.key: peer for peer in bus.peers()}
    strangers = [bus.peer(public_text(key)) for key in rows if key not in peers]
    return [_peer_view(peer, rows.get(peer.key, {}), report, is_up=is_up) for peer in (*peers.values(), *strangers)]


def _peer_view(peer: KnownPeer, row: Mapping[str, Any], report: Mapping[str, Any], *, is_up: bool) -> PeerView:
    return PeerView(
        key=peer.key_text,
        fingerprint=peer.fingerprint,
        name=peer.name or row.get("name", ""),
        address=peer.address or row.get("address", ""),
        trust=peer.trust,
        state=_state(row, is_up=is_up),
        seen_at=row.get("seen_at"),
        behind=row.get("behind"),
        sent=row.get("sent", 0),
        received=row.get("received", 0),
        refused=row.get("refused", {}),
        refuses=row.get("refuses", {}),
        problem=_problem(peer, row, report) if is_up else "",
    )


def _problem(peer: KnownPeer, row: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    if not row.get("connected"):
        failure: str = report.get("failures", {}).get(peer.address, "")
        return failure or report.get("ends", {}).get(peer.key.hex(), "")
    if _is_recent(row.get("second_at"), report):
        return (
            "It turned another machine away that came with the key of this bank. Two machines must not use one key at "
            "once: on the other one, move the folder bank.db.bus away, then `reasoningbank bus init`."
        )
    if _is_recent(report.get("second_machines", {}).get(peer.key.hex()), report):
        return (
            "Another machine with the same key was turned away while this one is connected; what it has comes when "
            "this one goes. Give it a key of its own: move its folder bank.db.bus away, then `reasoningbank bus init`."
        )
    return ""


def _is_recent(second_at: float | None, report: Mapping[str, Any]) -> bool:
    return second_at is not None and report["at"] - second_at < SECOND_MACHINE_S


def _state(row: Mapping[str, Any], *, is_up: bool) -> str:
    if not is_up:
        return "not_up"
    return "connected" if row.get("connected") else "away"
