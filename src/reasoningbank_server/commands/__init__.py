"""The commands of the server, by name: its page and its tokens. `serve` itself is the core's."""

from __future__ import annotations

from reasoningbank.cli.table import CommandEntry

COMMANDS = {
    "ui": CommandEntry("ask", "look at the bank in a browser", f"{__name__}.ui"),
    "token create": CommandEntry("serve", "make a token for a tenant", f"{__name__}.token"),
    "token list": CommandEntry("serve", "list tokens; never their secrets", f"{__name__}.token"),
    "token revoke": CommandEntry("serve", "take a token back", f"{__name__}.token"),
}
