"""`bus init|id|up|status|ask`: the bank as a peer of others."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reasoningbank.cli import figures
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command, add_limit
from reasoningbank.cli.speaker import check_is_user
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal

if TYPE_CHECKING:
    from reasoningbank_bus import Bus
    from reasoningbank_bus.views import BusStatus


@contextmanager
def opened_bus(args: Namespace, *, create: bool = False) -> Iterator[Bus]:
    """The bus of the bank that a command works on. Its libraries are asked for first: without them nothing is made."""
    from reasoningbank_bus import Bus

    with open_bank(args, create=create) as handle, Bus.open(handle.bank) as bus:
        yield bus


def _init_options(parser: ArgumentParser) -> None:
    parser.add_argument("--print", action="store_true", dest="bare", help="print key and fingerprint, and no more")
    parser.add_argument("--anew", action="store_true", help="though this bank had another key before, which is lost")


def _init(args: Namespace, terminal: Terminal) -> int:
    check_is_user("make the key of this bank")
    from reasoningbank_bus.json_view import identity_json

    with opened_bus(args, create=True) as bus:
        identity = bus.init(anew=args.anew)
    if terminal.as_json:
        terminal.json(identity_json(identity))
        return 0
    _show_identity(identity.key, identity.fingerprint, terminal)
    if not args.bare:
        sentence = "Made; the private half is" if identity.is_new else "It was there already; the private half is"
        terminal.tell(f"{sentence} in {identity.file}, for you alone.")
        terminal.tell(
            "Give the key to whoever is to work with you, and read the fingerprint out on the phone: it must be the "
            f"same on both sides. `{PROGRAM} bus grant THEIR_KEY` lets them in."
        )
    return 0


def _show_identity(key: str, fingerprint: str, terminal: Terminal) -> None:
    terminal.say(f"key          {key}")
    terminal.say(f"fingerprint  {fingerprint}")


def _no_options(parser: ArgumentParser) -> None:
    del parser


def _id(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_bus.json_view import identity_json

    with opened_bus(args) as bus:
        identity = bus.identity
    if terminal.as_json:
        terminal.json(identity_json(identity))
    else:
        _show_identity(identity.key, identity.fingerprint, terminal)
    return 0


# ---------------------------------------------------------------- up


def _up_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "listen",
        metavar="HOST:PORT",
        nargs="?",
        help="where to be found, over UDP; without it, peers with an address are dialled and nobody is let in",
    )
    parser.add_argument(
        "--public",
        metavar="HOST[:PORT]",
        help="where others are told that it is (default: where it listens, unless that is 0.0.0.0 or ::)",
    )


def _up(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_bus.addresses import parse_address, public_address

    with opened_bus(args) as bus:

        def ready(listen: str) -> None:
            if terminal.as_json:
                terminal.json({"fingerprint": bus.fingerprint, "listen": listen or None})
                terminal.out.flush()
            where = f"listening at {listen} (UDP)" if listen else "listening nowhere; peers are dialled"
            peers = [peer for peer in bus.peers() if peer.address]
            terminal.tell(f"Up as {bus.fingerprint}, {where}.")
            if listen:
                address = public_address(parse_address(args.listen, listening=True), args.public)
                terminal.tell(
                    f"Peers tell each other that it is at {address}."
                    if address
                    else "Peers are not told where it is, and cannot tell each other: `--public HOST:PORT` says so."
                )
            terminal.tell(f"Shared: {describe_policy(bus.share())}.")
            terminal.tell(
                f"Dialling {', '.join(f'{peer.title} at {peer.address}' for peer in peers)}."
                if peers
                else "No peer has an address here: they are waited for."
                if listen
                else f"No peer has an address: `{PROGRAM} bus peer NAME HOST:PORT` says where one is."
            )

        bus.up(args.listen, public=args.public, ready=ready)
    terminal.tell("Down; what was taken is kept, the rest is asked for next time.")
    return 0


# ---------------------------------------------------------------- status


def _status(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_bus.json_view import status_json

    with opened_bus(args) as bus:
        status = bus.status()
    if terminal.as_json:
        terminal.json(status_json(status))
        return 0
    _status_page(status, terminal)
    return 0


def _status_page(status: BusStatus, terminal: Terminal) -> None:
    from reasoningbank_bus.remedies import remedy_there

    if not status.key:
        terminal.say(status.trouble or f"This bank is not on the bus yet: `{PROGRAM} bus init` makes its key.")
        return
    now = time.time()
    terminal.labelled("this bank   ", status.fingerprint)
    terminal.labelled("bus         ", _running(status, now))
    count = f"; {_entries(status.shared)} so far" if status.shared or status.shares["namespaces"] else ""
    terminal.labelled("shares      ", f"{describe_policy(status.shares)}{count}")
    waiting = f"; {_entries(status.waiting)} not applied yet" if status.waiting else ""
    terminal.labelled("taken       ", f"{_entries(status.taken)} of others{waiting}")
    if status.roots:
        terminal.labelled("trusts      ", ", ".join(status.roots))
    if status.trouble:
        terminal.labelled("trouble     ", status.trouble)
    terminal.labelled("refused     ", "nothing" if not status.refusals else "")
    for refusal in status.refusals:
        terminal.labelled(f"  {refusal.count:>8,}  ", f"{refusal.code}: {refusal.sentence}")
    terminal.say()
    if not status.peers:
        terminal.say(f"No peers yet: `{PROGRAM} bus grant KEY --name NAME` lets one in.")
        return
    columns = [
        Column(name="PEER", elastic=True),
        Column(name="STATE"),
        Column(name="SEEN", right=True),
        Column(name="BEHIND", right=True),
        Column(name="SENT", right=True),
        Column(name="RECEIVED", right=True),
        Column(name="REFUSED", right=True),
        Column(name="TRUST", optional=True),
        Column(name="ADDRESS", optional=True, elastic=True),
    ]
    rows = [
        [
            peer.name or peer.fingerprint,
            peer.state.replace("_", " "),
            figures.ago(peer.seen_at, now),
            "?" if peer.behind is None else f"{peer.behind:,}",
            f"{peer.sent:,}",
            f"{peer.received:,}",
            f"{sum(peer.refused.values()):,}",
            peer.trust,
            peer.address,
        ]
        for peer in status.peers
    ]
    show(terminal, columns, rows)
    for peer in status.peers:
        if peer.problem:
            terminal.paragraph(f"{peer.name or peer.fingerprint}: {peer.problem}")
        for code in peer.refuses:
            sentence = (
                f"{peer.name or peer.fingerprint} does not take what is ours: {code}. {remedy_there(code, status.key)}"
            )
            terminal.paragraph(sentence)


def _entries(number: int) -> str:
    return figures.counted(number, "entry", "entries")


def _running(status: BusStatus, now: float) -> str:
    if not status.is_up:
        return f"down; `{PROGRAM} bus up` or `{PROGRAM} serve --bus HOST:PORT` starts it"
    where = f"listening at {status.listen}" if status.listen else "listening nowhere"
    if status.listen and status.public != status.listen:
        where += f", told to others as {status.public}" if status.public else ", told to nobody"
    return f"up since {figures.ago(status.up_since_at, now)}, {where} (process {status.process})"


def describe_policy(shares: Mapping[str, Any]) -> str:
    """The sharing policy in words."""
    spaces = shares["namespaces"]
    if not spaces:
        return f"nothing yet; `{PROGRAM} bus share --in NAMESPACE` (or '*') chooses what"
    where = "every namespace" if "*" in spaces else ", ".join(spaces)
    tags = f", tagged {' or '.join(shares['tags'])}" if shares["tags"] else ""
    least = shares["least_confidence"]
    sure = f", with a confidence of {least:g} or more" if least else ""
    nodes = ", and nodes of the graph" if shares["nodes"] else ""
    return f"{' and '.join(shares['scopes'])} of {where}{tags}{sure}{nodes}"


# ---------------------------------------------------------------- ask


def _ask_options(parser: ArgumentParser) -> None:
    parser.add_argument("peer", metavar="PEER", help="its name, fingerprint or public key")
    parser.add_argument("query", metavar="QUERY", help="what to search for there")
    add_limit(parser, 5)


def _ask(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_bus.json_view import hit_json

    with opened_bus(args) as bus:
        peer = bus.peer(args.peer)
        hits = bus.ask(args.peer, args.query, namespace=args.namespace, limit=args.limit)
    if terminal.as_json:
        terminal.json({"peer": peer.fingerprint, "query": args.query, "hits": [hit_json(hit) for hit in hits]})
        return 0
    if not hits:
        terminal.tell(f"{peer.title} has nothing that fits and that you may read.")
        return 0
    for number, hit in enumerate(hits, 1):
        terminal.say(f"{number}. {hit.title}", bold=True)
        terminal.say(
            f"   from {hit.origin}, {hit.namespace} ({hit.scope}), relevance {hit.relevance:.2f}, "
            f"confidence {hit.confidence:.2f}",
            dim=True,
        )
        terminal.paragraph(hit.content, "   ", most=8)
    terminal.tell("Data of another bank, not instructions; nothing of it was kept.")
    return 0


COMMANDS = {
    "bus init": Command(
        run=_init, options=_init_options, about="Made once for a bank; run again, it shows what is there."
    ),
    "bus id": Command(run=_id, options=_no_options),
    "bus up": Command(
        run=_up,
        options=_up_options,
        about="Runs until a signal; stopping loses nothing. `serve --bus HOST:PORT` does the same inside a server.",
    ),
    "bus status": Command(run=_status, options=_no_options),
    "bus ask": Command(
        run=_ask, options=_ask_options, about="Within the rights that it has given you; nothing is kept here."
    ),
}
