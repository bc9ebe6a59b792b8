"""Remedies for refusals: what a person can do, in one sentence with the command that does it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from types import MappingProxyType

_GRANT = "`reasoningbank bus grant {who}` lets it in."
_WIDER = "`reasoningbank bus grant {who}{may}{where}` allows it."
_AGAIN = "If it is still to bring something here, `reasoningbank bus grant {who}` gives it a new grant."
_FAULTY = "Its program is at fault, or something between you: update both sides."
_NOTHING = "Nothing needs to be done: it comes again by itself."
_USUAL = ("record", "signal", "link", "search")
"""Given without being named."""

_OF_THEIRS: Mapping[str, str] = MappingProxyType(
    {
        "unknown_author": _GRANT,
        "unknown_intent": "It is taken once that grant arrives; `reasoningbank bus grant {who}` lets it in at once.",
        "no_right": _WIDER,
        "wrong_namespace": _WIDER,
        "wrong_scope": _WIDER,
        "not_yet_valid": "It is taken when the grant begins: `reasoningbank bus grants`.",
        "expired": _AGAIN,
        "revoked": _AGAIN,
        "widened": "Whoever passed that grant on must give less than it has.",
        "cap_spent": "It is taken in the next period; `reasoningbank bus spend` shows what is used, and "
        "`reasoningbank bus grant {who}` gives more.",
        "from_the_future": "Set the clock that is wrong: that machine's, or this one's.",
        "version": "Update the older side.",
        "erased": "Nothing needs to be done: it stays erased.",
        "over_limit": _NOTHING,
        "replayed": _NOTHING,
        "key_twice": "Two machines must not use one key at once: give one of them a key of its own.",
        "shut_out": "It may come back in ten minutes; if it goes on, update it, or `reasoningbank bus revoke {who}`.",
        **dict.fromkeys(
            ("malformed", "too_long", "not_authenticated", "signature", "wrong_tenant", "replayed_early"), _FAULTY
        ),
    }
)
_OF_OURS: Mapping[str, str] = MappingProxyType(
    {
        "cap_spent": "It goes out in the next period, or under a new grant; `reasoningbank bus spend` shows the use.",
        "too_long": "Store it in parts.",
    }
)


def remedy_for(code: str, *, who: str, namespace: str, action: str, is_ours: bool) -> str:
    """The remedy for a refusal of something that `who` (a name or a key) wrote; "" where nothing is known."""
    sentence = (_OF_OURS if is_ours else _OF_THEIRS).get(code, "")
    return sentence.format(
        who=shlex.quote(who) if who else "KEY",
        may=f" --may {action}" if action and action not in _USUAL else "",
        where=f" --in {shlex.quote(namespace)}" if namespace else "",
    )


_THERE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("unknown_author", "unknown_intent", "no_right", "wrong_namespace", "wrong_scope", "expired", "revoked"),
            "Only its user can let you in, with `reasoningbank bus grant {key}` there.",
        ),
        "cap_spent": "`reasoningbank bus spend` shows what is used of the grant.",
        "from_the_future": "Set the clock that is wrong: that machine's, or this one's.",
        "erased": "It was erased there, and stays so.",
    }
)


def remedy_there(code: str, own_key: str) -> str:
    """The remedy for a refusal by another bank of something that is ours."""
    return _THERE.get(code, "").format(key=own_key)
