"""Makes the embedder that a name stands for.

What an embedder is (its identity) is known here without loading it, so that opening a bank costs no model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasoningbank.config import Config
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.media import faults_of
from reasoningbank.core.settings import EmbeddingSettings, parse_embedder
from reasoningbank.core.types import EmbedderIdentity

if TYPE_CHECKING:
    from reasoningbank.location import Location
    from reasoningbank.ports import Embedder

DEFAULT_EMBEDDER = "local"
EMBEDDERS = ("local", "hash", "openai")
OPENAI_MODEL = "text-embedding-3-small"
OPENAI_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""Of the models that are known without asking; those of other servers are asked for theirs."""
_SHORTENS = "text-embedding-3-"
"""Models whose vectors OpenAI shortens on request begin so."""
HASH_DIMENSION = 1024
MOST_DIMENSIONS = 65_536
_LOCAL_MANIFEST = Path(__file__).parent.parent / "embed" / "models" / "minilm" / "manifest.json"


def identity_of(name: str, dimension: int | None = None, model: str | None = None) -> EmbedderIdentity:
    """What an embedder is, without loading it; `name` may carry its model, as `openai/text-embedding-3-large` does."""
    if "/" in name:
        wish = parse_embedder(name)
        name, model = str(wish.embedder), model or wish.model
        dimension = wish.dimension if dimension is None else dimension
    match name:
        case "hash":
            chosen = HASH_DIMENSION if dimension is None else dimension
            _check_dimension(chosen)
            identity = EmbedderIdentity(name="hash", model="ngram-1-2-3", dimension=chosen, revision="1")
        case "local":
            with faults_of(f"the local model in {_LOCAL_MANIFEST.parent}"):
                manifest = json.loads(_LOCAL_MANIFEST.read_bytes())
            identity = EmbedderIdentity(
                name="local",
                model=manifest["model"],
                dimension=manifest["dimension"],
                revision=manifest["revision"],
            )
        case "openai":
            chosen = _openai_dimension(model or OPENAI_MODEL, dimension)
            return EmbedderIdentity(name="openai", model=model or OPENAI_MODEL, dimension=chosen, revision="1")
        case _:
            raise InvalidInput(f"Unknown embedder {name!r}: use one of {', '.join(EMBEDDERS)}.")
    if dimension not in (None, identity.dimension):
        raise InvalidInput(f"The {name} embedder has {identity.dimension} dimensions, not {dimension}.")
    if model not in (None, identity.model):
        raise InvalidInput(f"The {name} embedder is {identity.model}, not {model}: only openai has a choice of models.")
    return identity


def examine_local_model() -> tuple[dict[str, Any], list[str]]:
    """The manifest of the local model, and those of its files that do not have their hashes."""
    from reasoningbank.embed.minilm import MODEL_FOLDER, damaged_files

    return json.loads(_LOCAL_MANIFEST.read_bytes()), damaged_files(MODEL_FOLDER)


def find_identity(wish: EmbeddingSettings, config: Config) -> EmbedderIdentity:
    """What the embedder is that somebody wishes for. A model that only its server knows is asked for its dimension."""
    name, model, dimension = wish.embedder or DEFAULT_EMBEDDER, wish.model, wish.dimension
    if name == "openai" and dimension is None and model is not None and model not in OPENAI_DIMENSIONS:
        from reasoningbank.embed.remote import find_dimension

        dimension = find_dimension(model, api_key=config.openai_api_key, base_url=config.openai_base_url)
    return identity_of(name, dimension, model)


def _openai_dimension(model: str, dimension: int | None) -> int:
    own = OPENAI_DIMENSIONS.get(model)
    if dimension is None:
        if own is None:
            raise InvalidInput(f"How many dimensions {model} has is not known here: say it, as openai/{model}/768.")
        return own
    _check_dimension(dimension)
    if own is not None and (dimension > own or (dimension < own and not model.startswith(_SHORTENS))):
        fewer = " or fewer" if model.startswith(_SHORTENS) else ""
        raise InvalidInput(f"{model} has {own:,} dimensions{fewer}, not {dimension:,}.")
    return dimension


def _check_dimension(dimension: int) -> None:
    if not 1 <= dimension <= MOST_DIMENSIONS:
        raise InvalidInput(f"dimension must be from 1 to {MOST_DIMENSIONS:,}, not {dimension}.")


"""The vectors of a memory, whichever embedder: one of all that it says."""


def make_embedder(identity: EmbedderIdentity, config: Config, location: Location | None = None) -> Embedder:
    """`location` is of the bank beside which it is remembered that the local model's files are as they were shipped."""
    from reasoningbank.embed.cache import CachedEmbedder

    if identity.name == "hash":
        from reasoningbank.embed.hashing import HashEmbedder

        return CachedEmbedder(HashEmbedder(identity.dimension))
    if identity.name == "local":
        from reasoningbank.embed.minilm import MiniLMEmbedder

        stamp = None if location is None else location.shared_path("local-model-checked")
        return CachedEmbedder(MiniLMEmbedder(stamp=None if stamp is None else Path(stamp)))
    from reasoningbank.embed.remote import OpenAIEmbedder

    return CachedEmbedder(
        OpenAIEmbedder(
            model=identity.model,
            dimension=identity.dimension,
            base_url=config.openai_base_url,
            api_key=config.openai_api_key,
            ask_dimension=_is_shortened(identity),
        )
    )


def _is_shortened(identity: EmbedderIdentity) -> bool | None:
    """Whether the server is told the dimension; None leaves it to its first answer."""
    own = OPENAI_DIMENSIONS.get(identity.model)
    return None if own is None else identity.dimension != own
