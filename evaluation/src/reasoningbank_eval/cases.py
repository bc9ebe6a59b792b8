"""Episodes of every known shape as cases: the session, and the actions that solved its task.

    InterCode        the action that got the whole reward
    tau-bench        the calls that changed something, of a run that was rewarded
    NAME.jsonl       the neutral form: one session a line, `{"task", "steps": [{"action", "result", "ok"}], "reward" or
                     "outcome"}`, perhaps with `solution` (a text or several); without one, the last action that worked

What is asked of the cases is the business of `again`, `like` and `grading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reasoningbank import Episode, EpisodeStep, NotFound
from reasoningbank.core.frozen import dataclass
from reasoningbank.learn.ingest.intercode import intercode_in, is_intercode
from reasoningbank.learn.ingest.rewards import WHOLE_REWARD
from reasoningbank.learn.ingest.tau import is_tau_run, tau_runs_in
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank_eval.episodes import folders_in, json_files, listed
from reasoningbank_eval.reading import broken, json_lines, json_of

NAMESPACE = "all"
_NUMBERED = re.compile(r"[-_ ]?\d+$")
_ONLY_READS = ("get_", "find_", "list_", "calculate", "think", "search_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    episode: Episode
    solution: tuple[str, ...]
    """The actions that solved the task; none where it was not solved."""


def case_sets(data: Path) -> dict[str, list[Case]]:
    """Cases by the name of their set. Files of one folder whose names differ in a last number are one set."""
    by_set: dict[str, list[Case]] = {}
    for folder in folders_in(data):
        by_file = dict(_files_of_cases(folder))
        common = [_NUMBERED.sub("", stem) for stem in by_file]
        for stem, cases in by_file.items():
            name = _NUMBERED.sub("", stem)
            set_name = name if common.count(name) > 1 else stem
            by_set.setdefault(folder.name if len(set(common)) == 1 else f"{folder.name}/{set_name}", []).extend(cases)
    if not by_set:
        raise NotFound(
            f"No episodes lie in {data}. `--data` names the folder that holds the evaluation sets; "
            "docs/evaluation.md lists the shapes."
        )
    return by_set


def _files_of_cases(folder: Path) -> Iterator[tuple[str, list[Case]]]:
    runs: list[Case] = []
    for path in json_files(folder):
        rows = listed(json_of(path))
        if rows and all(is_intercode(row) for row in rows):
            yield path.stem, [case for row in rows for case in _of_intercode(row)]
        elif rows and all(is_tau_run(row) for row in rows):
            runs += [_of_tau(episode) for episode in tau_runs_in(rows, NAMESPACE)]
    if runs:
        yield folder.name, runs
    for path in sorted(folder.glob("*.jsonl")):
        sessions = _of_neutral(path)
        if sessions:
            yield path.stem, sessions


def _of_intercode(row: Mapping[str, Any]) -> Iterator[Case]:
    rewards = row["turn_history"].get("rewards")
    for episode in intercode_in([row], NAMESPACE):
        solving = next((n for n, got in enumerate(rewards or ()) if got == WHOLE_REWARD), len(episode.steps) - 1)
        is_solved = episode.outcome == "success" and 0 <= solving < len(episode.steps)
        yield Case(episode=episode, solution=(episode.steps[solving].action,) if is_solved else ())


def _of_tau(episode: Episode) -> Case:
    deeds = tuple(step.action for step in episode.steps if changes_something(step.action) and not is_failure(step))
    return Case(episode=episode, solution=deeds if episode.outcome == "success" else ())


def changes_something(call: str) -> bool:
    return not call.startswith(_ONLY_READS)


# ---------------------------------------------------------------- the neutral form


def is_neutral(row: Mapping[str, Any]) -> bool:
    steps = row.get("steps")
    return isinstance(row.get("task"), str) and isinstance(steps, list) and ("reward" in row or "outcome" in row)


def _of_neutral(path: Path) -> list[Case]:
    """The sessions of a file in the neutral form; none when its first line is of another shape."""
    cases: list[Case] = []
    for line, row in json_lines(path):
        if not is_neutral(row):
            if not cases:
                return []
            raise broken(path, "'task', 'steps' and 'reward' or 'outcome' are needed", line)
        steps = tuple(_step(step, path, line) for step in row["steps"])
        reward = row.get("reward")
        outcome = None if reward is None else ("success" if reward >= WHOLE_REWARD else "failure")
        episode = Episode(
            task=row["task"],
            namespace=NAMESPACE,
            steps=steps,
            outcome=row.get("outcome") or outcome,
            reward=None if reward is None else float(reward),
            metadata={"task_id": row["task_id"]} if "task_id" in row else {},
        )
        cases.append(Case(episode=episode, solution=_solution(row, steps) if episode.outcome == "success" else ()))
    return cases


def _step(step: Any, path: Path, line: int) -> EpisodeStep:
    if not isinstance(step, Mapping) or not isinstance(step.get("action"), str):
        raise broken(path, "a step is an object with an 'action'", line)
    ok = step.get("ok")
    return EpisodeStep(
        action=step["action"], result=str(step.get("result") or ""), ok=ok if isinstance(ok, bool) else None
    )


def _solution(row: Mapping[str, Any], steps: Sequence[EpisodeStep]) -> tuple[str, ...]:
    solution = row.get("solution")
    if solution:
        return (solution,) if isinstance(solution, str) else tuple(map(str, solution))
    actions = [step.action for step in steps if not is_failure(step)]
    return tuple(actions[-1:])
