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
_MOST_UNSOLVED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Speakers:
    """Who spoke in a conversation, and on which day."""

    user_role: str
    user_id: str | None
    user_origin: str
    agent_origin: str
    today: date
    is_dated: bool
    """Whether `today` is the day on which they spoke, and not that on which it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Act:
    ref: str
    action: DescribedAction
    result: str
    request: str | None


def is_quoted(done: Done) -> bool:
    """Whether words of a result may come into the drawing: of a failure, or of sentences that may tell of events."""
    return tells_sentences(done.result) or is_failure(EpisodeStep(action=done.action, result=done.result, ok=done.ok))


def tells_sentences(result: str) -> bool:
    return len(result) <= LONGEST_OUTPUT_WITH_EVENTS_CHARS and result.lstrip()[:1] not in ("{", "[", "<")


def draw(turns: Sequence[Turn], speakers: Speakers) -> Drawing:
    pen = _Pen(speakers, _known_days(turns, speakers))
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


def _known_days(turns: Sequence[Turn], speakers: Speakers) -> KnownDays:
    texts = [
        turn.start_date if isinstance(turn, Happened) else turn.text for turn in turns if not isinstance(turn, Done)
    ]
    around = tuple(window for text in texts for window in whole_dates_in(text[:LONGEST_TEXT_CHARS]))
    return KnownDays(today=speakers.today, is_known=speakers.is_dated, around=(around,))


class _Pen:
    def __init__(self, speakers: Speakers, known: KnownDays) -> None:
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
        self.events = DrawnEvents(self.sketch, known)

    # ------------------------------------------------------------ the user

    def hear_user(self, said: Said) -> None:
        asked_back = asks_back(self._agent_words) if self._agent_words else False
        self.conclude()
        text = without_marks(said.text)
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
        for stated in preferences_in(text, answered=self._answered):
            sort = preference_type_of(stated)
            ref = self.sketch.node(
                NodeLabel.USER_PREFERENCE,
                stated,
                text=stated,
                gist=f"the preference “{clip_line(stated, LONGEST_GIST_CHARS)}”",
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

    def act(self, done: Done) -> None:
        # What was said before more is done was no conclusion.
        self._agent_words = ""
        action = describe(done)
        names = [name for value in action.values for name in entities_in(value)]
        ref = self.sketch.node(
            NodeLabel.AGENT_ACTION,
            done.action,
            text=action.text,
            gist=action.noun,
            tags=("action", action.name, action.status, *names),
            fields={"status": action.status, "parameter_field": action.parameters},
            origin=self._who.agent_origin,
        )
        made = _Act(ref=ref, action=action, result=done.result, request=self._request)
        self._hang(made)
        self._solve(made)
        self._sources.read(sources_of_call(done.action, action.given), ref, action, self._who.agent_origin)
        if action.status == COMPLETE:
            self._seen.give_back(ref, done.result)
            if tells_sentences(done.result):
                self.events.find(done.result, f"tool:{action.name}", ref)
        self._acts.append(made)
        self._of_request.append(made)

    def _hang(self, made: _Act) -> None:
        """Join an action to what told its values; else to the one before it, else to what was asked."""
        told: dict[str, list[str]] = {}
        for value in made.action.values:
            for origin in self._seen.tellers_of(value):
                told.setdefault(origin, []).append(clip_line(value, 40))
        for origin, values in told.items():
            named = words_for(values)
            if origin == self._request:
                sentence = (
                    f"For {self._gist(origin)} the user named {named}, with which the agent ran {made.action.gist}."
                )
                self._join(origin, made.ref, EdgeKind.CAUSES, sentence, CAUSE, "trigger")
            elif self.sketch[origin].label is NodeLabel.USER_REQUEST:
                sentence = (
                    f"After {self._gist(origin)}, for which the user named {named}, the agent ran {made.action.gist}"
                )
                asked = f" for {self._gist(self._request)}" if self._request is not None else ""
                self._join(origin, made.ref, EdgeKind.RELATES, f"{sentence}{asked}.", STRONG, "named_before")
            else:
                sentence = f"{self._gist(origin)} returned {named}, with which the agent then ran {made.action.gist}."
                self._join(origin, made.ref, EdgeKind.CAUSES, sentence, DIRECT, "input")
        first = not self._of_request
        is_hung = any(origin == self._request or self._is_action(origin) for origin in told)
        if self._request is not None and self._request not in told and (first or not is_hung):
            before = self._acts[-1] if self._acts else None
            if before is None or first:
                sentence = f"{self._gist(self._request)} led the agent to run {made.action.gist}."
                self._join(self._request, made.ref, EdgeKind.CAUSES, sentence, CAUSE, "trigger")
            else:
                went_on = f"After {before.action.noun} the agent went on with {made.action.gist}"
                sentence = f"{went_on} for {self._gist(self._request)}."
                self._join(before.ref, made.ref, EdgeKind.CAUSES, sentence, STEP, "next_step")

    def _is_action(self, ref: str) -> bool:
        return self.sketch[ref].label is NodeLabel.AGENT_ACTION

    def _solve(self, made: _Act) -> None:
        if made.action.status == FAILED:
            self._unsolved = [*self._unsolved[1 - _MOST_UNSOLVED :], made]
            return
        for failed in [one for one in self._unsolved if _is_same_attempt(one, made)]:
            with_what = f" with {failed.action.error}" if failed.action.error else ""
            sentence = f"{made.action.noun} succeeded where {failed.action.noun} had failed{with_what}."
            self._join(made.ref, failed.ref, EdgeKind.ALTERNATIVE, sentence, SOLUTION, "solution")
            self._unsolved.remove(failed)

    def conclude(self) -> None:
        """The agent's last words, now that the user speaks or nothing follows, are its answer if they conclude."""
        text, self._agent_words = self._agent_words, ""
        acts, self._acts = self._acts, []
        if not text:
            return
        why_not = why_no_answer(text, acted=bool(acts))
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
        shared = [(shared_values(text, one.result), number, one) for number, one in enumerate(self._of_request)]
        told = sorted((found for found in shared if found[0]), key=lambda found: (-len(found[0]), -found[1]))
        for values, _, one in told[:_MOST_EVIDENCE]:
            sentence = f"{one.action.noun} returned {words_for(values)}, on which {self._gist(ref)} rests."
            self._join(one.ref, ref, EdgeKind.CAUSES, sentence, DIRECT, "evidence")
        joined = {one.ref for _, _, one in told[:_MOST_EVIDENCE]}
        if acts and acts[-1].ref not in joined:
            last = acts[-1]
            how = "failed, which" if last.action.status == FAILED else "was the last step before"
            reported = "reports" if last.action.status == FAILED else ""
            sentence = f"{last.action.noun} {how} {self._gist(ref)} {reported}".rstrip() + "."
            self._join(last.ref, ref, EdgeKind.CAUSES, sentence, STEP, "evidence")
        for one in (*[found[2] for found in told[:_MOST_EVIDENCE]], *acts[-1:]):
            self._sources.rest_on(ref, one.ref)

    # ------------------------------------------------------------ sentences

    def _gist(self, ref: str) -> str:
        return self.sketch[ref].gist

    def _join(self, source: str, target: str, kind: EdgeKind, sentence: str, weight: float, *tags: str) -> None:
        self.sketch.edge(source, target, kind, sentence, weight, *tags)


def _is_same_attempt(failed: _Act, made: _Act) -> bool:
    """Whether an action does what a failed one was to do: the same tool for the same request, or on the same thing."""
    if failed.action.name != made.action.name:
        return False
    if failed.action.given is None or made.action.given is None:
        return failed.action.parameters == made.action.parameters or _share_values(failed, made)
    alike = set(failed.action.given) == set(made.action.given)
    return alike and (failed.request == made.request or _share_values(failed, made))


def _share_values(one: _Act, other: _Act) -> bool:
    return bool(set(one.action.values) & set(other.action.values))
