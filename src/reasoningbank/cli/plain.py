"""Makes text safe and aligned on a terminal.

Characters that could move the cursor, recolour or reorder what is read do not get through; the width of the rest is
counted in columns.
"""

from __future__ import annotations

import unicodedata

from reasoningbank.core.patterns import pattern

_BIDI = "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_UNSAFE = pattern(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
_UNSAFE_IN_JSON = pattern(f"[\x7f-\x9f{_BIDI}]")
_LINE_ENDS = pattern(r"\r\n?")
_ZERO_WIDTH = frozenset({"Mn", "Me", "Cf"})

_ASCII = str.maketrans(
    {
        "…": "...",
        "·": "|",
        "–": "-",
        "×": "x",
        "→": "->",
        "←": "<-",
        "−": "-",
        "≥": ">=",
        "“": '"',
        "”": '"',
        "█": "#",
    }
)


def safe(text: str) -> str:
    """Stored text without anything that a terminal would obey; line ends stay."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return _UNSAFE.sub("\ufffd", _LINE_ENDS.sub("\n", text)).replace("\t", "    ")


def safe_json(text: str) -> str:
    """JSON whose strings hold nothing that a terminal would obey; it still reads back the same."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    return " ".join(safe(text).split())


def in_ascii(text: str) -> str:
    """Our own ornaments in ASCII; stored text keeps its letters."""
    return text.translate(_ASCII)


def width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in _ZERO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int | None) -> str:
    """At most so many columns; None is no limit."""
    if columns is None or width(text) <= columns:
        return text
    characters, used = [], 0
    for character in text:
        used += _columns(character)
        if used > columns - 1:
            break
        characters.append(character)
    return "".join(characters).rstrip() + "…" if columns > 0 else ""


def pad(text: str, columns: int, *, right: bool = False) -> str:
    blank = " " * max(0, columns - width(text))
    return blank + text if right else text + blank


def wrap(text: str, columns: int | None, indent: str = "") -> list[str]:
    """Paragraphs broken at spaces; a word wider than a line is broken anywhere."""
    lines: list[str] = []
    for paragraph in safe(text).rstrip("\n").split("\n"):
        if columns is None:
            lines.append(f"{indent}{paragraph}".rstrip())
        else:
            lines.extend(f"{indent}{line}".rstrip() for line in _break_lines(paragraph, max(8, columns - len(indent))))
    return lines


def _break_lines(paragraph: str, columns: int) -> list[str]:
    if width(paragraph) <= columns:
        return [paragraph]
    margin = paragraph[: len(paragraph) - len(paragraph.lstrip())][: columns // 2]
    lines, line = [], margin
    for word in paragraph.split():
        longer_line = word if line == margin else f"{line} {word}"
        candidate = f"{margin}{word}" if line == margin else longer_line
        if width(candidate) <= columns:
            line = candidate
            continue
        if line.strip():
            lines.append(line)
        line = f"{margin}{word}"
        while width(line) > columns:
            head = _head(line, columns)
            lines.append(head)
            line = line[len(head) :]
    lines.append(line)
    return lines


def _head(text: str, columns: int) -> str:
    used = 0
    for position, character in enumerate(text):
        used += _columns(character)
        if used > columns:
            return text[: max(1, position)]
    return text
