"""Distils lessons with a language model.

Sends a prompt from a file, the task, how it ended, and the trace within its budget, scrubbed and fenced. Parses the
answer strictly, asks once for a repair, and otherwise fails: a bad answer is an error that is tried again later; it is
never a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from reasoningbank.core.errors import LLMRefused
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import (
    MOST_CONTRAST_LESSONS,
    MOST_LESSONS,
    Completion,
    Episode,
    Lesson,
    Message,
    Verdict,
    VerdictOutcome,
)
from reasoningbank.core.text import terms
from reasoningbank.core.types import Memory
from reasoningbank.guard.quotes import quote
from reasoningbank.learn.answer_schemas import lessons_schema
from reasoningbank.learn.answers import Answer, parse
from reasoningbank.learn.offline.failure_kind import message
from reasoningbank.learn.prompting import Prompt, prompt
from reasoningbank.learn.traces import TRACE_TOKENS, cut_middle, fence, trace_of
from reasoningbank.ports import LLM, Reader

ANSWER_TOKENS = 1_000
ANSWER_TOKENS_AGAIN = 2_000
"""Once more, with room for a model that thinks aloud."""
TASK_TOKENS = 500
TEMPERATURE = 1.0
"""The paper's for extraction. A second attempt must be able to give another answer than the first."""
REPAIR_TEMPERATURE = 0.2
"""To write the same again in the right form takes no ideas."""
REPEATED_TOKENS = 400
"""Tokens of a bad answer that are shown to whoever is to mend it: a small model goes on with whatever it reads most
of.
"""
CUT_OFF = "It was cut off. Be briefer: one memory, without tags."


class KnownByWords:
    """Base of distillers whose lessons are known by their text: the same key means the same words."""

    def settle(self, reader: Reader, namespace: str, lesson: Lesson) -> Lesson:
        del reader, namespace
        return lesson

    def merge(self, memory: Memory, lesson: Lesson) -> Lesson | None:
        del memory, lesson
        return None


class LLMDistiller(KnownByWords):
    def __init__(
        self,
        llm: LLM,
        *,
        scrub: Callable[[str], str] = str,
        trace_tokens: int = TRACE_TOKENS,
        most: int = MOST_LESSONS,
    ) -> None:
        self._llm = llm
        self._most = most
        self._scrub = scrub
        self._trace_tokens = trace_tokens

    @property
    def name(self) -> str:
        return f"llm ({self._llm.name})"

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        distill_request = request(episode, verdict, scrub=self._scrub, trace_tokens=self._trace_tokens, most=self._most)
        return self._ask_model(distill_request, [(episode, verdict)], verdict.outcome, self._most)

    def contrast(self, episodes: Sequence[tuple[Episode, Verdict]]) -> Sequence[Lesson]:
        distill_request = contrast_request(episodes, scrub=self._scrub, trace_tokens=self._trace_tokens)
        return self._ask_model(distill_request, episodes, VerdictOutcome.UNKNOWN, MOST_CONTRAST_LESSONS)

    def _ask_model(
        self,
        distill_request: DistillRequest,
        episodes: Sequence[tuple[Episode, Verdict]],
        finding: VerdictOutcome,
        most: int,
    ) -> Sequence[Lesson]:
        messages = list(distill_request.messages)
        grounds = [message.text for message in messages[1:]]
        answer = self._ask(messages, finding, grounds, most)
        if answer.problems:
            answer = self._ask_again(messages, finding, grounds, most, brief=CUT_OFF in answer.problems)
        if answer.problems:
            raise LLMRefused(f"{self._llm.name} gave no usable answer: {' '.join(answer.problems)}")
        provenance = {"prompt": f"{distill_request.prompt.name}/{distill_request.prompt.hash}", "model": self._llm.name}
        return [
            replace(
                lesson, metadata={**lesson.metadata, **provenance}, evidence=evidence_for(lesson, episodes, self._scrub)
            )
            for lesson in answer.lessons
        ]

    def _ask(self, messages: list[Message], finding: VerdictOutcome, grounds: Sequence[str], most: int) -> Answer:
        """Ask, and if the answer is of no use add it and what is wrong with it to `messages`."""
        schema = lessons_schema(finding, most)
        completion = self._llm.complete(messages, max_tokens=ANSWER_TOKENS, temperature=TEMPERATURE, schema=schema)
        answer = _read(completion, finding, grounds, most)
        if answer.problems:
            problems = "\n".join(f"- {problem}" for problem in answer.problems)
            messages.append(Message(role="assistant", text=cut_middle(completion.text, REPEATED_TOKENS) or "(nothing)"))
            messages.append(Message(role="user", text=prompt("repair").text.replace("{problems}", problems)))
        return answer

    def _ask_again(
        self, messages: list[Message], finding: VerdictOutcome, grounds: Sequence[str], most: int, *, brief: bool
    ) -> Answer:
        completion = self._llm.complete(
            messages,
            max_tokens=ANSWER_TOKENS_AGAIN,
            temperature=REPAIR_TEMPERATURE,
            schema=lessons_schema(finding, 1 if brief else most, brief=brief),
        )
        return _read(completion, finding, grounds, most)


def _read(completion: Completion, finding: VerdictOutcome, grounds: Sequence[str], most: int) -> Answer:
    answer = parse(completion.text, finding=finding, most=most, grounds=grounds)
    if completion.cut_short and (answer.problems or answer.lessons):
        return Answer(problems=(CUT_OFF, *answer.problems))
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillRequest:
    prompt: Prompt
    messages: tuple[Message, ...]


def _request(template: Prompt, text: str) -> DistillRequest:
    return DistillRequest(
        prompt=template, messages=(Message(role="system", text=template.text), Message(role="user", text=text))
    )


def request(
    episode: Episode,
    verdict: Verdict,
    *,
    scrub: Callable[[str], str] = str,
    trace_tokens: int = TRACE_TOKENS,
    most: int = MOST_LESSONS,
) -> DistillRequest:
    template = prompt(verdict.outcome.value, most)
    reason = f" ({cut_middle(scrub(verdict.reason), 100)})" if verdict.reason else ""
    text = f"Session Outcome: {verdict.outcome}{reason}\n\n{_record(episode, scrub, trace_tokens)}"
    return _request(template, text)


def contrast_request(
    episodes: Sequence[tuple[Episode, Verdict]],
    *,
    scrub: Callable[[str], str] = str,
    trace_tokens: int = TRACE_TOKENS,
) -> DistillRequest:
    share = max(200, trace_tokens // max(1, len(episodes)))
    parts = [
        f"Run {number} of {len(episodes)}. Outcome: {verdict.outcome}\n{_record(episode, scrub, share)}"
        for number, (episode, verdict) in enumerate(episodes, 1)
    ]
    return _request(prompt("contrast"), "\n\n".join(parts))


def _record(episode: Episode, scrub: Callable[[str], str], trace_tokens: int) -> str:
    task = fence(cut_middle(scrub(episode.task), TASK_TOKENS), "task")
    trace = fence(trace_of(episode, tokens=trace_tokens, scrub=scrub) or "(no steps)", "trace")
    return f"Task:\n{task}\n\nSession Trace:\n{trace}"


def evidence_for(lesson: Lesson, episodes: Sequence[tuple[Episode, Verdict]], scrub: Callable[[str], str] = str) -> str:
    """The step that shares most words with a lesson: a model does not quote, so this is the nearest to a source.

    Of its result, what is a report.
    """
    lesson_terms = frozenset(terms(f"{lesson.title} {lesson.content}"))
    best, text = 0, ""
    for episode, _ in episodes:
        for step in episode.steps:
            overlap = len(lesson_terms.intersection(terms(f"{step.action[:1000]} {step.result[:1000]}")))
            if overlap > best:
                report = quote(message(step.result), step.action) if step.result else ""
                best, text = overlap, f"{step.action[:1000]}{report and f' => {report}'}"
    return scrub(text)[:300]
