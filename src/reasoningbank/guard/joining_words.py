"""Words of other languages that join others, for telling a sentence from a list of names."""

from __future__ import annotations

FOREIGN_JOINING_WORDS = frozenset({
    "der", "die", "das", "und", "zu", "mit", "von", "vor", "nach", "jedem", "le", "la", "les", "des", "du",
    "et", "vers", "sans", "avant", "el", "los", "las", "del", "de", "y", "cada", "sin", "hacia", "antes",
    "siempre",
})  # fmt: skip
