"""Tells a memory to a coding agent in one line: program or goal, what to change, what happens otherwise, its standing.

    run_tests.py: add --db sqlite (else: it says “DATABASE_URL is not set”; worked 4 of 4)

What a program said stands between quote marks, under its name, as data. What nobody vouches for is no line of ours: it
keeps its envelope.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.core.origins import AGENT, HOOK, PEER, USER, Trust, kind_of
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import Outcome, Remembered
from reasoningbank.core.wording import avoid_title
from reasoningbank.guard.envelope import TROUBLE, is_unmarked, memory_words
from reasoningbank.guard.quotes import CLOSING, OPENING
from reasoningbank.learn.offline.words import clip_line, head, one_line
from reasoningbank.recall.render import FACT, entry_of, links_of

LONGEST_CHANGE_CHARS = 160
LONGEST_ERROR_CHARS = 100
LONGEST_TITLE_CHARS = 120
_QUOTE = pattern(r"“([^”\n]{1,200})”")
_WORDS = pattern(r"\w+")


def line_of(hit: Remembered) -> str:
    """The memory as a line of a list; more lines only where it has steps of its own, or an envelope around it."""
    if hit.trust is Trust.UNTRUSTED or is_unmarked(hit.memory.metadata, hit.content):
        return entry_of(hit)
    trouble = hit.memory.metadata.get(TROUBLE)
    if isinstance(trouble, Mapping):
        return f"- {_trouble_line(hit, trouble)}"
    if FACT in hit.tags:
        return f"- {_with_standing(hit, hit.content)}"
    return f"- {_plain_line(hit)}"


def _trouble_line(hit: Remembered, trouble: Mapping[str, Any]) -> str:
    """Line of what fails and what to do instead, from the fields that the lesson keeps, or from its text where it
    has none.
    """
    program = one_line(str(trouble.get("program") or head(str(trouble.get("action", "")))))
    change = clip_line(str(trouble.get("change") or hit.title).replace("`", ""), LONGEST_CHANGE_CHARS)
    instead = f" instead of {program}"
    if program and change.endswith(instead):
        change = f"use {change.removesuffix(instead)}"
    error = str(trouble.get("error") or next(iter(_QUOTE.findall(f"{hit.description}\n{hit.content}")), ""))
    quote = f"else: it says {OPENING}{clip_line(error, LONGEST_ERROR_CHARS)}{CLOSING}" if error else ""
    opening = f"{program}: " if program and not change.casefold().startswith(program.casefold()) else ""
    avoid = "avoid: " if hit.outcome is Outcome.FAILURE and not trouble.get("change") else ""
    ours = _in_brackets(memory_words(quote), standing_of(hit), *links_of(hit))
    return f"{memory_words(f'{opening}{avoid}{change}')}{ours}"


def _plain_line(hit: Remembered) -> str:
    """Title and content, each once: a title that only begins the content is left out."""
    title, content = clip_line(hit.title, LONGEST_TITLE_CHARS), hit.content.strip()
    if hit.outcome is Outcome.FAILURE:
        title = f"Avoid: {avoid_title(title)}"
    first, _, rest = content.partition("\n")
    words = _WORDS.findall(content.casefold())
    repeats = words[: len(_WORDS.findall(title))] == _WORDS.findall(title.casefold())
    line = first if repeats or not title else f"{title.rstrip('.:')}: {one_line(first)}" if first else title
    return _with_standing(hit, f"{line}\n{rest}")


def _with_standing(hit: Remembered, text: str) -> str:
    """The text with its standing behind the first line; the others are set in, so that none looks like one of ours."""
    first, *rest = memory_words(text).strip().splitlines() or [""]
    standing = _in_brackets(standing_of(hit), *links_of(hit))
    return "\n".join((f"{first}{standing}", *(f"  {line}" for line in rest if line.strip())))


def standing_of(hit: Remembered) -> str:
    """Standing of a memory in words. A use that somebody only reports is told as a report."""
    if hit.seen:
        return f"worked {hit.seen_well:,} of {hit.seen:,}"
    if was_witnessed(hit):
        return "worked once"
    if hit.usage_count:
        return f"reported to have worked {hit.succeeded:,} of {hit.usage_count:,}"
    if hit.trust is Trust.TRUSTED:
        return "said by the user" if kind_of(hit.memory.origin) == USER else "approved by the user"
    note = {AGENT: "an agent's note, ", PEER: "a peer's note, "}.get(kind_of(hit.memory.origin), "")
    return f"{note}not yet tried"


def was_witnessed(hit: Remembered) -> bool:
    """True if our own hooks captured the session that taught it, and it saw the failure and then what made it work."""
    trouble = hit.memory.metadata.get(TROUBLE)
    is_whole = isinstance(trouble, Mapping) and bool(trouble.get("worked") or trouble.get("change"))
    return is_whole and kind_of(hit.memory.origin) == HOOK


def _in_brackets(*parts: str) -> str:
    text = "; ".join(filter(None, parts))
    return f" ({text})" if text else ""
