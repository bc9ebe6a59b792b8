"""Finds what an environment says of a task in its own words: a test run, a reward, "Task completed".

Only what came back is read, and never the agent's words. A test run proves an end where it is what the task was about,
or where it tells a change: failing tests that pass now, passing ones that fail. That old tests still pass proves little
(on issues of real repositories hidden tests often disagreed), and tests that the agent wrote prove what it believes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode, EpisodeStep, JudgedBy, Verdict, VerdictOutcome
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank.learn.offline.lookups import is_lookup

READ_CHARS = 4_000
"""Characters that are read of each result, from both ends."""
QUOTE_CHARS = 160
PROOF_CERTAINTY = 0.9
_LONGEST_LINE_CHARS = 200
_UNITTEST = re.compile(r"(?m)^(Ran \d+ tests? in \S+)\n+(?=OK\b)")
_TESTS: tuple[tuple[re.Pattern[str], VerdictOutcome], ...] = (
    # Each is looked for in one line of limited length, so that no text can make it search for long.
    (re.compile(r"^[= ]*(?:\d+ \w+, )*[1-9]\d* (?:failed|errors?)\b.* in [\d.]+ ?s"), VerdictOutcome.FAILURE),
    (
        re.compile(r"^[= ]*[1-9]\d* passed(?:, \d+ (?!failed|error)\w+)*(?: in [\d.]+ ?s|[= ]*$)"),
        VerdictOutcome.SUCCESS,
    ),
    (re.compile(r"^[= ]*(?:\d+ \w+, )*[1-9]\d* failed(?:, \d+ \w+)*[= ]*$"), VerdictOutcome.FAILURE),
    (re.compile(r"^FAILED \((?:failures|errors)="), VerdictOutcome.FAILURE),
    (re.compile(r"^Ran [1-9]\d* tests? in \S+ OK"), VerdictOutcome.SUCCESS),
    (re.compile(r"^Tests: +(?:\d+ \w+, )*[1-9]\d* failed"), VerdictOutcome.FAILURE),
    (re.compile(r"^Tests: +(?:\d+ (?!failed)\w+, )*[1-9]\d* passed"), VerdictOutcome.SUCCESS),
    (re.compile(r"^test result: FAILED"), VerdictOutcome.FAILURE),
    (re.compile(r"^test result: ok\. [1-9]"), VerdictOutcome.SUCCESS),
    (re.compile(r"^(?:--- FAIL:|FAIL\t)"), VerdictOutcome.FAILURE),
    (re.compile(r"^ok  ?\t\S+\t[\d.]+s"), VerdictOutcome.SUCCESS),
    (re.compile(r"^(?:BUILD FAILED|FAILURE: Build failed)"), VerdictOutcome.FAILURE),
    (re.compile(r"^BUILD SUCCESS"), VerdictOutcome.SUCCESS),
)
_ABOUT_TESTS = re.compile(r"(?i)\b(?:tests?|tested|specs?|builds?|compil(?:e|es|ing)|ci|pass(?:es|ing)?)\b|\bgreen\b")
_FETCHES = re.compile(r"\s*(?:curl|wget)\b")
_FILE = re.compile(r"[\w./-]*[\w-]\.\w{1,4}\b")
_REWARD = re.compile(
    r"(?i)^\W*(?:(?:the )?(?:episode|task|game) (?:is |was )?(?:finished|over|done|complete[d]?)\W{1,3})?"
    r"(?:your |the |final |total )*(?:reward|score(?= \(min 0[.0]*, max 1[.0]*\)))(?: \(min 0[.0]*, max 1[.0]*\))?"
    r"\W{0,4}(?:is |of |was )?(\d{1,3}(?:\.\d+)?)\W*$"
)
_REWARD_NAMES = re.compile(r"(?i)\b(?:reward|score)")
_TASK_NAMES = re.compile(r"(?i)(?:task|goal|challenge|game)")
_ENDS: tuple[tuple[re.Pattern[str], VerdictOutcome], ...] = (
    # A sentence of its own at the end of a line.
    (
        re.compile(
            r"(?i)(?:^|[.!] )\W*(?:the |your )?(?:task|goal|challenge) (?:was |has been |is )?"
            r"(?:not completed|failed|incomplete)\W*$"
        ),
        VerdictOutcome.FAILURE,
    ),
    (
        re.compile(
            r"(?i)(?:^|[.!] )\W*(?:the |your )?(?:task|goal|challenge) (?:was |has been |is )?(?:successfully )?"
            r"(?:completed|complete|solved)(?: successfully)?\W*$"
        ),
        VerdictOutcome.SUCCESS,
    ),
    (re.compile(r"(?i)^\W*you (?:have )?(?:lost|died|failed)(?: the game)?\W*$"), VerdictOutcome.FAILURE),
    (re.compile(r"(?i)^\W*you (?:have )?won(?: the game)?\W*$"), VerdictOutcome.SUCCESS),
    (
        re.compile(r"(?i)^\W*(?:the |your )?(?:answer|submission|flag) (?:is|was) (?:incorrect|wrong)\W*$"),
        VerdictOutcome.FAILURE,
    ),
    (re.compile(r"(?i)^\W*(?:the |your )?(?:answer|submission|flag) (?:is|was) correct\W*$"), VerdictOutcome.SUCCESS),
    (re.compile(r"(?i)^\W*all tests? (?:have )?passed\W*$"), VerdictOutcome.SUCCESS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """A test run in a trace."""

    number: int
    """Number of its step, from 1."""
    action: str
    outcome: VerdictOutcome
    line: str


def proof_in(episode: Episode) -> Verdict | None:
    """Verdict on the whole task that the environment proves; None where it says nothing that does."""
    return _said_at_the_end(episode) or _proof_by_tests(episode)


def last_tests(steps: Sequence[EpisodeStep]) -> Verdict | None:
    """Verdict of the last test run, whatever the task was: for a session in which a user watches."""
    runs = _runs_in(steps)
    return _verdict_by(runs[-1]) if runs else None


def _said_at_the_end(episode: Episode) -> Verdict | None:
    """Verdict of the environment on the task, in what came back last."""
    last = next((step for step in reversed(episode.steps) if step.result.strip()), None)
    if last is None or is_failure(last):
        return None
    for line in reversed([line for line in ends_of(last.result).splitlines() if line.strip()]):
        finding = _end_told_by(line[:_LONGEST_LINE_CHARS].strip(), last.action, episode.task)
        if finding is not None:
            return _proved(finding, f"The environment says that the task ended as a {finding}.", line)
    return None


def _end_told_by(line: str, action: str, task: str) -> VerdictOutcome | None:
    """Words that the task or the action is about are its matter and no verdict on it."""
    own = ends_of(action)
    reward = _REWARD.search(line)
    if reward is not None and not _REWARD_NAMES.search(ends_of(task)) and not _REWARD_NAMES.search(own):
        score = float(reward[1])
        return None if score > 1.0 else VerdictOutcome.SUCCESS if score == 1.0 else VerdictOutcome.FAILURE
    for pattern, finding in _ENDS:
        if pattern.search(line) and not pattern.search(own):
            return None if _TASK_NAMES.search(line) and _TASK_NAMES.search(own) else finding
    return None


def _proof_by_tests(episode: Episode) -> Verdict | None:
    runs = _runs_in(episode.steps)
    if not runs:
        return None
    first, last = runs[0], runs[-1]
    if _ABOUT_TESTS.search(ends_of(episode.task)):
        return _verdict_by(last)
    if last.outcome is VerdictOutcome.FAILURE:
        ended_so = not any(step.action.strip() and step.result.strip() for step in episode.steps[last.number :])
        broke = any(run.outcome is VerdictOutcome.SUCCESS and run.action == last.action for run in runs)
        return _verdict_by(last) if ended_so or broke else None
    is_mended = first.outcome is VerdictOutcome.FAILURE and first.action == last.action
    return _verdict_by(last) if is_mended and not _wrote(episode.steps[: last.number - 1], last.action) else None


def _wrote(steps: Sequence[EpisodeStep], run: str) -> bool:
    """True if earlier actions, other than runs of it, name the file that a test run is about."""
    files = set(_FILE.findall(run))
    deeds = (step.action for step in steps if step.action != run and not is_lookup(step.action))
    return any(files & set(_FILE.findall(ends_of(deed))) for deed in deeds)


def _runs_in(steps: Sequence[EpisodeStep]) -> list[TestRun]:
    return [
        TestRun(number=number, action=step.action, outcome=outcome, line=line)
        for number, step in enumerate(steps, 1)
        if not is_lookup(step.action) and not _FETCHES.match(step.action)
        for outcome, line in _run_told_by(step.result)
    ]


def _run_told_by(result: str) -> Iterator[tuple[VerdictOutcome, str]]:
    """The last line that counts tests, if there is one."""
    for line in reversed(_UNITTEST.sub(r"\1 ", ends_of(result)).splitlines()):
        read = line[:_LONGEST_LINE_CHARS]
        finding = next((finding for pattern, finding in _TESTS if pattern.search(read)), None)
        if finding is not None:
            yield finding, read
            return


def _verdict_by(run: TestRun) -> Verdict:
    return _proved(run.outcome, f"The last test run, in step {run.number}, ended as a {run.outcome}.", run.line)


def _proved(outcome: VerdictOutcome, reason: str, line: str) -> Verdict:
    return Verdict(
        outcome=outcome,
        reason=reason,
        evidence=line.strip()[:QUOTE_CHARS],
        source=JudgedBy.ENVIRONMENT,
        certainty=PROOF_CERTAINTY,
    )


def ends_of(text: str) -> str:
    """The beginning and the end of a text, as much of it as is read."""
    return text if len(text) <= READ_CHARS else f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
