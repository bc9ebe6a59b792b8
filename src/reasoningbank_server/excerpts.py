"""Excerpts of an answer: its long texts cut, with their lengths beside them, for whoever shows a list of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reasoningbank_server.endpoint import Reply

CUT = "cut"


def cut_texts(reply: Reply, most_chars: int) -> Reply:
    return replace(reply, body=_shorten(reply.body, most_chars))


def _shorten(value: Any, most: int) -> Any:
    if isinstance(value, (list, tuple)):
        return [_shorten(item, most) for item in value]
    if isinstance(value, str) and len(value) > most:
        return f"{value[:most]}…"
    if not isinstance(value, dict):
        return value
    lengths = {name: len(text) for name, text in value.items() if isinstance(text, str) and len(text) > most}
    values = {name: _shorten(item, most) for name, item in value.items()}
    return {**values, CUT: lengths} if lengths else values
