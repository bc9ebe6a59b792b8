"""The choice of an index: which engine, embedder and build are in force, agreeing on them, and changing them.

Asked of the records every time: another process may have changed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.core.errors import EmbedderMismatch, InvalidInput
from reasoningbank.core.frozen import replace
from reasoningbank.core.settings import EmbeddingSettings, Settings, parse_embedder
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Store
from reasoningbank.wiring.embedders import DEFAULT_EMBEDDER, find_identity, identity_of
from reasoningbank.wiring.indexes import check_index_url, is_for
from reasoningbank.wiring.kept_builds import BuildsMaker
from reasoningbank.wiring.kept_index import (
    DEFAULT_INDEX,
    SETTING,
    UNFINISHED,
    KeptIndex,
    make_kept_index,
    parse_kept_index,
)

if TYPE_CHECKING:
    from reasoningbank.config import Config
    from reasoningbank.location import Location


class IndexChoice:
    def __init__(self, store: Store, location: Location, config: Config, settings: Settings) -> None:
        self._store, self._location = store, location
        self._config, self._settings = config, settings
        self.identity = identity_of(DEFAULT_EMBEDDER)
        """The embedder that this process went by last."""

    # ------------------------------------------------------------ agreeing

    def agree_on(self, asked: EmbeddingSettings, engine: str | None, maker: BuildsMaker) -> None:
        """The settings choose for a bank that has none yet; what the caller has `asked` for must fit one that has."""
        engine = self.check_engine(engine)
        kept = self._kept()
        if kept is None:
            wanted = find_identity(self._settings.embedding, self._config)
            chosen = check_index_url(self._settings.storage.index or DEFAULT_INDEX, self._location)
            first = make_kept_index(wanted, chosen, self._store.info.bank)
            if not first.is_in_files:
                # Chosen for good: where its library is missing, that is said now.
                maker.make(first).close()
            kept = parse_kept_index(self._store.agree_setting(SETTING, str(first)))
        kept = self.own(kept)
        self.identity = kept.identity
        if engine not in (None, kept.engine):
            raise InvalidInput(
                f"This bank keeps its index in {kept.engine}, not in {engine}. To change it, run "
                f"'reasoningbank reindex --index {engine}': it fills the new one and then switches."
            )
        if not asked.fits(self.identity):
            # Whoever names only a dimension means the embedder that is there.
            wish = asked if asked.embedder else replace(asked, embedder=self.identity.name)
            raise EmbedderMismatch(
                f"This bank is indexed with {self.identity}, not {wish}. To change it, run "
                f"'reasoningbank reindex --embedder {wish}'; nothing is lost by that."
            )

    def check_engine(self, engine: str | None) -> str | None:
        return None if engine is None else check_index_url(engine, self._location)

    def require_configured(self) -> None:
        """Refuse what is in force where the configuration asks for another engine or embedder."""
        wish, index = self._settings.required, self._settings.required_index
        if not wish.is_said and index is None:
            return
        kept = self.in_force()
        identity = kept.identity
        if index is not None and index.strip() != kept.engine:
            [where] = [choice.where for choice in self._settings.chosen if choice.name == "storage.index"]
            raise InvalidInput(
                f"This bank keeps its index in {kept.engine}, and {where} asks for {index}. Run 'reasoningbank reindex "
                f"--index {index}', which fills that one and then switches, or have {where} say nothing of it."
            )
        if not wish.fits(identity):
            said = [c for c in self._settings.chosen if c.name.startswith("embedding.") and c.source == "file"]
            where = said[0].where
            raise EmbedderMismatch(
                f"This bank is indexed with {identity}, and {where} asks for {wish}. 'reasoningbank reindex' builds "
                "the index anew with that; nothing is lost by it. Until then nothing is searched: vectors of two "
                "models are never compared."
            )

    # ------------------------------------------------------------ which one

    def in_force(self) -> KeptIndex:
        kept = self._kept()
        return KeptIndex(identity=self.identity, build=1) if kept is None else self.own(kept)

    def _kept(self) -> KeptIndex | None:
        text = self._store.setting(SETTING)
        return None if text is None else parse_kept_index(text)

    def own(self, kept: KeptIndex) -> KeptIndex:
        """What is kept, unless this bank is a copy of the one that it is of: that one's index is left to it."""
        if kept.is_in_files or kept.bank == (info := self._store.info).bank:
            return kept
        if info.read_only:
            return KeptIndex(identity=kept.identity, build=kept.build)
        engine = kept.engine if is_for(kept.engine, self._location) else DEFAULT_INDEX
        own = make_kept_index(kept.identity, engine, info.bank)
        self.switch_to(own)
        return own

    # ------------------------------------------------------------ changing

    def unfinished(self) -> KeptIndex | None:
        """The build that a reindex has begun to fill."""
        text = self._store.setting(UNFINISHED)
        return parse_kept_index(text) if text else None

    def begin(self, target: KeptIndex) -> None:
        self._store.set_setting(UNFINISHED, str(target))

    def forget_unfinished(self) -> None:
        self._store.set_setting(UNFINISHED, "")

    def switch_to(self, target: KeptIndex) -> None:
        self._store.set_setting(SETTING, str(target))
        self.forget_unfinished()

    def next_build(
        self, current: KeptIndex, embedder: str | None, dimension: int | None, engine: str | None
    ) -> KeptIndex:
        """The build that a reindex with this embedder and engine will fill."""
        identity = find_identity(self._wish(embedder, dimension, current.identity), self._config)
        return current.next_build(identity, engine or current.engine, self._store.info.bank)

    def _wish(self, embedder: str | None, dimension: int | None, current: EmbedderIdentity) -> EmbeddingSettings:
        """What to index with: what is said, else what the configuration says of it, else what there is."""
        said = parse_embedder(embedder) if embedder else EmbeddingSettings()
        if dimension is not None:
            said = replace(said, dimension=dimension)
        if not said.is_said:
            said = self._settings.required
        configured = self._settings.embedding
        if said.model is None and said.embedder is not None and said.embedder == configured.embedder:
            said = replace(said, model=configured.model, dimension=said.dimension or configured.dimension)
        if said.embedder in (None, current.name) and said.model in (None, current.model):
            model = current.model if current.name == "openai" else None
            return EmbeddingSettings(embedder=current.name, model=model, dimension=said.dimension or current.dimension)
        return said
