"""`token create|list|revoke`: who may reach this bank over HTTP."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from typing import Any

from reasoningbank.bank.json_view import iso
from reasoningbank.cli import figures
from reasoningbank.cli.banks import existing, open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.moments import lifetime_s
from reasoningbank.cli.speaker import check_is_user
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.origins import USER
from reasoningbank.core.types import AccessToken
from reasoningbank_server import tokens

DEFAULT_LIFETIME = "30d"


def _create_options(parser: ArgumentParser) -> None:
    parser.add_argument("--tenant", metavar="NAME", required=True, help="whose memories; `local` is this user's own")
    parser.add_argument("--scope", choices=tokens.SCOPES, required=True, help="each includes those before it")
    parser.add_argument(
        "--expires", default=DEFAULT_LIFETIME, metavar="TIME", help=f"12h, 30d, 1y or never ({DEFAULT_LIFETIME})"
    )
    parser.add_argument("--name", default="", metavar="NAME", help="to know it by in the list")
    parser.add_argument(
        "--origin", choices=tokens.ORIGINS, default="agent", help="what its memories count as at most (agent)"
    )


def _create(args: Namespace, terminal: Terminal) -> int:
    lifetime = lifetime_s(args.expires)
    if args.origin == USER:
        check_is_user("make a token that speaks for the user")
    with open_bank(args, create=True) as handle:
        text, token = tokens.create(
            handle.bank.context.store,
            tenant=args.tenant,
            scope=args.scope,
            name=args.name,
            origin=args.origin,
            lifetime_s=lifetime,
            now=time.time(),
            random_bytes=os.urandom,
        )
    if terminal.as_json:
        terminal.json({"token": text, **_json(token, time.time())})
    else:
        terminal.say(text)
        terminal.tell(f"Shown this once: keep it safe. `{PROGRAM} token revoke {token.id}` takes it back.")
    return 0


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--tenant", metavar="NAME", help="only of this one")


def _list(args: Namespace, terminal: Terminal) -> int:
    now = time.time()
    with open_bank(args) as handle:
        entries = [t for t in handle.bank.context.store.tokens() if args.tenant in (None, t.tenant)]
    if terminal.as_json:
        terminal.json({"tokens": [_json(token, now) for token in entries]})
        return 0
    if not entries:
        terminal.tell(f"No tokens yet: `{PROGRAM} token create --tenant NAME --scope read` makes one.")
        return 0
    columns = [
        Column(name="ID"),
        Column(name="TENANT"),
        Column(name="SCOPE"),
        Column(name="STATE"),
        Column(name="CREATED", right=True),
        Column(name="NAME", elastic=True),
    ]
    rows = [
        [t.id, t.tenant, " ".join(t.scopes), _state(t, now), figures.ago(t.created_at, now), t.name] for t in entries
    ]
    show(terminal, columns, rows)
    return 0


def _revoke_options(parser: ArgumentParser) -> None:
    parser.add_argument("token", metavar="ID", help="as `token list` shows it")


def _revoke(args: Namespace, terminal: Terminal) -> int:
    with existing(args) as bank:
        token = tokens.revoke(bank.context.store, args.token, time.time())
    if terminal.as_json:
        terminal.json(_json(token, time.time()))
    else:
        terminal.result(token.id, "revoked; every server on this bank refuses it from now on")
    return 0


def _state(token: AccessToken, now: float) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if not token.intact:
        return "altered"
    return "valid" if tokens.is_valid(token, now) else "expired"


def _json(token: AccessToken, now: float) -> dict[str, Any]:
    return {
        "id": token.id,
        "tenant": token.tenant,
        "name": token.name,
        "scopes": list(token.scopes),
        "origin": token.origin,
        "state": _state(token, now),
        "created_at": iso(token.created_at),
        "expires_at": iso(token.expires_at),
        "revoked_at": iso(token.revoked_at),
    }


COMMANDS = {
    "token create": Command(run=_create, options=_create_options),
    "token list": Command(run=_list, options=_list_options),
    "token revoke": Command(run=_revoke, options=_revoke_options),
}
