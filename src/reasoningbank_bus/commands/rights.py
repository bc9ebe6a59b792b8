"""`bus grant|accept|grants|revoke|spend|trust`: who may do what over the bus, and how much."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.cli import figures
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.speaker import check_is_user
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank_bus.commands.node import opened_bus

if TYPE_CHECKING:
    from reasoningbank_bus.views import GrantView

_SHOWN_OF_ID = 12
_PERIODS = {3600: "an hour", 86_400: "a day", 7 * 86_400: "a week"}


def _grant_options(parser: ArgumentParser) -> None:
    from reasoningbank_bus.views import ACTIONS, CAPS, SHARED_SCOPES, USUAL_ACTIONS

    parser.add_argument("holder", metavar="KEY", help="their public key (rbk1…), or the name of a peer")
    parser.add_argument("--name", metavar="NAME", help="to know them by here")
    parser.add_argument(
        "--may", metavar="ACTIONS", help=f"some of {','.join(ACTIONS)} (default {','.join(USUAL_ACTIONS)})"
    )
    parser.add_argument(
        "--in", dest="spaces", action="append", metavar="NAMESPACE", help="repeatable; also PREFIX/* or * (default *)"
    )
    parser.add_argument("--scope", action="append", choices=SHARED_SCOPES, help="repeatable (default both)")
    parser.add_argument(
        "--cap", action="append", default=[], metavar="WHAT=N", help=f"repeatable; {', '.join(CAPS)} (default none)"
    )
    parser.add_argument(
        "--per", default="1d", metavar="TIME", help="the period of the caps: 1h, 1d, 30d, or life (default 1d)"
    )
    parser.add_argument("--expires", default="90d", metavar="TIME", help="12h, 30d, 1y (default 90d)")
    parser.add_argument("--delegable", action="store_true", help="they may hand on as much or less")
    parser.add_argument("--under", default="", metavar="ID", help="hand on a part of this grant, which you hold")


def _grant(args: Namespace, terminal: Terminal) -> int:
    check_is_user("grant rights over the bus")
    from reasoningbank_bus.json_view import grant_json
    from reasoningbank_bus.views import SHARED_SCOPES, USUAL_ACTIONS, GrantTerms

    terms = GrantTerms(
        actions=USUAL_ACTIONS if args.may is None else tuple(word for word in args.may.replace(",", " ").split()),
        namespaces=tuple(args.spaces or ("*",)),
        scopes=tuple(args.scope or SHARED_SCOPES),
        caps=_caps(args.cap),
        period_s=0 if args.per == "life" else int(_seconds(args.per, "--per")),
        lifetime_s=_seconds(args.expires, "--expires"),
        delegable=args.delegable,
        under=args.under,
    )
    with opened_bus(args) as bus:
        grant = bus.grant(args.holder, terms, name=args.name)
    if terminal.as_json:
        terminal.json(grant_json(grant))
        return 0
    terminal.say(grant.line)
    terminal.tell(f"{_party(grant.holder_name, grant.holder)} may {_describe_grant(grant)}.")
    terminal.tell(
        f"Compare the fingerprint {grant.holder}, then send the line above to them. There: {PROGRAM} bus accept LINE"
    )
    return 0


def _caps(words: Sequence[str]) -> dict[str, int]:
    from reasoningbank_bus.views import CAPS

    caps = {}
    for word in words:
        what, _, number = word.partition("=")
        if what not in CAPS or not (number.isascii() and number.isdigit()):
            raise InvalidInput(f"--cap takes WHAT=N, with one of {', '.join(CAPS)}: not {word!r}.")
        caps[what] = int(number)
    return caps


def _seconds(text: str, option: str) -> float:
    from reasoningbank.cli.moments import lifetime_s

    length = lifetime_s(text)
    if length is None:
        raise InvalidInput(f"{option} cannot be never: what is granted ends some day. Say for example 1y.")
    return length


def _party(name: str, fingerprint: str) -> str:
    return f"{name} ({fingerprint})" if name else fingerprint


def _describe_grant(grant: GrantView) -> str:
    """A grant in words: "record and search in api (team), at most 1,000 records a day, until 2026-12-01"."""
    spaces = "every namespace" if "*" in grant.namespaces else ", ".join(grant.namespaces)
    amounts = [figures.size(number) if what == "bytes" else f"{number:,} {what}" for what, number in grant.caps.items()]
    limit = f", at most {_word_list(amounts)} {_period(grant.period_s)}" if amounts else ""
    begins = f", from {_minute(grant.starts_at)}" if grant.state == "not_yet_valid" else ""
    life = f"{begins}, until {_minute(grant.expires_at)}"
    further = "; it may be handed on" if grant.delegable else ""
    return f"{_word_list(grant.actions)} in {spaces} ({_word_list(grant.scopes)}){limit}{life}{further}"


def _minute(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _word_list(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _period(seconds: int) -> str:
    if not seconds:
        return "in all"
    if seconds in _PERIODS:
        return _PERIODS[seconds]
    days, rest = divmod(seconds, 86_400)
    return f"in {days} days" if not rest else f"in {seconds // 3600} hours" if not seconds % 3600 else f"in {seconds} s"


# ---------------------------------------------------------------- accept


def _accept_options(parser: ArgumentParser) -> None:
    parser.add_argument("line", metavar="LINE", help="a grant (rbi1…) as you were sent it; - reads standard input")
    parser.add_argument("--name", metavar="NAME", help="to know by here who has given it")


def _accept(args: Namespace, terminal: Terminal) -> int:
    check_is_user("accept rights over the bus")
    from reasoningbank_bus.json_view import grant_json

    line = sys.stdin.read() if args.line == "-" else args.line
    with opened_bus(args) as bus:
        grant = bus.accept(line, name=args.name)
    if terminal.as_json:
        terminal.json(grant_json(grant))
        return 0
    terminal.say(f"{_party(grant.issuer_name, grant.issuer)} lets you {_describe_grant(grant)}.")
    terminal.tell("Compare that fingerprint with theirs.")
    return 0


# ---------------------------------------------------------------- grants, spend


def _grants_options(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also those that are over, and those between others")


def _grants(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_bus.json_view import grant_json

    with opened_bus(args) as bus:
        grants = [
            g for g in bus.grants() if args.all or (g.state in ("valid", "not_yet_valid") and g.direction != "seen")
        ]
    if terminal.as_json:
        terminal.json({"grants": [grant_json(grant) for grant in grants]})
        return 0
    if not grants:
        terminal.tell(f"No grants{'' if args.all else ' in force'}: `{PROGRAM} bus grant KEY` makes one.")
        return 0
    columns = [
        Column(name="ID"),
        Column(name="FROM"),
        Column(name="TO"),
        Column(name="MAY", elastic=True),
        Column(name="STATE"),
    ]
    rows = [
        [
            grant.id[:_SHOWN_OF_ID],
            "you" if grant.direction == "given" else grant.issuer_name or grant.issuer,
            "you" if grant.direction == "held" else grant.holder_name or grant.holder,
            _describe_grant(grant),
            grant.state.replace("_", " "),
        ]
        for grant in grants
    ]
    show(terminal, columns, rows)
    return 0


def _spend(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_bus.json_view import spend_json

    with opened_bus(args) as bus:
        grants = bus.spend()
    if terminal.as_json:
        terminal.json({"spend": [spend_json(grant) for grant in grants]})
        return 0
    if not grants:
        terminal.tell("No grant in force has a cap: nothing is counted against one.")
        return 0
    columns = [
        Column(name="GRANT"),
        Column(name="FROM"),
        Column(name="TO"),
        Column(name="WHAT"),
        Column(name="SPENT", right=True),
        Column(name="CAP", right=True),
        Column(name="PERIOD"),
    ]
    rows = [
        [
            grant.id[:_SHOWN_OF_ID],
            "you" if grant.direction == "given" else grant.issuer_name or grant.issuer,
            "you" if grant.direction == "held" else grant.holder_name or grant.holder,
            what,
            f"{grant.spent.get(what, 0):,}",
            f"{cap:,}",
            _period(grant.period_s),
        ]
        for grant in grants
        for what, cap in grant.caps.items()
    ]
    show(terminal, columns, rows)
    return 0


def _no_options(parser: ArgumentParser) -> None:
    del parser


# ---------------------------------------------------------------- revoke, trust


def _revoke_options(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="PEER|ID", help="a peer, with all that came of it; or one grant")


def _revoke(args: Namespace, terminal: Terminal) -> int:
    check_is_user("revoke rights over the bus")
    from reasoningbank_bus.json_view import withdrawn_json

    with opened_bus(args) as bus:
        withdrawal = bus.revoke(args.target)
    if terminal.as_json:
        terminal.json(withdrawn_json(withdrawal))
        return 0
    parts = [figures.counted(len(withdrawal.grants), "grant") + " revoked"]
    if withdrawal.ruling:
        came = figures.counted(withdrawal.memories, "memory", "memories") + " quarantined"
        parts.append(came if withdrawal.memories else "nothing here came of it")
        if withdrawal.nodes or withdrawal.edges:
            nodes, edges = figures.counted(withdrawal.nodes, "node"), figures.counted(withdrawal.edges, "edge")
            parts.append(f"{nodes} and {edges} hidden")
    terminal.say(f"{withdrawal.target}: {', '.join(parts)}. Nothing more of it is taken.")
    if withdrawal.memories:
        terminal.tell(f"To bring the memories back: {PROGRAM} trust undo {withdrawal.ruling}")
    return 0


def _trust_options(parser: ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="a public key, or the name of a peer; none lists them")
    parser.add_argument("--remove", action="store_true", help="it no longer decides here")


def _trust(args: Namespace, terminal: Terminal) -> int:
    with opened_bus(args) as bus:
        if args.key is not None:
            check_is_user("let another key decide here")
            peer = bus.peer(args.key)
            bus.trust(args.key, remove=args.remove)
        roots = bus.roots()
    if terminal.as_json:
        terminal.json({"roots": [{"fingerprint": root.fingerprint, "name": root.name} for root in roots]})
    elif args.key is not None:
        ends = (
            "no longer decides here; what was granted under it has ended" if args.remove else "decides here as you do"
        )
        terminal.say(f"{_party(peer.name, peer.fingerprint)} {ends}.")
    elif not roots:
        terminal.tell("No other key decides here: only what you have granted yourself is taken.")
    else:
        for root in roots:
            terminal.say(_party(root.name, root.fingerprint))
    return 0


COMMANDS = {
    "bus grant": Command(
        run=_grant,
        options=_grant_options,
        about="The line that it prints is no secret: it is of use only to the holder of that key.",
    ),
    "bus accept": Command(run=_accept, options=_accept_options),
    "bus grants": Command(run=_grants, options=_grants_options),
    "bus revoke": Command(
        run=_revoke,
        options=_revoke_options,
        about="A peer loses every grant, and what came of it is quarantined; `trust undo` brings the memories back.",
    ),
    "bus spend": Command(run=_spend, options=_no_options, about="Counted on the disk: a restart gives nothing back."),
    "bus trust": Command(
        run=_trust,
        options=_trust_options,
        about="What that key grants counts here as if you had granted it: for the office's key, and nobody else's.",
    ),
}
