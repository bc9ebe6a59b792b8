"""Origins of memories (user, agent, hook, tool, peer, import) and how far each kind is trusted.

The one table of trust. A name is only a claim: who may claim what is decided by `guard.speakers`, what a memory is
worth after its parents and rulings in `guard`.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from functools import lru_cache

from reasoningbank.core.errors import InvalidInput, Refused
from reasoningbank.core.patterns import pattern

USER = "user"
AGENT = "agent"
HOOK = "hook"
"""`hook:AGENT`: a session that our own hooks captured, and what it taught; the source of the evidence that it gave."""
IMPORT = "import"
PEER = "peer"
MAX_ORIGIN_CHARS = 200


class Trust(IntEnum):
    """Trust levels, ordered: the least of several is their `min`."""

    UNTRUSTED = 0
    """May be quoted, at most one in five, inside an envelope."""
    WORKING = 1
    """An agent of ours found it out; reference like any other, but nothing vouches for it."""
    TRUSTED = 2
    """The user said it, or approved it."""

    def __str__(self) -> str:
        return self.name.lower()


class PeerTrust(StrEnum):
    """Trust that the user gives a peer. Never `trusted`: that is for one memory at a time, by approving it."""

    QUARANTINED = "quarantined"
    """Nothing of it is found or counts until somebody approves it: a peer that nobody has spoken of."""
    UNTRUSTED = "untrusted"
    """Found, and quoted as data like what a tool said."""
    WORKING = "working"
    """Believed as an agent of ours is."""

    @property
    def level(self) -> Trust:
        return Trust.WORKING if self is PeerTrust.WORKING else Trust.UNTRUSTED


LEVELS: dict[str, Trust] = {
    USER: Trust.TRUSTED,
    AGENT: Trust.WORKING,
    HOOK: Trust.WORKING,
    "tool": Trust.UNTRUSTED,
    PEER: Trust.UNTRUSTED,
    "import": Trust.UNTRUSTED,
}
"""Trust levels by the kind of an origin, the word before its colon. A kind that is not here is untrusted."""
_CONTROL = pattern(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


_BY_FINGERPRINT = pattern(r"peer:rb1(?:-[a-z2-7]{4}){4}")
FINGERPRINT_ORIGIN_CHARS = 28
"""How long every origin is that a key gives."""


def is_by_fingerprint(origin: str) -> bool:
    """True if it is the origin that a key gives, in which nothing else can be written: no name and no secret."""
    return len(origin) == FINGERPRINT_ORIGIN_CHARS and _BY_FINGERPRINT.fullmatch(origin) is not None


def kind_of(origin: str) -> str:
    return origin.partition(":")[0]


def level_of(origin: str) -> Trust:
    return LEVELS.get(kind_of(origin), Trust.UNTRUSTED)


def trust_named(name: object) -> Trust:
    for level in Trust:
        if name in (str(level), level):
            return level
    raise InvalidInput(f"trust {name!r} is unknown: use one of {', '.join(str(level) for level in reversed(Trust))}.")


# The same few origins come with every memory.
@lru_cache(maxsize=1024)
def clean_origin(origin: str, *, is_stored: bool = False) -> str:
    """`user`, `agent`, `tool:NAME`, `peer:KEY` or `import:NAME`; a user or an agent may be named too.

    `is_stored` is for an origin that records have already: only such a one may be `hook:AGENT`, which nobody may claim.
    """
    if not isinstance(origin, str):
        raise InvalidInput(f"origin must be text, not {type(origin).__name__}.")
    text = origin.strip()
    kind, colon, name = text.partition(":")
    if kind not in LEVELS or (colon and not name.strip()):
        raise InvalidInput(f"origin {text[:60]!r} is unknown: use user, agent, tool:NAME, peer:KEY or import:NAME.")
    if len(text) > MAX_ORIGIN_CHARS or _CONTROL.search(text):
        raise InvalidInput(f"origin {text[:60]!r} must be one line of at most {MAX_ORIGIN_CHARS} characters.")
    if kind == HOOK and not is_stored:
        raise Refused(
            f"The origin {text[:60]!r} cannot be claimed: only the hooks of a coding agent stamp it. Use agent."
        )
    return text
