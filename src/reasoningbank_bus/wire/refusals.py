"""Why the bus refuses something: one table of codes, each with its sentence, and the error that carries one.

A code is part of the protocol (docs/bus.md) and never changes its meaning; the sentence is for people and may.
"""

from __future__ import annotations

from reasoningbank.core.errors import Refused

SENTENCES = {
    "malformed": "These bytes are not what the protocol says should stand here.",
    "too_long": "This is longer than the protocol allows.",
    "version": "This is of a version of the protocol that this program does not speak; update the older side.",
    "not_authenticated": "The other side has not proved that it has the key that it claims.",
    "signature": "The signature does not belong to this author and these bytes.",
    "unknown_author": "Nobody here knows this author: no grant names it, and it is no root.",
    "unknown_intent": "The grant that this names has not arrived here, or one that it was derived from has not.",
    "no_right": "No grant gives its author the right to do this.",
    "wrong_namespace": "The grant that this names does not reach into this namespace.",
    "wrong_scope": "The grant that this names does not reach this scope; what is of a project is never shared.",
    "wrong_tenant": "This belongs to another tenant.",
    "not_yet_valid": "The grant that this names is not valid yet.",
    "expired": "The grant that this names has expired.",
    "revoked": "The grant that this names was revoked.",
    "widened": "A derived grant may only give less than the one that it was derived from.",
    "cap_spent": "What the grant allows is spent; it is allowed again when its period ends, if it has one.",
    "from_the_future": "This was written later than it is now; one of the two clocks is wrong.",
    "erased": "This record was erased, and stays so.",
    "over_limit": "More came at once than this side takes from one peer; slow down.",
    "replayed": "This was sent before in the same connection; nothing is done twice.",
    "replayed_early": "What changes something may not be sent as early data, which can be replayed.",
    "key_twice": "Another machine with the same key came here as well, and was turned away.",
    "shut_out": "This peer has sent too much that was refused; it may come back in ten minutes.",
}


class BusRefusal(Refused):
    """Something that the bus does not take. `about` names what: an entry, an intent or an author, by its bytes."""

    def __init__(self, code: str, detail: str = "", *, about: bytes = b"") -> None:
        sentence = SENTENCES[code]
        super().__init__(f"{sentence} ({detail})" if detail else sentence)
        self.code = code
        self.about = about
