"""Draws a conversation by rules: requests, preferences, answers, actions, events, sources, and what led to what.

A sentence on an edge names what is at both of its ends. An action hangs from whatever told the value that it was given:
the user's words, or what an earlier action returned; an answer from the actions whose results it repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import EpisodeStep
from reasoningbank.core.types import EdgeKind, NodeLabel
from reasoningbank.learn.graph.actions import COMPLETE, FAILED, DescribedAction, describe, words_for
from reasoningbank.learn.graph.analysis import analysis_types_in, metrics_in
from reasoningbank.learn.graph.dates import KnownDays, whole_dates_in
from reasoningbank.learn.graph.drawing import (
    CAUSE,
    DIRECT,
    FOLLOW_UP,
    LONGEST_GIST_CHARS,
    SOLUTION,
    STEP,
    STRONG,
    Drawing,
    Sketch,
)
from reasoningbank.learn.graph.drawn_events import DrawnEvents
from reasoningbank.learn.graph.drawn_sources import DrawnSources
from reasoningbank.learn.graph.entities import entities_in
from reasoningbank.learn.graph.flow import ValuesSeen, shared_values
from reasoningbank.learn.graph.preferences import preference_type_of, preferences_in
from reasoningbank.learn.graph.sources import sources_in, sources_of_call
from reasoningbank.learn.graph.speech import (
    asks_back,
    conclusion_in,
    why_no_answer,
    why_no_request,
    wish_in,
    without_marks,
)
from reasoningbank.learn.graph.turns import AGENT, Done, Happened, Said, Turn
from reasoningbank.learn.offline.failure_kind import is_failure
from reasoningbank.learn.offline.words import clip_line

LONGEST_TEXT_CHARS = 8_000
LONGEST_OUTPUT_WITH_EVENTS_CHARS = 4_000
_MOST_EVIDENCE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Speakers:
    """The speakers of a conversation, and the day on which they spoke."""

    user_role: str
    user_id: str | None
    user_origin: str
    agent_origin: str
    today: date
    is_dated: bool
    """True if `today` is the day on which they spoke, and not that on which it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Act:
    ref: str
    action: DescribedAction
    result: str
    request: str | None


def is_quoted(turn: Done) -> bool:
    """True if words of a result may come into the drawing: of a failure, or of sentences that may tell of events."""
    return _tells_sentences(turn.result) or is_failure(EpisodeStep(action=turn.action, result=turn.result, ok=turn.ok))


def _tells_sentences(result: str) -> bool:
    return len(result) <= LONGEST_OUTPUT_WITH_EVENTS_CHARS and result.lstrip()[:1] not in ("{", "[", "<")


def draw(turns: Sequence[Turn], speakers: Speakers) -> Drawing:
    texts = [
        turn.start_date if isinstance(turn, Happened) else turn.text for turn in turns if not isinstance(turn, Done)
    ]
    around = tuple(window for text in texts for window in whole_dates_in(text[:LONGEST_TEXT_CHARS]))
    pen = _Pen(speakers, KnownDays(today=speakers.today, is_known=speakers.is_dated, around=(around,)))
    for turn in turns:
        if isinstance(turn, Done):
            pen.act(turn)
        elif isinstance(turn, Happened):
            pen.events.take(turn, speakers.user_origin)
        elif turn.role == AGENT:
            pen.hear_agent(turn.text)
        else:
            pen.hear_user(turn)
    pen.conclude()
    return pen.sketch.drawing()


class _Pen:
    def __init__(self, speakers: Speakers, days: KnownDays) -> None:
        self.sketch = Sketch()
        self._who = speakers
        self._seen = ValuesSeen()
        self._request: str | None = None
        self._agent_words = ""
        self._answered = False
        self._acts: list[_Act] = []
        """Since the user spoke last."""
        self._of_request: list[_Act] = []
        self._unsolved: list[_Act] = []
        self._sources = DrawnSources(self.sketch)
        self.events = DrawnEvents(self.sketch, days)

    # ------------------------------------------------------------ the user

    def hear_user(self, turn: Said) -> None:
        asked_back = asks_back(self._agent_words) if self._agent_words else False
        self.conclude()
        text = without_marks(turn.text)
        why_not = why_no_request(text, asked_back=asked_back, first=self._request is None)
        if why_not is None:
            self._begin_request(text)
        elif text:
            self.sketch.pass_over(clip_line(text, LONGEST_GIST_CHARS), why_not)
        if text and self._request is not None:
            self._seen.say(self._request, text)
        self._take_preferences(text)
        self._sources.name(sources_in(text), self._request, self._who.user_origin)
        self.events.find(text, self._who.user_origin, self._request)

    def _begin_request(self, text: str) -> None:
        before = self._request
        names = list(entities_in(text))
        ref = self.sketch.node(
            NodeLabel.USER_REQUEST,
            text,
            text=text[:LONGEST_TEXT_CHARS],
            gist=f"the request “{clip_line(wish_in(text), LONGEST_GIST_CHARS)}”",
            tags=("request", *metrics_in(text), *names),
            fields={"user_role": self._who.user_role, "user_id": self._who.user_id},
            origin=self._who.user_origin,
        )
        if before is not None:
            self._join(
                before, ref, EdgeKind.RELATES, f"After {self._gist(before)} the user went on to {self._gist(ref)}.",
                FOLLOW_UP, "follow_up",
            )  # fmt: skip
        self._request, self._of_request = ref, []
        self.events.note_times(ref, text)

    def _take_preferences(self, text: str) -> None:
        for preference in preferences_in(text, is_reply=self._answered):
            sort = preference_type_of(preference)
            ref = self.sketch.node(
                NodeLabel.USER_PREFERENCE,
                preference,
                text=preference,
                gist=f"the preference “{clip_line(preference, LONGEST_GIST_CHARS)}”",
                tags=("preference", sort),
                fields={"preference_type": sort},
                origin=self._who.user_origin,
                once=True,
            )
            if self._request is not None:
                sentence = f"With {self._gist(self._request)} the user stated {self._gist(ref)}."
                self._join(self._request, ref, EdgeKind.CAUSES, sentence, STEP, "preference", sort)

    # ------------------------------------------------------------ the agent

    def hear_agent(self, text: str) -> None:
        self._answered = True
        self._agent_words = text

    def act(self, turn: Done) -> None:
        # What was said before more is done was no conclusion.
        self._agent_words = ""
        action = describe(turn)
        names = [name for value in action.values for name in entities_in(value)]
        ref = self.sketch.node(
            NodeLabel.AGENT_ACTION,
            turn.action,
            text=action.text,
            gist=action.noun,
            tags=("action", action.name, action.status, *names),
            fields={"status": action.status, "parameter_field": action.parameters},
            origin=self._who.agent_origin,
        )
        step = _Act(ref=ref, action=action, result=turn.result, request=self._request)
        self._hang(step)
        self._solve(step)
        self._sources.read(sources_of_call(turn.action, action.given), ref, action, self._who.agent_origin)
        if action.status == COMPLETE:
            self._seen.give_back(ref, turn.result)
            if _tells_sentences(turn.result):
                self.events.find(turn.result, f"tool:{action.name}", ref)
        self._acts.append(step)
        self._of_request.append(step)

    def _hang(self, step: _Act) -> None:
        """Join an action to what told its values; else to the one before it, else to what was asked."""
        values_by_origin: dict[str, list[str]] = {}
        for value in step.action.values:
            for origin in self._seen.tellers_of(value):
                values_by_origin.setdefault(origin, []).append(clip_line(value, 40))
        for origin, values in values_by_origin.items():
            names = words_for(values)
            if origin == self._request:
                sentence = (
                    f"For {self._gist(origin)} the user named {names}, with which the agent ran {step.action.gist}."
                )
                self._join(origin, step.ref, EdgeKind.CAUSES, sentence, CAUSE, "trigger")
            elif self.sketch[origin].label is NodeLabel.USER_REQUEST:
                sentence = (
                    f"After {self._gist(origin)}, for which the user named {names}, the agent ran {step.action.gist}"
                )
                purpose = f" for {self._gist(self._request)}" if self._request is not None else ""
                self._join(origin, step.ref, EdgeKind.RELATES, f"{sentence}{purpose}.", STRONG, "named_before")
            else:
                sentence = f"{self._gist(origin)} returned {names}, with which the agent then ran {step.action.gist}."
                self._join(origin, step.ref, EdgeKind.CAUSES, sentence, DIRECT, "input")
        first = not self._of_request
        is_hung = any(
            origin == self._request or self.sketch[origin].label is NodeLabel.AGENT_ACTION
            for origin in values_by_origin
        )
        if self._request is not None and self._request not in values_by_origin and (first or not is_hung):
            before = self._acts[-1] if self._acts else None
            if before is None or first:
                sentence = f"{self._gist(self._request)} led the agent to run {step.action.gist}."
                self._join(self._request, step.ref, EdgeKind.CAUSES, sentence, CAUSE, "trigger")
            else:
                went_on = f"After {before.action.noun} the agent went on with {step.action.gist}"
                sentence = f"{went_on} for {self._gist(self._request)}."
                self._join(before.ref, step.ref, EdgeKind.CAUSES, sentence, STEP, "next_step")

    def _solve(self, step: _Act) -> None:
        if step.action.status == FAILED:
            # The last ten alone can still be solved.
            self._unsolved = [*self._unsolved[-9:], step]
            return
        for attempt in [attempt for attempt in self._unsolved if _is_same_attempt(attempt, step)]:
            with_what = f" with {attempt.action.error}" if attempt.action.error else ""
            sentence = f"{step.action.noun} succeeded where {attempt.action.noun} had failed{with_what}."
            self._join(step.ref, attempt.ref, EdgeKind.ALTERNATIVE, sentence, SOLUTION, "solution")
            self._unsolved.remove(attempt)

    def conclude(self) -> None:
        """The agent's last words, now that the user speaks or nothing follows, are its answer if they conclude."""
        text, self._agent_words = self._agent_words, ""
        acts, self._acts = self._acts, []
        if not text:
            return
        why_not = why_no_answer(text, has_acted=bool(acts))
        if why_not is not None:
            self.sketch.pass_over(clip_line(text, LONGEST_GIST_CHARS), why_not)
            return
        metrics, analyses = metrics_in(text), analysis_types_in(text)
        ref = self.sketch.node(
            NodeLabel.AGENT_ANSWER,
            text,
            text=text[:LONGEST_TEXT_CHARS],
            gist=f"the answer “{clip_line(conclusion_in(text), LONGEST_GIST_CHARS)}”",
            tags=("answer", *metrics, *analyses, *entities_in(text)),
            fields={"analysis_types": list(analyses), "metrics": list(metrics)},
            origin=self._who.agent_origin,
        )
        if self._request is not None:
            sentence = f"{self._gist(self._request)} was met with {self._gist(ref)}."
            self._join(self._request, ref, EdgeKind.CAUSES, sentence, DIRECT, "answer")
        self._rest_on(ref, text, acts)
        self._sources.name(sources_in(text), ref, self._who.agent_origin)
        self.events.find(text, self._who.agent_origin, ref)
        self.events.note_times(ref, text)

    def _rest_on(self, ref: str, text: str, acts: Sequence[_Act]) -> None:
        """Join an answer to the actions whose results it repeats; if it repeats none, to the last one before it."""
        overlaps = [(shared_values(text, act.result), number, act) for number, act in enumerate(self._of_request)]
        evidence = sorted((entry for entry in overlaps if entry[0]), key=lambda entry: (-len(entry[0]), -entry[1]))
        for values, _, act in evidence[:_MOST_EVIDENCE]:
            sentence = f"{act.action.noun} returned {words_for(values)}, on which {self._gist(ref)} rests."
            self._join(act.ref, ref, EdgeKind.CAUSES, sentence, DIRECT, "evidence")
        refs = {act.ref for _, _, act in evidence[:_MOST_EVIDENCE]}
        if acts and acts[-1].ref not in refs:
            last = acts[-1]
            how = "failed, which" if last.action.status == FAILED else "was the last step before"
            verb = "reports" if last.action.status == FAILED else ""
            sentence = f"{last.action.noun} {how} {self._gist(ref)} {verb}".rstrip() + "."
            self._join(last.ref, ref, EdgeKind.CAUSES, sentence, STEP, "evidence")
        for act in (*[entry[2] for entry in evidence[:_MOST_EVIDENCE]], *acts[-1:]):
            self._sources.rest_on(ref, act.ref)

    # ------------------------------------------------------------ sentences

    def _gist(self, ref: str) -> str:
        return self.sketch[ref].gist

    def _join(self, source: str, target: str, kind: EdgeKind, sentence: str, weight: float, *tags: str) -> None:
        self.sketch.edge(source, target, kind, sentence, weight, *tags)


def _is_same_attempt(attempt: _Act, step: _Act) -> bool:
    """True if an action does what a failed one was to do: the same tool for the same request, or on the same thing."""
    if attempt.action.name != step.action.name:
        return False
    if attempt.action.given is None or step.action.given is None:
        return attempt.action.parameters == step.action.parameters or _share_values(attempt, step)
    alike = set(attempt.action.given) == set(step.action.given)
    return alike and (attempt.request == step.request or _share_values(attempt, step))


def _share_values(first: _Act, other: _Act) -> bool:
    return bool(set(first.action.values) & set(other.action.values))
