"""`bus peer|share`: where other banks are, how far each is believed, and what goes out to them."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, Namespace

from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.speaker import check_is_user
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank_bus.commands.node import describe_policy, opened_bus


def _peer_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "peer", metavar="PEER", nargs="?", help="its name, fingerprint or public key; none lists them all"
    )
    parser.add_argument("address", metavar="HOST:PORT", nargs="?", help="where to dial it")
    parser.add_argument("--name", metavar="NAME", help="to know it by here")
    parser.add_argument(
        "--trust",
        choices=("quarantined", "untrusted", "working"),
        help="how far what it brings is believed (untrusted: found, and quoted as data)",
    )
    parser.add_argument("--remove", action="store_true", help="forget it; its grants stay, `bus revoke` takes them")


def _peer(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_bus.json_view import peer_json

    changing = args.address is not None or args.name is not None or args.trust is not None or args.remove
    if args.peer is None and changing:
        raise InvalidInput("Say which peer: its name, fingerprint or public key.")
    with opened_bus(args) as bus:
        if args.remove:
            check_is_user("forget a peer")
            peer = bus.remove_peer(args.peer)
            message = f"{peer.title} is forgotten."
        elif changing:
            check_is_user("say what a peer is")
            peer = bus.add_peer(args.address, args.peer, name=args.name, trust=args.trust)
            message = f"{peer.title}: {peer.fingerprint}, {_where(peer.address)}, {peer.trust}"
        else:
            message = ""
        peers = bus.peers() if args.peer is None else [] if args.remove else [bus.peer(args.peer)]
    if terminal.as_json:
        terminal.json({"peers": [peer_json(peer) for peer in peers]})
    elif message:
        terminal.say(message)
    elif not peers:
        terminal.tell(f"No peers yet: `{PROGRAM} bus peer KEY HOST:PORT --name NAME` names one.")
    else:
        columns = [
            Column(name="PEER", elastic=True),
            Column(name="FINGERPRINT"),
            Column(name="TRUST"),
            Column(name="ADDRESS", elastic=True),
        ]
        show(terminal, columns, [[p.name, p.fingerprint, p.trust, _where(p.address)] for p in peers])
    return 0


def _where(address: str) -> str:
    return address or "comes by itself"


def _share_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--in", dest="spaces", action="append", metavar="NAMESPACE", help="repeatable; also PREFIX/* or *; '' is none"
    )
    parser.add_argument("--scope", action="append", choices=("team", "org"), help="repeatable")
    parser.add_argument(
        "--tag", action="append", metavar="TAG", help="repeatable; one of them must be there; '' is any"
    )
    parser.add_argument("--nodes", action=BooleanOptionalAction, help="also nodes of the memory graph, as a team's")
    parser.add_argument("--min-confidence", type=float, metavar="X", help="from 0 to 1")


def _share(args: Namespace, terminal: Terminal) -> int:
    options = {
        "namespaces": None if args.spaces is None else [space for space in args.spaces if space],
        "scopes": args.scope,
        "tags": None if args.tag is None else [tag for tag in args.tag if tag],
        "least_confidence": args.min_confidence,
        "nodes": args.nodes,
    }
    changes = {name: value for name, value in options.items() if value is not None}
    with opened_bus(args) as bus:
        if changes:
            check_is_user("say what is shared")
        shares = bus.share(**changes)
    if terminal.as_json:
        terminal.json(dict(shares))
    else:
        terminal.say(f"Shared: {describe_policy(shares)}.")
        if shares["namespaces"]:
            terminal.say("Never: what is scoped to a project, untrusted, in quarantine, or came from a peer.")
        if changes:
            terminal.tell("What has gone out already is out: `reasoningbank delete ID --erase` takes a memory back.")
    return 0


COMMANDS = {
    "bus peer": Command(run=_peer, options=_peer_options),
    "bus share": Command(
        run=_share, options=_share_options, about="Without options it shows what is shared. What is not named stays."
    ),
}
