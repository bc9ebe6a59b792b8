"""Memories that a language model wrote as Markdown: the paper's format, seed 001's, and free variations.

Pure. Finds blocks of labelled parts (title, description, content, tags, outcome); text that belongs to no block is
returned as stray, so that thinking aloud never becomes a memory. Independent of files and drafts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADER = re.compile(
    r"^\s*(?P<hash>#{1,6})?\s*(?P<bold>\*\*|__)?\s*memory(?:\s+item)?\s*#?\s*\d+\s*(?:\*\*|__)?\s*(?P<sep>[:.)—–-])?"
    r"\s*(?:\*\*|__)?\s*(?P<rest>.*?)\s*(?:\*\*|__)?\s*$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s*(?:[-*+]\s+|\d+[.)]\s+)?(?P<hash>#{1,6})?\s*(?P<bold>\*\*|__|\*)?\s*"
    r"(?P<name>title|description|content|tags|outcome)\b\s*"
    r"(?P<shut>\*\*|__|\*)?\s*(?P<colon>[:：])?\s*(?P<late>\*\*|__|\*)?\s*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^\s*(```+|~~~+)\s*(?P<info>[\w-]*)\s*$")
_RULE = re.compile(r"^\s*(?:-{3,}|\*{3,}|_{3,})\s*$")
_THOUGHT = re.compile(r"<(?P<shut>/?)think(?:ing)?>", re.IGNORECASE)
# Headings and labels are short. Looking no further keeps a hostile line from costing the square of its length.
_MARK_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBlock:
    title: str
    content: str
    description: str = ""
    tags: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    whole: tuple[MemoryBlock, ...]
    broken: tuple[str, ...]
    """One reason for each block that lacks a part."""
    stray: str


@dataclass(slots=True)
class _Draft:
    heading: str = ""
    part: str = ""
    parts: dict[str, list[str]] = field(default_factory=dict)

    def take(self, line: str, *, plain: bool) -> bool:
        """False when the line belongs to no part; `plain` when labels do not count, as inside code."""
        label = None if plain else _label(line)
        if label is not None:
            self.part, line = label
        if not self.part:
            return not line.strip()
        self.parts.setdefault(self.part, []).append(line)
        return True


def parse_blocks(text: str) -> Blocks:
    answer, thoughts = _without_thoughts(text)
    drafts, stray = _split(answer.splitlines())
    whole: list[MemoryBlock] = []
    faults: list[str] = []
    for number, draft in enumerate(drafts, 1):
        values = {name: _value(lines) for name, lines in draft.parts.items()}
        title = _plain(values.get("title", "")) or _plain(draft.heading)
        if title and values.get("content"):
            whole.append(
                MemoryBlock(
                    title=title,
                    description=values.get("description", ""),
                    content=values["content"],
                    tags=_plain(values.get("tags", "")),
                    outcome=_plain(values.get("outcome", "")),
                )
            )
        else:
            faults.append(f"memory {number} has no {'content' if title else 'title'}")
    return Blocks(whole=tuple(whole), broken=tuple(faults), stray="\n".join([thoughts, *stray]).strip())


def _without_thoughts(text: str) -> tuple[str, str]:
    """The answer and what stood between think tags; a tag that is never closed is left where it is."""
    answer: list[str] = []
    thoughts: list[str] = []
    position, start = 0, None
    for tag in _THOUGHT.finditer(text):
        if not tag["shut"]:
            start = tag.start() if start is None else start
        elif start is not None:
            answer += [text[position:start], "\n"]
            thoughts.append(text[start : tag.end()])
            position, start = tag.end(), None
    return "".join([*answer, text[position:]]), "\n".join(thoughts)


def _split(lines: list[str]) -> tuple[list[_Draft], list[str]]:
    drafts: list[_Draft] = []
    stray: list[str] = []
    current: _Draft | None = None
    is_wrapped = False  # the model put a code fence around its answer
    quoting = False  # a code fence inside a memory's own content
    for line in lines:
        fence = _FENCE.match(line.strip()) if len(line) <= _MARK_CHARACTERS else None
        if fence and current is None:
            is_wrapped = not is_wrapped
            continue
        if fence and is_wrapped and not quoting and not fence["info"]:
            is_wrapped, current = False, None
            continue
        # A fence that was never closed must not swallow the memories after it.
        quoting = quoting ^ bool(fence) and _header(line) is None
        block = None if quoting else _start_block(line, current)
        if block is not None:
            current = block
            drafts.append(current)
        elif current is None or not current.take(line, plain=quoting):
            stray.append(line)
    return drafts, stray


def _start_block(line: str, current: _Draft | None) -> _Draft | None:
    """The block that this line opens: a numbered heading does, and so does a title where one is not expected."""
    heading = _header(line)
    if heading is not None:
        return _Draft(heading=heading)
    label = _label(line)
    if label is None or label[0] != "title" or (current is not None and "title" not in current.parts):
        return None
    return _Draft(part="title", parts={"title": [label[1]]})


def _header(line: str) -> str | None:
    """The words after "Memory Item 3", or None when the line is no such heading."""
    match = _HEADER.match(line.strip()) if len(line) <= _MARK_CHARACTERS else None
    if not match or not (match["hash"] or match["bold"] or not match["rest"]):
        return None
    return match["rest"]


def _label(line: str) -> tuple[str, str] | None:
    bare = line.strip()
    match = _LABEL.match(bare, 0, _MARK_CHARACTERS)
    if not match or not (match["hash"] or match["colon"] or (match["bold"] and match["shut"])):
        return None
    rest = bare[match.end() :].lstrip()
    if not match["bold"]:
        rest = f"{match['shut'] or ''}{match['late'] or ''}{rest}"  # the bold belongs to the value
    if match["bold"] and not match["shut"] and not match["late"] and rest.endswith(match["bold"]):
        rest = rest.removesuffix(match["bold"])  # **Title: the whole line in bold**
    return match["name"].lower(), rest


def _value(lines: list[str]) -> str:
    body = list(lines)
    while body and (not body[-1].strip() or _RULE.match(body[-1])):
        body.pop()
    return "\n".join(body).strip()


def _plain(text: str) -> str:
    """One line without the quotes, stars and brackets that models put around titles."""
    line = " ".join(text.split())
    for opening, closing in (("**", "**"), ("<", ">"), ('"', '"'), ("`", "`"), ("[", "]")):
        if len(line) > len(opening) + len(closing) and line.startswith(opening) and line.endswith(closing):
            line = line[len(opening) : -len(closing)].strip()
    return line
