"""Decides who may claim which origin, for every door.

    who speaks                                              is            may also say
    the library in the user's own process                   user          any origin
    the command line, run by a person                       user          (no option offers an origin)
    the command line, run by a coding agent                 agent
    an agent over MCP, whatever its credentials             agent         tool:NAME
    REST, by the origin of its credentials                  user, agent   what is believed less: agent, tool:NAME
    REST without credentials, on this machine               agent         tool:NAME
    a session that our own hooks captured                   hook:AGENT
    a session that another door took                        as that door, never user; the lesser origin in its metadata
    a transcript read as a file                             import:NAME   agent, if it is an agent's own
    a lesson, whoever distilled it                          as its session
    a file that is imported                                 import:NAME   the lesser origin that it says, no peer's
    a peer, by the key that signed it (`bus.exchange`)      peer:KEY

Nobody names a peer or an import for itself: what came that way is stamped by whoever received it, and a user who
approves `import:NAME` must not vouch for what somebody else put under that name. Nobody at all claims `hook:AGENT`: it
is what "worked once" and holding a command back rest on, so `agents.session_writer` alone stamps it, only that adds to
such a session, and no file, restore or peer brings it. Nobody takes another name of its own
kind either, since names are voices. A claim beyond this is refused, with a sentence: a caller that thinks it was
believed would be told a falsehood. Files cannot be told, so their claims are lowered and counted.
"""

from __future__ import annotations

from reasoningbank.core.errors import InvalidInput, Refused
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import AGENT, HOOK, PEER, USER, Trust, clean_origin, kind_of, level_of
from reasoningbank.core.types import Trajectory

_CLAIMABLE = frozenset({AGENT, "tool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """The way by which a rule comes in. Made by the doors themselves, never from what a caller writes."""

    name: str
    """terminal, command, page, rest, prompt:AGENT, shell:AGENT, library."""
    is_user: bool = False
    """True if nobody but the user in person speaks there."""
    why: str = ""
    """Where that might have been expected: what tells that it is not so."""


LIBRARY = Door(name="library")
UNNAMED_TOOL = "tool:unnamed"
"""Origin of a session that names one which is none: it meant something other than an agent."""


def origin_of(claim: object, speaker: str) -> str:
    """The origin under which a caller's memory is kept, for a door that knows who speaks.

    Silent, a caller is itself. It may claim less than it is (what a tool said, it says for the tool), never more.
    """
    if claim is None or claim == speaker:
        return clean_origin(speaker)
    if not isinstance(claim, str):
        raise InvalidInput(f"origin must be text, not {type(claim).__name__}.")
    own = clean_origin(speaker)
    instead = "leave it out, or say tool:NAME for what a tool or a page said."
    try:
        origin = clean_origin(claim)
    except InvalidInput:
        raise InvalidInput(f"The origin {claim[:60]!r} is none and cannot be claimed: {instead}") from None
    if origin == own:
        return own
    if kind_of(origin) not in _CLAIMABLE or level_of(origin) >= level_of(own):
        raise Refused(f"The origin {origin[:60]!r} cannot be claimed by a caller that speaks as {own}: {instead}")
    return origin


def speaker_over_mcp(origin: str) -> str:
    """The origin of a caller over MCP: an agent, so never the user, even with the user's own credentials."""
    return AGENT if kind_of(origin) == USER else origin


def speaker_in_session(speaker: str, claim: object = None) -> str:
    """The origin of a session for a door that knows who speaks; never the user. The `claim` of its metadata may only
    lower it.

    An origin that is none counts as a tool: whoever wrote it down meant something other than an agent.
    """
    own = AGENT if kind_of(speaker) == USER else clean_origin(speaker)
    if claim is None or claim == "":
        return own
    try:
        origin = clean_origin(claim) if isinstance(claim, str) else UNNAMED_TOOL
    except (InvalidInput, Refused):
        return UNNAMED_TOOL
    return origin if level_of(origin) < level_of(own) else own


def origin_of_session(session: Trajectory) -> str:
    """The origin that its door gave a session, and its lessons have; rows from before that was kept count as an
    agent's, or as the lesser origin in their metadata.
    """
    return session.origin or speaker_in_session(AGENT, session.metadata.get("origin"))


def without_witness(origin: str) -> str:
    """The origin of what comes from outside of this bank, which saw nothing of it: no hook's."""
    return AGENT if kind_of(origin) == HOOK else origin


def speaker_in_file(claim: str, own: str, *, is_named: bool) -> str:
    """The origin of what a file brings: the import's own name, unless the file claims a lesser one by itself.

    `is_named` tells an import that the user gave a name: then everything in it goes by that.
    """
    origin = clean_origin(own)
    if is_named or level_of(claim) is not Trust.UNTRUSTED or kind_of(claim) == PEER:
        return origin
    try:
        return clean_origin(claim)
    except (InvalidInput, Refused):
        return origin


def source_in_file(claim: str, own: str) -> str:
    """The source of the evidence that a file brings: what claims to be the user's or an agent's is said by the file."""
    return f"{own}/{claim}"[:200] if kind_of(claim) in (USER, AGENT, HOOK) else claim


def require_user(speaker: str, what: str) -> None:
    """For what only the user decides."""
    if kind_of(speaker) != USER:
        raise Refused(
            f"Only the user may {what}, and this caller speaks as {speaker}: do it in a terminal of your own, on the "
            "page (`reasoningbank ui`), or with a token made by `reasoningbank token create --origin user`."
        )


def require_user_door(door: Door, what: str) -> None:
    """For what only the user in person decides: a name that somebody gives itself is not enough."""
    if not door.is_user:
        raise Refused(
            f"Only the user may {what}, and {door.why or f'this came by {door.name}'}: `reasoningbank rules` in a "
            "terminal of your own does it, and so does the page."
        )
