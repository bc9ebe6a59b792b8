"""Values of the bus as plain JSON, the same for the command line and REST. Times are ISO 8601 in UTC."""

from __future__ import annotations

from typing import Any

from reasoningbank.bank.json_view import iso
from reasoningbank_bus.peers import KnownPeer
from reasoningbank_bus.views import BusIdentity, BusStatus, GrantView, PeerView, RefusalView, RemoteHit, Withdrawn
from reasoningbank_bus.wire.refusals import SENTENCES


def identity_json(identity: BusIdentity) -> dict[str, Any]:
    return {"key": identity.key, "fingerprint": identity.fingerprint, "new": identity.is_new}


def grant_json(grant: GrantView) -> dict[str, Any]:
    return {
        "id": grant.id,
        "line": grant.line,
        "direction": grant.direction,
        "state": grant.state,
        "issuer": {"fingerprint": grant.issuer, "name": grant.issuer_name},
        "holder": {"fingerprint": grant.holder, "name": grant.holder_name},
        "actions": list(grant.actions),
        "namespaces": list(grant.namespaces),
        "scopes": list(grant.scopes),
        "caps": dict(grant.caps),
        "spent": dict(grant.spent),
        "period_s": grant.period_s,
        "starts_at": iso(grant.starts_at),
        "expires_at": iso(grant.expires_at),
        "delegable": grant.delegable,
        "under": grant.under or None,
    }


def spend_json(grant: GrantView) -> dict[str, Any]:
    fields = grant_json(grant)
    return {name: fields[name] for name in ("id", "direction", "issuer", "holder", "caps", "spent", "period_s")}


def withdrawn_json(withdrawal: Withdrawn) -> dict[str, Any]:
    return {
        "target": withdrawal.target,
        "grants": list(withdrawal.grants),
        "ruling": withdrawal.ruling or None,
        "memories": withdrawal.memories,
        "nodes": withdrawal.nodes,
        "edges": withdrawal.edges,
    }


def peer_json(peer: KnownPeer) -> dict[str, Any]:
    return {
        "key": peer.key_text,
        "fingerprint": peer.fingerprint,
        "name": peer.name,
        "address": peer.address,
        "trust": peer.trust,
    }


def status_json(status: BusStatus) -> dict[str, Any]:
    return {
        "key": status.key or None,
        "fingerprint": status.fingerprint or None,
        "up": status.is_up,
        "process": status.process,
        "listen": status.listen or None,
        "public": status.public or None,
        "up_since_at": iso(status.up_since_at),
        "shares": dict(status.shares),
        "shared": status.shared,
        "taken": status.taken,
        "waiting": status.waiting,
        "refused": dict(status.refused),
        "refusals": [_refusal_json(refusal) for refusal in status.refusals],
        "reasons": {code: SENTENCES[code] for code in status.refused if code in SENTENCES},
        "trouble": status.trouble or None,
        "roots": list(status.roots),
        "peers": [_peer_view_json(peer) for peer in status.peers],
    }


def _refusal_json(refusal: RefusalView) -> dict[str, Any]:
    return {
        "code": refusal.code,
        "count": refusal.count,
        "ours": refusal.is_ours,
        "reason": refusal.reason,
        "author": refusal.author or None,
        "fingerprint": refusal.fingerprint or None,
        "namespace": refusal.namespace or None,
        "remedy": refusal.remedy or None,
    }


def _peer_view_json(peer: PeerView) -> dict[str, Any]:
    return {
        "key": peer.key,
        "fingerprint": peer.fingerprint,
        "name": peer.name,
        "address": peer.address,
        "trust": peer.trust,
        "state": peer.state,
        "seen_at": iso(peer.seen_at),
        "behind": peer.behind,
        "sent": peer.sent,
        "received": peer.received,
        "refused": dict(peer.refused),
        "refuses": dict(peer.refuses),
        "problem": peer.problem or None,
    }


def hit_json(hit: RemoteHit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "title": hit.title,
        "description": hit.description,
        "content": hit.content,
        "namespace": hit.namespace,
        "scope": hit.scope,
        "relevance": hit.relevance,
        "confidence": hit.confidence,
        "origin": hit.origin,
    }
