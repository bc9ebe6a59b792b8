"""Words of an action and of a message, and how to say them briefly.

Tokens, quotes and clipping; independent of any language, shell or query dialect.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from reasoningbank.core.digest import blake2b

_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_WORD = re.compile(r"[^\W\d][\w.\-/]*\w|[^\W\d]|--?[^\W\d][\w-]*")
_CALL = re.compile(r"\s*([A-Za-z_][\w.\-]*)\(\s*[{)]")
_SPACE = re.compile("[\\s\x00-\x1f\x7f\ud800-\udfff]+")
"""Characters that cannot be shown, or kept, count as space."""
_NAME = re.compile(r"[A-Za-z_.~/@#-][\w.~/@#:+-]*")
_PROSE = re.compile(r"(?:^|\s)[A-Za-z]?[a-z'’]+(?:,? [a-z'’]+){3,}")
_TALK = re.compile(r"[A-Z][a-z'’]*[!,.:]?(?: +[\w'’,!-]+){3,}[.!?:].*", re.DOTALL)
_CODE_SIGNS = re.compile(
    r"[{}<>;=|]|\w\(|\)\s*:|^\s*(?:def|import|from|class|return|function|const|let|var)\b", re.MULTILINE
)
LONGEST_NAME_CHARS = 80


@lru_cache(maxsize=4096)
def bare_words(action: str) -> tuple[str, ...]:
    """The words outside quotes, case kept: names of things rather than values."""
    return tuple(_WORD.findall(_QUOTED.sub(" ", action.replace("`", " "))))


@lru_cache(maxsize=4096)
def all_words(text: str) -> frozenset[str]:
    """Every word, quoted or not, folded, whole and at its dots and slashes."""
    words = set()
    for word in _WORD.findall(text):
        lower = word.casefold()
        words.add(lower)
        if "." in lower or "/" in lower:
            words.update(part for part in re.split(r"[./]", lower) if part)
    return frozenset(words)


def called_tool(action: str) -> str | None:
    """The tool of an action written as a call, `tool({…})`."""
    match = _CALL.match(action)
    return match.group(1) if match else None


def arguments(action: str) -> dict[str, object] | None:
    """Arguments of a call, by name; None for any other action."""
    start, end = action.find("({"), action.rstrip().rfind("})")
    if start < 0 or end < 0 or not called_tool(action):
        return None
    try:
        value = json.loads(action[start + 1 : end + 1])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def describe_action(action: str, limit_chars: int) -> str:
    """An action in a lesson: of a call the tool and the names of its arguments, whose values were those of one case."""
    values = arguments(action)
    return clip_line(action if values is None else f"{called_tool(action)}({', '.join(values)})", limit_chars)


def head(action: str) -> str:
    """The verb of an action, without what it is done to: the tool, or the first word."""
    words = bare_words(action)
    return called_tool(action) or (words[0].casefold() if words else "")


def is_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME_CHARS and _NAME.fullmatch(text) is not None and any(c.isalpha() for c in text)


def is_prose(text: str) -> bool:
    """True if it is written in sentences: words in a row, and none of the signs that code has."""
    return _PROSE.search(text) is not None and _CODE_SIGNS.search(text) is None


def is_talk(action: str) -> bool:
    """True if an agent said something where it should have done something."""
    return _TALK.fullmatch(_QUOTED.sub(" ", action.strip())) is not None


def one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def clip_line(text: str, limit_chars: int) -> str:
    """On one line, cut at a word where it is too long."""
    line = one_line(text)
    if len(line) <= limit_chars:
        return line
    cut = line[: limit_chars - 1]
    at_word = cut.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > limit_chars // 2 else cut).rstrip(" ,;:.-(") + "…"


def digest(*parts: str) -> str:
    """A short name for what these words say."""
    return blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
