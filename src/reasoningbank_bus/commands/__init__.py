"""The commands of the bus, by name."""

from __future__ import annotations

from reasoningbank.cli.table import CommandEntry

COMMANDS = {
    "bus init": CommandEntry("serve", "make this bank's key, and print its public half", f"{__name__}.node"),
    "bus id": CommandEntry("serve", "print the public key and its fingerprint", f"{__name__}.node"),
    "bus grant": CommandEntry("serve", "give another bank rights here, within limits", f"{__name__}.rights"),
    "bus accept": CommandEntry("serve", "keep a grant that another bank has given you", f"{__name__}.rights"),
    "bus grants": CommandEntry("serve", "list the grants that were given and are held", f"{__name__}.rights"),
    "bus revoke": CommandEntry(
        "serve", "take a grant back, or a peer out with all that came of it", f"{__name__}.rights"
    ),
    "bus spend": CommandEntry("serve", "show what is used of each cap", f"{__name__}.rights"),
    "bus trust": CommandEntry("serve", "let another key decide here, as yours does", f"{__name__}.rights"),
    "bus peer": CommandEntry("serve", "say where another bank is, and how far to believe it", f"{__name__}.peers"),
    "bus share": CommandEntry("serve", "choose what is shared, or show it", f"{__name__}.peers"),
    "bus status": CommandEntry("serve", "show peers, what went out, came in and was refused", f"{__name__}.node"),
    "bus ask": CommandEntry("serve", "search in another bank", f"{__name__}.node"),
    "bus up": CommandEntry("serve", "exchange with the peers until a signal", f"{__name__}.node"),
}
