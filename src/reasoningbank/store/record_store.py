"""A store: the rules of `store.records` over any engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import AccessToken, Change, Exposure, Gap, Record
from reasoningbank.store import feed
from reasoningbank.store.records.reader import RecordReader
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import EXPOSURES, LEASES, SETTINGS, IfTaken

if TYPE_CHECKING:
    from reasoningbank.ports import Damage, Reader, StoreInfo, Writer
    from reasoningbank.store.engine import Engine, Row, RowTransaction

T = TypeVar("T")
R = TypeVar("R", bound=Record)


class RecordStore:
    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self.engine = engine
        self._clock = clock
        self._location = str(engine.info.location)
        self._remedy = engine.remedy

    @property
    def info(self) -> StoreInfo:
        return self.engine.info

    # ------------------------------------------------------------ records

    @contextmanager
    def read(self, tenant: str) -> Iterator[Reader]:
        _check_tenant(tenant)
        with self.engine.read(tenant) as rows:
            yield RecordReader(rows, self._location, self._remedy)

    def write(self, tenant: str, change: Callable[[Writer], T], *, alone: bool = False, adds_only: bool = False) -> T:
        # Imported here: most commands only read.
        from reasoningbank.store.records.writer import RecordWriter

        _check_tenant(tenant)

        def change_rows(rows: RowTransaction) -> T:
            return change(RecordWriter(rows, self._location, self._remedy, self._clock))

        return self.engine.write(tenant, change_rows, alone=alone, adds_only=adds_only)

    # ------------------------------------------------------------ followers

    def head(self) -> int:
        return feed.head(self.engine)

    def changes(self, after: int, limit: int) -> list[Change]:
        return feed.changes(self.engine, after, limit)

    def listen(self, wake: Callable[[], object]) -> AbstractContextManager[None]:
        return self.engine.listen(wake)

    def turn(self, name: str, wait_s: float) -> AbstractContextManager[bool]:
        return self.engine.turn(name, wait_s)

    def renew_turn(self, name: str) -> bool:
        return self.engine.renew_turn(name)

    def unscoped(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        return feed.unscoped(self.engine, kind, ids)

    # ------------------------------------------------------------ logs

    def log_shown(self, exposures: Sequence[Exposure]) -> None:
        from reasoningbank.store.records.side_records import row_of

        if exposures:
            exposure_rows = [row_of(EXPOSURES, exposure) for exposure in exposures]
            self.engine.log(lambda rows: rows.put(EXPOSURES, exposure_rows))

    def log_gaps(self, gaps: Sequence[Gap]) -> None:
        from reasoningbank.store.records.gaps import add_gaps

        if gaps:
            self.engine.log(lambda rows: add_gaps(rows, gaps))

    def gaps(self, tenant: str) -> list[Gap]:
        from reasoningbank.store.records.gaps import gaps_of

        _check_tenant(tenant)
        return gaps_of(self.engine, tenant)

    def drop_gaps(self, tenant: str, ids: Sequence[str]) -> int:
        from reasoningbank.store.records.gaps import remove_gaps

        _check_tenant(tenant)
        return self.engine.write(tenant, lambda rows: remove_gaps(rows, ids))

    # ------------------------------------------------------------ settings

    def setting(self, name: str) -> str | None:
        return _value(self.engine.scan(_setting(name)))

    def glance(self, setting: str, after: int, limit: int) -> tuple[str | None, list[Change]]:
        setting_rows, rows = self.engine.scan_each([_setting(setting), feed.after_position(after, limit)])
        return _value(setting_rows), feed.decode_changes(self.engine, rows)

    def set_setting(self, name: str, value: str) -> None:
        self.engine.write(None, lambda rows: rows.put(SETTINGS, [(name, value)], IfTaken.REPLACE))

    def agree_setting(self, name: str, value: str) -> str:
        if not self.info.read_only:
            self.engine.write(None, lambda rows: rows.put(SETTINGS, [(name, value)], IfTaken.KEEP))
        return self.setting(name) or value

    # ------------------------------------------------------------ jobs, tokens

    def tenants_with_jobs(self) -> list[str]:
        from reasoningbank.store.records.leases import tenants_with_jobs

        return tenants_with_jobs(self.engine)

    def jobs_in_queue(self) -> int:
        return sum(number for (number,) in self.engine.scan(Selection(LEASES, ("count",))))

    def token(self, token_id: str) -> AccessToken | None:
        from reasoningbank.store.records.tokens import find_token

        return find_token(self.engine, token_id)

    def tokens(self) -> list[AccessToken]:
        from reasoningbank.store.records.tokens import all_tokens

        return all_tokens(self.engine)

    def keep_token(self, token: AccessToken) -> None:
        from reasoningbank.store.records.tokens import put_token

        _check_tenant(token.tenant)
        self.engine.write(None, lambda rows: put_token(rows, token))

    # ------------------------------------------------------------ the medium

    def verify(self) -> list[Damage]:
        return self.engine.checks()

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        self.engine.backup(target, progress)

    def close(self) -> None:
        self.engine.close()


def _setting(name: str) -> Selection:
    return Selection(SETTINGS, ("value",), equal(name=name))


def _value(rows: Sequence[Row]) -> str | None:
    return str(rows[0][0]) if rows else None


def _check_tenant(tenant: str) -> None:
    if not tenant:
        raise InvalidInput("A tenant is needed for every read and write.")
