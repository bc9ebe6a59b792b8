"""The setting `index` of a bank: which engine, which embedder and which build of the index are in force.

Kept with the records, so that every process of every machine agrees. Knows that an index in a server belongs to one
bank: a copy of that bank finds that it is another one and begins an index of its own.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.types import EmbedderIdentity

SETTING, UNFINISHED = "index", "reindex"
"""The one in force, and the one that is being filled to take its place."""
BUILT = "index_built"
"""Which index in a server was built once: one that has to be built again was lost."""
DEFAULT_INDEX = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptIndex:
    identity: EmbedderIdentity
    build: int
    engine: str = DEFAULT_INDEX
    """The URL of an engine, without any password."""
    mark: str = ""
    """Prefix of the names of this bank's indexes in a server."""
    bank: str = ""
    """Which bank it is of, as `StoreInfo.bank` has it. Of one in files beside the bank nobody asks."""

    @property
    def is_in_files(self) -> bool:
        """True if it lies beside the bank, where no other bank looks for it."""
        return self.engine == DEFAULT_INDEX

    def __str__(self) -> str:
        value: dict[str, object] = {
            "embedder": {
                "name": self.identity.name,
                "model": self.identity.model,
                "dimension": self.identity.dimension,
                "revision": self.identity.revision,
            },
            "build": self.build,
        }
        if not self.is_in_files:
            value |= {"engine": self.engine, "mark": self.mark, "bank": self.bank}
        return json.dumps(value, sort_keys=True)

    def begun_anew(self, bank: str) -> KeptIndex:
        """The same choice for a bank that takes the place of another, or is a copy of it."""
        return make_kept_index(self.identity, self.engine, bank)

    def next_build(self, identity: EmbedderIdentity, engine: str, bank: str) -> KeptIndex:
        """The build that a reindex fills: in the same engine the next one, which lies beside this one."""
        if engine == self.engine:
            return replace(self, identity=identity, build=self.build + 1)
        return make_kept_index(identity, engine, bank)


def make_kept_index(identity: EmbedderIdentity, engine: str, bank: str) -> KeptIndex:
    """Names a new index with a random mark, so that no bank opens another's."""
    build = (1 << 32) + int.from_bytes(os.urandom(4), "big")
    if engine == DEFAULT_INDEX:
        return KeptIndex(identity=identity, build=build)
    return KeptIndex(identity=identity, build=build, engine=engine, mark=f"rb{os.urandom(6).hex()}", bank=bank)


@lru_cache(maxsize=4)
def parse_kept_index(text: str) -> KeptIndex:
    try:
        value = json.loads(text)
        return KeptIndex(
            identity=EmbedderIdentity(**value["embedder"]),
            build=int(value["build"]),
            engine=str(value.get("engine", DEFAULT_INDEX)),
            mark=str(value.get("mark", "")),
            bank=str(value.get("bank", "")),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise BankDamaged(
            f"The settings of this bank are damaged ({error}). Put a backup in its place: 'reasoningbank recover "
            "BACKUP'."
        ) from error


def other_build(setting: str) -> str:
    """The setting `index` of a bank that takes the place of another; which one it is, it says when it is opened."""
    return str(parse_kept_index(setting).begun_anew(""))
