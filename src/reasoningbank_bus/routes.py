"""Endpoints for the bus: its key, grants, peers, what is shared, its status, and asking another bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reasoningbank.bank.bank import Bank
from reasoningbank.guard.speakers import require_user
from reasoningbank_bus import schemas as bus_schemas
from reasoningbank_bus.extra import is_installed
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Reply, Routes, always
from reasoningbank_server.problems import Problem

if TYPE_CHECKING:
    from reasoningbank_bus import Bus


@contextmanager
def _bus_of(call: Call, *, decides: bool = False) -> Iterator[Bus]:
    """The bus of the caller's tenant. What only the user decides is refused to an agent's credentials."""
    from reasoningbank_bus import Bus

    if decides:
        require_user(call.principal.origin, "decide this")
    with Bus.open(call.bank) as bus:
        yield bus


def _init(call: Call) -> Reply:
    with _bus_of(call, decides=True) as bus:
        from reasoningbank_bus.json_view import identity_json

        return Reply(body=identity_json(bus.init(**call.body)))


def _status(call: Call) -> Reply:
    with _bus_of(call) as bus:
        from reasoningbank_bus.json_view import status_json

        return Reply(body=status_json(bus.status()))


def _grants(call: Call) -> Reply:
    with _bus_of(call) as bus:
        from reasoningbank_bus.json_view import grant_json

        return Reply(body={"grants": [grant_json(grant) for grant in bus.grants()]})


def _grant(call: Call) -> Reply:
    fields = dict(call.body)
    holder, name = fields.pop("holder"), fields.pop("name", None)
    for field in ("actions", "namespaces", "scopes"):
        if field in fields:
            fields[field] = tuple(fields[field])
    with _bus_of(call, decides=True) as bus:
        from reasoningbank_bus.json_view import grant_json

        return Reply(status=201, body=grant_json(bus.grant(holder, name=name, **fields)))


def _accept(call: Call) -> Reply:
    with _bus_of(call, decides=True) as bus:
        from reasoningbank_bus.json_view import grant_json

        return Reply(status=201, body=grant_json(bus.accept(call.body["line"], name=call.body.get("name"))))


def _revoke(call: Call) -> Reply:
    with _bus_of(call, decides=True) as bus:
        from reasoningbank_bus.json_view import withdrawn_json

        return Reply(body=withdrawn_json(bus.revoke(call.body["target"])))


def _spend(call: Call) -> Reply:
    with _bus_of(call) as bus:
        from reasoningbank_bus.json_view import spend_json

        return Reply(body={"spend": [spend_json(grant) for grant in bus.spend()]})


def _roots(call: Call) -> Reply:
    with _bus_of(call) as bus:
        return Reply(body=_roots_json(bus))


def _trust(call: Call) -> Reply:
    with _bus_of(call, decides=True) as bus:
        bus.trust(call.body["key"], remove=call.body.get("remove", False))
        return Reply(body=_roots_json(bus))


def _roots_json(bus: Bus) -> dict[str, Any]:
    return {"roots": [{"fingerprint": root.fingerprint, "name": root.name} for root in bus.roots()]}


def _peers(call: Call) -> Reply:
    with _bus_of(call) as bus:
        return Reply(body=_peers_json(bus))


def _peer(call: Call) -> Reply:
    fields = dict(call.body)
    peer, remove = fields.pop("peer"), fields.pop("remove", False)
    with _bus_of(call, decides=True) as bus:
        if remove:
            bus.remove_peer(peer)
        else:
            bus.add_peer(fields.pop("address", None), peer, **fields)
        return Reply(body=_peers_json(bus))


def _peers_json(bus: Bus) -> dict[str, Any]:
    from reasoningbank_bus.json_view import peer_json

    return {"peers": [peer_json(peer) for peer in bus.peers()]}


def _policy(call: Call) -> Reply:
    with _bus_of(call) as bus:
        return Reply(body=dict(bus.share()))


def _share(call: Call) -> Reply:
    with _bus_of(call, decides=True) as bus:
        return Reply(body=dict(bus.share(**call.body)))


def _ask(call: Call) -> Reply:
    body = call.body
    options = {name: body[name] for name in ("namespace", "limit") if name in body}
    with _bus_of(call) as bus:
        from reasoningbank_bus.json_view import hit_json
        from reasoningbank_bus.quic.problems import PeerUnreachable

        peer = bus.peer(body["peer"])
        try:
            hits = bus.ask(body["peer"], body["query"], **options)
        except PeerUnreachable as error:
            raise Problem(424, "peer_unreachable", str(error)) from error
    return Reply(body={"peer": peer.fingerprint, "query": body["query"], "hits": [hit_json(hit) for hit in hits]})


def _row(method: str, path: str, summary: str, handle: Callable[[Call], Reply], reply: Any, **rest: Any) -> Endpoint:
    """A row of the bus. What changes something is kept in files of its own, so it is no unit with its answer."""
    if method != "GET":
        rest = {"apart": always, **rest}
    return Endpoint(
        method=method,
        path=path,
        scope="admin",
        group="bus",
        summary=summary,
        handle=handle,
        reply=reply,
        errors=(404, 409, 424, 501) if path.endswith("/ask") else (404, 409, 501),
        **rest,
    )


_GRANT = {"holder": "rbk1AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "name": "ben", "caps": {"records": 1000}}
ENDPOINTS = (
    _row("GET", "/v1/bus", "Peers, what went out, came in and was refused", _status, schemas.ref("BusStatus")),
    _row(
        "POST",
        "/v1/bus/init",
        "Make this bank's key, or show the one that is there",
        _init,
        bus_schemas.IDENTITY,
        body=bus_schemas.INIT,
        example={},
    ),
    _row("GET", "/v1/bus/grants", "Grants that were given, are held, or were seen", _grants, bus_schemas.GRANTS),
    _row(
        "POST",
        "/v1/bus/grants",
        "Give another bank rights here, within limits",
        _grant,
        schemas.ref("BusGrant"),
        body=bus_schemas.GRANT,
        example=_GRANT,
        status=201,
    ),
    _row(
        "POST",
        "/v1/bus/accept",
        "Keep a grant that another bank has given to this one",
        _accept,
        schemas.ref("BusGrant"),
        body=bus_schemas.ACCEPT,
        example={"line": "rbi1…"},
        status=201,
    ),
    _row("GET", "/v1/bus/spend", "What is used of each cap", _spend, bus_schemas.SPEND),
    _row("GET", "/v1/bus/peers", "Peers that were named here", _peers, bus_schemas.PEERS),
    _row(
        "POST",
        "/v1/bus/peers",
        "Say where a peer is, what it is called and how far it is believed; or forget it",
        _peer,
        bus_schemas.PEERS,
        body=bus_schemas.KNOWN_PEER,
        example={"peer": "ben", "address": "192.168.1.20:8711", "trust": "working"},
    ),
    _row("GET", "/v1/bus/roots", "Keys that decide here beside our own", _roots, bus_schemas.ROOTS),
    _row(
        "POST",
        "/v1/bus/roots",
        "Let another key decide here as ours does, or no longer",
        _trust,
        bus_schemas.ROOTS,
        body=bus_schemas.KEY,
        example={"key": "ben"},
    ),
    _row("GET", "/v1/bus/policy", "What is shared", _policy, schemas.ref("BusPolicy")),
    _row(
        "PATCH",
        "/v1/bus/policy",
        "Choose what is shared; what is not named stays",
        _share,
        schemas.ref("BusPolicy"),
        body=bus_schemas.SHARE,
        example={"namespaces": ["api"], "least_confidence": 0.7},
    ),
    _row(
        "POST",
        "/v1/bus/ask",
        "Search in another bank; nothing is kept here",
        _ask,
        bus_schemas.HITS,
        body=bus_schemas.ASK,
        example={"peer": "ben", "query": "may I retry a POST?", "limit": 5},
    ),
    _row(
        "POST",
        "/v1/bus/revoke",
        "Take a grant back, or a peer out with all that came of it",
        _revoke,
        schemas.ref("BusRevoked"),
        body=bus_schemas.REVOKE,
        example={"target": "ben"},
    ),
)


def _is_in_use(bank: Bank) -> bool:
    """True if the bank has a key for the bus, and its libraries are there; they are loaded for no other bank."""
    folder = bank.context.store.info.location.folder("bus")
    if folder is None or not folder.is_dir() or not is_installed():
        return False
    from reasoningbank_bus import Bus

    with Bus.open(bank) as bus:
        return bus.is_initialised


ROUTES = Routes(endpoints=ENDPOINTS, schemas=bus_schemas.COMPONENTS, is_in_use=_is_in_use)
