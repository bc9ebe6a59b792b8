"""Sentences for whoever runs this process, in the log: something happened that nobody has to act on."""

from __future__ import annotations


def tell(sentence: str) -> None:
    """Said once, to whoever runs this process: nothing is lost, and nobody has to do anything."""
    from logging import getLogger

    getLogger("reasoningbank").warning(sentence)
