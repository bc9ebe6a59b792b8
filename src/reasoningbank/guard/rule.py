"""The `SecretRule` type of a token format; the formats themselves are in `rules` and `services`."""

from __future__ import annotations

from typing import NamedTuple

W = r"[\w-]"
HEX = "[0-9a-fA-F]"
UUID = rf"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}"


class SecretRule(NamedTuple):
    name: str
    anchors: tuple[str, ...]
    """Signs of which one is in every such token, as it is written."""
    shape: str
    """Pattern of the whole token. A group `body` is the part drawn by lot; without it, all of it is."""
    bounded: bool = False
    """The anchor is short enough to be the end of a word: no letter or digit may stand before the token."""
    lead: int = 0
    """How many characters of the token come before the anchor."""
