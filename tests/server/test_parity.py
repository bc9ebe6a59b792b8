"""Everything the library does can be done over HTTP, or is in a list that says why not."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.gaps import KnowledgeGaps
from reasoningbank.bank.graph import GraphMemory
from reasoningbank.bank.rules import RuleBook
from reasoningbank.bank.secrets import Secrets
from reasoningbank.bank.teams import TeamRoster
from reasoningbank.bank.trust import TrustDecisions
from reasoningbank.bank.upkeep import Upkeep
from reasoningbank.learn.jobs import Jobs
from reasoningbank_bus.facade import Bus
from reasoningbank_server import openapi
from reasoningbank_server.routes import ENDPOINTS

NOUNS: dict[str, type] = {
    "jobs": Jobs,
    "trust": TrustDecisions,
    "gaps": KnowledgeGaps,
    "upkeep": Upkeep,
    "secrets": Secrets,
    "teams": TeamRoster,
    "rules": RuleBook,
    "graph": GraphMemory,
}
"""What a bank is reached by beside its verbs."""

ROUTES: dict[str, str] = {
    "record": "POST /v1/memories",
    "store": "PUT /v1/keys/{key}",
    "record_many": "POST /v1/memories/bulk",
    "get": "GET /v1/memories/{id}",
    "list": "GET /v1/memories",
    "edit": "PATCH /v1/memories/{id}",
    "forget": "DELETE /v1/memories/{id}",
    "restore": "POST /v1/memories/{id}/restore",
    "erase": "DELETE /v1/memories/{id}",
    "changes": "GET /v1/changes",
    "trust.approve": "POST /v1/rulings",
    "trust.reject": "POST /v1/rulings",
    "trust.revoke": "POST /v1/rulings",
    "trust.undo": "POST /v1/rulings",
    "trust.rulings": "GET /v1/rulings",
    "trust.why": "GET /v1/memories/{id}/trust",
    "trust.origins": "GET /v1/origins",
    "trust.give": "POST /v1/bus/peers",
    "trust.given": "GET /v1/bus/peers",
    "search": "POST /v1/search",
    "gaps.list": "GET /v1/gaps",
    "gaps.forget": "DELETE /v1/gaps/{id}",
    "gaps.clear": "DELETE /v1/gaps",
    "inject": "POST /v1/inject",
    "embed": "POST /v1/embed",
    "compare": "POST /v1/compare",
    "feedback": "POST /v1/memories/{id}/feedback",
    "outcome": "POST /v1/memories/{id}/outcome",
    "stability": "POST /v1/memories/{id}/stability",
    "history": "GET /v1/memories/{id}/history",
    "report": "GET /v1/report",
    "trends": "GET /v1/trends",
    "account": "GET /v1/sessions/{id}/account",
    "shown_to": "GET /v1/memories/{id}/sessions",
    "start_session": "POST /v1/sessions",
    "add_step": "POST /v1/sessions/{id}/steps",
    "end_session": "POST /v1/sessions/{id}/end",
    "sessions": "GET /v1/sessions",
    "trajectory": "GET /v1/sessions/{id}",
    "distill": "POST /v1/distill",
    "keep": "POST /v1/episodes",
    "consolidate": "POST /v1/consolidate",
    "upkeep.consolidate": "POST /v1/consolidate",
    "upkeep.prune": "POST /v1/consolidate",
    "upkeep.promote": "POST /v1/consolidate",
    "upkeep.runs": "GET /v1/consolidations",
    "upkeep.account": "GET /v1/consolidations/{id}",
    "upkeep.undo": "POST /v1/consolidations/{id}/undo",
    "upkeep.faded": "GET /v1/faded",
    "ingest": "POST /v1/ingest",
    "link": "POST /v1/links",
    "unlink": "DELETE /v1/links/{id}",
    "neighbours": "GET /v1/memories/{id}/neighbours",
    "edges": "GET /v1/links",
    "track": "POST /v1/memories/{id}/steps",
    "track_of": "GET /v1/memories/{id}/steps",
    "teams.list": "GET /v1/teams",
    "teams.add": "POST /v1/teams",
    "teams.remove": "POST /v1/teams",
    **dict.fromkeys(("rules.in_force", "rules.proposed"), "GET /v1/rules"),
    "rules.add": "POST /v1/rules",
    **dict.fromkeys(("rules.keep", "rules.drop"), "PATCH /v1/rules/{id}"),
    "rules.erase": "DELETE /v1/rules/{id}",
    "graph.add": "POST /v1/graph",
    "graph.part": "GET /v1/graph",
    "graph.node": "GET /v1/graph/nodes/{id}",
    "graph.remove": "DELETE /v1/graph/nodes/{id}",
    "graph.conversations": "GET /v1/graph/conversations",
    "graph.conversation": "GET /v1/graph/conversations/{id}",
    "graph.remove_conversation": "DELETE /v1/graph/conversations/{id}",
    "graph.lessons": "GET /v1/graph/lessons",
    "graph.check": "GET /v1/graph/check",
    "graph.ingest": "POST /v1/graph/ingest",
    "graph.search": "POST /v1/graph/search",
    "graph.walk": "POST /v1/graph/walk",
    "graph.render": "POST /v1/graph/walk",
    "graph.path": "POST /v1/graph/path",
    **dict.fromkeys(
        ("graph.led_to", "graph.rests_on", "graph.contradicting", "graph.bridges"), "POST /v1/graph/questions"
    ),
    "graph.export": "GET /v1/graph/export",
    "graph.import_file": "POST /v1/graph/import",
    "export_lines": "GET /v1/export",
    "import_from": "POST /v1/import",
    "secrets.found_in": "POST /v1/secrets",
    "secrets.scrub": "POST /v1/scrub",
    "secrets.scrubbing": "GET /v1/scrubbing",
    "secrets.set_scrubbing": "PATCH /v1/scrubbing",
    "reindex": "POST /v1/reindex",
    "verify": "POST /v1/verify",
    "backup": "GET /v1/backup",
    "status": "GET /v1/status",
    "jobs.list": "GET /v1/jobs",
    "jobs.get": "GET /v1/jobs/{id}",
    "jobs.tally": "GET /v1/jobs",
    "jobs.retry": "POST /v1/jobs/{id}/retry",
    "jobs.discard": "POST /v1/jobs/{id}/discard",
    "jobs.distill": "POST /v1/distill",
    "jobs.next": "POST /v1/jobs/next",
    "jobs.answer": "POST /v1/jobs/{id}/answer",
    "jobs.spending": "GET /v1/spending",
    "bus.init": "POST /v1/bus/init",
    "bus.identity": "GET /v1/bus",
    "bus.fingerprint": "GET /v1/bus",
    "bus.is_initialised": "GET /v1/bus",
    "bus.status": "GET /v1/bus",
    "bus.grant": "POST /v1/bus/grants",
    "bus.grants": "GET /v1/bus/grants",
    "bus.accept": "POST /v1/bus/accept",
    "bus.revoke": "POST /v1/bus/revoke",
    "bus.spend": "GET /v1/bus/spend",
    "bus.trust": "POST /v1/bus/roots",
    "bus.roots": "GET /v1/bus/roots",
    "bus.peers": "GET /v1/bus/peers",
    "bus.peer": "GET /v1/bus/peers",
    "bus.add_peer": "POST /v1/bus/peers",
    "bus.remove_peer": "POST /v1/bus/peers",
    "bus.share": "PATCH /v1/bus/policy",
    "bus.ask": "POST /v1/bus/ask",
}

NOT_OVER_HTTP: dict[str, str] = {
    "close": "belongs to whoever opened the bank",
    "context": "the inside of a bank, for doors such as the server itself",
    "namespace": "the caller says it with each request",
    "tenant": "the credentials say it",
    "for_tenant": "the credentials say it",
    "atomically": "takes a function; a keyed write, memories/bulk and import are units",
    "trust.brought_by": "for the words of a revocation; what it hides is left out of every answer",
    "graph.would_remove": "a conversation's own route shows what is in it",
    "follow_erasures": "done by the server after an erasure",
    "flush_shown": "done by the server before a session ends",
    "settings": "of whoever runs the bank; what was set is in the status",
    "injection": "inject's own route gives its text and its reason",
    "holdout": "a setting of whoever runs the bank; what came of it is in the report",
    "candidates": "raw columns for evaluation in the same process",
    "session": "a block of Python; its three parts have routes",
    "loop": "takes the caller's agent, a function; its parts have routes",
    "scale": "takes the caller's agent, a function; runs can be sent as episodes",
    "catch_up": "every search does it, and the server when it is idle",
    "mend_index": "a search that comes across damage does it, and the server when it is idle; reindex builds all anew",
    "index_lag": "in the status, as what the index has of the changes",
    "has_open_index": "about the process of whoever asks",
    **dict.fromkeys(
        ("graph.ingest_many", "graph.ingest_files", "graph.ingest_session"),
        "many calls in one process, files of the caller's machine; each conversation has its route",
    ),
    "graph.asked_often": "search takes roles; a count of their tags is the caller's",
    "graph.seed_fields": "a conversation's route and the export give nodes and edges in these names",
    "teams.now": "a value of Python to ask; teams.list says the same",
    "teams.team_of": "teams.list says it of all",
    "jobs.summary": "folds what a crew in the same process did",
    "jobs.crew": "threads of the same process; the server runs its own",
    "jobs.work": "works one job in the caller's thread; the server's workers do it",
    "jobs.queue_contrast": "part of scale, which takes a function",
    "bus.close": "belongs to whoever opened it",
    "bus.key": "private, and leaves its file for no door",
    "bus.book": "the inside of the bus; peers have their route",
    "bus.log": "the inside of the bus, for what runs in this process",
    "bus.rights": "the inside of the bus; grants have their route",
    "bus.up": "runs until a signal; `serve --bus` does it inside the server",
}


def verbs() -> set[str]:
    def named(kind: type) -> set[str]:
        return {name for name, member in inspect.getmembers(kind) if not name.startswith("_") and _is_verb(member)}

    whole = named(Bank)
    assert NOUNS.keys() <= whole
    nouns = {**NOUNS, "bus": Bus}
    return (whole - NOUNS.keys()) | {f"{noun}.{name}" for noun, kind in nouns.items() for name in named(kind)}


def _is_verb(member: object) -> bool:
    return inspect.isfunction(member) or isinstance(member, property)


def test_every_verb_has_a_route_or_a_reason():
    told = ROUTES.keys() | NOT_OVER_HTTP.keys()
    assert verbs() - told == set(), "give these a route, or say in NOT_OVER_HTTP why not"
    assert told - verbs() == set(), "these are no verbs any more"
    assert not ROUTES.keys() & NOT_OVER_HTTP.keys()


@pytest.mark.parametrize("verb", ROUTES)
def test_the_route_of_a_verb_is_there(verb):
    method, path = ROUTES[verb].split()
    assert method.lower() in openapi.document()["paths"][path]


def test_no_route_is_offered_twice():
    offered = Counter((endpoint.method, endpoint.path) for endpoint in ENDPOINTS)
    assert [route for route, times in offered.items() if times > 1] == []


@pytest.mark.parametrize("kind", [Bank, Bus, *NOUNS.values()], ids=lambda kind: kind.__name__)
def test_every_verb_says_what_it_does(kind):
    said = {name: inspect.getdoc(member) for name, member in vars(kind).items() if _is_verb(member)}
    assert [name for name, text in said.items() if not name.startswith("_") and not text] == []
