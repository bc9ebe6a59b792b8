"""Renders an episode as text for a model: within a budget, and as data that cannot pass for anything else.

The beginning of a session says what was wanted and its end how it went, so what does not fit is cut from the middle.
The text stands between two lines whose mark is a hash of the text itself: no text can hold its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

from reasoningbank.core.learning import Episode
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.wording import counted

TRACE_TOKENS = 6_000
LONGEST_STEP_SHARE = 0.25
"""No single step may take more than this share of the budget, so that one huge output does not push out the rest."""
_SCRUB_NOTHING: Callable[[str], str] = str


def trace_of(episode: Episode, *, tokens: int = TRACE_TOKENS, scrub: Callable[[str], str] = _SCRUB_NOTHING) -> str:
    """The steps of an episode, numbered. Scrubbed before they are cut to their share, so that no cut hides half a
    secret.
    """
    share = max(40, int(tokens * LONGEST_STEP_SHARE))
    parts = []
    for number, step in enumerate(episode.steps, 1):
        mark = {True: " (worked)", False: " (failed)", None: ""}[step.ok]
        lines = [f"[{number}]{mark} {cut_middle(scrub(_near_ends(step.action, share)), share)}"]
        if step.result:
            lines.append(f"    => {cut_middle(scrub(_near_ends(step.result, share)), share)}")
        parts.append("\n".join(lines))
    return middle_out(parts, tokens)


def _near_ends(text: str, share: int) -> str:
    """Far more of both ends than will be shown, so that what this cut may have torn is cut away with the middle."""
    reach = max(20_000, share * 16)
    return text if len(text) <= 2 * reach else f"{text[:reach]}\n{text[-reach:]}"


def middle_out(parts: Sequence[str], tokens: int) -> str:
    """As many whole parts as fit, taken from both ends in turn, the end first; says how many were left out."""
    costs = [count_tokens(part) + 1 for part in parts]
    if sum(costs) <= tokens:
        return "\n".join(parts)
    first, last, remaining = 0, len(parts), tokens - 12
    while first < last:
        from_end = (len(parts) - last) <= first
        cost = costs[last - 1] if from_end else costs[first]
        if cost > remaining:
            break
        remaining -= cost
        first, last = (first, last - 1) if from_end else (first + 1, last)
    note = f"[… {counted(last - first, 'step')} left out …]"
    return "\n".join([*parts[:first], note, *parts[last:]])


def cut_middle(text: str, tokens: int) -> str:
    """The beginning and the end of a text that is too long."""
    cost = count_tokens(text)
    if cost <= tokens:
        return text
    # A little less than its share, because the middle may be made of cheaper characters than the ends.
    half = max(1, int(len(text) * (tokens - 6) / cost * 0.9) // 2)
    return f"{text[:half]} [… {len(text) - 2 * half} characters …] {text[-half:]}"


def fence(text: str, name: str) -> str:
    mark = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"<<<{name} {mark}\n{text}\n{name} {mark}>>>"
