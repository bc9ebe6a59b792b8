"""Advice that fetches, runs with more rights, destroys, skips checks or sends something out."""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern

_FORBIDS = pattern(r"\b(?:never|do not|don['’]?t|avoid|no|must(?: not|n['’]t)|stop|without|nobody)\b", re.IGNORECASE)
_REASONS = {
    "fetches from outside": r"\b(?:curl|wget|iwr|invoke-webrequest|git clone|download)\b|https?://",
    "runs what it was given": r"\|\s*(?:\S*/)?(?:ba|z|da|)sh\b|\|\s*(?:python|node|iex)|\beval\b|base64 (?:-d|--d)",
    "runs with more rights": r"\b(?:sudo|doas|chmod (?:-R )?(?:777|a\+)|chown root|setuid)\b|--privileged",
    "destroys": r"\brm -|\b(?:delete|erase|wipe|truncate|drop|mkfs|destroy)\b|--hard\b|\bpush\b.*--?f",
    "skips checks": r"--no-|--force|--insecure|--skip|verify=false|\b(?:skip|bypass|disable|ignore)\b|\|\| true",
    "sends something out": r"\b(?:send|upload|post|scp|exfiltrate|nc|paste)\b",
}


def risks_of_text(text: str) -> tuple[str, ...]:
    """Reasons for which advice in words is not to be followed unasked; none where it forbids such a thing."""
    return (
        ()
        if _FORBIDS.search(text)
        else tuple(reason for reason, words in _REASONS.items() if re.search(words, text, re.IGNORECASE))
    )
