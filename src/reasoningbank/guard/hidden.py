"""Finds and removes hidden text: what a person does not see and a model reads.

Characters and markup may hide text; writing systems and emoji need some of the same characters. `hidden` says what is
there, `visible` gives the text without it. Whether what was hidden meant harm is not judged here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache

_CONTROLS = (
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[@-Z\\^_])?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
_CONCEALED = (
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d]*[1-9])|font-size\s*:\s*[01](?:px|pt|em|%|\b)"
    r"|(?<!-)color\s*:\s*(?:transparent|white|#fff(?:fff)?\b)|(?:left|top|text-indent)\s*:\s*-\d{3,}|(?:width|height)\s*:\s*0"
)
_OPENING = (
    rf"<(\w{{1,20}})\b[^<>]{{0,500}}?(?:style\s{{0,5}}=\s{{0,5}}[\"'][^\"'<>]{{0,300}}?(?:{_CONCEALED})|\s(?:aria-)?hidden\b)"
    r"[^<>]{0,500}>"
)
_MARKUP: tuple[tuple[str, str], ...] = (
    # Each looks a bounded way ahead, so that a million openings without a close cost no more than their length.
    ("markdown-comment", r"^[ \t]{0,3}\[(?://|comment|_|\#)\]:[ \t]{0,9}(?:\#|<>)?[^\n]{0,5000}"),
    ("link-title", r"(?<=\]\()([ \t]{0,9}[^\s()]{0,999})\s{1,9}(?:\"[^\"\n]{24,999}\"|'[^'\n]{24,999}')(?=\s{0,9}\))"),
    ("link-without-text", r"!?\[\s{0,9}\]\(\s{0,9}https?://[^\s()\[\]]{1,500}\s{0,9}\)"),
)  # fmt: skip
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINED_SCRIPTS = (
    "\u0600-\u06ff\u0750-\u077f\u0780-\u07ff\u0840-\u085f\u08a0-\u08ff\u0900-\u0dff\u0e80-\u0fff\u1000-\u109f"
    "\u1780-\u17ff\u1800-\u18af\ua8e0-\ua8ff\ufb50-\ufdff\ufe70-\ufeff"
)
"""Arabic, Syriac, Indic, Khmer, Mongolian …: writing in which a joiner or a non-joiner is part of the spelling."""
_RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PLAIN_CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_LATIN = "[A-Za-z]"
# Not all of Greek: α, β and γ stand in the names of proteins.
_LOOKALIKE = "[аеорсухіјѕһԁԛԝАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧο]"


def hidden(text: str) -> Mapping[str, int]:
    """How often each way of hiding occurs; empty for nearly every text."""
    ascii_only, has_markup = text.isascii(), "<" in text or "[" in text
    # Line ends are all that most ASCII has of what is not printed; a pattern takes five times as long.
    if (
        ascii_only
        and not has_markup
        and (text.replace("\n", " ").isprintable() or _pattern(_PLAIN_CONTROLS).search(text) is None)
    ):
        return {}
    counts: Counter[str] = Counter()
    for match in _pattern(_CONTROLS).finditer(text):
        counts["ansi-escape" if match[0][0] == "\x1b" else "control-character"] += 1
    if has_markup:
        for name, pattern in _markup():
            counts[name] += sum(1 for _ in pattern.finditer(text))
        for _, _, name in _concealed_spans(text):
            counts[name] += 1
    if not ascii_only:
        for start, stop, name in _invisible_runs(text):
            counts[name] += stop - start
        if _pattern(_LOOKALIKE).search(text):
            counts["mixed-script"] += sum(1 for word in _pattern(r"[^\W\d_]{3,}").findall(text) if _is_mixed(word))
    return {name: count for name, count in counts.items() if count}


def visible(text: str, *, markup: bool = True) -> str:
    """The text without what hides. Without `markup`, comments and hidden elements stay: as text they hide nothing."""
    if text.isascii() and text.isprintable() and "<" not in text and "[" not in text:
        return text
    text = _pattern(_CONTROLS).sub("", text)
    if markup:
        text = _without(text, _concealed_spans(text))
        for name, pattern in _markup():
            text = pattern.sub(r"\1" if name == "link-title" else "", text)
    if text.isascii():
        return text
    return _without(text, _invisible_runs(text))


def _without(text: str, spans: list[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, stop, _ in spans:
        parts.append(text[at:start])
        at = stop
    return "".join((*parts, text[at:]))


def _concealed_spans(text: str) -> list[tuple[int, int, str]]:
    """(start, stop, kind) of the comments and the elements that a page does not show, with what stands in them."""
    if "<" not in text:
        return []
    spans: list[tuple[int, int, str]] = []
    lower, at = text.casefold() if text.isascii() else text, 0
    missing: set[str] = set()
    for match in _pattern(f"<!--|{_OPENING}", re.IGNORECASE).finditer(text):
        if match.start() < at:
            continue
        close = "-->" if match[1] is None else f"</{match[1].casefold()}"
        end = -1 if close in missing else lower.find(close, match.end())
        if end >= 0:
            at = end + len(close) if match[1] is None else lower.find(">", end) + 1 or len(text)
        else:
            missing.add(close)
            # A comment that is never closed hides the rest of a page, an element only itself.
            at = len(text) if match[1] is None else match.end()
        spans.append((match.start(), at, "html-comment" if match[1] is None else "hidden-element"))
    return spans


def _invisible_runs(text: str) -> list[tuple[int, int, str]]:
    """(start, stop, kind) of the invisible characters that nothing around them needs."""
    runs: list[tuple[int, int, str]] = []
    if _pattern(f"[{_INVISIBLE}]").search(text) is None:
        return runs
    if (
        _pattern(f"[\ufe0e\ufe0f\u00ad\U0001f3f4{_EMOJI}{_JOINED_SCRIPTS}{_RTL}{_IDEOGRAPHS}\u2200-\u22ff]").search(
            text
        )
        is None
    ):
        return [(*match.span(), _kind(match[0][0])) for match in _pattern(f"[{_INVISIBLE}]+").finditer(text)]
    rightward = _pattern(f"[{_RTL}]").search(text) is not None
    for match in _pattern(f"[{_INVISIBLE}]+").finditer(text):
        at = match.start()
        before = text[at - 1] if at else ""
        count = _needed_count(before, match[0], text[match.end() : match.end() + 1], rightward=rightward)
        if count < len(match[0]):
            rest = match[0][count:]
            runs.append((at + count, match.end(), _kind(rest[0])))
    return runs


def _needed_count(before: str, run: str, after: str, *, rightward: bool) -> int:  # noqa: PLR0911 - one for each custom of writing
    """How many characters at the start of an invisible run belong to the writing around it."""
    if before and run[0] in "\ufe0e\ufe0f" and _pattern(f"[{_EMOJI}0-9#*]").match(before):
        # A glyph or an emoji, perhaps joined to the next one.
        return 2 if run[1:2] == "\u200d" and _pattern(f"[{_EMOJI}]").match(after) else 1
    if len(run) == 1 and before and after:
        if run == "\u200d" and _pattern(f"[{_EMOJI}\U0001f3fb-\U0001f3ff]").match(before):
            return int(_pattern(f"[{_EMOJI}]").match(after) is not None)
        if run in "\u200c\u200d" and _pattern(f"[{_JOINED_SCRIPTS}]").match(before):
            return int(_pattern(rf"[{_JOINED_SCRIPTS}\s]").match(after) is not None)
        if run == "\u00ad":
            return int(before.isalpha() and after.isalpha())
    if len(run) == 1 and rightward and run in "\u061c\u200e\u200f\u2066\u2067\u2068\u2069":
        return 1
    if len(run) == 1 and before and _pattern("[\ufe00-\ufe02\U000e0100-\U000e01ef]").match(run):
        return int(_pattern(f"[{_IDEOGRAPHS}\u2200-\u22ff]").match(before) is not None)
    if len(run) == 1 and before and _pattern("[\u180b-\u180f]").match(run):
        return int(_pattern("[\u1800-\u18af]").match(before) is not None)
    if before == "\U0001f3f4":
        flag = _pattern("[\U000e0061-\U000e007a]{4,6}\U000e007f").match(run)
        return flag.end() if flag else 0
    return 0


def _kind(character: str) -> str:
    code = ord(character)
    if 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F, 0x061C):
        return "bidi"
    if 0xE0000 <= code <= 0xE007F:
        return "tag-characters"
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return "variation-selectors"
    return "zero-width"


def _is_mixed(word: str) -> bool:
    """Latin letters with others that cannot be told from them by eye; a hint, since a name may do the same."""
    return _pattern(_LATIN).search(word) is not None and _pattern(_LOOKALIKE).search(word) is not None


# Compiled when the first text needs them: most starts meet plain ASCII only.
@cache
def _pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(source, flags)


@cache
def _markup() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(source, re.DOTALL | re.IGNORECASE | re.MULTILINE)) for name, source in _MARKUP)
