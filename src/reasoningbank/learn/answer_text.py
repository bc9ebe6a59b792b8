"""Prepares a model's answer for reading: without its thoughts, and in plain characters.

Takes away what models put around an answer, and changes no word of the answer itself.
"""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern

_THOUGHTS = pattern(r"<(think|thinking|thought|reasoning|reflection|scratchpad)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHTS = pattern(
    r"\A.*</(?:think|thinking|thought|reasoning|reflection|scratchpad)>", re.DOTALL | re.IGNORECASE
)
_CHANNEL = pattern(r"\A.*<\|channel\|>final<\|message\|>", re.DOTALL)
_MARKS = pattern(r"<\|[\w-]+\|>|</?s>|</?answer>|</?final_answer>|</?output>", re.IGNORECASE)
_FENCES = pattern(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.MULTILINE)


def answer_in(text: str) -> str:
    """The answer of a model, with thoughts, marks of its template and a byte order mark taken out.

    Thoughts may lack their beginning, which some servers cut off; without their end there is no answer after them.
    """
    body = text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")
    body = _THOUGHTS.sub("", body)
    body = _END_OF_THOUGHTS.sub("", body, count=1)
    body = _CHANNEL.sub("", body, count=1)
    return _MARKS.sub("", body).strip()


def without_fences(text: str) -> str:
    """Without the lines that only begin or end a block of code."""
    return _FENCES.sub("", text).strip()
