"""Values as plain JSON, the same for the command line, the servers and the exports.

Times become ISO 8601 in UTC next to nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reasoningbank.core.confidence import track_record
from reasoningbank.core.frozen import fields
from reasoningbank.core.link_meaning import relation, sentence_from
from reasoningbank.core.types import Confidence, Edge, Memory, Remembered, Rule, Ruling, Signal, Step, Trajectory
from reasoningbank.guard.trust import warnings_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from reasoningbank.bank.teams import Team
    from reasoningbank.bank.trust import Provenance, Source
    from reasoningbank.core.types import Spending
    from reasoningbank.graph.walk import Joined, Neighbour
    from reasoningbank.guard.sweep import Swept
    from reasoningbank.learn.account import Appearance, SessionAccount
    from reasoningbank.learn.agent_jobs import Handed
    from reasoningbank.learn.consolidate.fading import Faded
    from reasoningbank.learn.consolidate.plan import Consolidated, ConsolidationRun, Link, Plan, Undone
    from reasoningbank.learn.consolidate.run_account import RunAccount
    from reasoningbank.learn.evidence import History
    from reasoningbank.learn.import_session import Kept
    from reasoningbank.learn.jobs import Distilled
    from reasoningbank.learn.queue import Queued
    from reasoningbank.learn.report import Report, ReportLine
    from reasoningbank.learn.trends import Trends
    from reasoningbank.recall.gaps import OpenGap
    from reasoningbank.recall.query import Recalled, SearchResult, SeeAlso


def iso(at: float | None) -> str | None:
    if at is None:
        return None
    # Imported here: most commands print no such time.
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, OSError, ValueError):
        return None


def _times(values: dict[str, Any]) -> dict[str, Any]:
    return {name: iso(v) if name == "at" or name.endswith("_at") else v for name, v in values.items()}


def _plain(record: DataclassInstance) -> dict[str, Any]:
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    for name, value in values.items():
        if isinstance(value, tuple):
            values[name] = list(value)
    return _times(values)


def memory_json(memory: Memory) -> dict[str, Any]:
    return _plain(memory)


def rule_json(rule: Rule) -> dict[str, Any]:
    view = _plain(rule)
    del view["tenant"]
    return view


def confidence_json(confidence: Confidence) -> dict[str, float]:
    return {
        "confidence": round(confidence.mean, 6),
        "confidence_low": round(confidence.low, 6),
        "confidence_high": round(confidence.high, 6),
    }


def stored_json(item: Remembered) -> dict[str, Any]:
    """A memory just stored, with the secrets that were taken out of it on the way in."""
    return {**remembered_json(item), "scrubbed": dict(item.scrubbed)}


def remembered_json(item: Remembered) -> dict[str, Any]:
    return {
        **memory_json(item.memory),
        **confidence_json(item.confidence),
        "usage_count": item.usage_count,
        "succeeded": item.succeeded,
        "record": track_record(item),
        "shown": item.shown,
        "last_used_at": iso(item.last_used_at),
        "last_success": iso(item.last_success),
        "last_failure": iso(item.last_failure),
        "set_aside": item.set_aside,
        "trust": str(item.trust),
        "warnings": warnings_of(item.memory),
    }


def recalled_json(hit: Recalled, *, explain: bool = True) -> dict[str, Any]:
    view = {**remembered_json(hit), "relevance": round(hit.relevance, 6), "tokens": hit.tokens}
    view["conflicts"] = [{"id": clash.id, "title": clash.title} for clash in hit.conflicts]
    view["see_also"] = [see_also_json(link) for link in hit.see_also]
    view["pulled_in"] = None if hit.pulled_in is None else _plain(hit.pulled_in)
    del view["shown"], view["set_aside"]
    if not explain:
        for link in view["see_also"]:
            del link["text"]
    if explain:
        view["why"] = {f.name: round(float(getattr(hit.parts, f.name)), 6) for f in fields(hit.parts)}
    return view


def see_also_json(link: SeeAlso) -> dict[str, Any]:
    return _plain(link)


def found_json(result: SearchResult, *, explain: bool = True) -> dict[str, Any]:
    return {
        "memories": [recalled_json(hit, explain=explain) for hit in result.memories],
        "total_found": result.total_found,
        "filtered_out": dict(result.filtered_out),
        "tokens_used": result.tokens_used,
        "abstained": result.abstained,
        "embedder": result.embedder,
        "profile": result.profile,
        "not_yet_indexed": result.not_yet_indexed,
        "index_away": result.index_away,
    }


def report_json(report: Report) -> dict[str, Any]:
    totals = ("memories", "shown", "used", "helped", "hurt", "dead_count", "sessions", "succeeded")
    return {
        "memories": [_report_line(line) for line in report.lines],
        "dead_weight": [_report_line(line) for line in report.dead],
        "kinds": [_plain(kind) for kind in report.kinds],
        "totals": {name.removesuffix("_count"): getattr(report, name) for name in totals},
    }


def _report_line(line: ReportLine) -> dict[str, Any]:
    memory = line.remembered.memory
    return {
        "id": memory.id,
        "title": memory.title,
        "namespace": memory.namespace,
        **confidence_json(line.remembered.confidence),
        **_plain(line.tally),
        "withheld": line.withheld,
        "uplift": None if line.uplift is None else _plain(line.uplift),
        "dead": line.dead,
    }


def trends_json(trends: Trends) -> dict[str, Any]:
    days = [
        {**_plain(day), "confidence": None if day.confidence is None else _plain(day.confidence)} for day in trends.days
    ]
    return {"days": days, "followed": trends.followed}


def account_json(account: SessionAccount) -> dict[str, Any]:
    return {
        **trajectory_json(account.trajectory),
        "verdict": None if account.verdict is None else dict(account.verdict),
        "shown": [
            {
                **remembered_json(showing.remembered),
                "rank": showing.rank,
                "shown_at": iso(showing.at),
                "signals": [signal_json(signal) for signal in showing.signals],
            }
            for showing in account.shown
        ],
        "lessons": [remembered_json(lesson) for lesson in account.lessons],
        "jobs": [_plain(job) for job in account.jobs],
    }


def appearance_json(appearance: Appearance) -> dict[str, Any]:
    return {
        **trajectory_json(appearance.trajectory),
        "shown_at": iso(appearance.at),
        "signals": [signal_json(signal) for signal in appearance.signals],
    }


def team_json(team: Team) -> dict[str, Any]:
    return _plain(team)


def gap_json(gap: OpenGap) -> dict[str, Any]:
    view = _plain(gap)
    del view["ids"]
    return view


def signal_json(signal: Signal) -> dict[str, Any]:
    return _plain(signal)


def trajectory_json(trajectory: Trajectory, steps: list[Step] | None = None) -> dict[str, Any]:
    view = _plain(trajectory)
    if steps is not None:
        view["steps"] = [_plain(step) for step in steps]
    return view


def step_json(step: Step) -> dict[str, Any]:
    return _plain(step)


def job_json(entry: Queued) -> dict[str, Any]:
    view = {**_plain(entry.job), "standing": entry.standing}
    if entry.lease is not None:
        view["attempts"] = entry.lease.attempts
        view["error"] = entry.lease.error
        view["ready_at"] = iso(entry.lease.ready_at)
    return view


def handed_json(work: Handed) -> dict[str, Any]:
    return {
        "id": work.job.id,
        "kind": work.job.kind,
        "namespace": work.job.namespace,
        "session": work.job.subject,
        "task": work.task,
        "outcome": work.verdict.outcome,
        "reason": work.verdict.reason,
        "prompt": work.prompt,
        "record": work.record,
    }


def distilled_json(distillation: Distilled) -> dict[str, Any]:
    ends = ("done", "failed", "dead", "put off", "lost")
    return {
        "jobs": {end.replace(" ", "_"): distillation.count(end) for end in ends},
        "memories": list(distillation.memories),
        "waiting": distillation.waiting,
        "errors": {attempt.job_id: attempt.error for attempt in distillation.attempts if attempt.error},
        "nothing_learned": {
            attempt.job_id: [{"what": omission.what, "why": omission.why} for omission in attempt.left_out]
            for attempt in distillation.attempts
            if attempt.left_out
        },
    }


def kept_json(session: Kept) -> dict[str, Any]:
    return {
        "session": session.trajectory.id,
        "steps_added": session.steps_added,
        "known": session.known,
        "changed": session.changed,
        "job": session.job_id,
    }


def swept_json(swept: Swept) -> dict[str, Any]:
    return {
        "looked_at": swept.looked_at,
        "applied": swept.applied,
        "found": dict(swept.found),
        "places": [
            {"kind": place.kind, "id": place.id, "revision": place.revision, "found": dict(place.found)}
            for place in swept.places
        ],
    }


def spending_json(spending: Spending) -> dict[str, Any]:
    return _plain(spending)


def edge_json(edge: Edge) -> dict[str, Any]:
    return _plain(edge)


def neighbour_json(neighbour: Neighbour) -> dict[str, Any]:
    return {
        "memory": None if neighbour.memory is None else memory_json(neighbour.memory),
        "node": None if neighbour.memory is not None else _plain(neighbour.record),
        "edge": edge_json(neighbour.edge),
        "direction": "out" if neighbour.outward else "in",
        "steps": neighbour.steps,
        "strength": round(neighbour.strength, 6),
    }


def link_json(neighbour: Neighbour) -> dict[str, Any]:
    """A link of a memory as it is read from there."""
    edge, record = neighbour.edge, neighbour.record
    return {
        "edge": edge.id,
        "kind": edge.kind.value,
        "relation": relation(edge.kind, outward=neighbour.outward),
        "weight": edge.weight,
        "text": sentence_from(edge, outward=neighbour.outward),
        "evidence": edge.evidence,
        "id": record.id,
        "title": neighbour.title,
        "namespace": record.namespace,
    }


def joined_json(link: Joined) -> dict[str, Any]:
    return {**edge_json(link.edge), "source_title": link.source, "target_title": link.target}


def ruling_json(ruling: Ruling) -> dict[str, Any]:
    return {**_plain(ruling), "memories": dict(ruling.memories)}


def source_json(source: Source) -> dict[str, Any]:
    return {**_plain(source), "trust": str(source.trust)}


def provenance_json(provenance: Provenance) -> dict[str, Any]:
    return {
        **remembered_json(provenance.remembered),
        "parents": [
            {"id": parent.id, "title": parent.title, "origin": parent.origin, "trust": str(trust)}
            for parent, trust in provenance.parents
        ],
        "missing_parents": list(provenance.missing_parents),
        "descendants": provenance.descendants,
        "rulings": [ruling_json(ruling) for ruling in provenance.rulings],
    }


def history_json(history: History) -> dict[str, Any]:
    return {
        **remembered_json(history.remembered),
        "policy": history.policy,
        "revisions": [memory_json(revision) for revision in history.revisions],
        "curve": [
            {
                "signal": None if point.signal is None else signal_json(point.signal),
                **confidence_json(point.confidence),
                "at": iso(point.at),
                "revision": point.revision,
                "counts": point.counts,
            }
            for point in history.points
        ],
    }


def consolidated_json(consolidation: Consolidated, *, dry_run: bool) -> dict[str, Any]:
    return {
        "run": consolidation.run,
        "dry_run": dry_run,
        "due": consolidation.due,
        "considered": consolidation.plan.considered,
        "applied": consolidation.applied,
        "left": list(consolidation.left),
        **_plan_json(consolidation.plan),
    }


def _plan_json(plan: Plan) -> dict[str, Any]:
    return {
        "namespace": plan.namespace,
        "merges": [
            {
                "kept": merge.kept,
                "title": merge.title,
                "merged": [
                    {"id": memory_id, "cosine": round(cosine, 4), "words_in_common": round(share, 4)}
                    for memory_id, (cosine, share) in zip(merge.merged, merge.likeness, strict=True)
                ],
                "why": merge.why,
                "rewritten": merge.text is not None,
            }
            for merge in plan.merges
        ],
        "conflicts": [_link_json(link) for link in plan.conflicts],
        "links": [_link_json(link) for link in plan.links],
        "reweighed": [{"edge": act.edge, "before": act.before, **_link_json(act.link)} for act in plan.reweighed],
        "unlinked": [{"edge": act.edge, **_link_json(act.link)} for act in plan.unlinked],
        "archivals": [_plain(archival) for archival in plan.archivals],
        "promotions": [_plain(promotion) for promotion in plan.promotions],
    }


def _link_json(link: Link) -> dict[str, Any]:
    return {
        "source": link.source,
        "target": link.target,
        "titles": list(link.titles),
        "kind": link.kind.value,
        "weight": link.weight,
        "text": link.text,
        "evidence": link.evidence,
    }


def undone_json(undone: Undone) -> dict[str, Any]:
    return _plain(undone)


def upkeep_json(run: ConsolidationRun) -> dict[str, Any]:
    return {name: value for name, value in _plain(run).items() if name != "units"}


def run_account_json(account: RunAccount) -> dict[str, Any]:
    return {**upkeep_json(account.run), "acts": [dict(act) for act in account.acts], "names": dict(account.names)}


def faded_json(decay: Faded) -> dict[str, Any]:
    return {
        "id": decay.memory.id,
        "title": decay.memory.title,
        "namespace": decay.memory.namespace,
        "confidence_before": round(decay.before, 6),
        "confidence": round(decay.now, 6),
        "idle_days": round(decay.idle_days, 2),
    }
