"""Plans a query: the part worth looking for in whatever an agent pastes.

A question is taken as it is. A whole issue, a stack trace or a file is reduced to what it asks, what went wrong and the
names that occur in it; the rest would only drown these, for the model reads 256 tokens and every shared word counts.

Independent of model, index and bank.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from reasoningbank.core.patterns import pattern

SHORT_WORDS = 60
"""A text of no more words is its own plan."""
MOST_WORDS = 60
MOST_NAMES = 16
MOST_CHARS_READ = 200_000
MOST_CHARS_A_LINE = 400
MOST_LINES_READ = 4_000
"""Lines that are read; of more, those at the beginning and those at the end: there stands what is asked, and what
went wrong.
"""

_FRAME = pattern(r"""^\s*(?:File\s+"[^"]+",\s+line\s+\d+|at\s+[\w$.<>/]+\s*\(|\d+:\s+0x|#\d+\s|\.{3}\s*\d+\s+more)""")
FAULT = pattern(
    r"(?:Error|Exception|Failure|Fault)\b|\b(?:error|fatal|panic|failed|cannot|can't|could not|unable to|denied|"
    r"not found|no such|undefined|unexpected|timed? ?out|refused|segfault|traceback)\b|\bexit(?:ed)? (?:code|status)\b",
    re.IGNORECASE,
)
"""Tells that there is a fault, not where its word begins, which takes long to find."""
_ASKS = pattern(
    r"\?\s*$|\b(?:how (?:do|to|can)|please|should|must|need(?:s)? to|want(?:s)? to|expected|actual|task|goal|fix|"
    r"implement|add|make sure|instead)\b",
    re.IGNORECASE,
)
_TRACE = pattern(r"^\s*(?:Traceback \(most|During handling of|The above exception|goroutine \d+|stack backtrace)")
_HEADING = pattern(r"^\s*(?:#{1,4}\s+\S|\*\*\S|[A-Z][\w /-]{2,60}:\s*$)")
_CODE = pattern(
    r"^\s*(?:import |from \S+ import|def |class |return\b|for .*[:{]\s*$|if .*[:{]\s*$|while |try:|except\b|func |fn "
    r"|let |const |var |public |private |#include|[}\])]+[;,]?\s*$|//|/\*|\*\s|<\w+[ >]|@\w+)"
    r"|[;{]\s*$|^\s*[\w.\[\]\"']+ ?[-+*/]?= ?\S"
)
_FENCE = pattern(r"^\s*(?:```|~~~)")
_SENTENCE = pattern(r"(?<=[a-z)\]\"'`][.?!])\s+(?=[A-Z\"'`(])")
NAME = pattern(
    r"(?<![\w-])--?[a-z][\w-]+"  # flags
    r"|(?:(?<![\w.@~-])|(?=/))(?:[\w.@~-]*+/)+[\w.@-]*\w"  # paths and URLs, from the beginning of a word or a slash
    r"|\b[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\b"  # dotted names
    r"|\b\w*[a-z0-9][A-Z]\w*\b|\b\w+_\w+\b"  # camelCase and snake_case
    r"|\b[A-Z]{1,6}-?\d{2,6}\b|\b[A-Z][A-Z0-9_]{3,}\b"  # E1234, ENOENT
)
_ASKED, _FAULTY, _HEADED, _PLAIN, _CODED = 4, 5, 3, 1, 0


def plan_query(text: str) -> str:
    """The part of a text to look for, in its own order and its own words."""
    if len(text) <= SHORT_WORDS * 4 or len(text.split(None, SHORT_WORDS)) <= SHORT_WORDS:
        return text
    segments = list(_segments(text[:MOST_CHARS_READ]))
    picks = _choose(segments)
    texts = [segments[i][0] for i in sorted(picks)]
    names = _names(texts, (segment for segment, _ in segments))
    return "\n".join((*texts, " ".join(names))) if names else "\n".join(texts)


def _segments(text: str) -> Iterable[tuple[str, float]]:
    """Lines, and the sentences of long lines, each with what it is worth; stack frames are left out."""
    in_fence = in_trace = False
    openings = 0
    lines = text.splitlines()
    if len(lines) > MOST_LINES_READ:
        lines = lines[: MOST_LINES_READ // 2] + lines[-MOST_LINES_READ // 2 :]
    for line in lines:
        if _FENCE.match(line):
            in_fence = not in_fence
            continue
        if _TRACE.match(line) or not line.strip():
            continue
        if _FRAME.match(line):
            in_trace = True
            continue
        # Below a frame stands its source, indented, and below the last one what went wrong.
        if in_trace and line[0].isspace():
            continue
        for sentence in _SENTENCE.split(line.strip()):
            segment = sentence[:MOST_CHARS_A_LINE]
            worth = _FAULTY if in_trace else _worth(segment, in_fence=in_fence)
            # What stands first says what it is about, unless it is code.
            if worth > _CODED and openings < 2:
                worth += _ASKED - openings
                openings += 1
            yield segment, worth
        in_trace = False


def _worth(segment: str, *, in_fence: bool) -> float:
    if FAULT.search(segment):
        return _FAULTY if not _CODE.match(segment) else _PLAIN
    if in_fence or _CODE.search(segment):
        return _CODED
    if _HEADING.match(segment):
        return _HEADED
    return _ASKED if _ASKS.search(segment) else _PLAIN


def _choose(segments: list[tuple[str, float]]) -> list[int]:
    """The worthiest that fit; of two faults the later one, for a trace ends with what matters."""
    order = sorted(range(len(segments)), key=lambda i: (-segments[i][1], -i if segments[i][1] == _FAULTY else i))
    picks: list[int] = []
    texts: set[str] = set()
    words = 0
    for i in order:
        segment, worth = segments[i]
        size = len(segment.split())
        if segment in texts or (picks and (worth == _CODED or words + size > MOST_WORDS)):
            continue
        picks.append(i)
        texts.add(segment)
        words += size
    return picks


def _names(texts: list[str], everything: Iterable[str]) -> list[str]:
    """Names outside what was kept, the commonest first: identifiers, paths, flags and codes are matched exactly."""
    names = set(NAME.findall("\n".join(texts)))
    counts: Counter[str] = Counter()
    # Each line once, however often it is repeated, as a log does.
    for segment, times in Counter(everything).items():
        for name in NAME.findall(segment):
            if name not in names:
                counts[name] += times
    return [name for name, _ in counts.most_common(MOST_NAMES)]
