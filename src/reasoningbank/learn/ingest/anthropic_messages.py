"""Messages of Anthropic's API: content blocks of which some call a tool and some bring its result.

Bedrock's form of the same blocks (`toolUse`, `toolResult`) is read too. Thoughts are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.text import plain


def is_message(value: object) -> bool:
    """True if a tool is called or answers in it: without one it is a chat message like any other."""
    content = (
        value.get("content") if isinstance(value, Mapping) and value.get("role") in ("user", "assistant") else None
    )
    return isinstance(content, list) and any(_use(block) or _outcome(block) for block in content)


def take(message: Any, talk: Conversation) -> None:
    for block in message["content"]:
        use, outcome = _use(block), _outcome(block)
        if use is not None:
            talk.call(use.get("name"), use.get("input"), use.get("id") or use.get("toolUseId"))
        elif outcome is not None:
            has_failed = outcome.get("is_error") is True or outcome.get("status") == "error"
            content = outcome.get("content")
            text = plain(content) or ("" if content is None or isinstance(content, list) else str(content))
            talk.result(text, outcome.get("tool_use_id") or outcome.get("toolUseId"), ok=False if has_failed else None)
        else:
            talk.say(message["role"], plain([block]))


def _use(block: object) -> Mapping[str, Any] | None:
    return _block(block, "tool_use", "toolUse")


def _outcome(block: object) -> Mapping[str, Any] | None:
    return _block(block, "tool_result", "toolResult")


def _block(block: object, ending: str, key: str) -> Mapping[str, Any] | None:
    """A block whose type ends so, as `server_tool_use` and `web_search_tool_result` do, or what stands under a key."""
    if not isinstance(block, Mapping):
        return None
    inner = block.get(key)
    if isinstance(inner, Mapping):
        return inner
    return block if isinstance(block.get("type"), str) and block["type"].endswith(ending) else None
