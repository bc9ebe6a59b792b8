"""The endpoints by subject, each a table of rows."""

from __future__ import annotations

from reasoningbank.serve.http.endpoint import Endpoint
from reasoningbank.serve.http.routes import (
    bus,
    evidence,
    feed,
    finding,
    gaps,
    graph,
    jobs,
    keeping,
    links,
    memories,
    report,
    rules,
    secrets,
    sessions,
    teams,
    tracks,
    trust,
    upkeep,
    whole_sessions,
)

ENDPOINTS: tuple[Endpoint, ...] = (
    *finding.ENDPOINTS,
    *memories.ENDPOINTS,
    *evidence.ENDPOINTS,
    *sessions.ENDPOINTS,
    *links.ENDPOINTS,
    *feed.ENDPOINTS,
    *keeping.ENDPOINTS,
    *jobs.ENDPOINTS,
    *whole_sessions.ENDPOINTS,
    *trust.ENDPOINTS,
    *rules.ENDPOINTS,
    *gaps.ENDPOINTS,
    *report.ENDPOINTS,
    *secrets.ENDPOINTS,
    *upkeep.ENDPOINTS,
    *teams.ENDPOINTS,
    *tracks.ENDPOINTS,
    *graph.ENDPOINTS,
    *bus.ENDPOINTS,
)
"""The busiest first: that is also the order in which paths are tried."""
