"""Memories that a language model wrote as Markdown: the paper's format, seed 001's, and free variations.

Pure. Finds blocks of labelled parts (title, description, content, tags, outcome); text that belongs to no
block is returned as stray, so that thinking aloud never becomes a memory. Knows nothing of files or drafts.
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
    broken: list[str] = []
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
            broken.append(f"memory {number} has no {'content' if title else 'title'}")
    return Blocks(whole=tuple(whole), broken=tuple(broken), stray="\n".join([thoughts, *stray]).strip())


def _without_thoughts(text: str) -> tuple[str, str]:
    """The answer and what stood between think tags; a tag that is never closed is left where it is."""
    answer: list[str] = []
    thoughts: list[str] = []
    done, opened = 0, None
    for tag in _THOUGHT.finditer(text):
        if not tag["shut"]:
            opened = tag.start() if opened is None else opened
        elif opened is not None:
            answer += [text[done:opened], "\n"]
            thoughts.append(text[opened : tag.end()])
            done, opened = tag.end(), None
    return "".join([*answer, text[done:]]), "\n".join(thoughts)


def _split(lines: list[str]) -> tuple[list[_Draft], list[str]]:
    drafts: list[_Draft] = []
    stray: list[str] = []
    current: _Draft | None = None
    wrapped = False  # the model put a code fence around its answer
    quoting = False  # a code fence inside a memory's own content
    for line in lines:
        fence = _FENCE.match(line.strip()) if len(line) <= _MARK_CHARACTERS else None
        if fence and current is None:
            wrapped = not wrapped
            continue
        if fence and wrapped and not quoting and not fence["info"]:
            wrapped, current = False, None
            continue
        # A fence that was never closed must not swallow the memories after it.
        quoting = quoting ^ bool(fence) and _header(line) is None
        started = None if quoting else _start_block(line, current)
        if started is not None:
            current = started
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
    found = _HEADER.match(line.strip()) if len(line) <= _MARK_CHARACTERS else None
    if not found or not (found["hash"] or found["bold"] or not found["rest"]):
        return None
    return found["rest"]


def _label(line: str) -> tuple[str, str] | None:
    bare = line.strip()
    found = _LABEL.match(bare, 0, _MARK_CHARACTERS)
    if not found or not (found["hash"] or found["colon"] or (found["bold"] and found["shut"])):
        return None
    rest = bare[found.end() :].lstrip()
    if not found["bold"]:
        rest = f"{found['shut'] or ''}{found['late'] or ''}{rest}"  # the bold belongs to the value
    if found["bold"] and not found["shut"] and not found["late"] and rest.endswith(found["bold"]):
        rest = rest.removesuffix(found["bold"])  # **Title: the whole line in bold**
    return found["name"].lower(), rest


def _value(lines: list[str]) -> str:
    kept = list(lines)
    while kept and (not kept[-1].strip() or _RULE.match(kept[-1])):
        kept.pop()
    return "\n".join(kept).strip()


def _plain(text: str) -> str:
    """One line without the quotes, stars and brackets that models put around titles."""
    line = " ".join(text.split())
    for opening, closing in (("**", "**"), ("<", ">"), ('"', '"'), ("`", "`"), ("[", "]")):
        if len(line) > len(opening) + len(closing) and line.startswith(opening) and line.endswith(closing):
            line = line[len(opening) : -len(closing)].strip()
    return line
