"""Problems with an address: nobody answers, something else does, or another node than the one expected."""

from __future__ import annotations

from reasoningbank.core.errors import BankError, Refused


class PeerUnreachable(BankError):
    """Nothing at that address speaks this protocol, or it stopped doing so."""


class PeerRefusal(Refused):
    """A peer does not do what it was asked for."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


class PeerMistaken(Refused):
    """A node answered, but not the one whose key was expected."""
