"""Estimates how many tokens a text costs a model.

By its characters alone: a real tokenizer is a download and differs from model to model. Whoever keeps a hard limit
should leave room for the error.
"""

from __future__ import annotations

import math

ASCII_CHARACTERS_PER_TOKEN = 3.9
EXTRA_BYTES_PER_TOKEN = 2.0
"""UTF-8 bytes beyond one per character: Cyrillic or an accent has 1 (half a token), CJK 2, an emoji 3."""


def count_tokens(text: str) -> int:
    characters = len(text)
    if text.isascii():
        return math.ceil(characters / ASCII_CHARACTERS_PER_TOKEN)
    plain = len(text.encode("ascii", "ignore"))
    extra_bytes = len(text.encode("utf-8", "surrogatepass")) - characters
    return math.ceil(plain / ASCII_CHARACTERS_PER_TOKEN + extra_bytes / EXTRA_BYTES_PER_TOKEN)
