"""The endpoints by subject, each a table of rows."""

from __future__ import annotations

from reasoningbank.plugins import plugins
from reasoningbank_server.endpoint import Endpoint, Routes
from reasoningbank_server.routes import (
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

OF_PLUGINS: tuple[Routes, ...] = tuple(plugin.load() for plugin in plugins("routes").values())
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
    *(endpoint for routes in OF_PLUGINS for endpoint in routes.endpoints),
)
"""The busiest first: that is also the order in which paths are tried."""
