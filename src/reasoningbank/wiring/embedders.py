"""Which embedder stands behind a name, what it is, and how it is made.

What an embedder is (its identity) is known here without loading it, so that opening a bank costs no model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.config import Config
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import EmbedderIdentity

if TYPE_CHECKING:
    from reasoningbank.ports import Embedder

DEFAULT_EMBEDDER = "local"
EMBEDDERS = ("local", "hash", "openai")
OPENAI_MODEL = "text-embedding-3-small"
OPENAI_DIMENSION = 1536
HASH_DIMENSION = 1024
_LOCAL_MANIFEST = Path(__file__).parent.parent / "embed" / "models" / "minilm" / "manifest.json"


def identity_of(name: str, dimension: int | None = None) -> EmbedderIdentity:
    """What an embedder is, without loading it."""
    match name:
        case "hash":
            chosen = HASH_DIMENSION if dimension is None else dimension
            if not 1 <= chosen <= 65_536:
                raise InvalidInput(f"dimension must be from 1 to 65,536, not {chosen}.")
            return EmbedderIdentity(name="hash", model="ngram-1-2-3", dimension=chosen, revision="1")
        case "local":
            manifest = json.loads(_LOCAL_MANIFEST.read_bytes())
            identity = EmbedderIdentity(
                name="local",
                model=manifest["model"],
                dimension=manifest["dimension"],
                revision=manifest["revision"],
            )
        case "openai":
            chosen = OPENAI_DIMENSION if dimension is None else dimension
            return EmbedderIdentity(name="openai", model=OPENAI_MODEL, dimension=chosen, revision="1")
        case _:
            raise InvalidInput(f"Unknown embedder {name!r}: use one of {', '.join(EMBEDDERS)}.")
    if dimension not in (None, identity.dimension):
        raise InvalidInput(f"The {name} embedder has {identity.dimension} dimensions, not {dimension}.")
    return identity


FACETS = ("text",)
"""The vectors of a memory, whichever embedder: one of all that it says."""


def make_embedder(identity: EmbedderIdentity, config: Config) -> Embedder:
    from reasoningbank.embed.cache import CachedEmbedder

    if identity.name == "hash":
        from reasoningbank.embed.hashing import HashEmbedder

        return CachedEmbedder(HashEmbedder(identity.dimension))
    if identity.name == "local":
        from reasoningbank.embed.minilm import MiniLMEmbedder

        return CachedEmbedder(MiniLMEmbedder())
    from reasoningbank.embed.remote import OpenAIEmbedder

    return CachedEmbedder(
        OpenAIEmbedder(
            model=identity.model,
            dimension=identity.dimension,
            base_url=config.openai_base_url,
            api_key=config.openai_api_key,
        )
    )
