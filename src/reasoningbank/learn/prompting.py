"""Prompt files and their hashes, which are kept with what came of them."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import MOST_LESSONS

_FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    name: str
    text: str
    hash: str
    """Hash of the text: two memories with the same hash were asked for in the same words."""


@cache
def prompt(name: str, most: int = MOST_LESSONS) -> Prompt:
    """The prompt of a name; `most` is how many memories it asks for, where it asks for any."""
    text = (_FOLDER / f"{name}.md").read_text("utf-8").strip()
    text = text.replace(f"Extract 0 to {MOST_LESSONS} memories", f"Extract 0 to {most} memories")
    return Prompt(name=name, text=text, hash=blake2b(text.encode("utf-8"), digest_size=8).hexdigest())
