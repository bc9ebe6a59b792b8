"""Secrets written as blocks of lines: private keys (PEM, OpenSSH, PGP, PuTTY), whole, escaped into one line, or cut
off; and the data of a Kubernetes Secret.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from reasoningbank.guard.spans import Span

LONGEST_BLOCK_CHARS = 65_536
FEWEST_KEY_CHARS = 24
_NO_BASE64 = re.compile(r"\\[nr]|[^A-Za-z0-9+/=]")

_BEGIN = re.compile(r"-{3,5} ?BEGIN (?P<kind>(?:[A-Z0-9]+ ){0,4})PRIVATE KEY(?P<pgp> BLOCK)? ?-{3,5}")
_END = re.compile(r"-{3,5} ?END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{3,5}")
# A line of such a block: base64 or a header, with whatever a quotation, a diff or an escape puts around it.
_LINES = re.compile(
    r"(?:(?:\\{1,4}[nr]|[\s\"'+>|,#*`])*"
    r"(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\r\n\\]{0,120}"
    r"|[A-Za-z0-9+/=]{2,76}(?=\\{1,4}[nr]|[\s\"'`]|$)))+",
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d: [^\n]*(?:\r?\n(?!\r?\n)[^\n]{0,200}){1,200}")


def key_blocks(text: str) -> Iterator[Span]:
    begins = list(_BEGIN.finditer(text))
    ends = list(_END.finditer(text)) if begins else []
    at = 0
    for number, begin in enumerate(begins):
        # Each block ends before the next begins, and the ends are walked once: a thousand begins stay cheap.
        limit = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        limit = min(limit, begin.end() + LONGEST_BLOCK_CHARS)
        while at < len(ends) and ends[at].start() < begin.end():
            at += 1
        whole = at < len(ends) and ends[at].end() <= limit
        if whole:
            stop = ends[at].end()
        else:
            # Cut off: as far as its lines go.
            rest = _LINES.match(text, begin.end(), limit)
            stop = begin.end() if rest is None else rest.end()
        if len(_NO_BASE64.sub("", text[begin.end() : ends[at].start() if whole else stop])) >= FEWEST_KEY_CHARS:
            kind = "pgp" if begin["pgp"] is not None else "ssh" if "OPENSSH" in begin["kind"] else ""
            yield Span(begin.start(), stop, f"{kind}-private-key" if kind else "private-key")
    for match in _PUTTY.finditer(text):
        yield Span(match.start(), match.end(), "putty-private-key")


_MANIFEST = re.compile(r"^[ \t-]{0,40}kind:[ \t]{0,4}[\"']?Secret\b", re.MULTILINE)
_DATA = re.compile(
    r"^(?P<indent>[ \t]{0,40})data:[ \t]{0,4}\r?\n(?P<lines>(?:(?P=indent)[ \t]{1,8}[^\n]{0,65536}\n?){1,200})",
    re.MULTILINE,
)
_ENTRY = re.compile(
    r"^[ \t]{1,48}[\w.\"'-]{1,128}:[ \t]{1,8}[\"']?(?P<value>[A-Za-z0-9+/]{8,65536}={0,2})[\"']?[ \t]{0,8}\r?$",
    re.MULTILINE,
)
BEFORE_DATA_CHARS = 2_000
"""How far from its `kind: Secret` the data of a manifest may stand, to either side."""


def secret_manifests(text: str) -> Iterator[Span]:
    """Every value under `data:` of a Kubernetes Secret: base64 hides what it is, the manifest says that it is one."""
    kinds = [match.start() for match in _MANIFEST.finditer(text)]
    for block in _DATA.finditer(text) if kinds else ():
        near = bisect_left(kinds, block.start() - BEFORE_DATA_CHARS)
        if near < len(kinds) and kinds[near] <= block.end() + BEFORE_DATA_CHARS:
            for entry in _ENTRY.finditer(text, block.start("lines"), block.end("lines")):
                yield Span(entry.start("value"), entry.end("value"), "kubernetes-secret")
