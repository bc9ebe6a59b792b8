"""Reads the fields of memories from a model's answer: the form that was asked for, or one that says the same.

The five fields are known by the other names that models give them too, and in each way of writing them: `**Title**: …`,
`Title: …`, a heading, a list, YAML, tags of XML, or keys of JSON. One field that is there twice is named as a problem
and not chosen between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from reasoningbank.core.patterns import pattern
from reasoningbank.learn.answer_json import json_in
from reasoningbank.learn.answer_text import without_fences

FIELDS = ("Title", "Description", "Content", "Tags", "Outcome")
_SYNONYMS = {
    "Title": ("title", "name", "memory title", "heading", "strategy name"),
    "Description": (
        "description",
        "desc",
        "when to use",
        "when to apply",
        "when",
        "applicability",
        "summary",
        "use when",
    ),
    "Content": (
        "content",
        "contents",
        "memory",
        "lesson",
        "strategy",
        "advice",
        "explanation",
        "steps",
        "details",
        "body",
    ),
    "Tags": ("tags", "tag", "keywords", "labels", "categories"),
    "Outcome": ("outcome", "result", "status", "verdict", "session outcome"),
}
_KEYS = {re.sub(r"\W|_", "", word): field for field, words in _SYNONYMS.items() for word in words}
_HEAD = pattern(
    r"^[ \t]*(?:#{1,6}[ \t]*|\*\*|[-*+][ \t]+)?(?:Memory(?: Item)?|Strategy|Lesson|Warning|Item)[ \t]*[#:]?[ \t]*(\d+)"
    r"(?:\*\*)?[ \t]*[:.)–—-]*[ \t]*(.*?)(?:\*\*)?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_ELEMENT = pattern(r"<(title|description|content|tags|outcome)>\s*(.*?)\s*</\1>", re.DOTALL | re.IGNORECASE)
_CHATTER = pattern(
    r"\n\s*\n(?:I hope|Let me know|Feel free|These (?:memories|lessons|strategies|warnings)|This (?:captures|covers)"
    r"|If you (?:need|want|have|would)|Is there anything)[^\n]*\s*\Z",
    re.IGNORECASE,
)
_BLOCK_SCALAR = pattern(r"\A[|>][-+]?[ \t]*\n")

Item = dict[str, str]


def items_in(text: str) -> tuple[list[Item], list[str]]:
    """The memories of an answer, each by the names of its fields, and what is wrong with how they are written."""
    items = [item for value in json_in(text) for item in _items_of(value)]
    if items:
        return items, []
    return _items_of_text(_ELEMENT.sub(lambda match: f"\n{match[1].title()}: {match[2]}\n", without_fences(text)))


# ---------------------------------------------------------------- JSON


def _items_of(value: object) -> Iterator[Item]:
    """Whatever has a title, wherever it lies."""
    if isinstance(value, list):
        for part in value:
            yield from _items_of(part)
    elif isinstance(value, Mapping):
        fields = {_KEYS.get(re.sub(r"\W|_", "", str(name)).lower()): part for name, part in value.items()}
        title, content = fields.get("Title"), fields.get("Content")
        if isinstance(title, str) and (content is None or not isinstance(content, Mapping)):
            yield {name: _as_text(fields[name]) for name in FIELDS if name in fields}
        else:
            for part in value.values():
                yield from _items_of(part)


def _as_text(value: object) -> str:
    if isinstance(value, list):
        whole = all(isinstance(part, str) and len(part) > 40 for part in value)
        return ("\n" if whole else ", ").join(str(part) for part in value)
    return "" if value is None else str(value).strip()


# ---------------------------------------------------------------- text


def _items_of_text(text: str) -> tuple[list[Item], list[str]]:
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    blocks = [(head[2].strip(), text[head.end() : end]) for head, end in zip(heads, ends, strict=False)]
    if not blocks:
        starts = [match.start() for match in _mark_of(("title",)).finditer(text)]
        blocks = [("", text[start:end]) for start, end in zip(starts, [*starts[1:], len(text)], strict=False)]
    items: list[Item] = []
    problems: list[str] = []
    for number, (title, block) in enumerate(blocks, 1):
        fields, wrong = _fields(block)
        if title and "Title" not in fields:
            fields["Title"] = title.strip("\"'“”")
        if fields:
            items.append(fields)
        problems += [f"Memory {number}: {problem}" for problem in wrong]
    return items, problems


def _fields(block: str) -> tuple[Item, list[str]]:
    """Fields of a memory by the names that were asked for; by others only for what is missing then."""
    marks = list(_marks(block, {name.lower(): name for name in FIELDS}))
    missing = [name for name in FIELDS if name not in {field for _, field in marks}]
    synonyms = {word: name for name in missing for word in _SYNONYMS[name]}
    marks = sorted([*marks, *_marks(block, synonyms)], key=lambda mark: mark[0].start()) if synonyms else marks
    ends = [*(mark.start() for mark, _ in marks[1:]), len(block)]
    fields: Item = {}
    wrong: list[str] = []
    for (match, name), end in zip(marks, ends, strict=False):
        if name in fields:
            wrong.append(f"its {name.lower()} is there twice.")
        fields[name] = _cleaned(name, block[match.end() : end])
    is_cut_off = bool(fields.get("Content")) and fields["Content"][-1] not in ".!?)]}`\"'”’。！？…:;>"
    if marks and marks[-1][1] == "Content" and "Outcome" not in fields and is_cut_off:
        wrong.append("its content breaks off.")
    return fields, wrong


def _marks(block: str, names: Mapping[str, str]) -> Iterator[tuple[re.Match[str], str]]:
    for match in _mark_of(tuple(names)).finditer(block) if names else ():
        yield match, names[(match["a"] or match["b"] or match["c"]).lower()]


def _mark_of(names: Sequence[str]) -> re.Pattern[str]:
    """A field's name at the beginning of a line with what makes it one: a colon, bold letters or a heading."""
    any_name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    before = r"^[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?"
    return re.compile(
        rf"{before}(?=(?:#{{1,6}}[ \t]*|\*\*|__|[\"'])*(?:{any_name})\W)(?:"
        rf"(?:#{{1,6}}[ \t]*)?(?:\*\*|__|[\"'])?(?P<a>{any_name})(?:\*\*|__|[\"'])?[ \t]*[:：=][ \t]*(?:\*\*|__)?"
        rf"|(?:\*\*|__)(?P<b>{any_name})(?:\*\*|__)"
        rf"|#{{1,6}}[ \t]*(?P<c>{any_name})\b)[ \t]*",
        re.MULTILINE | re.IGNORECASE,
    )


def _cleaned(name: str, value: str) -> str:
    text = _BLOCK_SCALAR.sub("", value.strip())
    if name in ("Tags", "Outcome", "Title", "Description"):
        # What follows after a blank line is said to whoever asked.
        text = re.split(r"\n\s*\n", text, maxsplit=1)[0]
    if name == "Content":
        text = _CHATTER.sub("", text)
    text = re.sub(r"\n[ \t]*(?:---+|\*\*\*+)[ \t]*\Z", "", text).strip().rstrip(",").strip()
    is_quoted = len(text) > 1 and (text[0], text[-1]) in {('"', '"'), ("'", "'"), ("“", "”"), ("`", "`")}
    return text[1:-1].strip() if is_quoted else text


def parsed_tags(text: str) -> tuple[str, ...]:
    words = re.split(r"[,;\n]", text.strip().strip("[]"))
    return tuple(dict.fromkeys(tag for word in words if (tag := word.strip().strip("-*`#\"'“” ")) and tag))
