"""Renders a memory as one line of Markdown that can be nothing but a line of text.

Agents read more into such files: a heading is a rule, `@path` fetches a file, an exclamation mark before a code span
runs a command, a comment may be one of our own marks. None of it survives, whatever a memory says.
"""

from __future__ import annotations

import re

from reasoningbank.core.confidence import track_record
from reasoningbank.core.types import Outcome, Remembered
from reasoningbank.core.wording import avoid_title
from reasoningbank.guard.envelope import memory_words
from reasoningbank.guard.hidden import visible

_SPACES = re.compile(r"\s+")
_FETCHED = re.compile(r"(?<![\w@])@(?=\S)[^\s`]+")
_TICKS = re.compile(r"`+")
_SPAN = re.compile(r"(`[^`]*`)")
# Behind a word, before an empty line or one that begins anew: a list mark, a number or a capital letter.
_LINE_END = re.compile(r"(?<=[\w)\]'\"`])([ \t]*\r?\n(?:\s*\n|(?=\s*(?:[-*•+] |\d|[^\W\d_a-z]))))")
_FACT = "fact"


def entry(item: Remembered) -> str:
    kind = "Avoid" if item.outcome is Outcome.FAILURE else "Known" if _FACT in item.tags else "Do"
    title = avoid_title(item.title) if item.outcome is Outcome.FAILURE else item.title
    evidence = f"confidence {item.confidence.mean:.2f}"
    if record := track_record(item):
        evidence += f", {record}"
    when = in_line(memory_words(item.description)) if _FACT not in item.tags else ""
    label = "" if when.casefold().startswith("when ") else "When: "
    # Lines that stood apart keep apart in one line; a sentence that was only broken at a margin goes on.
    content = item.content if "```" in item.content else _LINE_END.sub(";\\1", item.content.strip())
    content = in_line(memory_words(content))
    sentences = [_end_sentence(content), f"{label}{_end_sentence(when)}" if when else ""]
    headline = in_line(memory_words(title)).replace("*", "")
    return f"- **{kind}: {headline}** {' '.join(filter(None, sentences))} ({evidence})"


def in_line(text: str) -> str:
    """The same words in one line, without anything that an agent would act upon."""
    flat = _SPACES.sub(" ", visible(text)).strip()
    # A run of ticks opens a span that only the same run closes; single ones come in pairs or not at all.
    flat = _TICKS.sub("`", flat)
    if flat.count("`") % 2:
        flat = flat.replace("`", "'")
    parts = _SPAN.split(flat)
    plain = [part if number % 2 else _harmless(part) for number, part in enumerate(parts)]
    return re.sub(r"!(?=`)", "! ", "".join(plain)).replace("<!--", "< !--").replace("-->", "-- >")


def _harmless(text: str) -> str:
    safe = _FETCHED.sub(lambda match: f"`{match[0]}`", text)
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", safe)


def _end_sentence(text: str) -> str:
    return text if not text or text[-1] in ".!?…:;" else f"{text}."
