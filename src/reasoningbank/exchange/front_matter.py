"""The header of a Markdown file between two lines of dashes, read without a YAML library.

Pure. Understands flat `key: value`, lists in brackets, lists in dashes, quotes and folded text; a nested
mapping is passed over. Anything that is not such a header is part of the text.
"""

from __future__ import annotations

import re

_KEY = re.compile(r"[A-Za-z_][\w -]{0,60}")
_HEADER_LINES = 500

Value = str | list[str]


def split_front_matter(text: str) -> tuple[dict[str, Value], str]:
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}, text
    for end, line in enumerate(lines[1:_HEADER_LINES], 1):
        if line.rstrip() in ("---", "..."):
            header = _parse(lines[1:end])
            # A rule at the top of a text is no header: without a single key, nothing is taken away.
            return (header, "\n".join(lines[end + 1 :])) if header or end == 1 else ({}, text)
    return {}, text


def _parse(lines: list[str]) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    key = ""
    is_block = False
    for line in lines:
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        name, colon, rest = line.partition(":")
        if colon and rest[:1] in ("", " ", "\t") and _KEY.fullmatch(name):
            key = name.strip().lower().replace("-", "_").replace(" ", "_")
            value = _strip_comment(rest.strip())
            is_block = value in ("|", ">", "|-", ">-")
            if is_block:
                fields[key] = ""
            elif value.startswith("[") and value.endswith("]"):
                fields[key] = [entry for part in value[1:-1].split(",") if (entry := _unquote(part.strip()))]
            else:
                fields[key] = _unquote(value)
        elif key and bare.startswith("- ") and not is_block:
            before = fields[key]
            fields[key] = [
                *(before if isinstance(before, list) else []),
                _unquote(_strip_comment(bare[2:].strip())),
            ]
        elif key and is_block and line[:1].isspace():
            fields[key] = f"{fields[key]}\n{bare}".strip()
    return fields


def _strip_comment(value: str) -> str:
    if value[:1] in "\"'" and value.count(value[:1]) > 1:
        return value[: value.rindex(value[0]) + 1]
    return value.split(" #", 1)[0].rstrip()


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
