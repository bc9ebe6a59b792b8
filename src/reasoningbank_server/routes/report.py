"""Endpoint of the report: what each memory has done, and what difference it makes."""

from __future__ import annotations

from reasoningbank.bank.json_view import report_json, trends_json
from reasoningbank.core.types import DEFAULT_LIST_LIMIT
from reasoningbank.learn.trends import MOST_DAYS
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply

MOST_LISTED = 200
DEFAULT_DAYS = 30
_SECONDS_A_DAY = 86_400.0


def _report(call: Call) -> Reply:
    days, every = call.query.get("days"), call.query.get("every_namespace", False)
    report = call.bank.report(
        namespace="*" if every else None,
        since=None if days is None else call.bank.context.clock() - days * _SECONDS_A_DAY,
        limit=call.query.get("limit", DEFAULT_LIST_LIMIT),
    )
    return Reply(body=report_json(report))


def _trends(call: Call) -> Reply:
    every = call.query.get("every_namespace", False)
    trends = call.bank.trends(days=call.query.get("days", DEFAULT_DAYS), namespace="*" if every else None)
    return Reply(body=trends_json(trends))


_LINES = {"type": "array", "items": {"type": "object"}}

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/report",
        scope="read",
        group="evidence",
        summary="What each memory has done, what difference it makes, and what is dead weight",
        handle=_report,
        query=(
            Parameter(
                name="days", schema={"type": "integer", "minimum": 1, "maximum": 36_500}, about="only these, until now"
            ),
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIST_LIMIT},
            ),
            Parameter(name="every_namespace", schema=schemas.FLAG, about="not only one namespace"),
        ),
        reply=schemas.out(memories=_LINES, dead_weight=_LINES, kinds=_LINES, totals=schemas.COUNTS),
        lane="slow",
    ),
    Endpoint(
        method="GET",
        path="/v1/trends",
        scope="read",
        group="evidence",
        summary="What was learned, how tasks went and how sure the bank was, by day",
        handle=_trends,
        query=(
            Parameter(
                name="days",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_DAYS, "default": DEFAULT_DAYS},
                about="these, until today",
            ),
            Parameter(name="every_namespace", schema=schemas.FLAG, about="not only one namespace"),
        ),
        reply=schemas.out(days={"type": "array", "items": schemas.ref("Day")}, followed=schemas.COUNT),
        lane="slow",
        kept_s=60.0,
    ),
)
