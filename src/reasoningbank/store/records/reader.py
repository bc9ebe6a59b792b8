"""Reads one tenant's records, for engines such as recall, learn and guard."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.types import Lease
from reasoningbank.store.records.evidence import EvidenceRows
from reasoningbank.store.records.graph import GraphRows
from reasoningbank.store.records.leases import find_leases
from reasoningbank.store.records.side_records import SideRecordRows
from reasoningbank.store.records.tasks import TaskRows
from reasoningbank.store.records.trust import TrustRows


class RecordReader(SideRecordRows, EvidenceRows, TaskRows, TrustRows, GraphRows):
    """Records of one tenant, as of one moment."""

    def leases(self, job_ids: Sequence[str] | None = None) -> list[Lease]:
        return find_leases(self._rows, job_ids)
